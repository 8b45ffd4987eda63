// Whole training steps: of one network, shared by threads, or of several of one kind, side by side. Then a network belongs
// to one thread at a time, and no thread waits for another: who has finished a step takes the network that is furthest
// behind. What is computed for a network doesn't depend on the others, nor on the number of threads.
#include <algorithm>
#include <mutex>
#include <optional>

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

// One batch, to train on or to answer. The fields, in this order, are those of Step in whole_steps.py.
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

// A network and the batches that await it. The fields, in this order, are those of Member in whole_steps.py.
template <class T>
struct Member {
    int64_t kind, layers, directions, inputs, hidden, threads;
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
    // A vocabulary that is smaller than its vectors (digits) is folded into the weights: see Folded.
    bool folded() const { return words && words < width + frozen_width; }
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
enum Buffer { EMBEDDED, SUMMARY, LOGITS, PANELS, FOR_TOP, FOR_LAYER, FOR_INPUT = FOR_LAYER + 2, FOR_ROWS, COLUMNS_OF_LOGITS, WORDS, FOLDED, STATES = 16, SAVED = 32 };

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

// The cross-entropy of some logits (n, ·), rows `step` apart, which become its gradient times `share`; `targets[r]` is of
// row r. Calls right(r) where the highest logit is the target's. Returns the sum of all losses. Rows lie side by side in
// the lanes of vectors meanwhile: nothing has to be added up across a vector.
template <class T, class Right>
double cross_entropy(int64_t n, T* logits, int64_t step, int64_t classes, const int64_t* targets, T share, const Right& right) {
    constexpr int W = WIDTH<T>;
    T* columns = buffer<T>(COLUMNS_OF_LOGITS, classes * W);
    double loss = 0;
    for (int64_t first = 0; first < n; first += W) {
        int some = int(std::min<int64_t>(W, n - first));
        transpose(logits + first * step, step, some, classes, columns, W);
        Vec<T> highest = load(columns), sum{};
        for (int64_t c = 1; c < classes; c++) {
            Vec<T> v = load(columns + c * W);
            highest = v > highest ? v : highest;
        }
        T wanted[W], sums[W], tops[W];
        store(tops, highest);
        for (int r = 0; r < some; r++) {
            int64_t target = targets[first + r], c = 0;
            wanted[r] = columns[target * W + r];
            if (wanted[r] != tops[r]) continue;
            while (columns[c * W + r] != tops[r]) c++;  // of equals, the first one is the answer
            if (c == target) right(first + r);
        }
        for (int64_t c = 0; c < classes; c++) {
            Vec<T> power = exponential(load(columns + c * W) - highest);
            sum += power;
            store(columns + c * W, power);
        }
        store(sums, sum);
        Vec<T> factor = share / sum;
        for (int64_t c = 0; c < classes; c++) store(columns + c * W, load(columns + c * W) * factor);
        for (int r = 0; r < some; r++) {
            loss += double(std::log(sums[r]) - (wanted[r] - tops[r]));
            columns[targets[first + r] * W + r] -= share;
        }
        for (int64_t c = 0; c < classes; c += W)
            transpose(columns + c * W, W, int(std::min<int64_t>(W, classes - c)), some, logits + first * step + c, step);
    }
    return loss;
}

// The gradients of the head: δᵀ · rows, and the sums of δ (n, C), rows Cp apart.
template <class T>
void weigh_head(const Member<T>& m, int64_t n, const T* const* rows, const T* delta, int64_t Cp) {
    int64_t S = m.width_of_states(), C = m.outputs;
    memset(m.for_head, 0, C * S * sizeof(T));
    memset(m.for_head_bias, 0, C * sizeof(T));
    T* panel = buffer<T>(PANELS, BLOCK * COLUMNS * WIDTH<T>);
    for (int64_t from = 0; from < n; from += BLOCK) {
        int64_t some = std::min(BLOCK, n - from);
        const T* own = delta + from * Cp;
        in_panels(vectors<T>(S), [&](int64_t first, auto width) {
            constexpr int NV = decltype(width)::value;
            for (int64_t r = 0; r < some; r++)
                for (int j = 0; j < NV; j++) {
                    int64_t column = (first + j) * WIDTH<T>;
                    store(panel + (r * NV + j) * WIDTH<T>, load_some(rows[from + r] + column, int(S - column)));
                }
            in_blocks(C, [&](int64_t c, auto count) {
                constexpr int MR = decltype(count)::value;
                Vec<T> acc[MR][NV];
                EACH(r, MR) EACH(j, NV) acc[r][j] = Vec<T>{}; END END
                multiply_along<T, MR, NV>(some, own + c, Cp, panel, acc);
                for (int r = 0; r < MR; r++)
                    for (int j = 0; j < NV; j++) {
                        int64_t column = (first + j) * WIDTH<T>;
                        T* to = m.for_head + (c + r) * S + column;
                        int left = int(std::min<int64_t>(WIDTH<T>, S - column));
                        store_some(to, load_some(to, left) + acc[r][j], left);
                    }
            });
        });
        std::vector<T> sums(C);
        for (int64_t r = 0; r < some; r++) add(C, T(1), own + r * Cp, sums.data());
        add(C, T(1), sums.data(), m.for_head_bias);
    }
}

// The head and the loss, forward and backward: `for_rows` gets the gradient of each row that is asked for; `places` are
// where their targets are.
template <class T>
void learn_head(const Member<T>& m, Step<T>& step, const std::vector<const T*>& rows, const std::vector<int64_t>& places,
                const std::vector<T*>& for_rows) {
    int64_t n = int64_t(rows.size()), S = m.width_of_states(), C = m.outputs, Cp = padded<T>(C);
    T* logits = buffer<T>(LOGITS, (n + WIDTH<T>) * Cp);
    std::vector<T*> out(n);
    std::vector<const T*> left(n);
    for (int64_t r = 0; r < n; r++) left[r] = out[r] = logits + r * Cp;
    answer<T>(m, n, rows.data(), out.data());
    T share = T(1) / T(n);
    std::vector<int64_t> right(step.batch), asked(step.batch);
    int64_t per_row = m.answer == CLASS_A_STEP ? step.steps : 1;
    for (int64_t r = 0; r < n; r++) asked[places[r] / per_row]++;
    double loss = 0;
    if (m.answer == NUMBER) {
        for (int64_t r = 0; r < n; r++) {
            T error = out[r][0] - static_cast<const T*>(step.targets)[places[r]];
            loss += double(error) * double(error);
            right[r] += std::abs(error) <= T(m.close);
            out[r][0] = 2 * error * share;
        }
    } else {
        std::vector<int64_t> targets(n);
        for (int64_t r = 0; r < n; r++) targets[r] = static_cast<const int64_t*>(step.targets)[places[r]];
        loss = cross_entropy<T>(n, logits, Cp, C, targets.data(), share, [&](int64_t r) { right[places[r] / per_row]++; });
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
    weigh_head<T>(m, n, rows.data(), logits, Cp);
}

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

template <class T>
Task<T> task_of(const Member<T>& m, const Step<T>& step, int64_t layer, int64_t direction, const T* x, int64_t inputs, T* states, T* saved) {
    const T* const* own = m.weights + (layer * m.directions + direction) * 4;
    int64_t width = m.width_of_states();
    Task<T> task{};
    task.kind = m.kind, task.batch = step.batch, task.steps = step.steps, task.inputs = inputs, task.hidden = m.hidden;
    task.reverse = direction, task.threads = m.threads, task.lengths = step.lengths;
    task.x = x, task.x_row = step.steps * inputs, task.x_step = inputs;
    task.w_ih = own[0], task.w_hh = own[1], task.b_ih = own[2], task.b_hh = own[3];
    task.states = states + direction * m.hidden, task.states_row = step.steps * width, task.states_step = width;
    task.end_row = width, task.saved = saved;
    T* const* gradients = m.gradients + (layer * m.directions + direction) * 4;
    task.for_w_ih = gradients[0], task.for_w_hh = gradients[1], task.for_b_ih = gradients[2], task.for_b_hh = gradients[3];
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
            if (for_states) {
                task.for_states = for_states + d * m.hidden;
                task.for_states_row = step.steps * width, task.for_states_step = width;
            } else {
                task.for_h_end = for_top + d * m.hidden;
            }
            task.for_x = below, task.add_to_x = d > 0;
            Kernels<T>::backward(&task);
            if (m.kind != GRU) memcpy(task.for_b_hh, task.for_b_ih, gates_of(int(m.kind)) * m.hidden * sizeof(T));  // they are added
        }
        for_states = below;
    }
}

