// What a Transformer encoder is given, which numbers are dropped, GELU, and attention within one sequence.
#pragma once
#include <limits>

#include "dropout.h"
#include "normalised.h"
#include "recurrence.h"

// An encoder over a batch of right-padded sequences. Null where a thing isn't there or isn't wanted.
// The fields, in this order, are those of Task in transformer.py.
template <class T>
struct Encoder {
    int64_t batch, steps, inputs, width, layers, heads, feedforward, look_ahead, threads, seed;
    double dropout;          // 0: nothing is dropped
    const int64_t* lengths;  // (B,), each from 1 to steps
    const T* x;              // a sequence every x_row numbers, a step every x_step, D numbers side by side
    int64_t x_row, x_step;
    const T* positions;       // (steps, W)
    const T* const* weights;  // by Place
    T* states;                // (B, steps, W), written by forward, zero at padding
    T* saved;                 // transformer_saved(…) numbers for backward; null: there won't be one
    // backward only
    const T* for_states;  // gradient, strides of its own
    int64_t for_states_row, for_states_step;
    T* for_x;              // (B, steps, D)
    T* for_positions;      // (steps, W)
    T* const* gradients;  // by Place

    int64_t head_width() const { return width / heads; }
};

// Where a weight stands among the weights: two of the input, eleven of each layer, two of the last norm.
enum Place { NORM, NORM_BIAS, QKV, OUTPUT, OUTPUT_BIAS, INNER_NORM, INNER_NORM_BIAS, INNER, INNER_BIAS, OUTER, OUTER_BIAS, PLACES };
constexpr int64_t PROJECT = 0, PROJECT_BIAS = 1;
inline int64_t place(int64_t layer, int which) { return 2 + layer * PLACES + which; }

// --- dropout ---

// Where an encoder drops numbers.
template <class T>
struct Site {
    static Dropout<T> at(const Encoder<T>& task, int64_t number) { return Dropout<T>(task.dropout, task.seed, number); }
    static Dropout<T> input(const Encoder<T>& task) { return at(task, 0); }
    static Dropout<T> attention(const Encoder<T>& task, int64_t layer, int64_t head) { return at(task, 1 + layer * (task.heads + 2) + 2 + head); }
    static Dropout<T> attended(const Encoder<T>& task, int64_t layer) { return at(task, 1 + layer * (task.heads + 2)); }
    static Dropout<T> fed_forward(const Encoder<T>& task, int64_t layer) { return at(task, 2 + layer * (task.heads + 2)); }
};

// --- GELU ---

// erf, 2e-7 at the worst. Near zero x (1 + a polynomial of x²); beyond, 1 - e^(|x| times a polynomial). Both fitted to the
// least largest error, on [0, 0.92] and [0.92, 4]; beyond 4, erf is 1 in this precision, and so is this.
INLINE Vec<float> error_function(Vec<float> x) {
    Vec<float> t = x < 0.0f ? -x : x, s = x * x;
    Vec<float> near = s * -5.99965046e-4f + 4.99488739e-3f;
    near = near * s + -2.67677680e-2f;
    near = near * s + 1.12818480e-1f;
    near = near * s + -3.76124978e-1f;
    near = near * s + 1.28379151e-1f;
    near = near * x + x;
    Vec<float> far = t * -1.15228258e-5f + 3.25657864e-4f;
    far = far * t + -3.65378405e-3f;
    far = far * t + 2.37853881e-2f;
    far = far * t + -1.06263191e-1f;
    far = far * t + -6.35135889e-1f;
    far = far * t + -1.12865222f;
    far = 1.0f - exponential(far * t);
    return t > 0.92f ? (x < 0.0f ? -far : far) : near;
}
INLINE Vec<double> error_function(Vec<double> x) {
    for (int i = 0; i < WIDTH<double>; i++) x[i] = std::erf(x[i]);
    return x;
}

// The share of a normal distribution below x; GELU(x) is x times it.
template <class T>
INLINE Vec<T> share_below(Vec<T> x) {
    return (error_function(x * T(0.70710678118654752)) + T(1)) * T(0.5);
}
template <class T>
INLINE Vec<T> density(Vec<T> x) {
    return exponential(x * x * T(-0.5)) * T(0.39894228040143268);
}

// --- attention ---

constexpr int64_t QUERIES = 48;  // taken at once: their scores stay in the second-level cache, however long the sequence is

