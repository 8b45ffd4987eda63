// N-grams of many rows: which there are, where they stand, and sparse products with them.
//
// A gram is a 64-bit key. A row of features is a list of grams, each with the value `scale` of its row (every gram that
// stands in a text counts alike), so that indices are all there is to read.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "vector.h"

namespace {

constexpr int64_t WIDEST = 8;  // columns that are worked on side by side
constexpr int64_t AHEAD = 16;   // indices whose rows are fetched from memory while others are worked on

// Keys to numbers 0, 1, …: open addressing, at most half full.
struct Table {
    std::vector<int64_t> keys;
    std::vector<int32_t> numbers;  // -1: empty
    uint64_t mask;

    explicit Table(int64_t entries) {
        uint64_t size = 16;
        while (size < uint64_t(entries) * 2) size *= 2;
        keys.resize(size);
        numbers.assign(size, -1);
        mask = size - 1;
    }
    static uint64_t mixed(int64_t key) {
        uint64_t x = uint64_t(key) * 0x9E3779B97F4A7C15u;
        return x ^ (x >> 29);
    }
    uint64_t place(int64_t key) const {
        uint64_t at = (mixed(key) >> 7) & mask;
        while (numbers[at] >= 0 && keys[at] != key) at = (at + 1) & mask;
        return at;
    }
    void fetch(int64_t key) const {
        uint64_t at = (mixed(key) >> 7) & mask;
        __builtin_prefetch(&keys[at]);
        __builtin_prefetch(&numbers[at]);
    }
};

}  // namespace

// The distinct ones of n keys ≥ 0 (a negative one is none), in order of first appearance, into `found`; with the number of
// rows that each stands in, `counts`. The rows ascend. Returns how many.
extern "C" int64_t count_grams(const int64_t* keys, const int32_t* rows, int64_t n, int64_t* found, int32_t* counts) {
    Table table(1 << 16);
    std::vector<int32_t> last;
    int64_t distinct = 0;
    for (int64_t i = 0; i < n; i++) {
        if (i + AHEAD < n) table.fetch(keys[i + AHEAD]);
        if (keys[i] < 0) continue;
        uint64_t at = table.place(keys[i]);
        int32_t number = table.numbers[at];
        if (number < 0) {
            if (uint64_t(distinct) * 2 >= table.mask) {
                Table larger(distinct * 4);
                for (int64_t k = 0; k < distinct; k++) {
                    uint64_t to = larger.place(found[k]);
                    larger.keys[to] = found[k];
                    larger.numbers[to] = int32_t(k);
                }
                std::swap(table, larger);
                at = table.place(keys[i]);
            }
            number = int32_t(distinct++);
            table.keys[at] = keys[i];
            table.numbers[at] = number;
            found[number] = keys[i];
            counts[number] = 0;
            last.push_back(-1);
        }
        if (last[number] != rows[i]) {
            last[number] = rows[i];
            counts[number]++;
        }
    }
    return distinct;
}

// The place of each of n keys among `known`; -1 for one that isn't there.
extern "C" void find_grams(const int64_t* known, int64_t entries, const int64_t* keys, int64_t n, int32_t* places) {
    Table table(entries);
    for (int64_t k = 0; k < entries; k++) {
        uint64_t at = table.place(known[k]);
        table.keys[at] = known[k];
        table.numbers[at] = int32_t(k);
    }
    for (int64_t i = 0; i < n; i++) {
        if (i + AHEAD < n) table.fetch(keys[i + AHEAD]);
        places[i] = keys[i] < 0 ? -1 : table.numbers[table.place(keys[i])];
    }
}

// The distinct grams of every row, level by level: places (levels, tokens) of the gram that ends at each token, -1 where
// none does → `indices`, and of each row its end after each level, `ends` (rows, levels). Returns how many indices.
extern "C" int64_t list_grams(const int32_t* places, const int64_t* offsets, int64_t rows, int64_t levels,
                              int64_t features, int32_t* indices, int64_t* ends) {
    int64_t tokens = offsets[rows], count = 0;
    std::vector<int32_t> last(features, -1);
    for (int64_t row = 0; row < rows; row++)
        for (int64_t level = 0; level < levels; level++) {
            const int32_t* of_level = places + level * tokens;
            for (int64_t i = offsets[row]; i < offsets[row + 1]; i++) {
                if (i + AHEAD < tokens && of_level[i + AHEAD] >= 0) __builtin_prefetch(&last[of_level[i + AHEAD]], 1);
                int32_t gram = of_level[i];
                if (gram < 0 || last[gram] == int32_t(row)) continue;
                last[gram] = int32_t(row);
                indices[count++] = gram;
            }
            ends[row * levels + level] = count;
        }
    return count;
}

