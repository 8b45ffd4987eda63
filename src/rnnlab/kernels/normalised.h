// Layer norm of H numbers, padded with zeros to whole vectors, and its gradient; what recurrences with it are given.
#pragma once
#include "recurrence.h"

constexpr double EPSILON = 1e-5;  // torch's

// H numbers to mean 0 and variance 1, in place; returns what they were multiplied with.
template <class T>
INLINE T normalise(T* x, int64_t H) {
    Vec<T> sum{}, squares{};
    for (int64_t u = 0; u < H; u += WIDTH<T>) sum += load(x + u);
    T mean = total(sum) / T(H);
    for (int64_t u = 0; u < H; u += WIDTH<T>) {
        Vec<T> v = up_to<T>(load(x + u) - mean, H - u, T(0));
        squares += v * v;
        store(x + u, v);
    }
    T scale = T(1) / std::sqrt(total(squares) / T(H) + T(EPSILON));
    for (int64_t u = 0; u < H; u += WIDTH<T>) store(x + u, load(x + u) * scale);
    return scale;
}

// From the gradient of gain · x + bias to that of what was normalised to x, in place; adds to those of gain and bias.
// Beyond the row's end, where the gain is zero, it leaves numbers that mean nothing.
template <class T>
INLINE void differentiate_norm(bool normed, T* gradient, const T* x, T scale, const T* gain, int64_t H, T* for_gain, T* for_bias) {
    Vec<T> sum{}, along{};
    for (int64_t u = 0; u < H; u += WIDTH<T>) {
        Vec<T> d = load(gradient + u), v = load(x + u);
        store(for_bias + u, load(for_bias + u) + d);
        store(for_gain + u, load(for_gain + u) + d * v);
        d *= load(gain + u);
        store(gradient + u, d);
        sum += d;
        along += d * v;
    }
    if (!normed) return;
    T mean = total(sum) / T(H), slope = total(along) / T(H);
    for (int64_t u = 0; u < H; u += WIDTH<T>)
        store(gradient + u, (load(gradient + u) - mean - load(x + u) * slope) * scale);
}

// Layer norm of what the input brings to each gate, for all tokens. Null where a thing isn't wanted. The fields, in this order, are those of Rows in normalised.py.
template <class T>
struct Rows {
    int64_t tokens, gates, hidden, threads;
    const T *gain, *bias;  // (G, H), (G·H,)
    const T* x;            // (N, G·H)
    T* out;                // (N, G·H), normalised, times gain, plus bias
    T *normed, *scales;    // for backward: (N, G·Hp), (N, G); null: there won't be one
    // backward only
    const T* for_out;
    T *for_x, *for_gain, *for_bias;
};

// The steps of a recurrence after that. Null where a thing isn't there or isn't wanted. The fields, in this order, are those of Task in normalised.py.
template <class T>
struct Steps {
    int64_t kind, batch, steps, hidden, reset_before, threads;
    const T* a;                           // (B, T, G·H), what the input brings
    const T *w_hh, *b_hh;                 // (G·H, H), (G·H,)
    const T *gain, *cell_gain, *cell_bias;  // (G, H), (H,), (H,); null: no layer norm
    const T *h_start, *c_start;           // (B, H); null: zeros
    const T* mask;                        // (B, H), on the state where it enters a product
    T* states;                            // (B, T, H)
    T* c_end;                             // (B, H)
    T* saved;                             // for backward; null: there won't be one
    // backward only
    const T* for_states;                  // gradient, strides of its own; null: none
    int64_t for_states_row, for_states_step;
    const T* for_c_end;
    T* for_a;
    T *for_w_hh, *for_b_hh, *for_gain, *for_cell_gain, *for_cell_bias, *for_h_start, *for_c_start;

    int64_t gates() const { return gates_of(int(kind)); }
    bool normed() const { return gain; }
    bool multiplies() const { return steps > 1 || h_start; }  // a first step from zeros has no product
    const T* input(int64_t t, int64_t b) const { return a + (b * steps + t) * gates() * hidden; }
    T* state(int64_t t, int64_t b) const { return states + (b * steps + t) * hidden; }
    const T* before(int64_t t, int64_t b) const { return t > 0 ? state(t - 1, b) : h_start ? h_start + b * hidden : nullptr; }
};

template <class T>
void normalised_input_forward(const Rows<T>* rows);
template <class T>
void normalised_input_backward(const Rows<T>* rows);
template <class T>
void normalised_forward(const Steps<T>* task);
template <class T>
void normalised_backward(const Steps<T>* task);
template <class T>
int64_t normalised_saved(int64_t kind, int64_t tokens, int64_t hidden);  // numbers that forward leaves for backward
template <class T>
int64_t normalised_input_saved(int64_t gates, int64_t hidden) {  // of a token, but for the scales
    return gates * padded<T>(hidden);
}
