// A vocabulary that is smaller than its vectors.
#pragma once
#include "whole_steps.h"

// The embedding of a small vocabulary as part of the weights of the first layer. W · [e(a); e(b)] is a sum of columns of
// P = W · E, one for each of the ids a step has: the layer gets P as its weights, and K · V zeros and ones as its input.
template <class T>
struct Folded {
    const Member<T>& m;
    int64_t rows, vector, columns;  // of a layer's weights; numbers of a word; K · V
    T *words, *weights, *gradients;  // E (V, ·); of each direction P and its gradient, (rows, K · V)

    explicit Folded(const Member<T>& member)
        : m(member), rows(gates_of(int(m.kind)) * m.hidden), vector(m.width + m.frozen_width), columns(m.tokens * m.words) {
        words = buffer<T>(WORDS, 2 * m.words * vector);
        weights = buffer<T>(FOLDED, 2 * m.directions * rows * columns);
        gradients = weights + m.directions * rows * columns;
        T* across = words + m.words * vector;  // Eᵀ
        for (int64_t v = 0; v < m.words; v++) {
            memcpy(words + v * vector, m.table + v * m.width, m.width * sizeof(T));
            if (m.frozen) memcpy(words + v * vector + m.width, m.frozen + v * m.frozen_width, m.frozen_width * sizeof(T));
            for (int64_t j = 0; j < vector; j++) across[j * m.words + v] = words[v * vector + j];
        }
        memset(weights, 0, m.directions * rows * columns * sizeof(T));
        for (int64_t d = 0; d < m.directions; d++)
            for (int64_t row = 0; row < rows; row++)
                for (int64_t k = 0; k < m.tokens; k++)
                    for (int64_t j = 0; j < vector; j++)
                        add(m.words, m.weights[4 * d][row * m.inputs + k * vector + j], across + j * m.words,
                            of(weights, d) + row * columns + k * m.words);
    }
    T* of(T* all, int64_t direction) const { return all + direction * rows * columns; }

    // The input (n, K · V); which words occur, but for padding, into `used`. -1: an id that isn't there.
    int64_t lay(const int64_t* ids, int64_t n, T* x, int64_t* used) const {
        memset(x, 0, n * columns * sizeof(T));
        std::vector<char> seen(m.words);
        for (int64_t i = 0; i < n * m.tokens; i++) {
            if (ids[i] < 0 || ids[i] >= m.words) return -1;
            if (ids[i] == 0) continue;
            x[i * m.words + ids[i]] = 1;
            seen[ids[i]] = 1;
        }
        int64_t count = 0;
        for (int64_t v = 1; v < m.words; v++)
            if (seen[v]) used[count++] = v;
        return count;
    }

    // From the gradients of P to those of W, and of the words in use, (count, width), unless that is null.
    void unfold(const int64_t* used, int64_t count, T* for_rows) const {
        if (for_rows) memset(for_rows, 0, count * m.width * sizeof(T));
        for (int64_t d = 0; d < m.directions; d++) {
            const T *gradient = of(gradients, d), *W = m.weights[4 * d];
            memset(m.gradients[4 * d], 0, rows * m.inputs * sizeof(T));
            for (int64_t row = 0; row < rows; row++)
                for (int64_t k = 0; k < m.tokens; k++) {
                    int64_t at = row * m.inputs + k * vector;
                    for (int64_t u = 0; u < count; u++) {
                        T delta = gradient[row * columns + k * m.words + used[u]];
                        add(vector, delta, words + used[u] * vector, m.gradients[4 * d] + at);
                        if (for_rows) add(m.width, delta, W + at, for_rows + u * m.width);
                    }
                }
        }
    }
};
