// N-grams of many rows: which there are, where they stand, and sparse products with them.
//
// A gram is a 64-bit key. A row of features is a list of grams, each with the value `scale` of its row (every gram that
// stands in a text counts alike), so that indices are all there is to read.
#include <algorithm>
#include <vector>

#include "vector.h"

namespace {

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

struct Rows {
    const int32_t* indices;
    const int64_t *starts, *ends;
    const float* scale;
    int64_t rows;
};

// K columns, or `width` if K is 0. Sums of a single column are made in parts, which need not wait for each other.
template <int K>
INLINE void gather(const int32_t* index, int64_t n, int64_t width, const float* __restrict table, float* __restrict sums) {
    if constexpr (K == 1) {
        float parts[8] = {};
        int64_t i = 0;
        for (; i + 8 <= n; i += 8)
            for (int p = 0; p < 8; p++) parts[p] += table[index[i + p]];
        for (; i < n; i++) parts[0] += table[index[i]];
        sums[0] = ((parts[0] + parts[1]) + (parts[2] + parts[3])) + ((parts[4] + parts[5]) + (parts[6] + parts[7]));
    } else {
        std::fill(sums, sums + (K ? K : width), 0.0f);
        for (int64_t i = 0; i < n; i++) {
            if (i + AHEAD < n) __builtin_prefetch(table + int64_t(index[i + AHEAD]) * (K ? K : width));
            const float* own = table + int64_t(index[i]) * (K ? K : width);
            for (int64_t k = 0; k < (K ? K : width); k++) sums[k] += own[k];
        }
    }
}

template <int K>
void product(const Rows& x, int64_t given, const float* table, float* out) {
    const int64_t width = K ? K : given;
    std::vector<float> sums(width);
    for (int64_t row = 0; row < x.rows; row++) {
        gather<K>(x.indices + x.starts[row], x.ends[row] - x.starts[row], width, table, sums.data());
        for (int64_t k = 0; k < width; k++) out[row * width + k] = sums[k] * x.scale[row];
    }
}

template <int K>
void transposed(const Rows& x, int64_t given, const float* delta, float* table) {
    const int64_t width = K ? K : given;
    std::vector<float> own(width);
    for (int64_t row = 0; row < x.rows; row++) {
        float largest = 0;
        for (int64_t k = 0; k < width; k++) {
            own[k] = delta[row * width + k] * x.scale[row];
            largest = std::max(largest, std::fabs(own[k]));
        }
        if (largest == 0) continue;
        for (int64_t i = x.starts[row]; i < x.ends[row]; i++) {
            if (i + AHEAD < x.ends[row]) __builtin_prefetch(table + int64_t(x.indices[i + AHEAD]) * width, 1);
            float* to = table + int64_t(x.indices[i]) * width;
            for (int64_t k = 0; k < width; k++) to[k] += own[k];
        }
    }
}

// Dual coordinate descent. A linear model is a sum of rows: table (features, width) = squares ∘ Xᵀ · duals (rows, width),
// where squares (features, width) say how much a feature may matter for a class. Row by row, its duals become the best
// ones while all others stay, and the table follows; a pass costs little more than a product. K = 0: `given` is the width.
struct Duals {
    const float *squares, *norms;  // norms (rows, width): how far the logits of a row move with its own duals
    const int32_t* columns;        // (rows): the column that should be high; -1: none
    const float* strengths;        // (rows): what a row's loss counts
    float *duals, *table, *bias;
};

// max(0, 1 - y · logit)², y = 1 in the row's column and -1 in the others; each column has a problem of its own.
template <int K>
struct Hinge {
    explicit Hinge(int64_t) {}
    void operator()(const Duals& of, int64_t width, int64_t row, const float* logits, float* changes) {
        const float *norms = of.norms + row * width, *duals = of.duals + row * width;
        float ease = 1 / (2 * of.strengths[row]);
        for (int64_t k = 0; k < (K ? K : width); k++) {
            float side = k == of.columns[row] ? 1.0f : -1.0f;
            float slope = side * (logits[k] + ease * duals[k]) - 1;
            changes[k] = side * std::max(side * duals[k] - slope / (norms[k] + ease), 0.0f) - duals[k];
        }
    }
};

// Cross-entropy of all columns. The best duals are where duals = strength (target - softmax(logits)), and the logits move
// with the duals: found by Newton's method, whose matrix is a diagonal and a product of two vectors.
template <int K>
struct Softmax {
    static constexpr int STEPS = 3, HALVINGS = 6;
    static constexpr float NEAR = 1e-9f;  // of strength², the square of what may be missing
    std::vector<float> memory;
    explicit Softmax(int64_t width) : memory(width * 6) {}
    void operator()(const Duals& of, int64_t given, int64_t row, const float* logits, float* changes) {
        const int64_t width = K ? K : given;
        const float *norms = of.norms + row * width, *duals = of.duals + row * width, strength = of.strengths[row];
        float *shares = memory.data(), *missing = shares + width, *next = missing + width, *step = next + width;
        float *next_shares = step + width, *next_missing = next_shares + width;
        auto miss = [&](const float* moved, float* share, float* miss) {
            float top = -INFINITY, total = 0, size = 0;
            for (int64_t k = 0; k < width; k++) top = std::max(top, share[k] = logits[k] + norms[k] * moved[k]);
            for (int64_t k = 0; k < width; k++) total += share[k] = std::exp(share[k] - top);
            for (int64_t k = 0; k < width; k++) {
                share[k] /= total;
                miss[k] = duals[k] + moved[k] - strength * (float(k == of.columns[row]) - share[k]);
                size += miss[k] * miss[k];
            }
            return size;
        };
        std::fill(changes, changes + width, 0.0f);
        float size = miss(changes, shares, missing);
        for (int i = 0; i < STEPS && size > NEAR * strength * strength; i++) {
            float above = 0, below = 1;
            for (int64_t k = 0; k < width; k++) {
                float bend = shares[k] * norms[k], inverse = 1 / (1 + strength * bend);
                step[k] = -missing[k] * inverse;
                above += bend * step[k];
                below -= bend * strength * shares[k] * inverse;
            }
            for (int64_t k = 0; k < width; k++)
                step[k] += above / below * strength * shares[k] / (1 + strength * shares[k] * norms[k]);
            float length = 1, reached = INFINITY;
            for (int halving = 0; halving < HALVINGS && !(reached < size); halving++, length /= 2) {
                for (int64_t k = 0; k < width; k++) next[k] = changes[k] + length * step[k];
                reached = miss(next, next_shares, next_missing);
            }
            if (!(reached < size)) break;
            std::copy(next, next + width, changes);
            std::swap(shares, next_shares);
            std::swap(missing, next_missing);
            size = reached;
        }
    }
};

template <int K, template <int> class Loss>
void descend(const Rows& x, int64_t given, const int32_t* order, const Duals& of, double* moved) {
    const int64_t width = K ? K : given;
    std::vector<float> logits(width), changes(width);
    Loss<K> best(width);
    for (int64_t at = 0; at < x.rows; at++) {
        if (at + 4 < x.rows) {  // rows come in any order, so no processor would guess the next one
            int64_t next = order[at + 4];
            for (int64_t line = 0; line < 3; line++) __builtin_prefetch(x.indices + x.starts[next] + line * 16);
            __builtin_prefetch(of.duals + next * width);
            __builtin_prefetch(of.norms + next * width);
        }
        int64_t row = order[at], n = x.ends[row] - x.starts[row];
        const int32_t* index = x.indices + x.starts[row];
        gather<K>(index, n, width, of.table, logits.data());
        for (int64_t k = 0; k < width; k++) logits[k] = logits[k] * x.scale[row] + of.bias[k];
        best(of, width, row, logits.data(), changes.data());
        float largest = 0;
        for (int64_t k = 0; k < width; k++) {
            of.duals[row * width + k] += changes[k];
            of.bias[k] += changes[k];
            moved[k] += double(changes[k]) * changes[k];
            largest = std::max(largest, std::fabs(changes[k]));
            changes[k] *= x.scale[row];
        }
        if (largest == 0) continue;
        for (int64_t i = 0; i < n; i++) {
            if (i + AHEAD < n) __builtin_prefetch(of.squares + int64_t(index[i + AHEAD]) * width);
            const float* square = of.squares + int64_t(index[i]) * width;
            float* own = of.table + int64_t(index[i]) * width;
            for (int64_t k = 0; k < width; k++) own[k] += changes[k] * square[k];
        }
    }
}

// f(the width as a compile-time number), or 0 for one that is large.
template <class F>
void of_width(int64_t width, const F& f) {
    width > 8 ? f(std::integral_constant<int, 0>{}) : as_constant<8>(width, f);
}

}  // namespace

