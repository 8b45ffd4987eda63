// Texts as bags of words and hashed n-grams: the mean of their vectors, and the way back to the rows in use.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "vector.h"

namespace {

constexpr uint64_t PRIME = 2147483647, END = PRIME - 1;  // as in models/fasttext.py
constexpr int64_t AHEAD = 12;                            // rows fetched from memory while others are worked on

struct Hashed {
    int64_t ngrams, buckets, factor, squares, ends;
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
// vocabulary. Padding within a text is a token that brings nothing.
int64_t* lay_features(const int64_t* ids, int64_t steps, int64_t words, const Hashed& h, int64_t* to) {
    static thread_local std::vector<uint64_t> tokens;  // behind so many beginnings that every n-gram has its tokens
    int64_t length = steps;
    while (length && ids[length - 1] == 0) length--;
    tokens.assign(h.ngrams + length + 1, 0);
    uint64_t* token = tokens.data() + h.ngrams;
    for (int64_t t = 0; t < length; t++) {
        if (ids[t] < 0 || ids[t] >= words) return nullptr;
        token[t] = uint64_t(ids[t]);
    }
    token[length] = END;
    auto bucket_of = [&](int64_t t, int64_t n) {
        uint64_t hash = uint64_t(n);
        for (int64_t at = t + 1 - n; at <= t; at++) {
            hash = reduce(hash * uint64_t(h.factor) + token[at]);
            if (h.squares) hash = reduce(hash * hash);
        }
        return words + int64_t(uint32_t(hash) % uint32_t(h.buckets));
    };
    for (int64_t t = 0; t < length + h.ends; t++) {
        if (token[t] == 0) continue;
        *to++ = t < length ? ids[t] : bucket_of(t, 1);
        for (int64_t n = 2; n <= h.ngrams && t >= n - 1 - h.ends; n++) *to++ = bucket_of(t, n);
    }
    return to;
}

// The means `out` (B, width) of the vectors of ids (B, steps): sums over lengths. With them, which rows of the table
// (words + buckets, width) were used: `rows` in order of first appearance, and of each feature its place among them;
// those of text b are `numbers[begins[b]]` up to `begins[b + 1]`. `places` (words + buckets) is zero before and after.
// Returns how many rows; -1 for an id that isn't there.
template <class T>
int64_t sum_up(const int64_t* ids, const int64_t* lengths, int64_t batch, int64_t steps, const T* table, int64_t words,
               int64_t width, int64_t ngrams, int64_t buckets, int64_t factor, int64_t squares, int64_t ends, int32_t* places,
               T* out, int64_t* rows, int32_t* numbers, int64_t* begins) {
    static thread_local std::vector<int64_t> features;
    int64_t most = batch * (steps + 1) * ngrams;
    if (int64_t(features.size()) < most) features.resize(most);
    Hashed hashed{ngrams, buckets, factor, squares, ends};
    int64_t* end = features.data();
    begins[0] = 0;
    for (int64_t b = 0; b < batch; b++) {
        end = lay_features(ids + b * steps, steps, words, hashed, end);
        if (!end) return -1;
        begins[b + 1] = end - features.data();
    }
    int64_t count = 0, all = begins[batch];
    for (int64_t b = 0; b < batch; b++, out += width) {
        memset(out, 0, width * sizeof(T));
        for (int64_t k = begins[b]; k < begins[b + 1]; k++) {
            if (k + AHEAD < all) {
                const char* coming = reinterpret_cast<const char*>(table + features[k + AHEAD] * width);
                for (int64_t at = 0; at < int64_t(width * sizeof(T)); at += 64) __builtin_prefetch(coming + at);
                __builtin_prefetch(places + features[k + AHEAD]);
            }
            int64_t row = features[k];
            add(width, table + row * width, out);
            if (!places[row]) {
                rows[count] = row;
                places[row] = int32_t(++count);
            }
            numbers[k] = places[row] - 1;
        }
        for (int64_t i = 0; i < width; i++) out[i] /= T(lengths[b]);
    }
    for (int64_t r = 0; r < count; r++) places[rows[r]] = 0;
    return count;
}

// The gradient (rows, width) of the rows that `sum_up` found, from that of the means (B, width).
template <class T>
void spread_out(const T* gradient, const int64_t* lengths, int64_t batch, int64_t width, const int32_t* numbers,
                const int64_t* begins, T* out) {
    std::vector<T> own(width);
    int32_t seen = 0;  // rows are numbered in order of first appearance
    for (int64_t b = 0; b < batch; b++, gradient += width) {
        for (int64_t i = 0; i < width; i++) own[i] = gradient[i] / T(lengths[b]);
        for (int64_t k = begins[b]; k < begins[b + 1]; k++) {
            T* to = out + numbers[k] * width;
            if (numbers[k] == seen) {
                memcpy(to, own.data(), width * sizeof(T));
                seen++;
            } else {
                add(width, own.data(), to);
            }
        }
    }
}

}  // namespace

#define EXPORT(NAME)                  \
    auto* NAME##_float = NAME<float>; \
    auto* NAME##_double = NAME<double>;

extern "C" {
EXPORT(sum_up)
EXPORT(spread_out)
}
