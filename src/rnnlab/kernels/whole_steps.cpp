// Whole training steps of one network, which threads share. What is computed doesn't depend on their number.
#include <optional>

#include "bags.h"
#include "head.h"
#include "normed_layer.h"
#include "pooling.h"
#include "small_vocabulary.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace {

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

// Backward through the recurrent layers, from what the last one knows of its states' gradient, or, if given, that of
// all its states, to the input's.
template <class T>
void learn_layers(const Member<T>& m, std::vector<Task<T>>& tasks, std::vector<NormedLayer<T>>& normed, const Step<T>& step,
                  const T* for_states, T* for_input) {
    int64_t width = m.width_of_states(), n = step.batch * step.steps;
    for (int64_t layer = m.layers - 1; layer >= 0; layer--) {
        T* below = layer > 0 ? buffer<T>(FOR_LAYER + layer % 2, n * width) : for_input;
        for (int64_t d = 0; d < m.directions; d++) {
            if (m.normed) {
                normed[layer * m.directions + d].backward(for_states, below, d > 0);
                continue;
            }
            Task<T>& task = tasks[layer * m.directions + d];
            if (for_states) {
                task.for_states = for_states + d * m.hidden;
                task.for_states_row = step.steps * width, task.for_states_step = width;
            }
            task.for_x = below, task.add_to_x = d > 0;
            recurrence_backward<T>(&task);
            if (m.weight_dropout > 0) drop_weights(m, step, layer, d, task.for_w_hh, task.for_w_hh);
            if (m.kind != GRU) memcpy(task.for_b_hh, task.for_b_ih, gates_of(int(m.kind)) * m.hidden * sizeof(T));  // they are added
        }
        Dropout<T> dropout = layer > 0 ? of_layer(m, step, layer) : of_embedding(m, step);
        if (below && dropout.active) drop(dropout, step.batch, step.steps, layer > 0 ? width : m.inputs, below, below, m.threads);
        for_states = below;
    }
}

constexpr int64_t SEPARATED = 2;  // the id between two columns of a text

// f(token, column) for each token of a batch: the columns are counted by the separators.
template <class F, class T>
void in_columns(const Member<T>& m, const Step<T>& step, const F& f) {
    const int64_t* ids = static_cast<const int64_t*>(step.inputs);
    for (int64_t b = 0; b < step.batch; b++)
        for (int64_t t = 0, column = 0; t < step.lengths[b]; t++) {
            int64_t token = b * step.steps + t;
            if (ids[token * m.tokens] == SEPARATED) column = std::min(column + 1, m.columns - 1);
            f(token, column);
        }
}

template <class T>
double update(const Member<T>& m, const Step<T>& step, const int64_t* used, const T* for_rows, int64_t count) {
    if (m.table_gradient)
        for (int64_t r = 0; r < count; r++) add(m.width, T(1), for_rows + r * m.width, m.table_gradient + used[r] * m.width);
    if (m.descends)
        return descend<T>(m.dense, m.gradient, m.moment1, m.numbers, const_cast<T*>(m.table), used, for_rows,
                                   m.table_gradient ? 0 : count, m.width, m.clip, m.decay, m.momentum, step.rate, m.threads);
    return adam<T>(m.dense, m.gradient, m.moment1, m.moment2, m.numbers, const_cast<T*>(m.table), m.row_moment1, m.row_moment2,
                            used, for_rows, m.table_gradient ? 0 : count, m.width, m.clip, step.keep, m.beta1, m.beta2, step.root,
                            m.epsilon, step.rate, m.threads);
}

