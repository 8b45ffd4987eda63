// All steps of a recurrence. The batch is split once over the threads, and each runs all its time steps.
#include "recurrence.h"
#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace {

// Pages of 2 MB instead of 4 KB for what is new and large, where the system gives them to those who ask: it takes time to
// get each of them when it is first written. Elsewhere nothing happens.
void ask_for_large_pages(void* memory, size_t bytes) {
#if defined(MADV_HUGEPAGE)
    constexpr size_t PAGE = 2 << 20;
    size_t at = reinterpret_cast<size_t>(memory), start = (at + PAGE - 1) / PAGE * PAGE, end = (at + bytes) / PAGE * PAGE;
    if (start < end) madvise(reinterpret_cast<void*>(start), end - start, MADV_HUGEPAGE);
#endif
}

// Weights of one panel: for each input, then for each unit of the state, NV vectors of weights.
// RNN: NV neighbouring vectors of units. LSTM and GRU: one vector of units, its 4 or 3 gates side by side.
template <class T>
struct Panels {
    T *weights, *bias;
    int64_t size;  // of a whole panel of weights
};

template <class T, int KIND>
constexpr int64_t panel_count(int64_t hidden) {
    return KIND == TANH ? (vectors<T>(hidden) + COLUMNS - 1) / COLUMNS : vectors<T>(hidden);
}
template <class T, int KIND>
INLINE int panel_width(int64_t panel, int64_t hidden) {
    if (KIND != TANH) return gates_of(KIND);
    int64_t left = vectors<T>(hidden) - panel * COLUMNS;
    return int(left < COLUMNS ? left : COLUMNS);
}

template <class T, int KIND>
void pack(const Task<T>& task, const Panels<T>& panels, int64_t panel) {
    constexpr int W = WIDTH<T>;
    int64_t D = task.inputs, H = task.hidden;
    int width = panel_width<T, KIND>(panel, H);
    T* to = panels.weights + panel * panels.size;
    T* bias = panels.bias + panel * COLUMNS * W;
    for (int j = 0; j < width; j++) {
        int64_t unit = KIND == TANH ? (panel * COLUMNS + j) * W : panel * W;
        int64_t gate = KIND == TANH ? 0 : j;
        int rows = int(H - unit < W ? H - unit : W);
        int64_t row = gate * H + unit;
        transpose(task.w_ih + row * D, D, rows, D, to + j * W, width * W);
        transpose(task.w_hh + row * H, H, rows, H, to + D * width * W + j * W, width * W);
        for (int i = 0; i < W; i++) {
            T a = i < rows ? task.b_ih[row + i] : T(0), b = i < rows ? task.b_hh[row + i] : T(0);
            bool apart = KIND == GRU && j == 2;
            bias[j * W + i] = apart ? a : a + b;
            if (apart) bias[3 * W + i] = b;
        }
    }
}

// What will be written must come to the cache first: meanwhile there is something to compute.
template <class T, int KIND, int MR, int NV>
INLINE void ask_for_lines(const Task<T>& task, const Layout& layout, int64_t panel, int64_t t, const int64_t* rows) {
    constexpr int W = WIDTH<T>;
    int64_t Hp = padded<T>(task.hidden), unit = panel * (KIND == TANH ? COLUMNS : 1) * W;
    for (int r = 0; r < MR; r++) {
        int64_t i = rows[r];
        const T* state = task.states + layout.row[i] * task.states_row + layout.place(t, i, task.reverse) * task.states_step;
        for (int j = 0; j < (KIND == TANH ? NV : 1); j++) __builtin_prefetch(state + unit + j * W, 1);
        if (task.ids)
            for (int64_t k = 0; k < task.tokens; k++)
                for (int j = 0; j < NV; j++)
                    __builtin_prefetch(task.brings(task.ids_of(layout.row[i], layout.place(t, i, task.reverse))[k], KIND == TANH ? 0 : j) +
                                       unit + (KIND == TANH ? j * W : 0));
        if (KIND != TANH && task.saved)
            for (int j = 0; j < saved_of(KIND); j++)
                __builtin_prefetch(task.saved + ((layout.first[t] + i) * Hp + unit) * saved_of(KIND) + j * W, 1);
    }
}

