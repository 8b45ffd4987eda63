// What whole training steps are given, and what their parts share: kernels of other files, buffers, products.
#pragma once
#include "dropout.h"
#include "normalised.h"

// Of steps.cpp.
template <class T>
double adam(T*, T*, T*, T*, int64_t, T*, T*, T*, const int64_t*, const T*, int64_t, int64_t, double, double, double, double, double, double,
            double, int64_t);
template <class T>
double descend(T*, T*, T*, int64_t, T*, const int64_t*, const T*, int64_t, int64_t, double, double, double, double, int64_t);
template <class T>
int64_t pick(const int64_t*, int64_t, const T*, int64_t, int64_t, const T*, int64_t, int32_t*, T*, int64_t*, int32_t*);
template <class T>
void gather_gradients(const T*, int64_t, int64_t, int64_t, const int32_t*, T*);

enum Answer { CLASS = 0, CLASS_A_STEP = 1, NUMBER = 2, LABELS = 3 };
enum Pooling { LAST = 0, FIRST_LAST = 1, MEAN = 2, MAX = 3, ATTENTION = 4 };
constexpr int64_t IGNORE = -100;  // the target of a step that isn't asked for
constexpr int64_t BLOCK = 64;     // rows whose gradients are summed before they are added to the total

// One batch to train on. The fields, in this order, are those of Step in whole_steps.py.
template <class T>
struct Step {
    int64_t batch, steps;
    const void* inputs;       // (B, T, K) ids, or (B, T, D) features
    const int64_t* lengths;   // (B,)
    const void* targets;      // (B,) or (B, T) int64, or (B,) numbers, or (B, C) bytes
    int64_t seed;             // of what is dropped
    double rate, keep, root;  // of the update
    double loss, norm;        // found: the mean loss, the norm of the gradients (-1: not computed)
    double share;             // found: rows that are right, those that are partly right counted in part
    int64_t whole;            // found: rows without anything wrong
};

// A network and the batches that await it. The fields, in this order, are those of Member in whole_steps.py.
template <class T>
struct Member {
    int64_t kind, layers, directions, inputs, hidden, threads;
    int64_t ngrams, buckets, factor, squares, ends;  // of a bag: see bags.h; ngrams = 0: a recurrent network
    const T* const* weights;  // of each layer and direction: w_ih, w_hh, b_ih, b_hh
    T* const* gradients;      // of the same
    T* carried;               // (layers, h or h and c, B, H): where each layer begins, and after the step where it ended; null: zeros
    int64_t normed;           // layer norm within the steps
    const T* const* gains;    // of it, of each layer and direction: of the input, of the state, of the LSTM's cell, and its bias
    T* const* for_gains;
    int64_t words, width, frozen_width, tokens;  // words = 0: no embedding; a bag's buckets count; K ids a step
    const T *table, *frozen;
    int32_t* places;        // (words), zero
    int64_t table_learns;
    T* table_gradient;      // null: its rows are updated by themselves
    int64_t columns;        // of which texts are, if of several: each has a vector, which is added at all of its steps
    const T* segments;      // (columns, inputs)
    T* for_segments;
    double embedding_dropout, layer_dropout, state_dropout, output_dropout, weight_dropout;  // in training
    int64_t locked;         // tokens, layers and output are dropped alike at all steps of a row
    int64_t pooling;        // how states become a summary; an answer a step has none
    const T* query;         // (W), of attention
    T* for_query;
    int64_t answer, outputs;
    const T *head, *head_bias;  // (C, S), (C)
    T *for_head, *for_head_bias;
    const T* class_weights;     // (C), what a target of each class counts; null: all alike
    double close;           // of a number that counts as right
    int64_t descends;       // gradient descent instead of Adam
    T *dense, *gradient, *moment1, *moment2, *row_moment1, *row_moment2;
    int64_t numbers;        // of the dense weights
    double clip, decay, momentum, beta1, beta2, epsilon, exploded;
    Step<T>* work;
    int64_t count, done, stopped;  // done: steps that were completed; stopped: the one after them broke

    int64_t width_of_states() const { return directions * hidden; }
    int64_t width_read() const { return width_of_states() * (answer != CLASS_A_STEP && pooling == FIRST_LAST ? 2 : 1); }  // by the head
};

