// What whole training steps are given, and what their parts share: kernels of other files, buffers, products.
#pragma once
#include <algorithm>

#include "normalised.h"
#include "recurrence.h"

extern "C" {  // of other files
#define KERNELS(T)                                                                                                           \
    void recurrence_forward_##T(const Task<T>*);                                                                             \
    void recurrence_backward_##T(const Task<T>*);                                                                            \
    int64_t recurrence_saved_##T(int64_t, int64_t, int64_t);                                                                 \
    extern double (*adam_##T)(T*, T*, T*, T*, int64_t, T*, T*, T*, const int64_t*, const T*, int64_t, int64_t, double, double, \
                              double, double, double, double, double, int64_t);                                              \
    extern double (*descend_##T)(T*, T*, T*, int64_t, double, double, double, double, int64_t);                              \
    extern int64_t (*pick_##T)(const int64_t*, int64_t, const T*, int64_t, int64_t, const T*, int64_t, int32_t*, T*, int64_t*, \
                               int32_t*);                                                                                    \
    extern void (*gather_gradients_##T)(const T*, int64_t, int64_t, int64_t, const int32_t*, T*);
KERNELS(float)
KERNELS(double)
#undef KERNELS
}

template <class T>
struct Kernels;
#define KERNELS(T)                                                         \
    template <>                                                            \
    struct Kernels<T> {                                                    \
        static constexpr auto forward = recurrence_forward_##T;            \
        static constexpr auto backward = recurrence_backward_##T;          \
        static constexpr auto saved = recurrence_saved_##T;                \
        static constexpr auto& adam = adam_##T;                            \
        static constexpr auto& descend = descend_##T;                      \
        static constexpr auto& pick = pick_##T;                            \
        static constexpr auto& gather_gradients = gather_gradients_##T;    \
    };
KERNELS(float)
KERNELS(double)
#undef KERNELS

enum Answer { CLASS = 0, CLASS_A_STEP = 1, NUMBER = 2 };
enum Pooling { LAST = 0, FIRST_LAST = 1, MEAN = 2, MAX = 3, ATTENTION = 4 };
constexpr int64_t IGNORE = -100;  // the target of a step that isn't asked for
constexpr int64_t BLOCK = 64;     // rows whose gradients are summed before they are added to the total

// One batch, to train on or to answer. The fields, in this order, are those of Step in whole_steps.py.
template <class T>
struct Step {
    int64_t batch, steps;
    const void* inputs;       // (B, T, K) ids, or (B, T, D) features
    const int64_t* lengths;   // (B,)
    const void* targets;      // (B,) or (B, T) int64, or (B,) numbers
    T* out;                   // (B, C) or (B, T, C): what is answered; null: train
    double rate, keep, root;  // of the update
    double loss, norm;        // found: the mean loss, the norm of the gradients (-1: not computed)
    double share;             // found: rows that are right, those that are partly right counted in part
    int64_t whole;            // found: rows without anything wrong
};

// A network and the batches that await it. The fields, in this order, are those of Member in whole_steps.py.
template <class T>
struct Member {
    int64_t kind, layers, directions, inputs, hidden, threads;
    const T* const* weights;  // of each layer and direction: w_ih, w_hh, b_ih, b_hh
    T* const* gradients;      // of the same
    int64_t words, width, frozen_width, tokens;  // words = 0: no embedding; K ids a step
    const T *table, *frozen;
    int32_t* places;        // (words), zero
    int64_t table_learns;
    T* table_gradient;      // null: its rows are updated by themselves
    int64_t pooling;         // how states become a summary; an answer a step has none
    const T* query;         // (W), of attention
    T* for_query;
    int64_t answer, outputs;
    const T *head, *head_bias;  // (C, S), (C)
    T *for_head, *for_head_bias;
    double close;           // of a number that counts as right
    int64_t descends;       // gradient descent instead of Adam
    T *dense, *gradient, *moment1, *moment2, *row_moment1, *row_moment2;
    int64_t numbers;        // of the dense weights
    double clip, decay, momentum, beta1, beta2, epsilon, exploded;
    Step<T>* work;
    int64_t count, done, stopped;  // done: steps that were completed; stopped: the one after them broke

    int64_t width_of_states() const { return directions * hidden; }
    int64_t width_read() const { return width_of_states() * (answer != CLASS_A_STEP && pooling == FIRST_LAST ? 2 : 1); }  // by the head
    // A vocabulary that is smaller than its vectors (digits) is folded into the weights: see Folded.
    bool folded() const { return words && words < width + frozen_width; }
};

// Buffers of the calling thread, each kept from call to call. They don't begin at the same place of a page: those that
// are read and written together would compete for the same lines of the cache.
template <class T>
T* buffer(int which, int64_t numbers) {
    static thread_local Arena<T> arenas[64];
    int64_t apart = (which % 16) * 80;
    arenas[which].begin(numbers + apart);
    arenas[which].take(apart);
    return arenas[which].take(numbers);
}
enum Buffer {
    EMBEDDED, ENDS, SUMMARY, SHARES, LOGITS, PANELS, COLUMNS_OF_LOGITS, WORDS, FOLDED,
    FOR_TOP, FOR_STATES, FOR_QUERY, FOR_LAYER, FOR_INPUT = FOR_LAYER + 2, FOR_ROWS,
    STATES = 16, SAVED = 32  // of each layer; and direction
};

template <class T>
INLINE void add(int64_t n, T factor, const T* __restrict from, T* __restrict to) {
    for (int64_t i = 0; i < n; i++) to[i] += factor * from[i];
}

// All products of rows (n, K) with a matrix whose columns lie in panels: `pack(first, vectors, panel)` lays those down.
template <class T, class Pack>
void product(int64_t n, int64_t K, int64_t columns, const T* const* rows, T* const* out, const Pack& pack) {
    T* panel = buffer<T>(PANELS, (K + 8) * COLUMNS * WIDTH<T>);
    std::vector<T*> to(n);
    in_panels(vectors<T>(columns), [&](int64_t first, auto width) {
        constexpr int NV = decltype(width)::value;
        pack(first, NV, panel);
        for (int64_t r = 0; r < n; r++) to[r] = out[r] + first * WIDTH<T>;
        multiply_rows<T, NV>(n, K, rows, panel, to.data(), columns - first * WIDTH<T>, false);
    });
}
