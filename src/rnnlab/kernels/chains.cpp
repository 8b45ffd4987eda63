// Linear chains of tags: the probability of every path, by forward and backward passes, and the best path.
//
// Probabilities, not their logarithms: a step is a product with a matrix, and what a step has is divided by its sum.
// Double precision inside. What that can't hold is left to others: a row is done only if every tag that can be reached
// has a share of at least `LEAST` at every step. Then nothing that matters was lost on the way: a tag's share is a sum
// of positive numbers, and to go backward, paths that are lost have a probability below 1e-300 in all.
#include <algorithm>
#include <vector>

#include "product.h"

namespace {

constexpr double LEAST = 1e-200;
constexpr double WIDEST = 250;      // between the scores of a token; more is left to others
constexpr double ALLOWED = 100;     // below the highest of the chain: what goes on counting
constexpr double FORBIDDEN = 1000;  // below it: what is impossible; in between is left to others
constexpr int64_t FETCHED = 12;     // features whose weights are fetched from memory while others are worked on
constexpr int LATEST = 64;          // steps after which the tags that can be reached are always the same

typedef Vec<double> Wide;
constexpr int W = WIDTH<double>;

// e^x for x from -700 to 0: 2^n times the series on [-ln 2 / 2, ln 2 / 2].
INLINE Wide power(Wide x) {
    typedef int64_t Longs __attribute__((vector_size(VECTOR_BYTES)));
    const double big = 6755399441055744.0;  // 1.5 · 2^52: adding it leaves the nearest whole number in the last bits
    Wide whole = x * 1.4426950408889634 + big;
    Wide n = whole - big;
    Wide f = (x - n * 0.693147180369123816490) - n * 1.90821492927058770002e-10;
    Wide p = f * (1.0 / 39916800) + 1.0 / 3628800;
    for (double factor : {1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1.0, 1.0})
        p = p * f + factor;
    return (Wide)((Longs)p + ((Longs)whole << 52));
}

// Powers of a part of the chain, relative to its highest; false: some are neither allowed nor forbidden.
template <class T>
bool powers_of(const T* from, int64_t n, double highest, double* to) {
    bool known = true;
    for (int64_t i = 0; i < n; i++) {
        to[i] = double(from[i]) - highest;
        known &= to[i] >= -ALLOWED || to[i] <= -FORBIDDEN;  // not NaN, either
    }
    for (int64_t i = 0; i < n; i += W) {
        Wide x = load_some(to + i, n - i);
        store_some(to + i, x >= -ALLOWED ? power(x) : Wide{}, n - i);
    }
    return known;
}

struct Chain {
    int64_t tags, width;  // width: a whole number of vectors
    double highest = 0, first = 0, last = 0;  // of the moves, the starts and the ends
    std::vector<double> moves, turned, starts, ends;  // powers: (C, width), and the same from j to i; (width), (width)
    std::vector<std::vector<double>> beyond;  // of each step until nothing changes: 0 if a tag can be reached, else 1

    template <class T>
    bool read(int64_t C, const T* chain) {
        tags = C;
        width = (C + W - 1) / W * W;
        moves.resize(C * width);  // zero beyond the tags
        turned.resize(C * width);
        starts.resize(width);
        ends.resize(width);
        beyond.clear();
        highest = *std::max_element(chain, chain + C * C);
        first = *std::max_element(chain + C * C, chain + C * C + C);
        last = *std::max_element(chain + C * C + C, chain + C * C + 2 * C);
        for (int64_t i = 0; i < C; i++) {
            if (!powers_of(chain + i * C, C, highest, &moves[i * width])) return false;
            for (int64_t j = 0; j < C; j++) turned[j * width + i] = moves[i * width + j];
        }
        return powers_of(chain + C * C, C, first, starts.data()) && powers_of(chain + C * C + C, C, last, ends.data()) && reach();
    }