// What the inputs of a step bring, where it is looked up.
template <class T, int KIND, int MR, int NV, int NA>
INLINE void add_brought(const Task<T>& task, const Layout& layout, int64_t panel, int64_t t, const int64_t* rows, Vec<T> (&sums)[MR][NA]) {
    constexpr int W = WIDTH<T>;
    for (int r = 0; r < MR; r++) {
        const int32_t* ids = task.ids_of(layout.row[rows[r]], layout.place(t, rows[r], task.reverse));
        for (int64_t k = 0; k < task.tokens; k++)
            for (int j = 0; j < NV; j++) {
                int64_t unit = KIND == TANH ? (panel * COLUMNS + j) * W : panel * W;
                sums[r][j] += load_some(task.brings(ids[k], KIND == TANH ? 0 : j) + unit, task.hidden - unit);
            }
    }
}

// Up to ROWS rows of one step through rows ``first`` … ``end`` of one panel. Sums that aren't complete yet are kept.
template <class T, int KIND, int MR, int NV>
INLINE void block(const Task<T>& task, const Layout& layout, const Panels<T>& panels, int64_t panel, int64_t t, int64_t first,
                  int64_t end, const int64_t* rows, const T* const* previous, T* cells, T* masked, T* kept) {
    constexpr int W = WIDTH<T>, NA = KIND == TANH ? NV : 4;
    int64_t D = task.inputs, H = task.hidden, Hp = padded<T>(H);
    const T* weights = panels.weights + panel * panels.size;
    const T* bias = panels.bias + panel * COLUMNS * W;
    Vec<T> acc[MR][NA];
    const T* a[MR];
    EACH(r, MR) EACH(j, NA) acc[r][j] = load(first == 0 ? bias + j * W : kept + (r * NA + j) * W); END END
    bool last = end == (previous[0] ? D + H : D);
    if (last) ask_for_lines<T, KIND, MR, NV>(task, layout, panel, t, rows);
    if (first < D) {
        EACH(r, MR)
            a[r] = task.x + layout.row[rows[r]] * task.x_row + layout.place(t, rows[r], task.reverse) * task.x_step + first;
        END
        multiply<T, MR, NV, NV - 1>((end < D ? end : D) - first, a, weights + first * NV * W, acc);
    }
    if (end > D) {
        int64_t from = first > D ? first - D : 0;
        EACH(r, MR) a[r] = (masked ? masked + rows[r] * 2 * Hp + (t % 2) * Hp : previous[r]) + from; END
        multiply<T, MR, NV, NA - 1>(end - D - from, a, weights + (D + from) * NV * W, acc);
    }
    if (!last) {
        EACH(r, MR) EACH(j, NA) store(kept + (r * NA + j) * W, acc[r][j]); END END
        return;
    }
    Vec<T> sums[MR][NA];  // a loop over rows may take these from memory: the code would be six times as long otherwise
    EACH(r, MR) EACH(j, NA) sums[r][j] = acc[r][j]; END END
    if (task.ids) add_brought<T, KIND, MR, NV>(task, layout, panel, t, rows, sums);
    for (int r = 0; r < MR; r++) {
        int64_t i = rows[r], b = layout.row[i];
        T* state = task.states + b * task.states_row + layout.place(t, i, task.reverse) * task.states_step;
        T* saved = task.saved ? task.saved + ((layout.first[t] + i) * Hp + panel * W) * saved_of(KIND) : nullptr;  // not for TANH
        EACH(j, (KIND == TANH ? NV : 1))
            int64_t unit = KIND == TANH ? (panel * COLUMNS + j) * W : panel * W;
            int n = int(H - unit < W ? H - unit : W);
            Vec<T> h{};
            if constexpr (KIND == TANH) h = activated(task.kind == RELU, sums[r][j]);
            if constexpr (KIND == LSTM) {
                auto gates = LstmGates<T>::of(sums[r][0], sums[r][1], sums[r][2], sums[r][3]);
                T* cell = cells + i * Hp + unit;
                Vec<T> c = gates.cell(load(cell));
                store(cell, c);
                h = gates.out * hyperbolic(c);
                if (saved) {
                    gates.keep(saved, W);
                    store(saved + 4 * W, c);
                }
            }
            if constexpr (KIND == GRU) {
                Vec<T> reset = sigmoid(sums[r][0]);
                GruGates<T> gates{reset, sigmoid(sums[r][1]), hyperbolic(sums[r][2] + reset * sums[r][3])};
                h = gates.state(previous[0] ? load_some(previous[r] + unit, n) : Vec<T>{});
                if (saved) {
                    gates.keep(saved, W);
                    store(saved + 3 * W, sums[r][3]);
                }
            }
            store_some(state + unit, h, n);
            if (masked) store(masked + i * 2 * Hp + (1 - t % 2) * Hp + unit, h * load_some(task.mask + b * H + unit, n));
        END
    }
}