// A batch of texts to train on, each the mean of its words' and n-grams' vectors. False: it broke, and nothing was changed.
template <class T>
bool learn_bags(const Member<T>& m, Step<T>& step) {
    static thread_local Bags bags;
    T *means = buffer<T>(SUMMARY, step.batch * m.width), *for_means = buffer<T>(FOR_TOP, step.batch * m.width);
    int64_t count = sum_up(m, step, bags, means);
    if (count < 0) return false;  // an id that isn't there
    std::vector<const T*> rows(step.batch);
    std::vector<T*> others(step.batch);
    std::vector<int64_t> places(step.batch);
    for (int64_t b = 0; b < step.batch; b++) {
        int64_t target = m.answer == LABELS ? 0 : static_cast<const int64_t*>(step.targets)[b];
        if (target < 0 || target >= m.outputs) return false;  // no class
        places[b] = b, rows[b] = means + b * m.width, others[b] = for_means + b * m.width;
    }
    learn_head<T>(m, step, rows, places, others);
    if (!(std::abs(step.loss) < m.exploded)) return false;
    T* for_rows = buffer<T>(FOR_ROWS, count * m.width);
    spread_out(m, step, bags, for_means, for_rows);
    step.norm = update(m, step, bags.rows.data(), for_rows, count);
    return std::isfinite(step.norm);
}