    bool reach() {
        std::vector<double> now(width);
        for (int64_t j = 0; j < width; j++) now[j] = starts[j] > 0 ? 0 : 1;
        while (beyond.size() < LATEST) {
            beyond.push_back(now);
            std::vector<double> next(width, 1.0);
            for (int64_t j = 0; j < tags; j++) {
                for (int64_t i = 0; i < tags && next[j] > 0; i++)
                    if (now[i] == 0 && moves[i * width + j] > 0) next[j] = 0;
            }
            if (next == now) return true;
            now.swap(next);
        }
        return false;
    }
    const double* beyond_at(int64_t t) const { return beyond[std::min<int64_t>(t, beyond.size() - 1)].data(); }
};

// to (width) = Σ_k factors[k] · table[k]
INLINE void combine(int64_t K, int64_t width, const double* factors, const double* table, double* to) {
    in_panels(width / W, [&](int64_t column, auto columns) {
        constexpr int NV = decltype(columns)::value;
        const double* from = table + column * W;
        Wide even[NV] = {}, odd[NV] = {};  // two sums, which need not wait for each other
        int64_t k = 0;
        for (; k + 2 <= K; k += 2, from += 2 * width) {
            Wide a = spread(factors[k]), b = spread(factors[k + 1]);
            EACH(j, NV)
                even[j] += a * load(from + j * W);
                odd[j] += b * load(from + width + j * W);
            END
        }
        if (k < K) {
            Wide a = spread(factors[k]);
            EACH(j, NV) even[j] += a * load(from + j * W); END
        }
        EACH(j, NV) store(to + (column + j) * W, even[j] + odd[j]); END
    });
}

struct Pass {
    const Chain& chain;
    std::vector<double> alphas, powers, sums;  // (T, width) twice, (T)
    std::vector<double> counts;                // (C, width): how often each move is expected, over its power

    explicit Pass(const Chain& chain) : chain(chain), counts(chain.tags * chain.width) {}

    // log Z of a row of emissions (n, C); NaN: it isn't one that can be done.
    template <class T>
    double forward(const T* emissions, int64_t n) {
        int64_t C = chain.tags, width = chain.width;
        if (int64_t(sums.size()) < n) {
            alphas.resize(n * width);
            powers.resize(n * width);
            sums.resize(n);
        }
        double total = chain.first + chain.last + (n - 1) * chain.highest;
        std::vector<double> own(width);
        for (int64_t t = 0; t < n; t++) {
            const T* from = emissions + t * C;
            double least = from[0], most = from[0];
            bool real = true;
            for (int64_t j = 0; j < C; j++) {
                double x = own[j] = from[j];
                real &= x == x;
                least = std::min(least, x);
                most = std::max(most, x);
            }
            if (!real || !(most - least <= WIDEST)) return NAN;
            double *alpha = &alphas[t * width], *power_at = &powers[t * width];
            if (t > 0) combine(C, width, alpha - width, chain.moves.data(), alpha);
            const double *before = t > 0 ? alpha : chain.starts.data(), *beyond = chain.beyond_at(t);
            Wide sum{}, lowest = spread(1.0);
            for (int64_t j = 0; j < width; j += W) {
                Wide x = up_to(power(load(&own[j]) - most), C - j, 0.0);
                Wide a = load(before + j) * x, there = a + load(beyond + j);
                store(power_at + j, x);
                store(alpha + j, a);
                lowest = there < lowest ? there : lowest;
                sum += a;
            }
            double z = ::total(sum), low = -::highest(-lowest);
            if (!(z >= LEAST) || !(low >= LEAST * z)) return NAN;
            sums[t] = z;
            for (int64_t j = 0; j < width; j += W) store(alpha + j, load(alpha + j) * (1 / z));
            total += std::log(z) + most;
        }
        double end = 0;
        for (int64_t j = 0; j < C; j++) end += alphas[(n - 1) * width + j] * chain.ends[j];
        return end >= LEAST ? total + std::log(end) : NAN;
    }

    // After `forward`: probabilities (n, C), and what they add to the counts, the starts' and the ends' (both as they are).
    template <class T>
    void backward(int64_t n, T* shares, double* for_starts, double* for_ends) {
        int64_t C = chain.tags, width = chain.width;
        double end = 0;
        std::vector<double> beta(width), own(width);
        for (int64_t j = 0; j < C; j++) end += alphas[(n - 1) * width + j] * chain.ends[j];
        for (int64_t j = 0; j < C; j++) beta[j] = chain.ends[j] / end;
        for (int64_t t = n - 1; t >= 0; t--) {
            double *alpha = &alphas[t * width], *next = &powers[t * width];  // where power · beta / sum goes
            for (int64_t j = 0; j < width; j += W) {
                Wide a = load(alpha + j), b = load(&beta[j]);
                b = a > 0 ? b : Wide{};  // of a tag that can't be reached it may be anything
                store(next + j, load(next + j) * b * (1 / sums[t]));
                store(&own[j], a * b);
            }
            for (int64_t j = 0; j < C; j++) shares[t * C + j] = T(own[j]);
            if (t == n - 1 && for_ends) add(C, 1.0, own.data(), for_ends);
            if (t == 0 && for_starts) add(C, 1.0, own.data(), for_starts);
            if (t > 0) combine(C, width, next, chain.turned.data(), beta.data());
        }
    }