// One thread: rows part, part + parts, … of the layout.
template <class T, int KIND>
void run_part(const Task<T>& task, const Layout& layout, const Panels<T>& panels, T* cells, T* masked, int part, int parts) {
    int64_t H = task.hidden, Hp = padded<T>(H);
    std::vector<int64_t> rows;
    for (int64_t i = part; i < task.batch; i += parts) rows.push_back(i);
    std::vector<T> kept(rows.size() * COLUMNS * WIDTH<T>);
    std::vector<const T*> previous(rows.size() + ROWS, nullptr);
    for (size_t r = 0; r < rows.size(); r++) {
        int64_t b = layout.row[rows[r]];
        if (task.h_start) previous[r] = task.h_start + b * H;
        if (KIND == LSTM)
            for (int64_t u = 0; u < Hp; u++) cells[rows[r] * Hp + u] = task.c_start && u < H ? task.c_start[b * H + u] : T(0);
        if (masked && task.h_start)
            for (int64_t u = 0; u < H; u++) masked[rows[r] * 2 * Hp + u] = task.h_start[b * H + u] * task.mask[b * H + u];
    }
    for (int64_t t = 0; t < task.steps; t++) {
        int64_t running = layout.running_of(t, part, parts);
        int64_t depth = task.inputs + (previous[0] ? H : 0);
        for (int64_t panel = 0; panel < panel_count<T, KIND>(H); panel++)
            in_depths(depth, [&](int64_t k, int64_t end) {
                in_blocks(running, [&](int64_t first, auto count) {
                    constexpr int MR = decltype(count)::value;
                    auto go = [&](auto width) {
                        block<T, KIND, MR, decltype(width)::value>(task, layout, panels, panel, t, k, end, rows.data() + first,
                                                                   previous.data() + first, cells, masked, kept.data() + first * COLUMNS * WIDTH<T>);
                    };
                    if constexpr (KIND == TANH)
                        as_constant<COLUMNS>(panel_width<T, KIND>(panel, H), go);
                    else
                        go(std::integral_constant<int, gates_of(KIND)>{});
                });
            });
        for (int64_t r = 0; r < running; r++) {
            int64_t i = rows[r];
            previous[r] = task.states + layout.row[i] * task.states_row + layout.place(t, i, task.reverse) * task.states_step;
        }
    }
    for (size_t r = 0; r < rows.size(); r++) {
        int64_t i = rows[r], b = layout.row[i], length = layout.length[i];
        if (task.h_end) memcpy(task.h_end + b * task.end_row, previous[r], H * sizeof(T));
        if (task.c_end) memcpy(task.c_end + b * task.end_row, cells + i * Hp, H * sizeof(T));
        for (int64_t t = length; t < task.steps; t++)
            memset(task.states + b * task.states_row + t * task.states_step, 0, H * sizeof(T));
    }
}

template <class T, int KIND>
void forward(const Task<T>& task) {
    constexpr int W = WIDTH<T>;
    static thread_local Arena<T> arena;
    Layout layout(task.batch, task.steps, task.lengths);
    int64_t count = panel_count<T, KIND>(task.hidden), Hp = padded<T>(task.hidden);
    Panels<T> panels;
    panels.size = (task.inputs + task.hidden) * (KIND == TANH ? COLUMNS : gates_of(KIND)) * W;
    arena.begin(count * (panels.size + COLUMNS * W) + 3 * task.batch * Hp);
    panels.weights = arena.take(count * panels.size);
    panels.bias = arena.take(count * COLUMNS * W);
    T* cells = KIND == LSTM ? arena.take(task.batch * Hp) : nullptr;
    T* masked = task.mask ? arena.take(2 * task.batch * Hp) : nullptr;  // the states of two steps by turns
    int threads = threads_for(task.threads, task.batch);
    if (!task.reverse) ask_for_large_pages(task.states, task.batch * task.states_row * sizeof(T));  // both directions
    if (task.saved) ask_for_large_pages(task.saved, layout.first[task.steps] * saved_of(KIND) * Hp * sizeof(T));
    in_phases(threads, 2, [&](int64_t phase, int part, int parts) {
        if (phase == 0)
            for (int64_t panel = part; panel < count; panel += parts) pack<T, KIND>(task, panels, panel);
        else
            run_part<T, KIND>(task, layout, panels, cells, masked, part, parts);
    });
}

}  // namespace

template <class T>
void recurrence_forward(const Task<T>* task) {
    of_kind(task->kind, [&](auto kind) { forward<T, decltype(kind)::value>(*task); });
}
EXPORT(recurrence_forward)
EXPORT(recurrence_saved)
