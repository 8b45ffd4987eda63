// How the states of the last layer become one summary, as models/pooling.py has it, and its way back.
#pragma once
#include "whole_steps.h"

// part(b) for each row of the batch, split over the threads of a step.
template <class T, class Part>
void each_row(const Member<T>& m, const Step<T>& step, const Part& part) {
    in_parallel(int(std::min(m.threads, step.batch)), [&](int i, int parts) {
        for (int64_t b = step.batch * i / parts; b < step.batch * (i + 1) / parts; b++) part(b);
    });
}

// The highest of `length` rows in each of NV vectors of columns, and how many rows have it. A NaN is the highest.
template <class T, int NV>
INLINE void highest_of(const T* rows, int64_t length, int64_t width, int64_t left, T* highest, T* equals) {
    Vec<T> top[NV], count[NV];
    EACH(j, NV)
        top[j] = load_some(rows + j * WIDTH<T>, left - j * WIDTH<T>);
        count[j] = spread(T(1));
    END
    for (int64_t t = 1; t < length; t++)
        EACH(j, NV)
            Vec<T> v = load_some(rows + t * width + j * WIDTH<T>, left - j * WIDTH<T>);
            auto higher = (v > top[j]) | (v != v);
            count[j] = higher ? spread(T(1)) : count[j] + (v == top[j] ? spread(T(1)) : Vec<T>{});
            top[j] = higher ? v : top[j];
        END
    EACH(j, NV)
        store_some(highest + j * WIDTH<T>, top[j], left - j * WIDTH<T>);
        if (equals) store_some(equals + j * WIDTH<T>, count[j], left - j * WIDTH<T>);
    END
}

template <class T>
T dot(const T* a, const T* b, int64_t n) {
    Vec<T> sum{};
    for (int64_t i = 0; i < n; i += WIDTH<T>) sum += load_some(a + i, n - i) * load_some(b + i, n - i);
    return total(sum);
}

// The summary of a batch, and what its gradient needs.
template <class T>
struct Summary {
    const Member<T>& m;
    const Step<T>& step;
    const T* states;   // (B, T, W), zero at padding
    T* summary;        // (B, S)
    T* shares;         // of max: how many states are the highest, (B, W); of attention: its weights, (B, T)

    int64_t width() const { return m.width_of_states(); }
    int64_t length(int64_t b) const { return step.lengths[b]; }
    const T* state(int64_t b, int64_t t) const { return states + (b * step.steps + t) * width(); }

    // `ends` (B, W): the states after each sequence's last step, in each direction.
    static Summary of(const Member<T>& m, const Step<T>& step, const T* states, T* ends) {
        Summary pool{m, step, states, ends, nullptr};
        if (m.pooling == LAST) return pool;
        pool.summary = buffer<T>(SUMMARY, step.batch * m.width_read());
        if (m.pooling == MAX) pool.shares = buffer<T>(SHARES, step.batch * pool.width());
        if (m.pooling == ATTENTION) pool.shares = buffer<T>(SHARES, step.batch * step.steps);
        each_row(m, step, [&](int64_t b) { pool.sum_up(b, pool.summary + b * m.width_read()); });
        return pool;
    }

    void sum_up(int64_t b, T* to) const {
        int64_t W = width();
        switch (m.pooling) {
            case FIRST_LAST:
                memcpy(to, state(b, 0), W * sizeof(T));
                memcpy(to + W, state(b, length(b) - 1), W * sizeof(T));
                break;
            case MEAN:
                memset(to, 0, W * sizeof(T));
                for (int64_t t = 0; t < length(b); t++) add(W, T(1), state(b, t), to);
                for (int64_t u = 0; u < W; u++) to[u] /= T(length(b));
                break;
            case MAX:
                in_panels(vectors<T>(W), [&](int64_t first, auto count) {
                    int64_t at = first * WIDTH<T>;
                    highest_of<T, decltype(count)::value>(state(b, 0) + at, length(b), W, W - at, to + at, shares + b * W + at);
                });
                break;
            default: attend(b, to);
        }
    }

