// A recurrence for answers alone. Nothing is kept for a gradient, the weights were packed once for all batches, and what
// the input brings to the gates is there already: a row of a table for each word, or a row of a product for each token.
#include "recurrence.h"

namespace {

typedef float T;
constexpr int W = WIDTH<T>;

// One layer in one direction over sequences laid end to end. Null where a thing isn't there or isn't wanted.
// The fields, in this order, are those of Reading in inference.py.
struct Reading {
    int64_t kind, batch, tokens, hidden, reverse, threads;
    const int64_t* offsets;      // (B + 1,): sequence b has tokens offsets[b] … offsets[b + 1] - 1
    const int32_t* ids;          // (N,): each token's row of `brought`; null: row n is that of token n
    int64_t words;               // rows of `brought`
    const T* brought;            // (words, lanes): panel after panel, each NV vectors, biases included
    const T* weights;            // panel after panel: for each unit of the state, NV vectors
    const T* candidate_bias;     // (Hp,): of a GRU, inside its reset gate
    const T *h_start, *c_start;  // a sequence every start_row numbers, Hp of them; null: zeros
    int64_t start_row;           // 0: all sequences begin alike
    T* states;                   // a token every states_step numbers
    int64_t states_step;
    T* ends;                     // a sequence every end_row numbers
    int64_t end_row;
    T* c_ends;                   // of an LSTM, a sequence every end_row numbers; it may be the start, and so may `ends`
    int64_t summary;             // what `ends` gets: the last state, or the mean of all, or the highest of each unit
};
enum Summary { LAST = 0, MEAN = 1, MAX = 2 };

template <int KIND>
constexpr int PANEL = KIND == TANH ? COLUMNS : gates_of(KIND);  // vectors; an RNN's last panel may be narrower
template <int KIND>
constexpr int UNITS = KIND == TANH ? COLUMNS : 1;  // vectors of the state that come out of a panel

// What one thread works on: its rows, the longest first.
struct Rows {
    std::vector<const T*> brought, next;  // of this step and the one after it
    std::vector<T*> states;               // where the states of this step are wanted
    T *before, *after, *cells;            // a row every `step` numbers
    T* summaries;                         // sums, or maxima, of the states so far; null: the last ones are asked for
    int64_t step;
    std::vector<T> kept;                  // sums that aren't complete yet
};

// Rows ``at`` … of one step through units ``first`` … ``end`` of the state of one panel.
template <int KIND, int MR, int NV>
INLINE void block(const Reading& task, Rows& rows, int64_t panel, int64_t at, int64_t first, int64_t end, bool last) {
    constexpr int NA = KIND == TANH ? NV : 4;
    int64_t H = task.hidden, unit = panel * UNITS<KIND> * W;
    const T* weights = task.weights + panel * PANEL<KIND> * W * H;
    T* kept = rows.kept.data() + at * COLUMNS * W;
    Vec<T> acc[MR][NA];
    if (first == 0) {
        EACH(r, MR)
            const T* brought = rows.brought[at + r] + panel * PANEL<KIND> * W;
            EACH(j, NV) acc[r][j] = load(brought + j * W); END
            if constexpr (KIND == GRU) acc[r][3] = load(task.candidate_bias + unit);
        END
    } else {
        EACH(r, MR) EACH(j, NA) acc[r][j] = load(kept + (r * NA + j) * W); END END
    }
    if (last) EACH(r, MR) EACH(j, NV) __builtin_prefetch(rows.next[at + r] + (panel * PANEL<KIND> + j) * W); END END
    const T* a[MR];
    EACH(r, MR) a[r] = rows.before + (at + r) * rows.step + first; END
    multiply<T, MR, NV, NA - 1>(end - first, a, weights + first * NV * W, acc);
    if (!last) {
        EACH(r, MR) EACH(j, NA) store(kept + (r * NA + j) * W, acc[r][j]); END END
        return;
    }
    Vec<T> sums[MR][NA];  // a loop over rows may take these from memory: the code would be six times as long otherwise
    EACH(r, MR) EACH(j, NA) sums[r][j] = acc[r][j]; END END
    for (int r = 0; r < MR; r++) {
        EACH(j, (KIND == TANH ? NV : 1))
            int64_t u = unit + j * W, place = (at + r) * rows.step + u;
            Vec<T> h{};
            if constexpr (KIND == TANH) h = activated(task.kind == RELU, sums[r][j]);
            if constexpr (KIND == LSTM) {
                auto gates = LstmGates<T>::of(sums[r][0], sums[r][1], sums[r][2], sums[r][3]);
                Vec<T> c = gates.cell(load(rows.cells + place));
                store(rows.cells + place, c);
                h = gates.out * hyperbolic(c);
            }
            if constexpr (KIND == GRU) {
                Vec<T> reset = sigmoid(sums[r][0]);
                GruGates<T> gates{reset, sigmoid(sums[r][1]), hyperbolic(sums[r][2] + reset * sums[r][3])};
                h = gates.state(load(rows.before + place));
            }
            store(rows.after + place, h);
            if (rows.summaries) {
                Vec<T> known = load(rows.summaries + place);
                store(rows.summaries + place, task.summary == MEAN ? known + h : (h > known) | (h != h) ? h : known);  // NaN is the highest
            }
            if (task.states) store_some(rows.states[at + r] + u, h, int(H - u));
        END
    }
}

// One step of the first ``running`` rows. At the start, states of zero need no product.
template <int KIND>
void run_step(const Reading& task, Rows& rows, int64_t running, bool product) {
    int64_t all = vectors<T>(task.hidden), panels = (all + UNITS<KIND> - 1) / UNITS<KIND>;
    for (int64_t panel = 0; panel < panels; panel++) {
        auto go = [&](int64_t first, int64_t end, bool last) {
            in_blocks(running, [&](int64_t at, auto count) {
                constexpr int MR = decltype(count)::value;
                auto pass = [&](auto width) { block<KIND, MR, decltype(width)::value>(task, rows, panel, at, first, end, last); };
                if constexpr (KIND == TANH)
                    as_constant<COLUMNS>(all - panel * COLUMNS, pass);
                else
                    pass(std::integral_constant<int, gates_of(KIND)>{});
            });
        };
        if (product)
            in_depths(task.hidden, [&](int64_t first, int64_t end) { go(first, end, end == task.hidden); });
        else
            go(0, 0, true);
    }
}

// One thread: rows part, part + parts, … of the layout.
template <int KIND>
void run_part(const Reading& task, const Layout& layout, int64_t steps, Rows& rows, int part, int parts) {
    int64_t Hp = padded<T>(task.hidden), lanes = gates_of(KIND) * Hp;
    auto token = [&](int64_t t, int64_t r) {
        int64_t i = part + r * parts;
        return task.offsets[layout.row[i]] + layout.place(t, i, task.reverse);
    };
    auto brought = [&](int64_t token) { return task.brought + (task.ids ? task.ids[token] : token) * lanes; };
    int64_t running = layout.running_of(0, part, parts);
    for (int64_t r = 0; r < running; r++) {
        rows.next[r] = brought(token(0, r));
        int64_t own = layout.row[part + r * parts] * task.start_row;
        for (int64_t u = 0; u < Hp; u++) {
            rows.before[r * rows.step + u] = task.h_start ? task.h_start[own + u] : T(0);
            if (KIND == LSTM) rows.cells[r * rows.step + u] = task.c_start ? task.c_start[own + u] : T(0);
            if (rows.summaries) rows.summaries[r * rows.step + u] = task.summary == MEAN ? T(0) : -INFINITY;
        }
    }
    for (int64_t t = 0; t < steps && running > 0; t++) {
        int64_t then = t + 1 < steps ? layout.running_of(t + 1, part, parts) : 0;
        rows.brought.swap(rows.next);
        for (int64_t r = 0; r < running; r++) {
            rows.next[r] = r < then ? brought(token(t + 1, r)) : rows.brought[r];
            if (task.states) rows.states[r] = task.states + token(t, r) * task.states_step;
        }
        run_step<KIND>(task, rows, running, t > 0 || task.h_start);
        std::swap(rows.before, rows.after);
        for (int64_t r = then; r < running; r++) {
            T* end = task.ends + layout.row[part + r * parts] * task.end_row;
            memcpy(end, (rows.summaries ? rows.summaries : rows.before) + r * rows.step, task.hidden * sizeof(T));
            if (KIND == LSTM && task.c_ends)
                memcpy(task.c_ends + layout.row[part + r * parts] * task.end_row, rows.cells + r * rows.step, task.hidden * sizeof(T));
            if (task.summary == MEAN)
                for (int64_t u = 0; u < task.hidden; u++) end[u] /= T(t + 1);
        }
        running = then;
    }
}

template <int KIND>
void run(const Reading& task, const std::vector<int64_t>& lengths, int64_t steps) {
    static thread_local Arena<T> arena;
    Layout layout(task.batch, steps, lengths.data());
    int64_t step = padded<T>(task.hidden) + W;  // one vector more: at a power of two, rows would compete for places in the cache
    int threads = threads_for(task.threads, task.batch);
    std::vector<Rows> every(threads);
    arena.begin(4 * task.batch * step + 4 * 64 * threads);
    for (int part = 0; part < threads; part++) {
        int64_t n = (task.batch - part + threads - 1) / threads;
        std::vector<const T*> none(n);
        every[part] = Rows{none, none, std::vector<T*>(n), arena.take(n * step), arena.take(n * step), arena.take(n * step), nullptr, step, {}};
        if (task.summary != LAST) every[part].summaries = arena.take(n * step);
        if (task.hidden > DEPTH) every[part].kept.resize(n * COLUMNS * W);
    }
    in_parallel(threads, [&](int part, int parts) { run_part<KIND>(task, layout, steps, every[part], part, parts); });
}

}  // namespace

extern "C" int64_t inference_width() { return W; }

// 0; or, and then nothing was done: 1, offsets that aren't those of sequences of at least one token; 2, an id that is no
// row of the table.
extern "C" int64_t inference_read(const Reading* task) {
    std::vector<int64_t> lengths(task->batch);
    int64_t steps = 0;
    bool outside = task->offsets[0] != 0 || task->offsets[task->batch] != task->tokens;
    for (int64_t b = 0; b < task->batch; b++) {
        lengths[b] = task->offsets[b + 1] - task->offsets[b];
        outside |= lengths[b] < 1;
        if (lengths[b] > steps) steps = lengths[b];
    }
    if (outside) return 1;
    for (int64_t n = 0; task->ids && n < task->tokens; n++) outside |= task->ids[n] < 0 || task->ids[n] >= task->words;
    if (outside) return 2;
    of_kind(task->kind, [&](auto kind) { run<decltype(kind)::value>(*task, lengths, steps); });
    return 0;
}