// out[r][…] = Σ_k a(r, k) · b[k][…] for n rows, nothing being packed; added to what is there, or not. ALONG: a(r, k) is
// a[k · a_step + r], else a[r · a_step + k]. Of b's columns, ``columns`` exist; it may be read to the end of a vector.
template <class T, bool ALONG>
void multiply_small(int64_t n, int64_t K, const T* a, int64_t a_step, const T* b, int64_t b_step, int64_t columns, T* out, int64_t out_step, bool add) {
    in_panels(vectors<T>(columns), [&](int64_t column, auto width) {
        constexpr int NV = decltype(width)::value;
        in_blocks(n, [&](int64_t first, auto count) {
            constexpr int MR = decltype(count)::value;
            constexpr int CHAINS = MR * NV < 8 ? 2 : 1;  // sums by turns: few of them would wait for each other
            Vec<T> acc[MR][NV], other[MR][NV];
            EACH(r, MR) EACH(j, NV) acc[r][j] = other[r][j] = Vec<T>{}; END END
            const T *right = b + column * WIDTH<T>, *left = a + first * (ALONG ? 1 : a_step);
            auto one = [&](int64_t k, Vec<T>(&sums)[MR][NV]) __attribute__((always_inline)) {
                Vec<T> w[NV];
                EACH(j, NV) w[j] = load(right + k * b_step + j * WIDTH<T>); END
                EACH(r, MR)
                    Vec<T> factor = spread(ALONG ? left[k * a_step + r] : left[r * a_step + k]);
                    EACH(j, NV) sums[r][j] += factor * w[j]; END
                END
            };
            int64_t k = 0;
            for (; CHAINS > 1 && k + 1 < K; k += 2) {
                one(k, acc);
                one(k + 1, other);
            }
            for (; k < K; k++) one(k, acc);
            if (CHAINS > 1) EACH(r, MR) EACH(j, NV) acc[r][j] += other[r][j]; END END
            EACH(r, MR) EACH(j, NV)
                T* to = out + (first + r) * out_step + (column + j) * WIDTH<T>;
                int64_t some = columns - (column + j) * WIDTH<T>;
                store_some(to, add ? load_some(to, some) + acc[r][j] : acc[r][j], some);
            END END
        });
    });
}

// One sequence and one head. Queries, keys and values lie in the columns of a token that are the head's.
template <class T>
struct Attention {
    int64_t row, length, width, step;   // which row of the batch; its tokens; columns of the head; from token to token
    const T *query, *key, *value;
    bool look_ahead;
    T* numbers;  // highest score and inverse sum of each query, numbers_step apart: forward leaves them for backward
    int64_t numbers_step;
    T* memory;  // memory_of(…)

    static int64_t memory_of(int64_t length, int64_t width) { return (2 * width + 3 * QUERIES) * padded<T>(length); }
    int64_t line() const { return padded<T>(length); }
    T* keys() const { return memory; }  // a column of the head a line, so that a vector holds neighbouring keys
    T* values() const { return memory + width * line(); }
    T* scores() const { return memory + 2 * width * line(); }
    T* dropped() const { return scores() + QUERIES * line(); }
    T* deltas() const { return dropped() + QUERIES * line(); }

    void turn(const T* from, T* to) const {
        for (int64_t j = 0; j < length; j += WIDTH<T>)
            transpose(from + j * step, step, int(length - j < WIDTH<T> ? length - j : WIDTH<T>), width, to + j, line());
    }
    int64_t seen_by(int64_t query) const { return look_ahead ? length : query + 1; }

    // Calls f(first, end, keys that these queries may see).
    template <class F>
    void in_queries(const F& f) const {
        for (int64_t first = 0; first < length; first += QUERIES) {
            int64_t end = first + QUERIES < length ? first + QUERIES : length;
            f(first, end, seen_by(end - 1));
        }
    }

    // Σ over keys of softmax(q · k / √width), with some weights dropped, times v.
    void forward(const Dropout<T>& dropout, T* seen, int64_t seen_step) const {
        length <= WIDTH<T> ? forward_short(dropout, seen, seen_step) : forward_long(dropout, seen, seen_step);
    }
    // From the gradient of what was seen to those of query, key and value, delta_step apart.
    void backward(const Dropout<T>& dropout, const T* seen, const T* for_seen, int64_t seen_step, T* for_query, T* for_key, T* for_value,
                  int64_t delta_step) const {
        length <= WIDTH<T> ? backward_short(dropout, seen, for_seen, seen_step, for_query, for_key, for_value, delta_step)
                           : backward_long(dropout, seen, for_seen, seen_step, for_query, for_key, for_value, delta_step);
    }

