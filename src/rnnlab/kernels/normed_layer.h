// A recurrent layer with layer norm, in one direction: the product with the input, the norm of what that brings, and the
// steps. These know neither padding nor a reading from the end, so inputs and states change places on the way to them.
#pragma once
#include "whole_steps.h"

template <class T>
struct NormedLayer {
    const Member<T>& m;
    const Step<T>& step;
    int64_t layer, direction, width;  // width: of the input
    std::vector<const T*> inputs;     // of token (b, t) of the steps, (D); padding is zero
    Rows<T> brought{};
    Steps<T> steps{};

    int64_t at() const { return layer * m.directions + direction; }
    int64_t rows() const { return gates_of(int(m.kind)) * m.hidden; }
    int64_t tokens() const { return step.batch * step.steps; }
    // Where step t of a sequence stands; beyond its length, in padding.
    int64_t place(int64_t b, int64_t t) const { return direction ? step.lengths[b] - 1 - t : t; }
    const T* const* weights() const { return m.weights + at() * 4; }
    T* const* gradients() const { return m.gradients + at() * 4; }
    const T* const* gains() const { return m.gains + at() * 4; }
    T* const* for_gains() const { return m.for_gains + at() * 4; }

    // What padding brings to any layer: zeros, and beside them room for its gradient, which nobody reads. All layers ask for
    // as much, so that it stays where it is.
    int64_t widest() const { return std::max(m.inputs, m.width_of_states()); }
    T* zeros() const {
        T* found = buffer<T>(NOTHING, 2 * widest());
        memset(found, 0, widest() * sizeof(T));
        return found;
    }

    // f(b, t) for each token of the steps, padding included.
    template <class F>
    void each(const F& f) const {
        for (int64_t b = 0; b < step.batch; b++)
            for (int64_t t = 0; t < step.steps; t++) f(b, t);
    }

    // x (B, T, D) → states (B, T, W), of which this direction writes its columns, zero at padding, and ends (B, W).
    void forward(const T* x, const T* mask, T* states, T* ends) {
        T* nothing = zeros();
        inputs.clear();
        each([&](int64_t b, int64_t t) {
            inputs.push_back(t < step.lengths[b] ? x + (b * step.steps + place(b, t)) * width : nothing);
        });
        T *products = buffer<T>(PRODUCTS, tokens() * rows()), *a = buffer<T>(BROUGHT, tokens() * rows());
        std::vector<T*> to;
        for (int64_t token = 0; token < tokens(); token++) to.push_back(products + token * rows());
        multiply_by<T>(tokens(), width, rows(), inputs.data(), weights()[0], to.data());

        brought.tokens = tokens(), brought.gates = gates_of(int(m.kind)), brought.hidden = m.hidden, brought.threads = m.threads;
        brought.gain = gains()[0], brought.bias = weights()[2], brought.x = products, brought.out = a;
        brought.normed = buffer<T>(NORMED + int(at()), tokens() * normalised_input_saved<T>(brought.gates, m.hidden));
        brought.scales = buffer<T>(SCALES + int(at()), tokens() * brought.gates);
        steps.saved = buffer<T>(SAVED + int(at()), normalised_saved<T>(m.kind, tokens(), m.hidden));
        normalised_input_forward<T>(&brought);

        steps.kind = m.kind, steps.batch = step.batch, steps.steps = step.steps, steps.hidden = m.hidden, steps.threads = m.threads;
        steps.a = a, steps.w_hh = weights()[1], steps.b_hh = weights()[3], steps.mask = mask;
        steps.gain = gains()[1], steps.cell_gain = gains()[2], steps.cell_bias = gains()[3];
        steps.states = buffer<T>(OWN + int(at()), tokens() * m.hidden);
        normalised_forward<T>(&steps);

        int64_t W = m.width_of_states(), bytes = m.hidden * sizeof(T);
        each([&](int64_t b, int64_t t) {
            bool real = t < step.lengths[b];
            T* to = states + (b * step.steps + (real ? place(b, t) : t)) * W + direction * m.hidden;
            real ? memcpy(to, steps.state(t, b), bytes) : memset(to, 0, bytes);
        });
        for (int64_t b = 0; b < step.batch; b++)
            memcpy(ends + b * W + direction * m.hidden, steps.state(step.lengths[b] - 1, b), bytes);
    }

    // From the gradient of the states (B, T, W) to those of weights and gains, and of x, written or added to, unless it
    // is null. What stands at padding there means nothing.
    void backward(const T* for_states, T* for_x, bool add) {
        int64_t W = m.width_of_states(), bytes = m.hidden * sizeof(T);
        T* own = buffer<T>(FOR_OWN, tokens() * m.hidden);
        each([&](int64_t b, int64_t t) {
            T* to = own + (b * step.steps + t) * m.hidden;
            if (t < step.lengths[b])
                memcpy(to, for_states + (b * step.steps + place(b, t)) * W + direction * m.hidden, bytes);
            else
                memset(to, 0, bytes);
        });
        T *delta = buffer<T>(PRODUCTS, tokens() * rows()), *for_a = buffer<T>(BROUGHT, tokens() * rows());
        steps.for_states = own, steps.for_states_row = step.steps * m.hidden, steps.for_states_step = m.hidden;
        steps.for_a = for_a, steps.for_w_hh = gradients()[1], steps.for_b_hh = gradients()[3];
        steps.for_gain = for_gains()[1], steps.for_cell_gain = for_gains()[2], steps.for_cell_bias = for_gains()[3];
        normalised_backward<T>(&steps);

        brought.for_out = for_a, brought.for_x = delta, brought.for_gain = for_gains()[0], brought.for_bias = gradients()[2];
        normalised_input_backward<T>(&brought);
        weigh(tokens(), width, rows(), inputs.data(), delta, rows(), gradients()[0]);
        if (!for_x) return;
        T* nowhere = zeros() + widest();
        std::vector<const T*> left;
        std::vector<T*> to;
        each([&](int64_t b, int64_t t) {
            left.push_back(delta + (b * step.steps + t) * rows());
            to.push_back(t < step.lengths[b] ? for_x + (b * step.steps + place(b, t)) * width : nowhere);
        });
        multiply_back<T>(tokens(), width, rows(), left.data(), weights()[0], to.data(), add);
    }
};