    // counts += alphasᵀ · what `backward` left of the next step
    void count(int64_t n) {
        int64_t width = chain.width;
        in_panels(width / W, [&](int64_t column, auto columns) {
            constexpr int NV = decltype(columns)::value;
            in_blocks(chain.tags, [&](int64_t first, auto rows) {
                constexpr int MR = decltype(rows)::value;
                double* to = &counts[first * width + column * W];
                Wide acc[MR][NV];
                EACH(r, MR) EACH(j, NV) acc[r][j] = load(to + r * width + j * W); END END
                multiply_along<double, MR, NV>(n - 1, &alphas[first], width, &powers[width + column * W], acc, width);
                EACH(r, MR) EACH(j, NV) store(to + r * width + j * W, acc[r][j]); END END
            });
        });
    }

    void add_counts(double* for_chain) {
        for (int64_t i = 0; i < chain.tags; i++)
            for (int64_t j = 0; j < chain.tags; j++)
                for_chain[i * chain.tags + j] += chain.moves[i * chain.width + j] * counts[i * chain.width + j];
    }
};

// -log p of a path of a row of n tokens, with its gradients; those for the chain are added, but for the expected moves, which
// the pass goes on counting. Without a path: log Z, and probabilities. NaN: the row can't be done.
template <class T>
double loss_of_row(const Chain& read, Pass& pass, const T* emissions, int64_t n, const T* chain, const int64_t* path,
                   T* for_emissions, double* for_chain) {
    int64_t C = read.tags;
    double loss = pass.forward(emissions, n);
    if (loss != loss) return loss;
    double *starts = for_chain ? for_chain + C * C : nullptr, *ends = for_chain ? starts + C : nullptr;
    pass.backward(n, for_emissions, starts, ends);
    if (!path) return loss;
    if (n > 1) pass.count(n);
    starts[path[0]] -= 1;
    ends[path[n - 1]] -= 1;
    loss -= double(chain[C * C + path[0]]) + double(chain[C * C + C + path[n - 1]]);
    for (int64_t t = 0; t < n; t++) {
        loss -= double(emissions[t * C + path[t]]);
        for_emissions[t * C + path[t]] -= T(1);
        if (t == 0) continue;
        loss -= double(chain[path[t - 1] * C + path[t]]);
        for_chain[path[t - 1] * C + path[t]] -= 1;
    }
    return loss;
}

}  // namespace

// Of rows of emissions (N, C) that lie end to end, with a chain (C + 2, C): the losses (rows) of the paths `targets` (N), NaN
// where a row is left to others, and the gradients of the sum of the others, for_chain (C + 2, C) in double precision.
// Without targets: log Z, and probabilities. Returns how many rows were done; -1 for a chain that is left to others.
template <class T>
int64_t chain_losses(int64_t rows, int64_t tags, const T* emissions, const int64_t* offsets, const T* chain, const int64_t* targets,
                     double* losses, T* for_emissions, double* for_chain) {
    Chain read;
    if (!read.read(tags, chain)) return -1;
    Pass pass(read);
    int64_t done = 0, C = tags;
    for (int64_t row = 0; row < rows; row++) {
        int64_t at = offsets[row], n = offsets[row + 1] - at;
        const int64_t* path = targets ? targets + at : nullptr;
        losses[row] = n ? loss_of_row(read, pass, emissions + at * C, n, chain, path, for_emissions + at * C, for_chain) : 0;
        done += losses[row] == losses[row];
    }
    if (for_chain) pass.add_counts(for_chain);
    return done;
}