namespace {

template <int K>
INLINE void gather(const int32_t* index, int64_t n, const float* __restrict table, float* __restrict sums) {
    if constexpr (K == 1) {
        float parts[8] = {};
        int64_t i = 0;
        for (; i + 8 <= n; i += 8)
            for (int p = 0; p < 8; p++) parts[p] += table[index[i + p]];
        for (; i < n; i++) parts[0] += table[index[i]];
        sums[0] = ((parts[0] + parts[1]) + (parts[2] + parts[3])) + ((parts[4] + parts[5]) + (parts[6] + parts[7]));
    } else {
        float total[K] = {};
        for (int64_t i = 0; i < n; i++) {
            if (i + AHEAD < n) __builtin_prefetch(table + int64_t(index[i + AHEAD]) * K);
            const float* row = table + int64_t(index[i]) * K;
            for (int k = 0; k < K; k++) total[k] += row[k];
        }
        for (int k = 0; k < K; k++) sums[k] = total[k];
    }
}

template <int K>
INLINE void scatter(const int32_t* index, int64_t n, const float* __restrict add, float* __restrict table) {
    float own[K];
    for (int k = 0; k < K; k++) own[k] = add[k];
    for (int64_t i = 0; i < n; i++) {
        if (i + AHEAD < n) __builtin_prefetch(table + int64_t(index[i + AHEAD]) * K, 1);
        float* row = table + int64_t(index[i]) * K;
        for (int k = 0; k < K; k++) row[k] += own[k];
    }
}

struct Rows {
    const int32_t* indices;
    const int64_t *starts, *ends;
    const float* scale;
    int64_t rows;
};

template <int K>
void product(const Rows& x, const float* table, float* out) {
    for (int64_t row = 0; row < x.rows; row++) {
        gather<K>(x.indices + x.starts[row], x.ends[row] - x.starts[row], table, out + row * K);
        for (int k = 0; k < K; k++) out[row * K + k] *= x.scale[row];
    }
}

void wide_product(const Rows& x, int64_t width, const float* table, float* out) {
    for (int64_t row = 0; row < x.rows; row++) {
        float* sums = out + row * width;
        std::fill(sums, sums + width, 0.0f);
        for (int64_t i = x.starts[row]; i < x.ends[row]; i++) {
            const float* own = table + int64_t(x.indices[i]) * width;
            for (int64_t k = 0; k < width; k++) sums[k] += own[k];
        }
        for (int64_t k = 0; k < width; k++) sums[k] *= x.scale[row];
    }
}

template <int K>
void transposed(const Rows& x, const float* delta, float* table) {
    for (int64_t row = 0; row < x.rows; row++) {
        float own[K], largest = 0;
        for (int k = 0; k < K; k++) {
            own[k] = delta[row * K + k] * x.scale[row];
            largest = std::max(largest, std::fabs(own[k]));
        }
        if (largest > 0) scatter<K>(x.indices + x.starts[row], x.ends[row] - x.starts[row], own, table);
    }
}

template <int K>
void curvature(const Rows& x, const float* table, const float* bias, const float* weight, float* out, float* out_bias) {
    for (int64_t row = 0; row < x.rows; row++) {
        const float* own = weight + row * K;
        float largest = 0, sums[K];
        for (int k = 0; k < K; k++) largest = std::max(largest, own[k]);
        if (largest == 0) continue;  // nothing to learn from this row
        const int32_t* index = x.indices + x.starts[row];
        int64_t n = x.ends[row] - x.starts[row];
        gather<K>(index, n, table, sums);
        for (int k = 0; k < K; k++) {
            sums[k] = (sums[k] * x.scale[row] + bias[k]) * own[k];
            out_bias[k] += sums[k];
            sums[k] *= x.scale[row];
        }
        scatter<K>(index, n, sums, out);
    }
}

template <class Function>
void of_width(int64_t width, const Function& function) {
    switch (width) {
        case 1: return function(std::integral_constant<int, 1>());
        case 2: return function(std::integral_constant<int, 2>());
        case 3: return function(std::integral_constant<int, 3>());
        case 4: return function(std::integral_constant<int, 4>());
        case 5: return function(std::integral_constant<int, 5>());
        case 6: return function(std::integral_constant<int, 6>());
        case 7: return function(std::integral_constant<int, 7>());
        case 8: return function(std::integral_constant<int, 8>());
    }
}

}  // namespace

// X (rows, features) · table (features, width) → out (rows, width), of any width; the products below are up to WIDEST wide.
extern "C" void gram_product(const int32_t* indices, const int64_t* starts, const int64_t* ends, const float* scale,
                             int64_t rows, int64_t width, const float* table, float* out) {
    Rows x{indices, starts, ends, scale, rows};
    if (width > WIDEST) return wide_product(x, width, table, out);
    of_width(width, [&](auto k) { product<decltype(k)::value>(x, table, out); });
}

// out (features, width) += Xᵀ · delta (rows, width).
extern "C" void gram_transposed(const int32_t* indices, const int64_t* starts, const int64_t* ends, const float* scale,
                                int64_t rows, int64_t width, const float* delta, float* out) {
    Rows x{indices, starts, ends, scale, rows};
    of_width(width, [&](auto k) { transposed<decltype(k)::value>(x, delta, out); });
}

// out (features, width) += Xᵀ (weight ∘ (X · table + bias)), and out_bias (width) += the column sums of the bracket.
extern "C" void gram_curvature(const int32_t* indices, const int64_t* starts, const int64_t* ends, const float* scale,
                               int64_t rows, int64_t width, const float* table, const float* bias, const float* weight,
                               float* out, float* out_bias) {
    Rows x{indices, starts, ends, scale, rows};
    of_width(width, [&](auto k) { curvature<decltype(k)::value>(x, table, bias, weight, out, out_bias); });
}
