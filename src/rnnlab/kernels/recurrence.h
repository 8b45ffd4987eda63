// What a recurrence is given, and how its rows are laid out.
#pragma once
#include <cstdlib>
#include <new>
#include <vector>

#include "cells.h"
#include "product.h"
#include "threads.h"

enum Kind { TANH = 0, RELU = 1, LSTM = 2, GRU = 3 };
constexpr int gates_of(int kind) { return kind == LSTM ? 4 : kind == GRU ? 3 : 1; }

// One layer in one direction over a batch of right-padded sequences. Null where a thing isn't there or isn't wanted.
// The fields, in this order, are those of Recurrence in recurrence.py.
template <class T>
struct Task {
    int64_t kind, batch, steps, inputs, hidden, reverse, threads;
    const int64_t* lengths;  // (B,), each from 1 to steps; null: all have all steps
    const T* x;              // a sequence every x_row numbers, a step every x_step, D numbers side by side
    int64_t x_row, x_step;
    const T *w_ih, *w_hh, *b_ih, *b_hh;  // (G·H, D), (G·H, H), (G·H,), (G·H,)
    const T *h_start, *c_start;          // (B, H); null: zeros
    const T* mask;                       // (B, H), on the state where it enters a product
    T* states;                           // written by forward, zero at padding; read by backward
    int64_t states_row, states_step;
    T *h_end, *c_end;                    // (B, ·): after each sequence's last step; rows end_row apart
    int64_t end_row;
    T* saved;                            // saved_numbers(…) for backward; null: there won't be one
    // backward only
    const T* for_states;                 // gradient, strides of its own; null: none
    int64_t for_states_row, for_states_step;
    const T *for_h_end, *for_c_end;      // rows end_row apart
    const T *highest, *for_highest;      // rows end_row apart: a gradient for each state that equals the highest
    T* for_x;                            // (B, T, D), written, or added to
    int64_t add_to_x;
    T *for_w_ih, *for_w_hh, *for_b_ih, *for_b_hh;
    T *for_h_start, *for_c_start;
    // Instead of x, where the same few inputs come again and again: what each of them brings to the gates. Then D is 0.
    const int32_t* ids;                  // (B, T, K), rows of `brought`, which are added up; null: there is x
    int64_t tokens, kinds;               // K, and how many rows there are
    const T* brought;                    // (kinds, G·H), without biases
    T* for_brought;                      // its gradient, written

    const T* brings(int64_t id, int gate) const { return brought + (id * gates_of(int(kind)) + gate) * hidden; }
    const int32_t* ids_of(int64_t row, int64_t place) const { return ids + (row * steps + place) * tokens; }
};

constexpr int saved_of(int kind) { return kind == LSTM ? 5 : kind == GRU ? 4 : 0; }   // vectors kept side by side for each vector of units: i f g o c; r z n q
constexpr int deltas_of(int kind) { return kind == LSTM ? 4 : kind == GRU ? 4 : 1; }  // gradients a unit: i f g o; n r z n·r

// f(the kind as a compile-time number): code for TANH serves RELU too.
template <class F>
void of_kind(int64_t kind, const F& f) {
    if (kind == LSTM) return f(std::integral_constant<int, LSTM>{});
    kind == GRU ? f(std::integral_constant<int, GRU>{}) : f(std::integral_constant<int, TANH>{});
}

// Longer sequences come first, so that the rows still running at a step are the first ones. Token (t, i), of row i of
// that order, has the number first[t] + i. Nothing is computed for padding, and the numbering doesn't depend on threads.
struct Layout {
    std::vector<int64_t> row, length;     // by i
    std::vector<int64_t> running, first;  // by t; first has one more: all tokens

    // Without lengths, all have all steps.
    Layout(int64_t batch, int64_t steps, const int64_t* lengths) : row(batch), length(batch), running(steps), first(steps + 1) {
        auto length_of = [&](int64_t b) { return lengths ? lengths[b] : steps; };
        std::vector<int64_t> longer(steps + 2, 0);
        for (int64_t b = 0; b < batch; b++) longer[length_of(b)]++;
        for (int64_t t = steps; t > 0; t--) longer[t] += longer[t + 1];  // how many have at least t steps
        for (int64_t t = 0; t < steps; t++) {
            running[t] = longer[t + 1];
            first[t + 1] = first[t] + running[t];
        }
        for (int64_t b = 0; b < batch; b++) {
            int64_t at = longer[length_of(b) + 1]++;
            row[at] = b;
            length[at] = length_of(b);
        }
    }
    // where step t of row i stands in its sequence
    int64_t place(int64_t t, int64_t i, int64_t reverse) const { return reverse ? length[i] - 1 - t : t; }
    // how many of the rows part, part + parts, part + 2 parts … are running at t
    int64_t running_of(int64_t t, int part, int parts) const { return (running[t] - part + parts - 1) / parts; }
};

// Memory that is kept from call to call, of the calling thread.
template <class T>
struct Arena {
    char* memory = nullptr;
    size_t size = 0, used = 0;
    ~Arena() { free(memory); }
    void begin(size_t numbers) {
        size_t wanted = numbers * sizeof(T) + 64 * 64;
        used = 0;
        if (wanted <= size) return;
        free(memory);
        size = (wanted + wanted / 4 + 4095) / 4096 * 4096;
        memory = static_cast<char*>(aligned_alloc(4096, size));
        if (!memory) {
            size = 0;
            throw std::bad_alloc();
        }
    }
    T* take(size_t numbers) {
        T* start = reinterpret_cast<T*>(memory + used);
        used += (numbers * sizeof(T) + 63) / 64 * 64;
        return start;
    }
};

template <class T>
constexpr int64_t vectors(int64_t n) {
    return (n + WIDTH<T> - 1) / WIDTH<T>;
}
template <class T>
constexpr int64_t padded(int64_t n) {
    return vectors<T>(n) * WIDTH<T>;
}

// A recurrence, and numbers that forward leaves for backward.
template <class T>
void recurrence_forward(const Task<T>* task);
template <class T>
void recurrence_backward(const Task<T>* task);
template <class T>
int64_t recurrence_saved(int64_t kind, int64_t tokens, int64_t hidden) {
    return tokens * saved_of(int(kind)) * padded<T>(hidden);
}