    // softmax(states · query) over the real steps, and the mean of the states by these weights.
    void attend(int64_t b, T* to) const {
        T *weights = shares + b * step.steps, highest = 0, sum = 0;
        for (int64_t t = 0; t < length(b); t++) {
            weights[t] = dot(state(b, t), m.query, width());
            if (t == 0 || !(weights[t] <= highest)) highest = weights[t];
        }
        for (int64_t t = 0; t < length(b); t++) sum += weights[t] = std::exp(weights[t] - highest);
        memset(to, 0, width() * sizeof(T));
        for (int64_t t = 0; t < length(b); t++) add(width(), weights[t] /= sum, state(b, t), to);
    }

    // Tells the last layer, `tasks` of it one a direction, the gradient of its states from that of the summary (B, S),
    // which is used up. Nothing is written for every state where that can be helped.
    void learn(Task<T>* tasks, T* for_summary) const {
        int64_t W = width();
        if (m.pooling == MEAN || m.pooling == MAX)
            each_row(m, step, [&](int64_t b) {
                T* mine = for_summary + b * W;
                for (int64_t u = 0; u < W; u++) mine[u] /= m.pooling == MEAN ? T(length(b)) : shares[b * W + u];
            });
        T* for_states = m.pooling == FIRST_LAST || m.pooling == ATTENTION ? spread_out(for_summary) : nullptr;
        for (int64_t d = 0; d < m.directions; d++) {
            Task<T>& task = tasks[d];
            int64_t at = d * m.hidden;
            if (m.pooling == LAST) task.for_h_end = for_summary + at;
            if (m.pooling == MEAN) task.for_states = for_summary + at, task.for_states_row = W, task.for_states_step = 0;
            if (m.pooling == MAX) task.highest = summary + at, task.for_highest = for_summary + at;
            if (for_states) task.for_states = for_states + at, task.for_states_row = step.steps * W, task.for_states_step = W;
        }
    }

    // The gradient of each state, (B, T, W), from that of the summary. What stands at padding there means nothing.
    T* spread_out(const T* for_summary) const {
        int64_t W = width(), S = m.width_read();
        T* all = buffer<T>(FOR_STATES, step.batch * step.steps * W);
        T* for_query = m.pooling == ATTENTION ? buffer<T>(FOR_QUERY, step.batch * W) : nullptr;
        each_row(m, step, [&](int64_t b) {
            T* mine = all + b * step.steps * W;
            if (for_query) return for_attention(b, for_summary + b * W, mine, for_query + b * W);
            memset(mine, 0, length(b) * W * sizeof(T));
            spread_row(b, for_summary + b * S, mine);
        });
        if (for_query) memset(m.for_query, 0, W * sizeof(T));
        for (int64_t b = 0; for_query && b < step.batch; b++) add(W, T(1), for_query + b * W, m.for_query);
        return all;
    }

    void spread_row(int64_t b, const T* given, T* for_states) const {
        int64_t W = width(), H = m.hidden, last = (length(b) - 1) * W;
        if (m.pooling == LAST) {  // of a reading from the end, the first one
            add(H, T(1), given, for_states + last);
            if (m.directions > 1) add(H, T(1), given + H, for_states + H);
        } else if (m.pooling == FIRST_LAST) {
            add(W, T(1), given, for_states);
            add(W, T(1), given + W, for_states + last);
        } else {
            for (int64_t t = 0; t < length(b); t++)
                for (int64_t u = 0; u < W; u++)
                    if (m.pooling == MEAN)
                        for_states[t * W + u] = given[u] / T(length(b));
                    else if (state(b, t)[u] == summary[b * W + u])
                        for_states[t * W + u] = given[u] / shares[b * W + u];
        }
    }

    void for_attention(int64_t b, const T* given, T* for_states, T* for_query) const {
        int64_t W = width();
        const T* weights = shares + b * step.steps;
        T mean = dot(given, summary + b * W, W);  // Σ over steps of the weight times the weight's gradient
        memset(for_query, 0, W * sizeof(T));
        for (int64_t t = 0; t < length(b); t++) {
            T score = weights[t] * (dot(given, state(b, t), W) - mean);
            add(W, score, state(b, t), for_query);
            for (int64_t u = 0; u < W; u++) for_states[t * W + u] = weights[t] * given[u] + score * m.query[u];
        }
    }
};
