// Filters over windows of tokens, their relu, and the highest of each over time: forward and backward.
//
// A window of w tokens is a contiguous piece of its sequence, so no window is ever copied. Backward follows the highest
// answers alone: a filter gets its gradient from one window of a sequence (or from those that are equal), not from all.
#include <vector>

#include "product.h"
#include "threads.h"

namespace {

constexpr int POSITIONS = 8;  // windows that go through a panel of weights at once: as many sums in registers

template <class T>
struct Filters {
    int64_t batch, steps, inputs, groups, filters;  // `filters` of each width
    const int64_t* widths;                          // (groups)
    const int64_t* before;                          // (groups) tokens of a window that lie before its own
    const T* const* weights;                        // of each group: (filters, width · inputs)

    int64_t columns() const { return groups * filters; }
};

template <class T>
Vec<T> relu(Vec<T> v) {
    return v < 0 ? Vec<T>{} : v;  // NaN stays NaN
}

template <class T>
struct Panel {
    int64_t column, count, depth, ahead;  // the first of its filters, how many, numbers in a window, and before its token
    std::vector<T> weights, bias;
};

template <class T>
std::vector<Panel<T>> pack(const Filters<T>& f, const T* bias) {
    std::vector<Panel<T>> panels;
    for (int64_t g = 0; g < f.groups; g++)
        for (int64_t first = 0; first < f.filters; first += WIDTH<T>) {
            int64_t depth = f.widths[g] * f.inputs, count = std::min<int64_t>(WIDTH<T>, f.filters - first);
            Panel<T> panel{g * f.filters + first, count, depth, f.before[g] * f.inputs, std::vector<T>(depth * WIDTH<T>),
                           std::vector<T>(WIDTH<T>)};
            for (int64_t c = 0; c < count; c++) {
                const T* from = f.weights[g] + (first + c) * depth;
                for (int64_t k = 0; k < depth; k++) panel.weights[k * WIDTH<T> + c] = from[k];
                panel.bias[c] = bias[panel.column + c];
            }
            panels.push_back(std::move(panel));
        }
    return panels;
}

template <class T, int N>
void answer(const Panel<T>& panel, const T* const* tokens, T* const* states) {
    const T* rows[N];
    Vec<T> sums[N][1];
    for (int r = 0; r < N; r++) {
        rows[r] = tokens[r] - panel.ahead;
        sums[r][0] = load(panel.bias.data());
    }
    multiply<T, N, 1>(panel.depth, rows, panel.weights.data(), sums);
    for (int r = 0; r < N; r++) store_some(states[r] + panel.column, relu<T>(sums[r][0]), int(panel.count));
}

}  // namespace

// states (B, T, F), zero at padding; summary (B, F).
template <class T>
void windows_forward(int64_t batch, int64_t steps, int64_t inputs, int64_t groups, int64_t filters, const int64_t* widths,
                     const int64_t* before, const T* const* weights, const T* bias, const T* x, const int64_t* lengths,
                     T* states, T* summary, int64_t threads) {
    Filters<T> f{batch, steps, inputs, groups, filters, widths, before, weights};
    std::vector<Panel<T>> panels = pack(f, bias);
    int64_t F = f.columns(), beyond = *std::max_element(widths, widths + groups) - 1;
    in_parallel(int(std::min(threads, batch)), [&](int part, int parts) {
        int64_t first = batch * part / parts, last = batch * (part + 1) / parts;
        int64_t tokens = 0;
        for (int64_t b = first; b < last; b++) tokens += lengths[b];
        // Zeros stand before the first sequence and after each: as many as any window needs on one side
        std::vector<T> copy((tokens + beyond * (last - first + 1)) * inputs);
        std::vector<const T*> places;
        std::vector<T*> rows;
        T* to = copy.data() + beyond * inputs;
        for (int64_t b = first; b < last; b++) {
            memcpy(to, x + b * steps * inputs, lengths[b] * inputs * sizeof(T));
            for (int64_t t = 0; t < lengths[b]; t++) {
                places.push_back(to + t * inputs);
                rows.push_back(states + (b * steps + t) * F);
            }
            to += (lengths[b] + beyond) * inputs;
            memset(states + (b * steps + lengths[b]) * F, 0, (steps - lengths[b]) * F * sizeof(T));
        }
        int64_t at = 0;
        for (; at + POSITIONS <= tokens; at += POSITIONS)
            for (const Panel<T>& panel : panels) answer<T, POSITIONS>(panel, &places[at], &rows[at]);
        for (; at + 4 <= tokens; at += 4)
            for (const Panel<T>& panel : panels) answer<T, 4>(panel, &places[at], &rows[at]);
        for (; at < tokens; at++)
            for (const Panel<T>& panel : panels) answer<T, 1>(panel, &places[at], &rows[at]);
        for (int64_t b = first; b < last; b++) {
            T* __restrict highest = summary + b * F;
            memcpy(highest, states + b * steps * F, F * sizeof(T));
            for (int64_t t = 1; t < lengths[b]; t++) {
                const T* __restrict state = states + (b * steps + t) * F;
                for (int64_t c = 0; c < F; c++)
                    highest[c] = state[c] > highest[c] || state[c] != state[c] ? state[c] : highest[c];
            }
        }
    });
}