// X (rows, features) · table (features, width) → out (rows, width).
extern "C" void gram_product(const int32_t* indices, const int64_t* starts, const int64_t* ends, const float* scale,
                             int64_t rows, int64_t width, const float* table, float* out) {
    Rows x{indices, starts, ends, scale, rows};
    of_width(width, [&](auto k) { product<decltype(k)::value>(x, width, table, out); });
}

// out (features, width) += Xᵀ · delta (rows, width).
extern "C" void gram_transposed(const int32_t* indices, const int64_t* starts, const int64_t* ends, const float* scale,
                                int64_t rows, int64_t width, const float* delta, float* out) {
    Rows x{indices, starts, ends, scale, rows};
    of_width(width, [&](auto k) { transposed<decltype(k)::value>(x, width, delta, out); });
}

// One pass over all rows in `order`: duals, table and bias move; moved (width) += the squares of how far the duals did.
extern "C" void gram_descend(const int32_t* indices, const int64_t* starts, const int64_t* ends, const float* scale,
                             int64_t rows, int64_t width, const int32_t* order, const float* squares, const float* norms,
                             const int32_t* columns, const float* strengths, int64_t softmax, float* duals, float* table,
                             float* bias, double* moved) {
    Rows x{indices, starts, ends, scale, rows};
    Duals of{squares, norms, columns, strengths, duals, table, bias};
    of_width(width, [&](auto k) {
        constexpr int K = decltype(k)::value;
        softmax ? descend<K, Softmax>(x, width, order, of, moved) : descend<K, Hinge>(x, width, order, of, moved);
    });
}