    // Of R queries, Σ over keys of a weight, R vectors of them, times what stands at the key.
    template <int R>
    INLINE void mix(const T* weights, const T* from, T* to, int64_t to_step) const {
        for (int64_t c = 0; c < width; c += WIDTH<T>) {
            Vec<T> sum[R];
            EACH(r, R) sum[r] = Vec<T>{}; END
            for (int64_t j = 0; j < length; j++) {
                Vec<T> w = load(from + j * step + c);
                EACH(r, R) sum[r] += spread(weights[r * WIDTH<T> + j]) * w; END
            }
            EACH(r, R) store_some(to + r * to_step + c, sum[r], width - c); END
        }
    }

    // All keys in one vector: the scores of a few queries stay in registers. Most sequences are this short.
    void forward_short(Dropout<T> dropout, T* seen, int64_t seen_step) const {
        constexpr int W = WIDTH<T>;
        const T scale = T(1) / std::sqrt(T(width));
        turn(key, keys());
        in_blocks(length, [&](int64_t first, auto count) {
            constexpr int R = decltype(count)::value;
            Vec<T> v[R];
            T top[R], inverse[R];
            EACH(r, R) v[r] = Vec<T>{}; END
            for (int64_t k = 0; k < width; k++) {
                Vec<T> w = load(keys() + k * W);
                EACH(r, R) v[r] += spread(query[(first + r) * step + k]) * w; END
            }
            EACH(r, R)
                v[r] = up_to<T>(v[r] * scale, seen_by(first + r), -std::numeric_limits<T>::infinity());
                top[r] = highest(v[r]);
            END
            EACH(r, R)
                v[r] = up_to<T>(exponential(v[r] - top[r]), seen_by(first + r), T(0));
                inverse[r] = T(1) / total(v[r]);
            END
            EACH(r, R)
                T* number = numbers + (first + r) * numbers_step;
                number[0] = top[r];
                number[1] = inverse[r];
                dropout.at(row, first + r);
                v[r] *= inverse[r];
                store(scores() + r * W, dropout.active ? v[r] * dropout.factor(0) : v[r]);
            END
            mix<R>(scores(), value, seen + first * seen_step, seen_step);
        });
    }

    void backward_short(Dropout<T> dropout, const T* seen, const T* for_seen, int64_t seen_step, T* for_query, T* for_key, T* for_value,
                        int64_t delta_step) const {
        constexpr int W = WIDTH<T>;
        const T scale = T(1) / std::sqrt(T(width));
        turn(key, keys());
        turn(value, values());
        in_blocks(length, [&](int64_t first, auto count) {
            constexpr int R = decltype(count)::value;
            Vec<T> score[R], delta[R], along[R];
            T mean[R];
            EACH(r, R) score[r] = delta[r] = along[r] = Vec<T>{}; END
            for (int64_t k = 0; k < width; k++) {
                Vec<T> one = load(keys() + k * W), other = load(values() + k * W);
                EACH(r, R)
                    score[r] += spread(query[(first + r) * step + k]) * one;
                    delta[r] += spread(for_seen[(first + r) * seen_step + k]) * other;
                END
            }
            for (int64_t c = 0; c < width; c += W) EACH(r, R)
                int64_t at = (first + r) * seen_step + c;
                along[r] += load_some(seen + at, width - c) * load_some(for_seen + at, width - c);
            END
            EACH(r, R) mean[r] = total(along[r]); END
            EACH(r, R)
                const T* number = numbers + (first + r) * numbers_step;
                Vec<T> weight = up_to<T>(exponential(score[r] * scale - number[0]) * number[1], seen_by(first + r), T(0));
                dropout.at(row, first + r);
                Vec<T> factor = dropout.active ? dropout.factor(0) : spread(T(1));
                store(dropped() + (first + r) * W, weight * factor);
                store(deltas() + (first + r) * W, up_to<T>(weight * (delta[r] * factor - mean[r]) * scale, seen_by(first + r), T(0)));
            END
            mix<R>(deltas() + first * W, key, for_query + first * delta_step, delta_step);
        });
        in_blocks(length, [&](int64_t first, auto count) {
            constexpr int R = decltype(count)::value;
            for (int64_t c = 0; c < width; c += W) {
                Vec<T> of_key[R], of_value[R];
                EACH(r, R) of_key[r] = of_value[r] = Vec<T>{}; END
                for (int64_t i = 0; i < length; i++) {
                    Vec<T> one = load(query + i * step + c), other = load(for_seen + i * seen_step + c);
                    EACH(r, R)
                        of_key[r] += spread(deltas()[i * W + first + r]) * one;
                        of_value[r] += spread(dropped()[i * W + first + r]) * other;
                    END
                }
                EACH(r, R)
                    store_some(for_key + (first + r) * delta_step + c, of_key[r], width - c);
                    store_some(for_value + (first + r) * delta_step + c, of_value[r], width - c);
                END
            }
        });
    }

