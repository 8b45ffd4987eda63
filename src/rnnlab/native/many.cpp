// Training steps of several networks of one kind, side by side. A network belongs to one thread at a time, and no thread
// waits for another: who has finished a step takes the network that is furthest behind. What is computed for a network
// doesn't depend on the others, nor on the number of threads.
#include <algorithm>
#include <mutex>

#include "recurrence.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

extern "C" {  // of other files
#define KERNELS(T)                                                                                                           \
    void recurrence_forward_##T(const Task<T>*);                                                                             \
    void recurrence_backward_##T(const Task<T>*);                                                                            \
    int64_t recurrence_saved_##T(int64_t, int64_t, int64_t);                                                                 \
    extern double (*adam_##T)(T*, T*, T*, T*, int64_t, T*, T*, T*, const int64_t*, const T*, int64_t, int64_t, double, double, \
                              double, double, double, double, double, int64_t);                                              \
    extern double (*descend_##T)(T*, T*, T*, int64_t, double, double, double, double, int64_t);                              \
    extern int64_t (*pick_##T)(const int64_t*, int64_t, const T*, int64_t, int64_t, const T*, int64_t, int32_t*, T*, int64_t*, \
                               int32_t*);                                                                                    \
    extern void (*gather_gradients_##T)(const T*, int64_t, int64_t, int64_t, const int32_t*, T*);
KERNELS(float)
KERNELS(double)
#undef KERNELS
}

namespace {

template <class T>
struct Kernels;
#define KERNELS(T)                                                         \
    template <>                                                            \
    struct Kernels<T> {                                                    \
        static constexpr auto forward = recurrence_forward_##T;            \
        static constexpr auto backward = recurrence_backward_##T;          \
        static constexpr auto saved = recurrence_saved_##T;                \
        static constexpr auto& adam = adam_##T;                            \
        static constexpr auto& descend = descend_##T;                      \
        static constexpr auto& pick = pick_##T;                            \
        static constexpr auto& gather_gradients = gather_gradients_##T;    \
    };
KERNELS(float)
KERNELS(double)
#undef KERNELS

enum Answer { CLASS = 0, CLASS_A_STEP = 1, NUMBER = 2 };
constexpr int64_t IGNORE = -100;  // the target of a step that isn't asked for
constexpr int64_t BLOCK = 64;     // rows whose gradients are summed before they are added to the total

// One batch, to train on or to answer. The fields, in this order, are those of Step in stacked.py.
template <class T>
struct Step {
    int64_t batch, steps;
    const void* inputs;       // (B, T, K) ids, or (B, T, D) features
    const int64_t* lengths;   // (B,)
    const void* targets;      // (B,) or (B, T) int64, or (B,) numbers
    T* out;                   // (B, C) or (B, T, C): what is answered; null: train
    double rate, keep, root;  // of the update
    double loss, norm;        // found: the mean loss, the norm of the gradients (-1: not computed)
    double share;             // found: rows that are right, those that are partly right counted in part
    int64_t whole;            // found: rows without anything wrong
};

// A network and the batches that await it. The fields, in this order, are those of Member in stacked.py.
template <class T>
struct Member {
    int64_t kind, layers, directions, inputs, hidden;
    const T* const* weights;  // of each layer and direction: w_ih, w_hh, b_ih, b_hh
    T* const* gradients;      // of the same
    int64_t words, width, frozen_width, tokens;  // words = 0: no embedding; K ids a step
    const T *table, *frozen;
    int32_t* places;        // (words), zero
    int64_t table_learns;
    T* table_gradient;      // null: its rows are updated by themselves
    int64_t answer, outputs;
    const T *head, *head_bias;  // (C, S), (C)
    T *for_head, *for_head_bias;
    double close;           // of a number that counts as right
    int64_t descends;       // gradient descent instead of Adam
    T *dense, *gradient, *moment1, *moment2, *row_moment1, *row_moment2;
    int64_t numbers;        // of the dense weights
    double clip, decay, momentum, beta1, beta2, epsilon, exploded;
    Step<T>* work;
    int64_t count, done, stopped;  // done: steps that were completed; stopped: the one after them broke

    int64_t width_of_states() const { return directions * hidden; }
};

// Buffers of the calling thread, each kept from call to call. They don't begin at the same place of a page: those that
// are read and written together would compete for the same lines of the cache.
template <class T>
T* buffer(int which, int64_t numbers) {
    static thread_local Arena<T> arenas[64];
    int64_t apart = (which % 16) * 80;
    arenas[which].begin(numbers + apart);
    arenas[which].take(apart);
    return arenas[which].take(numbers);
}
enum Buffer { EMBEDDED, SUMMARY, LOGITS, PANELS, FOR_TOP, FOR_LAYER, FOR_INPUT = FOR_LAYER + 2, FOR_ROWS, SUMS, STATES = 16, SAVED = 32 };

// e^x for x up to 0.
INLINE Vec<float> exponential(Vec<float> x) {
    typedef int32_t Ints __attribute__((vector_size(VECTOR_BYTES)));
    const float big = 12582912.0f;  // as in `sigmoid`
    Vec<float> t = clamped(x * 1.44269504f, -126.0f, 126.0f);
    Vec<float> whole = t + big;
    Vec<float> f = t - (whole - big);
    Vec<float> p = f * 1.5469732e-4f + 1.34004322e-3f;
    p = p * f + 9.61802560e-3f;
    p = p * f + 5.55032721e-2f;
    p = p * f + 2.40226512e-1f;
    p = p * f + 6.93147207e-1f;
    p = p * f + 1.0f;
    return (Vec<float>)((Ints)p + ((Ints)whole << 23));
}
INLINE Vec<double> exponential(Vec<double> x) {
    for (int i = 0; i < WIDTH<double>; i++) x[i] = std::exp(x[i]);
    return x;
}

template <class T>
INLINE void add(int64_t n, T factor, const T* __restrict from, T* __restrict to) {
    for (int64_t i = 0; i < n; i++) to[i] += factor * from[i];
}

// All products of rows (n, K) with a matrix whose columns lie in panels: `pack(first, vectors, panel)` lays those down.
template <class T, class Pack>
void product(int64_t n, int64_t K, int64_t columns, const T* const* rows, T* const* out, const Pack& pack) {
    T* panel = buffer<T>(PANELS, (K + 8) * COLUMNS * WIDTH<T>);
    std::vector<T*> to(n);
    in_panels(vectors<T>(columns), [&](int64_t first, auto width) {
        constexpr int NV = decltype(width)::value;
        pack(first, NV, panel);
        for (int64_t r = 0; r < n; r++) to[r] = out[r] + first * WIDTH<T>;
        multiply_rows<T, NV>(n, K, rows, panel, to.data(), columns - first * WIDTH<T>, false);
    });
}

// out (n, C) = rows (n, S) · headᵀ + bias.
template <class T>
void answer(const Member<T>& m, int64_t n, const T* const* rows, T* const* out) {
    constexpr int W = WIDTH<T>;
    int64_t S = m.width_of_states(), C = m.outputs;
    product<T>(n, S, C, rows, out, [&](int64_t first, int NV, T* panel) {
        for (int j = 0; j < NV; j++) {
            int64_t column = (first + j) * W;
            transpose(m.head + column * S, S, int(std::min<int64_t>(W, C - column)), S, panel + j * W, NV * W);
        }
    });
    for (int64_t r = 0; r < n; r++)
        for (int64_t c = 0; c < C; c++) out[r][c] += m.head_bias[c];
}

// Of a row of logits: the loss; the row becomes the gradient of the sum of losses. Returns where it is highest.
template <class T>
INLINE int64_t cross_entropy(T* row, int64_t classes, int64_t target, double& loss) {
    int64_t best = 0;
    for (int64_t c = 1; c < classes; c++)
        if (row[c] > row[best] || (std::isnan(row[c]) && !std::isnan(row[best]))) best = c;
    T highest = row[best], wanted = row[target], sum = 0;
    for (int64_t c = 0; c < classes; c += WIDTH<T>) {
        int some = int(std::min<int64_t>(WIDTH<T>, classes - c));
        Vec<T> power = exponential(load_some(row + c, some) - highest);
        store_some(row + c, power, some);
        for (int k = 0; k < some; k++) sum += power[k];
    }
    loss += double(std::log(sum) - (wanted - highest));
    T inverse_sum = 1 / sum;
    for (int64_t c = 0; c < classes; c++) row[c] *= inverse_sum;
    row[target] -= 1;
    return best;
}

// The head and the loss, forward and backward: `for_rows` gets the gradient of each row that is asked for.
template <class T>
void learn_head(const Member<T>& m, Step<T>& step, const std::vector<const T*>& rows, const std::vector<int64_t>& places,
                const std::vector<T*>& for_rows) {
    int64_t n = int64_t(rows.size()), S = m.width_of_states(), C = m.outputs, Cp = padded<T>(C);
    T* logits = buffer<T>(LOGITS, n * Cp);
    std::vector<T*> out(n);
    std::vector<const T*> left(n);
    for (int64_t r = 0; r < n; r++) left[r] = out[r] = logits + r * Cp;
    answer<T>(m, n, rows.data(), out.data());
    double loss = 0;
    T share = T(1) / T(n);
    std::vector<int64_t> right(step.batch), asked(step.batch);
    int64_t per_row = m.answer == CLASS_A_STEP ? step.steps : 1;
    for (int64_t r = 0; r < n; r++) {
        int64_t b = places[r] / per_row;
        bool good;
        if (m.answer == NUMBER) {
            T error = out[r][0] - static_cast<const T*>(step.targets)[places[r]];
            loss += double(error) * double(error);
            good = std::abs(error) <= T(m.close);
            out[r][0] = 2 * error;
        } else {
            int64_t target = static_cast<const int64_t*>(step.targets)[places[r]];
            good = cross_entropy(out[r], C, target, loss) == target;
        }
        for (int64_t c = 0; c < C; c++) out[r][c] *= share;
        right[b] += good;
        asked[b]++;
    }
    step.loss = double(T(loss / double(n)));
    step.share = 0;
    step.whole = 0;
    for (int64_t b = 0; b < step.batch; b++) {
        if (asked[b]) step.share += double(right[b]) / double(asked[b]);
        step.whole += right[b] == asked[b];
    }
    product<T>(n, C, S, left.data(), for_rows.data(), [&](int64_t first, int NV, T* panel) {
        for (int64_t c = 0; c < C; c++)
            for (int j = 0; j < NV; j++, panel += WIDTH<T>) {
                int64_t column = (first + j) * WIDTH<T>;
                store(panel, load_some(m.head + c * S + column, int(std::min<int64_t>(WIDTH<T>, S - column))));
            }
    });
    memset(m.for_head, 0, C * S * sizeof(T));
    memset(m.for_head_bias, 0, C * sizeof(T));
    T* sums = buffer<T>(SUMS, C * (S + 1));
    for (int64_t first = 0; first < n; first += BLOCK) {
        memset(sums, 0, C * (S + 1) * sizeof(T));
        for (int64_t r = first; r < std::min(n, first + BLOCK); r++)
            for (int64_t c = 0; c < C; c++) {
                add(S, out[r][c], rows[r], sums + c * S);
                sums[C * S + c] += out[r][c];
            }
        add(C * S, T(1), sums, m.for_head);
        add(C, T(1), sums + C * S, m.for_head_bias);
    }
}

template <class T>
Task<T> task_of(const Member<T>& m, const Step<T>& step, int64_t layer, int64_t direction, const T* x, int64_t inputs, T* states, T* saved) {
    const T* const* own = m.weights + (layer * m.directions + direction) * 4;
    int64_t width = m.width_of_states();
    Task<T> task{};
    task.kind = m.kind, task.batch = step.batch, task.steps = step.steps, task.inputs = inputs, task.hidden = m.hidden;
    task.reverse = direction, task.threads = 1, task.lengths = step.lengths;
    task.x = x, task.x_row = step.steps * inputs, task.x_step = inputs;
    task.w_ih = own[0], task.w_hh = own[1], task.b_ih = own[2], task.b_hh = own[3];
    task.states = states + direction * m.hidden, task.states_row = step.steps * width, task.states_step = width;
    task.end_row = width, task.saved = saved;
    return task;
}

// Backward through the recurrent layers, from the gradient of the last one's states, or of their ends, to the input's.
template <class T>
void learn_layers(const Member<T>& m, std::vector<Task<T>>& tasks, const Step<T>& step, T* for_top, T* for_input) {
    int64_t width = m.width_of_states(), n = step.batch * step.steps;
    const T* for_states = m.answer == CLASS_A_STEP ? for_top : nullptr;
    for (int64_t layer = m.layers - 1; layer >= 0; layer--) {
        T* below = layer > 0 ? buffer<T>(FOR_LAYER + layer % 2, n * width) : for_input;
        for (int64_t d = 0; d < m.directions; d++) {
            Task<T>& task = tasks[layer * m.directions + d];
            T* const* own = m.gradients + (layer * m.directions + d) * 4;
            if (for_states) {
                task.for_states = for_states + d * m.hidden;
                task.for_states_row = step.steps * width, task.for_states_step = width;
            } else {
                task.for_h_end = for_top + d * m.hidden;
            }
            task.for_x = below, task.add_to_x = d > 0;
            task.for_w_ih = own[0], task.for_w_hh = own[1], task.for_b_ih = own[2], task.for_b_hh = own[3];
            Kernels<T>::backward(&task);
            if (m.kind != GRU) memcpy(own[3], own[2], gates_of(int(m.kind)) * m.hidden * sizeof(T));  // they are added
        }
        for_states = below;
    }
}

// One batch: answered, or trained on. False: it broke, and nothing was changed.
template <class T>
bool do_step(const Member<T>& m, Step<T>& step) {
    static thread_local std::vector<int64_t> used;    // rows of the embedding
    static thread_local std::vector<int32_t> numbers;  // of each id, which of them it is
    int64_t n = step.batch * step.steps, width = m.width_of_states(), ids = n * m.tokens, used_rows = 0;
    bool train = !step.out;
    step.norm = -1;
    const T* x = static_cast<const T*>(step.inputs);
    if (m.words) {
        T* embedded = buffer<T>(EMBEDDED, n * m.inputs);
        if (int64_t(used.size()) < ids) used.resize(ids), numbers.resize(ids);
        used_rows = Kernels<T>::pick(static_cast<const int64_t*>(step.inputs), ids, m.table, m.words, m.width, m.frozen,
                                     m.frozen_width, m.places, embedded, used.data(), numbers.data());
        step.loss = NAN;
        if (used_rows < 0) return false;  // an id that isn't there
        x = embedded;
    }
    int64_t tokens = 0, inputs = m.inputs;
    for (int64_t b = 0; b < step.batch; b++) tokens += step.lengths[b];
    std::vector<Task<T>> tasks;
    T *states = nullptr, *ends = buffer<T>(SUMMARY, step.batch * width);
    for (int64_t layer = 0; layer < m.layers; layer++) {
        states = buffer<T>(STATES + int(layer), n * width);
        for (int64_t d = 0; d < m.directions; d++) {
            int64_t kept = train ? Kernels<T>::saved(m.kind, tokens, m.hidden) : 0;
            T* saved = kept ? buffer<T>(SAVED + int(layer * m.directions + d), kept) : nullptr;
            tasks.push_back(task_of(m, step, layer, d, x, inputs, states, saved));
            tasks.back().h_end = ends + d * m.hidden;
            Kernels<T>::forward(&tasks.back());
        }
        x = states, inputs = width;
    }
    bool stepwise = m.answer == CLASS_A_STEP;
    T* top = stepwise ? states : ends;
    int64_t answers = stepwise ? n : step.batch;
    std::vector<const T*> rows;
    std::vector<T*> others;
    if (!train) {
        for (int64_t r = 0; r < answers; r++) rows.push_back(top + r * width), others.push_back(step.out + r * m.outputs);
        answer<T>(m, answers, rows.data(), others.data());
        return true;
    }
    T* for_top = buffer<T>(FOR_TOP, answers * width);
    std::vector<int64_t> places;
    for (int64_t r = 0; r < answers; r++) {
        if (stepwise && static_cast<const int64_t*>(step.targets)[r] == IGNORE) continue;
        places.push_back(r), rows.push_back(top + r * width), others.push_back(for_top + r * width);
    }
    if (int64_t(places.size()) < answers) memset(for_top, 0, answers * width * sizeof(T));
    learn_head<T>(m, step, rows, places, others);
    if (!(std::abs(step.loss) < m.exploded)) return false;
    T* for_input = m.table_learns ? buffer<T>(FOR_INPUT, n * m.inputs) : nullptr;
    learn_layers<T>(m, tasks, step, for_top, for_input);
    T* for_rows = nullptr;
    if (m.table_learns) {
        for_rows = buffer<T>(FOR_ROWS, used_rows * m.width);
        Kernels<T>::gather_gradients(for_input, ids, m.width + m.frozen_width, m.width, numbers.data(), for_rows);
        if (m.table_gradient)
            for (int64_t r = 0; r < used_rows; r++) add(m.width, T(1), for_rows + r * m.width, m.table_gradient + used[r] * m.width);
    }
    bool by_rows = m.table_learns && !m.table_gradient;
    if (m.descends)
        step.norm = Kernels<T>::descend(m.dense, m.gradient, m.moment1, m.numbers, m.clip, m.decay, m.momentum, step.rate, 1);
    else
        step.norm = Kernels<T>::adam(m.dense, m.gradient, m.moment1, m.moment2, m.numbers, const_cast<T*>(m.table), m.row_moment1,
                                     m.row_moment2, used.data(), for_rows, by_rows ? used_rows : 0, m.width, m.clip, step.keep,
                                     m.beta1, m.beta2, step.root, m.epsilon, step.rate, 1);
    return std::isfinite(step.norm);
}

// Numbers below 1e-38 count as zero meanwhile, as in every run.
struct WithoutDenormals {
#if defined(__SSE2__)
    unsigned before = _mm_getcsr();
    WithoutDenormals() { _mm_setcsr(before | 0x8040); }
    ~WithoutDenormals() { _mm_setcsr(before); }
#endif
};

template <class T>
void do_steps(Member<T>* members, int64_t n, int64_t threads) {
    std::mutex choosing;
    std::vector<char> busy(n);
    auto furthest_behind = [&]() {
        int64_t chosen = -1;
        for (int64_t i = 0; i < n; i++) {
            const Member<T>& m = members[i];
            if (!busy[i] && !m.stopped && m.done < m.count && (chosen < 0 || m.done < members[chosen].done)) chosen = i;
        }
        return chosen;
    };
    in_parallel(int(std::min(threads, n)), [&](int, int) {
        WithoutDenormals mode;
        for (;;) {
            int64_t chosen;
            {
                std::lock_guard<std::mutex> lock(choosing);
                chosen = furthest_behind();
                if (chosen < 0) return;  // who is busy now goes on with what is left
                busy[chosen] = 1;
            }
            Member<T>& m = members[chosen];
            bool well = do_step(m, m.work[m.done]);
            std::lock_guard<std::mutex> lock(choosing);
            if (well)
                m.done++;
            else
                m.stopped = 1;
            busy[chosen] = 0;
        }
    });
}

}  // namespace

extern "C" void do_steps_float(Member<float>* members, int64_t n, int64_t threads) { do_steps(members, n, threads); }
extern "C" void do_steps_double(Member<double>* members, int64_t n, int64_t threads) { do_steps(members, n, threads); }