// One pass over the rows of a conditional random field, in the given order, each followed by a step of AdaGrad (Duchi et al.
// 2011). Token i has the features indices[starts[i] … starts[i + 1]]; tables (features, C) and chain (C + 2, C), each with the
// sums of the squares of its gradients. `pulls` (features): the penalty's share of one appearance of a feature; the chain's
// is `pull`, of a row. Returns how many rows were done: all, or those before one that is left to others.
extern "C" int64_t chain_descend(int64_t rows, int64_t tags, const int32_t* order, const int64_t* offsets, const int64_t* targets,
                                 const int32_t* indices, const int64_t* starts, const float* pulls, double pull, double rate,
                                 float* table, float* squares, float* chain, float* chain_squares) {
    int64_t C = tags;
    Chain read;
    std::vector<float> emissions, deltas, moved((C + 2) * C);
    std::vector<double> for_chain((C + 2) * C);
    auto step = [rate](int64_t n, float pull, const float* __restrict delta, float* __restrict weights, float* __restrict sums) {
        for (int64_t k = 0; k < n; k++) {
            float gradient = delta[k] + pull * weights[k];
            sums[k] += gradient * gradient;
            weights[k] -= float(rate) * gradient / std::sqrt(sums[k] + 1e-8f);
        }
    };
    for (int64_t number = 0; number < rows; number++) {
        int64_t row = order[number], at = offsets[row], n = offsets[row + 1] - at;
        if (n == 0) continue;
        emissions.assign(n * C, 0);
        deltas.resize(n * C);
        const int32_t* end = indices + starts[at + n];
        for (int64_t t = 0; t < n; t++) {
            float* __restrict own = &emissions[t * C];
            for (const int32_t *f = indices + starts[at + t], *last = indices + starts[at + t + 1]; f < last; f++) {
                if (f + FETCHED < end) __builtin_prefetch(table + int64_t(f[FETCHED]) * C);
                const float* __restrict from = table + int64_t(*f) * C;
                for (int64_t k = 0; k < C; k++) own[k] += from[k];
            }
        }
        if (!read.read(C, chain)) return number;
        std::fill(for_chain.begin(), for_chain.end(), 0.0);
        Pass pass(read);
        double loss = loss_of_row(read, pass, emissions.data(), n, chain, targets + at, deltas.data(), for_chain.data());
        if (loss != loss) return number;
        pass.add_counts(for_chain.data());
        for (int64_t i = 0; i < (C + 2) * C; i++) moved[i] = float(for_chain[i]);
        step((C + 2) * C, float(pull), moved.data(), chain, chain_squares);
        for (int64_t t = 0; t < n; t++)
            for (const int32_t *f = indices + starts[at + t], *last = indices + starts[at + t + 1]; f < last; f++) {
                if (f + FETCHED < end) __builtin_prefetch(squares + int64_t(f[FETCHED]) * C, 1);
                step(C, pulls[*f], &deltas[t * C], table + int64_t(*f) * C, squares + int64_t(*f) * C);
            }
    }
    return rows;
}

// The best path (N) of every row; of equal ones, at each step from the last on, the lowest tag.
template <class T>
void best_paths(int64_t rows, int64_t tags, const T* emissions, const int64_t* offsets, const T* chain, int64_t* paths) {
    typedef int64_t Longs __attribute__((vector_size(VECTOR_BYTES)));
    int64_t C = tags, width = (C + W - 1) / W * W;
    std::vector<double> moves(C * width), score(width), next(width);
    std::vector<int64_t> from;
    for (int64_t i = 0; i < C; i++)
        for (int64_t j = 0; j < C; j++) moves[i * width + j] = chain[i * C + j];
    for (int64_t row = 0; row < rows; row++) {
        int64_t at = offsets[row], n = offsets[row + 1] - at;
        if (n == 0) continue;
        if (int64_t(from.size()) < n * width) from.resize(n * width);
        for (int64_t j = 0; j < C; j++) score[j] = double(chain[C * C + j]) + double(emissions[at * C + j]);
        for (int64_t t = 1; t < n; t++) {
            in_panels(width / W, [&](int64_t column, auto columns) {
                constexpr int NV = decltype(columns)::value;
                Wide best[NV];
                Longs who[NV];
                EACH(j, NV)
                    best[j] = spread(-double(INFINITY));
                    who[j] = Longs{};
                END
                for (int64_t i = 0; i < C; i++) {
                    Wide own = spread(score[i]);
                    Longs number = i - Longs{};
                    EACH(j, NV)
                        Wide reached = own + load(&moves[i * width + (column + j) * W]);
                        who[j] = reached > best[j] ? number : who[j];
                        best[j] = reached > best[j] ? reached : best[j];
                    END
                }
                EACH(j, NV)
                    store(&next[(column + j) * W], best[j]);
                    memcpy(&from[t * width + (column + j) * W], &who[j], sizeof(Longs));
                END
            });
            for (int64_t j = 0; j < C; j++) score[j] = next[j] + double(emissions[(at + t) * C + j]);
        }
        int64_t tag = 0;
        double best = -INFINITY;
        for (int64_t j = 0; j < C; j++) {
            double ended = score[j] + double(chain[C * C + C + j]);
            if (ended > best) {
                best = ended;
                tag = j;
            }
        }
        for (int64_t t = n - 1; t >= 0; t--) {
            paths[at + t] = tag;
            if (t > 0) tag = from[t * width + tag];
        }
    }
}

EXPORT(chain_losses)
EXPORT(best_paths)
