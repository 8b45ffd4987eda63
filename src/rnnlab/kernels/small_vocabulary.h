// Words that come again and again in a batch.
#pragma once
#include "whole_steps.h"

constexpr int64_t TIMES = 4;  // each word, on the average, for a table to be worth its products

// What each word of a batch brings to the gates of the first layer, P = E · Wᵀ, computed once per word instead of once per
// token; and the way back, from the gradient of P to those of W and E. A step with K ids adds up K rows, one of each of K tables.
template <class T>
struct LookedUp {
    const Member<T>& m;
    const int64_t* used;            // (count): which rows of the embedding; one more, the last, is padding
    int64_t count, vector, gates;   // numbers of a word; G · H
    std::vector<int32_t> ids;       // (n, K): rows of P
    std::vector<const T*> words;    // (count + 1) rows of E
    T *tables, *gradients;          // of each direction, (K · (count + 1), G · H)

    static bool pays(const Member<T>& m, int64_t tokens, int64_t count) { return !m.normed && !m.columns && TIMES * (count + 1) <= tokens; }

    // `numbers` (n · K): of each id, which of the words in use it is, or -1.
    LookedUp(const Member<T>& member, const int64_t* used, int64_t count, const int32_t* numbers, int64_t n)
        : m(member), used(used), count(count), vector(m.width + m.frozen_width), gates(gates_of(int(m.kind)) * m.hidden), ids(n * m.tokens) {
        for (int64_t i = 0; i < n * m.tokens; i++) ids[i] = int32_t(i % m.tokens * (count + 1) + (numbers[i] < 0 ? count : numbers[i]));
        T* gathered = buffer<T>(WORDS, (count + 1) * vector);
        for (int64_t r = 0; r <= count; r++) {
            int64_t word = r < count ? used[r] : 0;
            T* to = gathered + r * vector;
            memcpy(to, m.table + word * m.width, m.width * sizeof(T));
            if (m.frozen) memcpy(to + m.width, m.frozen + word * m.frozen_width, m.frozen_width * sizeof(T));
            words.push_back(to);
        }
        tables = buffer<T>(LOOKED_UP, 2 * m.directions * kinds() * gates + gates * vector);
        gradients = tables + m.directions * kinds() * gates;
        std::vector<T*> out(count + 1);
        for (int64_t d = 0; d < m.directions; d++)
            for (int64_t k = 0; k < m.tokens; k++) {
                for (int64_t r = 0; r <= count; r++) out[r] = row_of(tables, d, k, r);
                product<T>(count + 1, vector, gates, words.data(), out.data(), [&](int64_t first, int NV, T* panel) {
                    for (int j = 0; j < NV; j++) {
                        int64_t gate = (first + j) * WIDTH<T>;
                        transpose(weights(d) + gate * m.inputs + k * vector, m.inputs, int(std::min<int64_t>(WIDTH<T>, gates - gate)), vector,
                                  panel + j * WIDTH<T>, NV * WIDTH<T>);
                    }
                });
            }
    }

    int64_t kinds() const { return m.tokens * (count + 1); }
    const T* weights(int64_t direction) const { return m.weights[4 * direction]; }
    T* row_of(T* all, int64_t direction, int64_t k, int64_t r) const { return all + (direction * kinds() + k * (count + 1) + r) * gates; }

    void give(Task<T>& task, int64_t direction) const {
        task.inputs = 0, task.ids = ids.data(), task.tokens = m.tokens, task.kinds = kinds();
        task.brought = row_of(tables, direction, 0, 0), task.for_brought = row_of(gradients, direction, 0, 0);
    }

    // From the gradients of P to those of W, and of the words in use, (count, width), unless that is null.
    void learn(T* for_rows) const {
        T* for_weights = gradients + m.directions * kinds() * gates;  // (G · H, vector)
        std::vector<const T*> left(count);
        std::vector<T*> out(count);
        for (int64_t d = 0; d < m.directions; d++)
            for (int64_t k = 0; k < m.tokens; k++) {
                weigh(count + 1, vector, gates, words.data(), row_of(gradients, d, k, 0), gates, for_weights);
                for (int64_t gate = 0; gate < gates; gate++)
                    memcpy(m.gradients[4 * d] + gate * m.inputs + k * vector, for_weights + gate * vector, vector * sizeof(T));
                if (!for_rows) continue;
                for (int64_t r = 0; r < count; r++) left[r] = row_of(gradients, d, k, r), out[r] = for_rows + r * m.width;
                product<T>(count, gates, m.width, left.data(), out.data(), [&](int64_t first, int NV, T* panel) {
                    for (int64_t gate = 0; gate < gates; gate++)
                        for (int j = 0; j < NV; j++, panel += WIDTH<T>) {
                            int64_t column = (first + j) * WIDTH<T>;
                            store(panel, load_some(weights(d) + gate * m.inputs + k * vector + column, m.width - column));
                        }
                }, d > 0 || k > 0);
            }
    }
};