enum Buffer {
    EMBEDDED, ENDS, SUMMARY, SHARES, DROPPED_TOP, LOGITS, PANELS, COLUMNS_OF_LOGITS, WORDS, LOOKED_UP,
    FOR_TOP, FOR_STATES, FOR_QUERY, FOR_LAYER, FOR_INPUT = FOR_LAYER + 2, FOR_ROWS,
    PRODUCTS, BROUGHT, FOR_OWN, NOTHING, CARRIED,
    STATES = 24, DROPPED = 32,   // of each layer
    SAVED = 48, STATE_MASKS = 64, NORMED = 80, SCALES = 96, OWN = 112,  // of each layer and direction
    DROPPED_WEIGHTS = 128,
    BUFFERS = 144
};

// Buffers of the calling thread, each kept from call to call. They don't begin at the same place of a page: those that
// are read and written together would compete for the same lines of the cache.
template <class T>
T* buffer(int which, int64_t numbers) {
    static thread_local Arena<T> arenas[BUFFERS];
    int64_t apart = (which % 16) * 80;
    arenas[which].begin(numbers + apart);
    arenas[which].take(apart);
    return arenas[which].take(numbers);
}

// All products of rows (n, K) with a matrix whose columns lie in panels: `pack(first, vectors, panel)` lays those down.
template <class T, class Pack>
void product(int64_t n, int64_t K, int64_t columns, const T* const* rows, T* const* out, const Pack& pack, bool add = false) {
    T* panel = buffer<T>(PANELS, (K + 8) * COLUMNS * WIDTH<T>);
    std::vector<T*> to(n);
    in_panels(vectors<T>(columns), [&](int64_t first, auto width) {
        constexpr int NV = decltype(width)::value;
        pack(first, NV, panel);
        for (int64_t r = 0; r < n; r++) to[r] = out[r] + first * WIDTH<T>;
        multiply_rows<T, NV>(n, K, rows, panel, to.data(), columns - first * WIDTH<T>, add);
    });
}

// out (n, C) = rows (n, S) · weightsᵀ, of weights (C, S).
template <class T>
void multiply_by(int64_t n, int64_t S, int64_t C, const T* const* rows, const T* weights, T* const* out) {
    constexpr int W = WIDTH<T>;
    product<T>(n, S, C, rows, out, [&](int64_t first, int NV, T* panel) {
        for (int j = 0; j < NV; j++) {
            int64_t column = (first + j) * W;
            transpose(weights + column * S, S, int(std::min<int64_t>(W, C - column)), S, panel + j * W, NV * W);
        }
    });
}

// The way back, out (n, S) = δ (n, C) · weights; or added to what is there.
template <class T>
void multiply_back(int64_t n, int64_t S, int64_t C, const T* const* delta, const T* weights, T* const* out, bool add = false) {
    product<T>(n, C, S, delta, out, [&](int64_t first, int NV, T* panel) {
        for (int64_t c = 0; c < C; c++)
            for (int j = 0; j < NV; j++, panel += WIDTH<T>) {
                int64_t column = (first + j) * WIDTH<T>;
                store(panel, load_some(weights + c * S + column, int(std::min<int64_t>(WIDTH<T>, S - column))));
            }
    }, add);
}