// Gradients of x (B, T, D), of each group's weights, and of the bias (F), given those of states and summary: either may
// be missing. Windows that are equally high share the gradient, as torch has it.
template <class T>
void windows_backward(int64_t batch, int64_t steps, int64_t inputs, int64_t groups, int64_t filters, const int64_t* widths,
                      const int64_t* before, const T* const* weights, const T* x, const int64_t* lengths, const T* states,
                      const T* summary, const T* for_states, const T* for_summary, T* for_x, T* const* for_weights,
                      T* for_bias, int64_t threads) {
    Filters<T> f{batch, steps, inputs, groups, filters, widths, before, weights};
    int64_t F = f.columns();
    std::vector<int64_t> starts(groups + 1);  // of a group's gradient; the bias comes last
    for (int64_t g = 0; g < groups; g++) starts[g + 1] = starts[g] + filters * widths[g] * inputs;
    int n = int(std::min(threads, batch));
    std::vector<std::vector<T>> sums(n);
    in_parallel(n, [&](int part, int parts) {
        std::vector<T>& sum = sums[part];
        sum.resize(starts[groups] + F);
        for (int64_t b = batch * part / parts; b < batch * (part + 1) / parts; b++) {
            memset(for_x + b * steps * inputs, 0, steps * inputs * sizeof(T));
            const T* own = states + b * steps * F;
            for (int64_t c = 0; c < F; c++) {
                T highest = summary[b * F + c], share = for_summary ? for_summary[b * F + c] : T(0);
                if (!for_states && (highest <= 0 || share == 0)) continue;
                int64_t equal = 0;
                for (int64_t t = 0; t < lengths[b]; t++) equal += own[t * F + c] == highest;
                if (equal > 1) share /= T(equal);
                int64_t g = c / filters, depth = widths[g] * inputs, row = (c % filters) * depth;
                for (int64_t t = 0; t < lengths[b]; t++) {
                    T state = own[t * F + c], d = state == highest ? share : T(0);
                    if (for_states) d += for_states[(b * steps + t) * F + c];
                    if (state <= 0 || d == 0) continue;
                    int64_t start = std::max<int64_t>(0, t - before[g]);  // the first token that the window sees
                    int64_t missing = (start - (t - before[g])) * inputs;  // what it would see before that
                    int64_t seen = std::min(depth - missing, (lengths[b] - start) * inputs), at = (b * steps + start) * inputs;
                    add(seen, d, weights[g] + row + missing, for_x + at);
                    add(seen, d, x + at, sum.data() + starts[g] + row + missing);
                    sum[starts[groups] + c] += d;
                }
            }
        }
    });
    for (int part = 0; part < n; part++) {
        auto total = [&](const T* from, T* to, int64_t count) {
            if (part == 0)
                memcpy(to, from, count * sizeof(T));
            else
                add(count, T(1), from, to);
        };
        for (int64_t g = 0; g < groups; g++) total(sums[part].data() + starts[g], for_weights[g], starts[g + 1] - starts[g]);
        total(sums[part].data() + starts[groups], for_bias, F);
    }
}

EXPORT(windows_forward)
EXPORT(windows_backward)
