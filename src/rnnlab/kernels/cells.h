// What a cell makes of the sums that reach its gates, in one step and for a vector of units; and the way back.
#pragma once
#include "vector.h"

// From the gradient of s = σ(z), or of t = tanh(z), to that of z.
template <class V>
INLINE V through_sigmoid(V gradient, V s) { return gradient * s * (1 - s); }
template <class V>
INLINE V through_tanh(V gradient, V t) { return gradient * (1 - t * t); }

// The RNN's state h, and from its gradient to that of the sum.
template <class V>
INLINE V activated(bool relu, V sum) { return relu ? (sum < 0 ? V{} : sum) : hyperbolic(sum); }
template <class V>
INLINE V through_activation(bool relu, V gradient, V h) { return relu ? (h <= 0 ? V{} : gradient) : through_tanh(gradient, h); }

template <class T>
struct LstmGates {
    Vec<T> in, forget, candidate, out;

    INLINE static LstmGates of(Vec<T> in, Vec<T> forget, Vec<T> candidate, Vec<T> out) {
        return {sigmoid(in), sigmoid(forget), hyperbolic(candidate), sigmoid(out)};
    }
    INLINE static LstmGates kept(const T* from, int64_t apart) {
        return {load(from), load(from + apart), load(from + 2 * apart), load(from + 3 * apart)};
    }
    INLINE void keep(T* to, int64_t apart) const {
        store(to, in);
        store(to + apart, forget);
        store(to + 2 * apart, candidate);
        store(to + 3 * apart, out);
    }
    INLINE Vec<T> cell(Vec<T> before) const { return forget * before + in * candidate; }
    // From the gradient of the cell to those of the sums of all gates but the output's.
    INLINE void back(Vec<T> gradient, Vec<T> before, Vec<T> (&of)[3]) const {
        of[0] = through_sigmoid(gradient * candidate, in);
        of[1] = through_sigmoid(gradient * before, forget);
        of[2] = through_tanh(gradient * in, candidate);
    }
};

template <class T>
struct GruGates {
    Vec<T> reset, update, candidate;

    INLINE static GruGates kept(const T* from, int64_t apart) { return {load(from), load(from + apart), load(from + 2 * apart)}; }
    INLINE void keep(T* to, int64_t apart) const {
        store(to, reset);
        store(to + apart, update);
        store(to + 2 * apart, candidate);
    }
    INLINE Vec<T> state(Vec<T> before) const { return candidate + update * (before - candidate); }
    // From the gradient of the state to those of the sums of candidate and update.
    INLINE Vec<T> for_candidate(Vec<T> gradient) const { return through_tanh(gradient * (1 - update), candidate); }
    INLINE Vec<T> for_update(Vec<T> gradient, Vec<T> before) const { return through_sigmoid(gradient * (before - candidate), update); }
};
