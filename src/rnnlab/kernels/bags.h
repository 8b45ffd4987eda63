// Texts as bags of words and hashed n-grams: the mean of their vectors, and the way back to the rows in use.
#pragma once
#include "whole_steps.h"

constexpr uint64_t PRIME = 2147483647, TEXT_END = PRIME - 1;  // as in models/fasttext.py
constexpr int64_t FETCHED = 12;                               // rows on their way from memory while others are worked on

// Which rows of the table (words + buckets, D) the texts of a batch use; kept from batch to batch for its memory.
struct Bags {
    std::vector<int64_t> features, begins;  // the row of each word and n-gram; those of text b begin at begins[b]
    std::vector<int64_t> rows;              // the distinct ones, in order of first appearance
    std::vector<int32_t> numbers;           // of each feature, its place among them
};

// x mod PRIME, of x < 2⁶³: 2³¹ is 1 there.
INLINE uint64_t reduce(uint64_t x) {
    x = (x & PRIME) + (x >> 31);
    x = (x & PRIME) + (x >> 31);
    return x >= PRIME ? x - PRIME : x;
}

// to += from
template <class T>
INLINE void add(int64_t n, const T* from, T* to) {
    for (int64_t i = 0; i < n; i += WIDTH<T>) {
        int some = int(std::min<int64_t>(n - i, WIDTH<T>));
        store_some(to + i, load_some(to + i, some) + load_some(from + i, some), some);
    }
}

// The rows of a text's tokens and n-grams, from `to` on; returns where they end, null for an id that isn't in the
// vocabulary. Padding within a text is a token that brings nothing, and a text of padding alone brings nothing at all.
template <class T>
int64_t* lay_features(const Member<T>& m, const int64_t* ids, int64_t steps, int64_t* to) {
    static thread_local std::vector<uint64_t> tokens;  // behind so many beginnings that every n-gram has its tokens
    int64_t length = steps, words = m.words - m.buckets;
    while (length && ids[length - 1] == 0) length--;
    if (length == 0) return to;
    tokens.assign(m.ngrams + length + 1, 0);
    uint64_t* token = tokens.data() + m.ngrams;
    for (int64_t t = 0; t < length; t++) {
        if (ids[t] < 0 || ids[t] >= words) return nullptr;
        token[t] = uint64_t(ids[t]);
    }
    token[length] = TEXT_END;
    auto bucket_of = [&](int64_t t, int64_t n) {
        uint64_t hash = uint64_t(n);
        for (int64_t at = t + 1 - n; at <= t; at++) {
            hash = reduce(hash * uint64_t(m.factor) + token[at]);
            if (m.squares) hash = reduce(hash * hash);
        }
        return words + int64_t(uint32_t(hash) % uint32_t(m.buckets));
    };
    for (int64_t t = 0; t < length + m.ends; t++) {
        if (token[t] == 0) continue;
        *to++ = t < length ? ids[t] : bucket_of(t, 1);
        for (int64_t n = 2; n <= m.ngrams && t >= n - 1 - m.ends; n++) *to++ = bucket_of(t, n);
    }
    return to;
}

// The means `out` (B, D) of the vectors of a batch: sums over lengths. With them, which rows of the table were used.
// Returns how many; -1 for an id that isn't there.
template <class T>
int64_t sum_up(const Member<T>& m, const Step<T>& step, Bags& bags, T* out) {
    int64_t most = step.batch * (step.steps + 1) * m.ngrams;
    if (int64_t(bags.features.size()) < most) bags.features.resize(most), bags.rows.resize(most), bags.numbers.resize(most);
    bags.begins.assign(1, 0);
    int64_t *features = bags.features.data(), *end = features;
    for (int64_t b = 0; b < step.batch; b++) {
        end = lay_features(m, static_cast<const int64_t*>(step.inputs) + b * step.steps, step.steps, end);
        if (!end) return -1;
        bags.begins.push_back(end - features);
    }
    int64_t count = 0, all = bags.begins.back();
    for (int64_t b = 0; b < step.batch; b++, out += m.width) {
        memset(out, 0, m.width * sizeof(T));
        for (int64_t k = bags.begins[b]; k < bags.begins[b + 1]; k++) {
            if (k + FETCHED < all) {
                const char* coming = reinterpret_cast<const char*>(m.table + features[k + FETCHED] * m.width);
                for (int64_t at = 0; at < int64_t(m.width * sizeof(T)); at += 64) __builtin_prefetch(coming + at);
                __builtin_prefetch(m.places + features[k + FETCHED]);
            }
            int64_t row = features[k];
            add(m.width, m.table + row * m.width, out);
            if (!m.places[row]) {
                bags.rows[count] = row;
                m.places[row] = int32_t(++count);
            }
            bags.numbers[k] = m.places[row] - 1;
        }
        for (int64_t i = 0; i < m.width; i++) out[i] /= T(step.lengths[b]);
    }
    for (int64_t r = 0; r < count; r++) m.places[bags.rows[r]] = 0;
    return count;
}

// The gradient (rows, D) of the rows that `sum_up` found, from that of the means (B, D).
template <class T>
void spread_out(const Member<T>& m, const Step<T>& step, const Bags& bags, const T* gradient, T* out) {
    std::vector<T> own(m.width);
    int32_t seen = 0;  // rows are numbered in order of first appearance
    for (int64_t b = 0; b < step.batch; b++, gradient += m.width) {
        for (int64_t i = 0; i < m.width; i++) own[i] = gradient[i] / T(step.lengths[b]);
        for (int64_t k = bags.begins[b]; k < bags.begins[b + 1]; k++) {
            T* to = out + bags.numbers[k] * m.width;
            if (bags.numbers[k] == seen) {
                memcpy(to, own.data(), m.width * sizeof(T));
                seen++;
            } else {
                add(m.width, own.data(), to);
            }
        }
    }
}
