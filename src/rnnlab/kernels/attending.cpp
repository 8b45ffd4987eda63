// The scores of additive attention, v · tanh(q + k) of every query and every place: forward and backward.
//
// The tanh of a query and a place, H numbers each, is never stored: backward computes it again, which takes less time
// than to write and read (B, L, S, H) numbers.
#include <vector>

#include "threads.h"
#include "vector.h"

namespace {

// Queries (batch, steps, hidden), keys (batch, places, hidden), v (hidden); of each row `lengths` places are real. Scores
// (batch, steps, places): those of other places are not touched.
template <class T>
void additive_forward(int64_t batch, int64_t steps, int64_t places, int64_t hidden, const int64_t* lengths,
                      const T* queries, const T* keys, const T* v, T* scores, int64_t threads) {
    in_parallel(threads_for(threads, batch), [&](int part, int parts) {
        for (int64_t b = batch * part / parts; b < batch * (part + 1) / parts; b++)
            for (int64_t l = 0; l < steps; l++) {
                const T* q = queries + (b * steps + l) * hidden;
                for (int64_t s = 0; s < lengths[b]; s++) {
                    const T* k = keys + (b * places + s) * hidden;
                    Vec<T> sum{};
                    for (int64_t h = 0; h < hidden; h += WIDTH<T>) {
                        int64_t n = hidden - h;
                        sum += load_some(v + h, n) * hyperbolic(load_some(q + h, n) + load_some(k + h, n));
                    }
                    scores[(b * steps + l) * places + s] = total(sum);
                }
            }
    });
}

// Adds to nothing: `for_queries`, `for_keys` and `for_v` are written.
template <class T>
void additive_backward(int64_t batch, int64_t steps, int64_t places, int64_t hidden, const int64_t* lengths,
                       const T* queries, const T* keys, const T* v, const T* for_scores, T* for_queries, T* for_keys,
                       T* for_v, int64_t threads) {
    int n = threads_for(threads, batch);
    std::vector<T> own(size_t(n) * hidden);
    in_parallel(n, [&](int part, int parts) {
        std::vector<Vec<T>> of_places(places);
        for (int64_t b = batch * part / parts; b < batch * (part + 1) / parts; b++)
            for (int64_t h = 0; h < hidden; h += WIDTH<T>) {
                int64_t rest = hidden - h;
                Vec<T> weight = load_some(v + h, rest), sum = load_some(&own[size_t(part) * hidden + h], rest);
                std::fill(of_places.begin(), of_places.end(), Vec<T>{});
                for (int64_t l = 0; l < steps; l++) {
                    int64_t row = b * steps + l;
                    Vec<T> q = load_some(queries + row * hidden + h, rest), of_query{};
                    for (int64_t s = 0; s < lengths[b]; s++) {
                        T g = for_scores[row * places + s];
                        Vec<T> t = hyperbolic(q + load_some(keys + (b * places + s) * hidden + h, rest));
                        Vec<T> d = g * weight * (T(1) - t * t);
                        sum += g * t;
                        of_query += d;
                        of_places[s] += d;
                    }
                    store_some(for_queries + row * hidden + h, of_query, rest);
                }
                for (int64_t s = 0; s < places; s++)
                    store_some(for_keys + (b * places + s) * hidden + h, of_places[s], rest);
                store_some(&own[size_t(part) * hidden + h], sum, rest);
            }
    });
    for (int64_t h = 0; h < hidden; h++) {
        T sum = 0;
        for (int part = 0; part < n; part++) sum += own[size_t(part) * hidden + h];
        for_v[h] = sum;
    }
}

}  // namespace

EXPORT(additive_forward)
EXPORT(additive_backward)