// One batch to train on. False: it broke, and nothing was changed.
template <class T>
bool do_step(const Member<T>& m, Step<T>& step) {
    static thread_local std::vector<int64_t> used;     // rows of the embedding
    static thread_local std::vector<int32_t> numbers;  // of each id, which of them it is
    int64_t n = step.batch * step.steps, width = m.width_of_states(), ids = n * m.tokens, used_rows = 0, inputs = m.inputs;
    step.norm = -1;
    step.loss = NAN;
    if (m.ngrams) return learn_bags(m, step);
    int64_t tokens = 0;
    for (int64_t b = 0; b < step.batch; b++) tokens += step.lengths[b];
    const T* x = static_cast<const T*>(step.inputs);
    std::optional<LookedUp<T>> looked_up;
    if (m.words) {
        const int64_t* given = static_cast<const int64_t*>(step.inputs);
        Dropout<T> dropout = of_embedding(m, step);
        T* embedded = buffer<T>(EMBEDDED, n * inputs);
        if (int64_t(used.size()) < ids) used.resize(ids), numbers.resize(ids);
        used_rows = pick<T>(given, ids, m.table, m.words, m.width, m.frozen, m.frozen_width, m.places, embedded, used.data(), numbers.data());
        if (used_rows < 0) return false;  // an id that isn't there
        if (m.columns)
            in_columns(m, step, [&](int64_t token, int64_t column) { add(inputs, T(1), m.segments + column * inputs, embedded + token * inputs); });
        if (dropout.active) drop(dropout, step.batch, step.steps, inputs, embedded, embedded, m.threads);
        if (!dropout.active && LookedUp<T>::pays(m, tokens, used_rows)) looked_up.emplace(m, used.data(), used_rows, numbers.data(), n);
        x = embedded;
    }
    std::vector<Task<T>> tasks;           // of each layer and direction; or these, if they are normed
    std::vector<NormedLayer<T>> normed;
    T *states = nullptr, *ends = buffer<T>(ENDS, step.batch * width);
    int64_t own_ends = step.batch * m.hidden, parts = m.kind == LSTM ? 2 : 1, carried = m.carried ? m.layers * parts * own_ends : 0;
    T* after = carried ? buffer<T>(CARRIED, carried) : nullptr;
    for (int64_t layer = 0; layer < m.layers; layer++) {
        states = buffer<T>(STATES + int(layer), n * width);
        if (Dropout<T> dropout = of_layer(m, step, layer); dropout.active) {
            T* left = buffer<T>(DROPPED + int(layer), n * inputs);
            drop(dropout, step.batch, step.steps, inputs, x, left, m.threads);
            x = left;
        }
        for (int64_t d = 0; d < m.directions; d++) {
            const T* mask = state_mask(m, step, layer, d);
            if (m.normed) {
                normed.push_back({m, step, layer, d, inputs, {}});
                normed.back().forward(x, mask, states, ends);
                continue;
            }
            int64_t kept = recurrence_saved<T>(m.kind, tokens, m.hidden);
            T* saved = kept ? buffer<T>(SAVED + int(layer * m.directions + d), kept) : nullptr;
            Task<T> task = task_of(m, step, layer, d, x, inputs, states, saved);
            if (looked_up && layer == 0) looked_up->give(task, d);
            task.h_end = ends + d * m.hidden;
            if (carried) {
                int64_t at = layer * parts * own_ends;
                task.h_start = m.carried + at, task.h_end = after + at;
                if (parts > 1) task.c_start = task.h_start + own_ends, task.c_end = task.h_end + own_ends;
            }
            task.mask = mask;
            if (m.weight_dropout > 0) {
                T* left = buffer<T>(DROPPED_WEIGHTS + int(layer * m.directions + d), gates_of(int(m.kind)) * m.hidden * m.hidden);
                drop_weights(m, step, layer, d, task.w_hh, left);
                task.w_hh = left;
            }
            recurrence_forward<T>(&task);
            tasks.push_back(task);
        }
        x = states, inputs = width;
    }
    bool stepwise = m.answer == CLASS_A_STEP;
    std::optional<Summary<T>> pool;
    if (!stepwise) pool.emplace(Summary<T>::of(m, step, states, ends));
    T* top = stepwise ? states : pool->summary;
    int64_t answers = stepwise ? n : step.batch, S = m.width_read();
    std::vector<const T*> rows;
    std::vector<T*> others;
    Dropout<T> dropout = of_output(m, step);
    auto drop_top = [&](const T* from, T* to) { drop(dropout, step.batch, answers / step.batch, S, from, to, m.threads); };
    if (dropout.active) {
        T* left = buffer<T>(DROPPED_TOP, answers * S);
        drop_top(top, left);
        top = left;
    }
    T* for_top = buffer<T>(FOR_TOP, answers * S);
    std::vector<int64_t> places;
    for (int64_t r = 0; r < answers; r++) {
        if (m.answer == CLASS || stepwise) {
            int64_t target = static_cast<const int64_t*>(step.targets)[r];
            if (stepwise && target == IGNORE) continue;
            if (target < 0 || target >= m.outputs) return false;  // no class
        }
        places.push_back(r), rows.push_back(top + r * S), others.push_back(for_top + r * S);
    }
    if (int64_t(places.size()) < answers) memset(for_top, 0, answers * S * sizeof(T));
    learn_head<T>(m, step, rows, places, others);
    if (!(std::abs(step.loss) < m.exploded)) return false;
    if (dropout.active) drop_top(for_top, for_top);
    const T* for_states = stepwise ? for_top : m.normed ? pool->spread_out(for_top) : nullptr;
    if (!for_states) pool->learn(&tasks[(m.layers - 1) * m.directions], for_top);
    T* for_input = (m.table_learns || m.columns) && !looked_up ? buffer<T>(FOR_INPUT, n * m.inputs) : nullptr;
    learn_layers<T>(m, tasks, normed, step, for_states, for_input);
    if (m.columns) {
        memset(m.for_segments, 0, m.columns * m.inputs * sizeof(T));
        in_columns(m, step, [&](int64_t token, int64_t column) {
            add(m.inputs, T(1), for_input + token * m.inputs, m.for_segments + column * m.inputs);
        });
    }
    T* for_rows = m.table_learns ? buffer<T>(FOR_ROWS, used_rows * m.width) : nullptr;
    if (looked_up)
        looked_up->learn(for_rows);
    else if (for_rows)
        gather_gradients<T>(for_input, ids, m.width + m.frozen_width, m.width, numbers.data(), for_rows);
    step.norm = update(m, step, used.data(), for_rows, for_rows ? used_rows : 0);
    if (!std::isfinite(step.norm)) return false;
    if (carried) memcpy(m.carried, after, carried * sizeof(T));
    return true;
}

// Numbers below 1e-38 count as zero meanwhile, as in every run.
struct WithoutDenormals {
#if defined(__SSE2__)
    unsigned before = _mm_getcsr();
    WithoutDenormals() { _mm_setcsr(before | 0x8040); }
    ~WithoutDenormals() { _mm_setcsr(before); }
#endif
};

}  // namespace

template <class T>
void do_steps(Member<T>* m) {
    WithoutDenormals mode;
    for (; m->done < m->count; m->done++)
        if (!do_step(*m, m->work[m->done])) {
            m->stopped = 1;
            return;
        }
}
EXPORT(do_steps)