    // Any number of keys.
    void forward_long(Dropout<T> dropout, T* seen, int64_t seen_step) const {
        const T scale = T(1) / std::sqrt(T(width));
        turn(key, keys());
        in_queries([&](int64_t first, int64_t end, int64_t most) {
            multiply_small<T, false>(end - first, width, query + first * step, step, keys(), line(), padded<T>(most), scores(), line(), false);
            for (int64_t i = first; i < end; i++) {
                T *score = scores() + (i - first) * line(), *number = numbers + i * numbers_step;
                int64_t n = seen_by(i);
                Vec<T> high = spread(-std::numeric_limits<T>::infinity()), sum{};
                for (int64_t j = 0; j < n; j += WIDTH<T>) {
                    Vec<T> v = up_to<T>(load(score + j) * scale, n - j, -std::numeric_limits<T>::infinity());
                    high = v > high ? v : high;
                    store(score + j, v);
                }
                T top = highest(high);
                for (int64_t j = 0; j < n; j += WIDTH<T>) {
                    Vec<T> v = up_to<T>(exponential(load(score + j) - top), n - j, T(0));
                    sum += v;
                    store(score + j, v);
                }
                T inverse = T(1) / total(sum);
                number[0] = top;
                number[1] = inverse;
                dropout.at(row, i);
                for (int64_t j = 0; j < most; j += WIDTH<T>) {
                    Vec<T> v = j < n ? load(score + j) * inverse : Vec<T>{};
                    store(score + j, dropout.active ? v * dropout.factor(j) : v);
                }
            }
            multiply_small<T, false>(end - first, most, scores(), line(), value, step, width, seen + first * seen_step, seen_step, false);
        });
    }

    void backward_long(Dropout<T> dropout, const T* seen, const T* for_seen, int64_t seen_step, T* for_query, T* for_key, T* for_value,
                       int64_t delta_step) const {
        const T scale = T(1) / std::sqrt(T(width));
        turn(key, keys());
        turn(value, values());
        T* weights = dropout.active ? dropped() : scores();
        in_queries([&](int64_t first, int64_t end, int64_t most) {
            int64_t queries = end - first, whole = padded<T>(most);
            multiply_small<T, false>(queries, width, query + first * step, step, keys(), line(), whole, scores(), line(), false);
            multiply_small<T, false>(queries, width, for_seen + first * seen_step, seen_step, values(), line(), whole, deltas(), line(), false);
            for (int64_t i = first; i < end; i++) {
                int64_t at = (i - first) * line(), n = seen_by(i);
                const T* number = numbers + i * numbers_step;
                Vec<T> along{};  // Σ of weight times its gradient is that of output times its gradient
                for (int64_t c = 0; c < width; c += WIDTH<T>)
                    along += load_some(seen + i * seen_step + c, width - c) * load_some(for_seen + i * seen_step + c, width - c);
                T mean = total(along);
                dropout.at(row, i);
                for (int64_t j = 0; j < most; j += WIDTH<T>) {
                    Vec<T> weight = up_to<T>(exponential(load(scores() + at + j) * scale - number[0]) * number[1], n - j, T(0));
                    Vec<T> delta = load(deltas() + at + j), factor = dropout.active ? dropout.factor(j) : spread(T(1));
                    store(weights + at + j, weight * factor);
                    store(deltas() + at + j, up_to<T>(weight * (delta * factor - mean) * scale, n - j, T(0)));
                }
            }
            // keys that no earlier query has seen have no gradient to add to yet
            int64_t old = first == 0 ? 0 : look_ahead ? length : first;
            multiply_small<T, false>(queries, most, deltas(), line(), key, step, width, for_query + first * delta_step, delta_step, false);
            auto to_keys = [&](const T* a, const T* b, int64_t b_step, T* out) {
                multiply_small<T, true>(old, queries, a, line(), b, b_step, width, out, delta_step, true);
                multiply_small<T, true>(most - old, queries, a + old, line(), b, b_step, width, out + old * delta_step, delta_step, false);
            };
            to_keys(deltas(), query + first * step, step, for_key);
            to_keys(weights, for_seen + first * seen_step, seen_step, for_value);
        });
    }
};