// The gradient of the weights, out (C, S) = δᵀ · rows, of δ (n, C), rows Cp apart; or the columns start … end - 1 of it, whole
// vectors but for the last.
template <class T>
void weigh(int64_t n, int64_t S, int64_t C, const T* const* rows, const T* delta, int64_t Cp, T* out, int64_t start, int64_t end) {
    for (int64_t c = 0; c < C; c++) memset(out + c * S + start, 0, (end - start) * sizeof(T));
    T* panel = buffer<T>(PANELS, BLOCK * COLUMNS * WIDTH<T>);
    for (int64_t from = 0; from < n; from += BLOCK) {
        int64_t some = std::min(BLOCK, n - from);
        const T* own = delta + from * Cp;
        in_panels(vectors<T>(end - start), [&](int64_t first, auto width) {
            constexpr int NV = decltype(width)::value;
            for (int64_t r = 0; r < some; r++)
                for (int j = 0; j < NV; j++) {
                    int64_t column = start + (first + j) * WIDTH<T>;
                    store(panel + (r * NV + j) * WIDTH<T>, load_some(rows[from + r] + column, int(end - column)));
                }
            in_blocks(C, [&](int64_t c, auto count) {
                constexpr int MR = decltype(count)::value;
                Vec<T> acc[MR][NV];
                EACH(r, MR) EACH(j, NV) acc[r][j] = Vec<T>{}; END END
                multiply_along<T, MR, NV>(some, own + c, Cp, panel, acc);
                for (int r = 0; r < MR; r++)
                    for (int j = 0; j < NV; j++) {
                        int64_t column = start + (first + j) * WIDTH<T>;
                        T* to = out + (c + r) * S + column;
                        int left = int(std::min<int64_t>(WIDTH<T>, end - column));
                        store_some(to, load_some(to, left) + acc[r][j], left);
                    }
            });
        });
    }
}
template <class T>
void weigh(int64_t n, int64_t S, int64_t C, const T* const* rows, const T* delta, int64_t Cp, T* out) {
    weigh(n, S, C, rows, delta, Cp, out, 0, S);
}

// --- dropout ---

// Where numbers are dropped: in the embedded tokens, before each layer but the first, in the state of each layer and
// direction, and in what the head reads.
inline int64_t site_of_layer(int64_t layer) { return 1 + 3 * layer; }
inline int64_t site_of_state(int64_t layer, int64_t direction) { return site_of_layer(layer) + 1 + direction; }

template <class T>
Dropout<T> of_embedding(const Member<T>& m, const Step<T>& step) { return {m.embedding_dropout, step.seed, 0, m.locked != 0}; }
template <class T>
Dropout<T> of_layer(const Member<T>& m, const Step<T>& step, int64_t layer) {
    return {layer > 0 ? m.layer_dropout : 0, step.seed, site_of_layer(layer), m.locked != 0};
}
template <class T>
Dropout<T> of_output(const Member<T>& m, const Step<T>& step) { return {m.output_dropout, step.seed, site_of_layer(m.layers), m.locked != 0}; }

// Numbers (B, steps, width), each times 0 or 1 / (1 - p); `to` may be `from`. Threads share them.
template <class T>
void drop(const Dropout<T>& dropout, int64_t batch, int64_t steps, int64_t width, const T* from, T* to, int64_t threads) {
    in_parallel(batch * steps * width < 1 << 16 ? 1 : threads_for(threads, batch), [&](int part, int parts) {
        Dropout<T> own = dropout;
        for (int64_t token = batch * part / parts * steps; token < batch * (part + 1) / parts * steps; token++) {
            own.at(token / steps, token % steps);
            for (int64_t u = 0; u < width; u += WIDTH<T>)
                store_some(to + token * width + u, load_some(from + token * width + u, width - u) * own.factor(u), width - u);
        }
    });
}

// What the state of a layer is multiplied with where it enters a step, (B, H): the same at each step. Null: nothing.
template <class T>
const T* state_mask(const Member<T>& m, const Step<T>& step, int64_t layer, int64_t direction) {
    Dropout<T> dropout(m.state_dropout, step.seed, site_of_state(layer, direction));
    if (!dropout.active) return nullptr;
    T* mask = buffer<T>(STATE_MASKS + int(layer * m.directions + direction), step.batch * m.hidden);
    for (int64_t b = 0; b < step.batch; b++) {
        dropout.at(b, 0);
        for (int64_t u = 0; u < m.hidden; u += WIDTH<T>) store_some(mask + b * m.hidden + u, dropout.factor(u), m.hidden - u);
    }
    return mask;
}

// Recurrent weights (G·H, H) of a layer and direction, each times 0 or 1 / (1 - p), the same at all steps; `to` may be `from`.
template <class T>
void drop_weights(const Member<T>& m, const Step<T>& step, int64_t layer, int64_t direction, const T* from, T* to) {
    Dropout<T> dropout(m.weight_dropout, step.seed, site_of_layer(m.layers) + 1 + layer * m.directions + direction);
    drop(dropout, gates_of(int(m.kind)) * m.hidden, 1, m.hidden, from, to, m.threads);
}
