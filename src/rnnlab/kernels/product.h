// Matrix products of a few rows with packed weights, accumulated in registers.
//
// A panel is NV vectors wide: for each k in turn, NV · WIDTH weights lie side by side. A block of up to ROWS rows goes
// through a panel at once; its ROWS · NV sums never leave the registers.
#pragma once
#include <algorithm>

#include "vector.h"

#define EACH(i, N) _Pragma("GCC unroll 16") for (int i = 0; i < N; i++) {
#define END }

constexpr int ROWS = 6;    // of a block: with 4 vectors 24 sums, 4 weights and a factor, in 32 registers
constexpr int COLUMNS = 4;  // vectors of a panel, at most
constexpr int DEPTH = 192;  // rows of a panel that go through together: 48 KB; with fewer, sums that aren't complete are put aside more often
constexpr int TOGETHER = 64;  // tokens of a product along them: 16 KB of a panel and three lines of δs each stay in the first-level cache
constexpr int AHEAD = 8;    // rows of a panel that are asked for before they are needed: it comes from the second-level cache

// acc[r][j] += Σ_k a[r][k] · panel[k][j]. The last of the NV columns goes to acc[r][LAST]: a GRU keeps what input and
// state bring to its candidate apart.
template <class T, int MR, int NV, int LAST = NV - 1, int NA>
INLINE void multiply(int64_t K, const T* const (&a)[MR], const T* panel, Vec<T> (&acc)[MR][NA]) {
    for (int64_t k = 0; k < K; k++, panel += NV * WIDTH<T>) {
        Vec<T> w[NV];
        EACH(j, NV)
            w[j] = load(panel + j * WIDTH<T>);
            __builtin_prefetch(panel + (AHEAD * NV + j) * WIDTH<T>);
        END
        EACH(r, MR)
            Vec<T> factor = spread(a[r][k]);
            EACH(j, NV) acc[r][j == NV - 1 ? LAST : j] += factor * w[j]; END
        END
    }
}

// acc[r][j] += Σ_k a[k · a_step + r] · b[k · b_step + j]: the product of two blocks along their rows.
template <class T, int MR, int NV>
INLINE void multiply_along(int64_t K, const T* a, int64_t a_step, const T* b, Vec<T> (&acc)[MR][NV], int64_t b_step = NV * WIDTH<T>) {
    for (int64_t k = 0; k < K; k++, a += a_step, b += b_step) {
        Vec<T> w[NV];
        EACH(j, NV) w[j] = load(b + j * WIDTH<T>); END
        __builtin_prefetch(a + WIDTH<T>);  // for the next block of rows
        EACH(r, MR)
            Vec<T> factor = spread(a[r]);
            EACH(j, NV) acc[r][j] += factor * w[j]; END
        END
    }
}

// Calls f(first, count) for blocks of at most ROWS of n rows, as equal as possible; count is a compile-time number.
template <class F>
INLINE void in_blocks(int64_t n, const F& f) {
    int64_t blocks = (n + ROWS - 1) / ROWS, first = 0;
    for (int64_t b = 0; b < blocks; b++) {
        int64_t end = n * (b + 1) / blocks;
        as_constant<ROWS>(end - first, [&](auto count) { f(first, count); });
        first = end;
    }
}

// Calls f(first, count) for panels of at most COLUMNS of n vectors; count is a compile-time number.
template <class F>
INLINE void in_panels(int64_t n, const F& f) {
    for (int64_t first = 0; first < n; first += COLUMNS) as_constant<COLUMNS>(n - first, [&](auto count) { f(first, count); });
}

// Calls f(first, end) for equal parts of K, of at most DEPTH each; once where there is nothing.
template <class F>
INLINE void in_depths(int64_t K, const F& f) {
    int64_t parts = std::max<int64_t>(1, (K + DEPTH - 1) / DEPTH);
    for (int64_t part = 0; part < parts; part++) f(K * part / parts, K * (part + 1) / parts);
}