template <class T>
double update(const Member<T>& m, const Step<T>& step, const int64_t* used, const T* for_rows, int64_t count) {
    if (m.table_gradient)
        for (int64_t r = 0; r < count; r++) add(m.width, T(1), for_rows + r * m.width, m.table_gradient + used[r] * m.width);
    if (m.descends) return Kernels<T>::descend(m.dense, m.gradient, m.moment1, m.numbers, m.clip, m.decay, m.momentum, step.rate, m.threads);
    return Kernels<T>::adam(m.dense, m.gradient, m.moment1, m.moment2, m.numbers, const_cast<T*>(m.table), m.row_moment1, m.row_moment2,
                            used, for_rows, m.table_gradient ? 0 : count, m.width, m.clip, step.keep, m.beta1, m.beta2, step.root,
                            m.epsilon, step.rate, m.threads);
}

// One batch: answered, or trained on. False: it broke, and nothing was changed.
template <class T>
bool do_step(const Member<T>& m, Step<T>& step) {
    static thread_local std::vector<int64_t> used;     // rows of the embedding
    static thread_local std::vector<int32_t> numbers;  // of each id, which of them it is
    int64_t n = step.batch * step.steps, width = m.width_of_states(), ids = n * m.tokens, used_rows = 0, inputs = m.inputs;
    bool train = !step.out;
    step.norm = -1;
    step.loss = NAN;
    const T* x = static_cast<const T*>(step.inputs);
    std::optional<Folded<T>> folded;
    if (m.words) {
        const int64_t* given = static_cast<const int64_t*>(step.inputs);
        if (m.folded()) inputs = folded.emplace(m).columns;
        T* embedded = buffer<T>(EMBEDDED, n * inputs);
        if (int64_t(used.size()) < ids) used.resize(ids), numbers.resize(ids);
        used_rows = folded ? folded->lay(given, n, embedded, used.data())
                           : Kernels<T>::pick(given, ids, m.table, m.words, m.width, m.frozen, m.frozen_width, m.places, embedded,
                                              used.data(), numbers.data());
        if (used_rows < 0) return false;  // an id that isn't there
        x = embedded;
    }
    int64_t tokens = 0;
    for (int64_t b = 0; b < step.batch; b++) tokens += step.lengths[b];
    std::vector<Task<T>> tasks;
    T *states = nullptr, *ends = buffer<T>(SUMMARY, step.batch * width);
    for (int64_t layer = 0; layer < m.layers; layer++) {
        states = buffer<T>(STATES + int(layer), n * width);
        for (int64_t d = 0; d < m.directions; d++) {
            int64_t kept = train ? Kernels<T>::saved(m.kind, tokens, m.hidden) : 0;
            T* saved = kept ? buffer<T>(SAVED + int(layer * m.directions + d), kept) : nullptr;
            Task<T> task = task_of(m, step, layer, d, x, inputs, states, saved);
            if (folded && layer == 0) task.w_ih = folded->of(folded->weights, d), task.for_w_ih = folded->of(folded->gradients, d);
            task.h_end = ends + d * m.hidden;
            Kernels<T>::forward(&task);
            tasks.push_back(task);
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
        if (m.answer != NUMBER) {
            int64_t target = static_cast<const int64_t*>(step.targets)[r];
            if (stepwise && target == IGNORE) continue;
            if (target < 0 || target >= m.outputs) return false;  // no class
        }
        places.push_back(r), rows.push_back(top + r * width), others.push_back(for_top + r * width);
    }
    if (int64_t(places.size()) < answers) memset(for_top, 0, answers * width * sizeof(T));
    learn_head<T>(m, step, rows, places, others);
    if (!(std::abs(step.loss) < m.exploded)) return false;
    T* for_input = m.table_learns && !folded ? buffer<T>(FOR_INPUT, n * m.inputs) : nullptr;
    learn_layers<T>(m, tasks, step, for_top, for_input);
    T* for_rows = m.table_learns ? buffer<T>(FOR_ROWS, used_rows * m.width) : nullptr;
    if (folded)
        folded->unfold(used.data(), used_rows, for_rows);
    else if (for_rows)
        Kernels<T>::gather_gradients(for_input, ids, m.width + m.frozen_width, m.width, numbers.data(), for_rows);
    step.norm = update(m, step, used.data(), for_rows, for_rows ? used_rows : 0);
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
