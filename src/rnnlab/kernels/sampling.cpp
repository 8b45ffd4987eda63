// A token for each row of shares: of all, or of the most likely ones. And the most likely ones themselves.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "threads.h"
#include "vector.h"

namespace {

// What is kept of a row: shares above `least`, and those that are equal to it up to the id `last`.
template <class T>
struct Kept {
    T least = -1;  // all
    int64_t last = 0;

    bool has(T share, int64_t id) const { return share > least || (share == least && id <= last); }
};

// The shares of a row by the leading bits of each, its exponent and a part of its digits: those of a higher bucket are
// larger. So only one bucket has to be sorted to find where the most likely ones end.
template <class T>
struct Buckets {
    static constexpr int MANY = 2048;
    const T* shares;
    int64_t size;
    int64_t counts[MANY];
    double sums[MANY];

    static uint32_t bucket(T share) {
        float rounded = float(share);
        uint32_t bits;
        std::memcpy(&bits, &rounded, sizeof bits);
        return bits >> 20;
    }
    void fill(const T* row, int64_t n) {
        shares = row;
        size = n;
        std::fill_n(counts, MANY, 0);
        std::fill_n(sums, MANY, 0.0);
        for (int64_t i = 0; i < n; i++) {
            uint32_t b = bucket(row[i]);
            counts[b]++;
            sums[b] += double(row[i]);
        }
    }
    // The fewest of the most likely ones that are enough (count, sum); of equals, those with lower ids come first. `sum`
    // is what they have together.
    template <class Enough>
    Kept<T> cut(const Enough& enough, double* sum) const {
        int64_t count = 0;
        *sum = 0;
        for (int b = MANY - 1; b >= 0; b--) {
            if (!counts[b]) continue;
            if (!enough(count + counts[b], *sum + sums[b])) {
                count += counts[b];
                *sum += sums[b];
                continue;
            }
            std::vector<std::pair<T, int64_t>> of_bucket;
            for (int64_t i = 0; i < size; i++)
                if (bucket(shares[i]) == uint32_t(b)) of_bucket.emplace_back(-shares[i], i);
            std::sort(of_bucket.begin(), of_bucket.end());
            for (auto& [negative, id] : of_bucket) {
                *sum += double(-negative);
                if (enough(++count, *sum)) return {-negative, id};
            }
        }
        return {};
    }
};

// Shares (rows, size), from 0 to 1, which need not sum to 1. `top_k` 0: all; `top_p` 1: all.
template <class T>
void draw_tokens(const T* shares, int64_t rows, int64_t size, int64_t top_k, double top_p, const double* uniform,
                 int64_t* found) {
    Buckets<T> buckets;
    for (int64_t r = 0; r < rows; r++) {
        const T* row = shares + r * size;
        Kept<T> kept;
        if (top_k || top_p < 1) {
            buckets.fill(row, size);
            double all = 0, reached;
            if (top_k)
                kept = buckets.cut([&](int64_t count, double) { return count >= top_k; }, &all);
            else
                for (int64_t i = 0; i < size; i++) all += double(row[i]);
            double wanted = top_p * all;
            if (top_p < 1) {
                Kept<T> fewer = buckets.cut([&](int64_t, double sum) { return sum >= wanted; }, &reached);
                if (kept.has(fewer.least, fewer.last)) kept = fewer;  // not, if sums were rounded so that none is enough
            }
        }
        double all = 0;
        for (int64_t i = 0; i < size; i++) all += kept.has(row[i], i) ? double(row[i]) : 0.0;
        double wanted = uniform[r] * all, sum = 0;
        int64_t id = 0;
        while ((sum += kept.has(row[id], id) ? double(row[id]) : 0.0) <= wanted && id < size - 1) id++;
        found[r] = id;
    }
}

// The `count` highest of each row of outputs (rows, size), the first of equals first, as log probabilities: what they
// have above the logarithm of the sum of all exponentials. -inf is a token that can't be.
template <class T>
void best_tokens(const T* outputs, int64_t rows, int64_t size, int64_t count, T* found, int64_t* ids, int64_t threads) {
    in_parallel(threads_for(threads, rows), [&](int part, int parts) {
        for (int64_t r = rows * part / parts; r < rows * (part + 1) / parts; r++) {
            const T* row = outputs + r * size;
            T* best = found + r * count;
            int64_t *id = ids + r * count, kept = 0;
            T least = -std::numeric_limits<T>::infinity();  // of those that are kept, once there are enough
            for (int64_t i = 0; i < size; i += WIDTH<T>) {
                Vec<T> v = up_to(load_some(row + i, size - i), size - i, -std::numeric_limits<T>::infinity());
                if (kept == count && !(highest(v) > least)) continue;
                for (int64_t k = i; k < std::min(size, i + WIDTH<T>); k++) {
                    if (kept == count && !(row[k] > least)) continue;
                    int64_t at = kept < count ? kept++ : count - 1;
                    for (; at > 0 && row[k] > best[at - 1]; at--) best[at] = best[at - 1], id[at] = id[at - 1];
                    best[at] = row[k], id[at] = k;
                    if (kept == count) least = best[count - 1];
                }
            }
            T top = best[0];
            Vec<T> sums{};
            for (int64_t i = 0; i < size; i += WIDTH<T>) {
                Vec<T> below = up_to(load_some(row + i, size - i) - top, size - i, T(-87));
                sums += up_to(exponential(below < T(-87) ? spread(T(-87)) : below), size - i, T(0));
            }
            T all = top + std::log(total(sums));
            for (int64_t k = 0; k < count; k++) best[k] -= all;
        }
    });
}

}  // namespace

EXPORT(draw_tokens)
EXPORT(best_tokens)