// out[r][…] = Σ_k a[r][k] · panel[k][…] for n rows, the panel NV vectors wide; added to what is there, or not. Of the
// panel's columns, ``columns`` exist.
template <class T, int NV>
void multiply_rows(int64_t n, int64_t K, const T* const* a, const T* panel, T* const* out, int64_t columns, bool add) {
    in_depths(K, [&](int64_t k, int64_t end) {
        in_blocks(n, [&](int64_t first, auto count) {
            constexpr int MR = decltype(count)::value;
            Vec<T> acc[MR][NV];
            const T* rows[MR];
            EACH(r, MR)
                rows[r] = a[first + r] + k;
                EACH(j, NV) acc[r][j] = Vec<T>{}; END
            END
            multiply<T, MR, NV>(end - k, rows, panel + k * NV * WIDTH<T>, acc);
            bool whole = columns >= NV * WIDTH<T>, more = add || k > 0;
            if (whole && more) {
                EACH(r, MR) EACH(j, NV) store(out[first + r] + j * WIDTH<T>, load(out[first + r] + j * WIDTH<T>) + acc[r][j]); END END
            } else if (whole) {
                EACH(r, MR) EACH(j, NV) store(out[first + r] + j * WIDTH<T>, acc[r][j]); END END
            } else {
                EACH(r, MR) EACH(j, NV)
                    T* to = out[first + r] + j * WIDTH<T>;
                    int64_t some = columns - j * WIDTH<T>;
                    store_some(to, more ? load_some(to, some) + acc[r][j] : acc[r][j], some);
                END END
            }
        });
    });
}

// sums (rows, width) += δᵀ · right over some tokens, for δs first … end; right lies in panels. Parts of the tokens, of at most
// TOGETHER each, one after the other.
template <class T>
void add_products(const T* delta, int64_t delta_step, int64_t tokens, const T* right, int64_t width, int64_t first, int64_t end, T* sums) {
    if (first >= end) return;
    int64_t times = (tokens + TOGETHER - 1) / TOGETHER;
    for (int64_t time = 0; time < times; time++) {
        int64_t token = tokens * time / times, some = tokens * (time + 1) / times - token;
        in_panels(width / WIDTH<T>, [&](int64_t column, auto columns) {
            constexpr int NV = decltype(columns)::value;
            const T* panel = right + (column * tokens + token * NV) * WIDTH<T>;
            in_blocks(end - first, [&](int64_t at, auto count) {
                constexpr int MR = decltype(count)::value;
                T* sum = sums + (first + at) * width + column * WIDTH<T>;
                Vec<T> acc[MR][NV];
                EACH(r, MR) EACH(j, NV)
                    acc[r][j] = load(sum + r * width + j * WIDTH<T>);
                    __builtin_prefetch(sum + (MR + r) * width + j * WIDTH<T>, 1);  // the next block's
                END END
                multiply_along<T, MR, NV>(some, delta + token * delta_step + first + at, delta_step, panel, acc);
                EACH(r, MR) EACH(j, NV) store(sum + r * width + j * WIDTH<T>, acc[r][j]); END END
            });
        });
    }
}

// WIDTH rows of a matrix, of which ``rows`` exist, become columns: to[k · to_step + i] = from[i · from_step + k].
template <class T>
void transpose(const T* from, int64_t from_step, int rows, int64_t K, T* to, int64_t to_step) {
    constexpr int W = WIDTH<T>;
    int64_t k = 0;
#ifndef __clang__
    typedef std::conditional_t<sizeof(T) == 4, int32_t, int64_t> Index;
    Vec<Index> low, high;  // interleave the lower, or the upper, halves of two vectors
    for (int i = 0; i < W; i++) {
        low[i] = i / 2 + (i % 2) * W;
        high[i] = low[i] + W / 2;
    }
    for (; k + W <= K; k += W) {
        Vec<T> v[W], u[W];
        EACH(i, W) v[i] = i < rows ? load(from + i * from_step + k) : Vec<T>{}; END
        for (int stage = 1; stage < W; stage *= 2) {
            EACH(i, W / 2)
                u[2 * i] = __builtin_shuffle(v[i], v[i + W / 2], low);
                u[2 * i + 1] = __builtin_shuffle(v[i], v[i + W / 2], high);
            END
            EACH(i, W) v[i] = u[i]; END
        }
        EACH(i, W) store(to + (k + i) * to_step, v[i]); END
    }
#endif
    for (; k < K; k++)
        for (int i = 0; i < W; i++) to[k * to_step + i] = i < rows ? from[i * from_step + k] : T(0);
}
