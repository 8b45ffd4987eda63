// The gradients of a recurrence. First from the last step to the first, the batch split once over the threads: δ_t, what
// goes back to the state before, and what goes to the input. Then the weights' gradients, in one product over all tokens,
// split over their rows: so the result doesn't depend on the number of threads.
#include "recurrence.h"

namespace {

constexpr int64_t TOKENS = 96;  // taken at once into the product for the weights: a panel of them stays in the first-level cache

// From the δs of one token to the next. One vector more than there are: at a power of two, all tokens would compete for
// the same few places of the first-level cache.
template <class T>
int64_t delta_step(int kind, int64_t hidden) {
    return deltas_of(kind) * padded<T>(hidden) + WIDTH<T>;
}

// Weights for the way back: for each δ, NV vectors of neighbouring columns. RNN and LSTM have the δs in the order of the
// gates; the GRU has n r z n·r, of which the input sees the first three and the state the last three.
template <class T>
struct Panels {
    T *of_state, *of_input;
    int64_t size;  // of a whole panel
};

INLINE int64_t gate_of_input(int kind, int64_t delta) { return kind == GRU ? (delta + 2) % 3 : delta; }  // n r z

template <class T, int KIND>
void pack(const T* w, int64_t columns, int64_t H, int64_t panel, bool input, T* to) {
    constexpr int W = WIDTH<T>;
    int64_t Hp = padded<T>(H), left = vectors<T>(columns) - panel * COLUMNS;
    int width = int(left < COLUMNS ? left : COLUMNS);
    for (int64_t d = 0; d < gates_of(KIND); d++) {
        const T* gate = w + (input ? gate_of_input(KIND, d) : d) * H * columns + panel * COLUMNS * W;
        for (int64_t u = 0; u < Hp; u++, to += width * W)
            for (int j = 0; j < width; j++) {
                int64_t column = (panel * COLUMNS + j) * W;
                store(to + j * W, u < H ? load_some(gate + u * columns + j * W, int(columns - column < W ? columns - column : W)) : Vec<T>{});
            }
    }
}

// δ of one token, from the gradient of its state.
template <class T, int KIND>
INLINE void differentiate(const Task<T>& task, const Layout& layout, int64_t t, int64_t i, T* delta, T* carry, T* carry_cell, T* kept) {
    constexpr int W = WIDTH<T>;
    int64_t H = task.hidden, Hp = padded<T>(H), b = layout.row[i], place = layout.place(t, i, task.reverse);
    const T* direct = task.for_states ? task.for_states + b * task.for_states_row + place * task.for_states_step : nullptr;
    const T* state = task.states + b * task.states_row + place * task.states_step;
    const T* before = t > 0 ? task.states + b * task.states_row + layout.place(t - 1, i, task.reverse) * task.states_step
                            : task.h_start ? task.h_start + b * H : nullptr;
    const T* saved = task.saved + (layout.first[t] + i) * saved_of(KIND) * Hp;
    const T* cell_before = KIND != LSTM ? nullptr : t > 0 ? task.saved + (layout.first[t - 1] + i) * saved_of(KIND) * Hp + 4 * Hp : nullptr;
    for (int64_t u = 0; u < Hp; u += W) {
        int n = int(H - u < W ? H - u : W);
        Vec<T> dh = load(carry + u);
        if (direct) dh += load_some(direct + u, n);
        if constexpr (KIND == TANH) {
            Vec<T> h = load_some(state + u, n);
            store(delta + u, task.kind == TANH ? dh * (T(1) - h * h) : (h > T(0) ? dh : Vec<T>{}));
        }
        if constexpr (KIND == LSTM) {
            Vec<T> in = load(saved + u), forget = load(saved + Hp + u), candidate = load(saved + 2 * Hp + u);
            Vec<T> out = load(saved + 3 * Hp + u), c = hyperbolic(load(saved + 4 * Hp + u));
            Vec<T> earlier = cell_before ? load(cell_before + u) : task.c_start ? load_some(task.c_start + b * H + u, n) : Vec<T>{};
            Vec<T> dc = load(carry_cell + u) + dh * out * (T(1) - c * c);
            store(delta + u, dc * candidate * in * (T(1) - in));
            store(delta + Hp + u, dc * earlier * forget * (T(1) - forget));
            store(delta + 2 * Hp + u, dc * in * (T(1) - candidate * candidate));
            store(delta + 3 * Hp + u, dh * c * out * (T(1) - out));
            store(carry_cell + u, dc * forget);
        }
        if constexpr (KIND == GRU) {
            Vec<T> reset = load(saved + u), update = load(saved + Hp + u), candidate = load(saved + 2 * Hp + u), q = load(saved + 3 * Hp + u);
            Vec<T> earlier = before ? load_some(before + u, n) : Vec<T>{};
            Vec<T> dn = dh * (T(1) - update) * (T(1) - candidate * candidate);
            store(delta + u, dn);
            store(delta + Hp + u, dn * q * reset * (T(1) - reset));
            store(delta + 2 * Hp + u, dh * (earlier - candidate) * update * (T(1) - update));
            store(delta + 3 * Hp + u, dn * reset);
            store(kept + u, dh * update);  // the product is added to it
        }
    }
}

// The product that was just stored went through a mask; what goes around the product is added to it.
template <class T, int KIND>
void through_mask(const Task<T>& task, int64_t b, T* carry, const T* kept) {
    for (int64_t u = 0; u < task.hidden; u++) carry[u] = carry[u] * task.mask[b * task.hidden + u] + (KIND == GRU ? kept[u] : T(0));
}

// One thread: rows part, part + parts, … of the layout.
template <class T, int KIND>
void run_part(const Task<T>& task, const Layout& layout, const Panels<T>& panels, T* deltas, T* carries, T* cell_carries, T* kept, int part, int parts) {
    constexpr int W = WIDTH<T>;
    const int64_t step = delta_step<T>(KIND, task.hidden);
    int64_t D = task.inputs, H = task.hidden, Hp = padded<T>(H), K = gates_of(KIND) * Hp;
    std::vector<const T*> left(task.batch);
    std::vector<T*> right(task.batch);
    for (int64_t t = task.steps - 1; t >= 0; t--) {
        int64_t running = layout.running_of(t, part, parts);
        for (int64_t r = 0; r < running; r++) {
            int64_t i = part + r * parts, b = layout.row[i];
            T *carry = carries + i * Hp, *carry_cell = KIND == LSTM ? cell_carries + i * Hp : nullptr;
            if (t == layout.length[i] - 1) {
                memset(carry, 0, Hp * sizeof(T));
                if (task.for_h_end) memcpy(carry, task.for_h_end + b * task.end_row, H * sizeof(T));
                if (KIND == LSTM) memset(carry_cell, 0, Hp * sizeof(T));
                if (KIND == LSTM && task.for_c_end) memcpy(carry_cell, task.for_c_end + b * task.end_row, H * sizeof(T));
            }
            differentiate<T, KIND>(task, layout, t, i, deltas + (layout.first[t] + i) * step, carry, carry_cell, task.mask ? kept + i * Hp : carry);
        }
        for (int64_t r = 0; r < running; r++) {
            int64_t i = part + r * parts;
            left[r] = deltas + (layout.first[t] + i) * step + (KIND == GRU ? Hp : 0);
        }
        if (t > 0 || task.for_h_start) {
            in_panels(vectors<T>(H), [&](int64_t column, auto width) {
                for (int64_t r = 0; r < running; r++) right[r] = carries + (part + r * parts) * Hp + column * W;
                const T* panel = panels.of_state + column / COLUMNS * panels.size;
                multiply_rows<T, decltype(width)::value>(running, K, left.data(), panel, right.data(), Hp, KIND == GRU && !task.mask);
            });
            if (task.mask)
                for (int64_t r = 0; r < running; r++) through_mask<T, KIND>(task, layout.row[part + r * parts], carries + (part + r * parts) * Hp, kept + (part + r * parts) * Hp);
        }
        if (task.for_x)
            in_panels(vectors<T>(D), [&](int64_t column, auto width) {
                for (int64_t r = 0; r < running; r++) {
                    int64_t i = part + r * parts;
                    right[r] = task.for_x + (layout.row[i] * task.steps + layout.place(t, i, task.reverse)) * D + column * W;
                    if (KIND == GRU && column == 0) left[r] -= Hp;
                }
                const T* panel = panels.of_input + column / COLUMNS * panels.size;
                multiply_rows<T, decltype(width)::value>(running, K, left.data(), panel, right.data(), D - column * W, task.add_to_x);
            });
    }
    for (int64_t i = part; i < task.batch; i += parts) {
        int64_t b = layout.row[i], length = layout.length[i];
        if (task.for_h_start) memcpy(task.for_h_start + b * H, carries + i * Hp, H * sizeof(T));
        if (task.for_c_start && KIND == LSTM) memcpy(task.for_c_start + b * H, cell_carries + i * Hp, H * sizeof(T));
        if (task.for_x && !task.add_to_x)
            memset(task.for_x + (b * task.steps + length) * D, 0, (task.steps - length) * D * sizeof(T));
    }
}

// A row of numbers, and one more if it isn't zero, as row k of the panels of a block of tokens.
template <class T>
INLINE void lay(const T* row, const T* factor, int64_t n, T more, int64_t columns, int64_t tokens, int64_t k, T* panels) {
    in_panels(columns, [&](int64_t column, auto width) {
        constexpr int NV = decltype(width)::value;
        T* to = panels + column * tokens * WIDTH<T> + k * NV * WIDTH<T>;
        EACH(j, NV)
            int64_t at = (column + j) * WIDTH<T>;
            Vec<T> v = row ? load_some(row + at, int(n - at)) : Vec<T>{};
            if (factor) v *= load_some(factor + at, int(n - at));
            store(to + j * WIDTH<T>, v);
        END
    });
    if (more != T(0)) {
        int64_t column = n / WIDTH<T>, first = column / COLUMNS * COLUMNS, width = columns - first < COLUMNS ? columns - first : COLUMNS;
        panels[first * tokens * WIDTH<T> + (k * width + column - first) * WIDTH<T> + n % WIDTH<T>] = more;
    }
}

// What the weights are multiplied with, for some tokens: [x | 1] and the state before, each padded to whole vectors, in
// panels.
template <class T>
void gather(const Task<T>& task, const Layout& layout, int64_t first, int64_t end, T* inputs, T* before) {
    int64_t D = task.inputs, H = task.hidden, t = 0;
    for (int64_t token = first; token < end; token++) {
        while (layout.first[t + 1] <= token) t++;
        int64_t i = token - layout.first[t], b = layout.row[i];
        const T* x = task.x + b * task.x_row + layout.place(t, i, task.reverse) * task.x_step;
        const T* state = t > 0 ? task.states + b * task.states_row + layout.place(t - 1, i, task.reverse) * task.states_step
                               : task.h_start ? task.h_start + b * H : nullptr;
        lay<T>(x, nullptr, D, T(1), vectors<T>(D + 1), end - first, token - first, inputs);
        lay<T>(state, task.mask && state ? task.mask + b * H : nullptr, H, T(0), vectors<T>(H), end - first, token - first, before);
    }
}

// One thread: some rows of the weights' gradients.
template <class T, int KIND>
void weigh_part(const Task<T>& task, const Layout& layout, const T* deltas, T* work, T* of_input, T* of_state, int part, int parts) {
    const int64_t step = delta_step<T>(KIND, task.hidden);
    int64_t D = task.inputs, H = task.hidden, Dp = padded<T>(D + 1), Hp = padded<T>(H), rows = gates_of(KIND) * Hp;
    int64_t blocks = (rows + ROWS - 1) / ROWS, first = blocks * part / parts * ROWS, end = blocks * (part + 1) / parts * ROWS;
    if (end > rows) end = rows;
    if (first >= end) return;
    memset(of_input + first * Dp, 0, (end - first) * Dp * sizeof(T));
    memset(of_state + first * Hp, 0, (end - first) * Hp * sizeof(T));
    T *inputs = work, *before = work + TOKENS * Dp;
    int64_t all = layout.first[task.steps];
    for (int64_t token = 0; token < all; token += TOKENS) {
        int64_t some = all - token < TOKENS ? all - token : TOKENS;
        gather(task, layout, token, token + some, inputs, before);
        const T* delta = deltas + token * step;
        add_products(delta, step, some, inputs, Dp, first, end, of_input);
        add_products(delta + (KIND == GRU ? Hp : 0), step, some, before, Hp, first, end, of_state);
    }
    for (int64_t row = first; row < end; row++) {
        int64_t delta = row / Hp, unit = row % Hp;
        if (unit >= H) continue;
        int64_t at = gate_of_input(KIND, delta) * H + unit, state_at = delta * H + unit;
        memcpy(task.for_w_ih + at * D, of_input + row * Dp, D * sizeof(T));
        memcpy(task.for_w_hh + state_at * H, of_state + row * Hp, H * sizeof(T));
        task.for_b_ih[at] = of_input[row * Dp + D];
        if (KIND == GRU && delta > 0) task.for_b_hh[at] = task.for_b_ih[at];  // of n it is another: see below
    }
}

// The GRU's second bias of n: it stands inside the reset gate.
template <class T>
void weigh_inner_bias(const Task<T>& task, const Layout& layout, const T* deltas) {
    int64_t H = task.hidden, Hp = padded<T>(H), all = layout.first[task.steps];
    for (int64_t u = 0; u < H; u += WIDTH<T>) {
        Vec<T> sum{};
        for (int64_t token = 0; token < all; token++) sum += load(deltas + token * delta_step<T>(GRU, H) + 3 * Hp + u);
        store_some(task.for_b_hh + 2 * H + u, sum, int(H - u));
    }
}

template <class T, int KIND>
void backward(const Task<T>& task) {
    constexpr int W = WIDTH<T>;
    static thread_local Arena<T> arena;
    Layout layout(task);
    int64_t D = task.inputs, H = task.hidden, Hp = padded<T>(H), Dp = padded<T>(D + 1), rows = gates_of(KIND) * Hp;
    int64_t state_panels = (vectors<T>(H) + COLUMNS - 1) / COLUMNS, input_panels = task.for_x ? (vectors<T>(D) + COLUMNS - 1) / COLUMNS : 0;
    int threads = threads_of(task);
    Panels<T> panels;
    panels.size = rows * COLUMNS * W;
    int64_t tokens = layout.first[task.steps], work = TOKENS * (Dp + Hp);
    arena.begin((state_panels + input_panels) * panels.size + tokens * delta_step<T>(KIND, H) + 3 * task.batch * Hp + rows * (Dp + Hp) + threads * work);
    panels.of_state = arena.take(state_panels * panels.size);
    panels.of_input = arena.take(input_panels * panels.size);
    T* deltas = arena.take(tokens * delta_step<T>(KIND, H));
    T* carries = arena.take(task.batch * Hp);
    T* cell_carries = KIND == LSTM ? arena.take(task.batch * Hp) : nullptr;
    T* kept = task.mask ? arena.take(task.batch * Hp) : nullptr;
    T *of_input = arena.take(rows * Dp), *of_state = arena.take(rows * Hp), *scratch = arena.take(threads * work);
    in_parallel(threads, [&](int part, int parts) {
        for (int64_t panel = part; panel < state_panels + input_panels; panel += parts)
            if (panel < state_panels)
                pack<T, KIND>(task.w_hh, H, H, panel, false, panels.of_state + panel * panels.size);
            else
                pack<T, KIND>(task.w_ih, D, H, panel - state_panels, true, panels.of_input + (panel - state_panels) * panels.size);
    });
    in_parallel(threads, [&](int part, int parts) { run_part<T, KIND>(task, layout, panels, deltas, carries, cell_carries, kept, part, parts); });
    in_parallel(threads, [&](int part, int parts) {
        weigh_part<T, KIND>(task, layout, deltas, scratch + part * work, of_input, of_state, part, parts);
        if (KIND == GRU && part == parts - 1) weigh_inner_bias(task, layout, deltas);
    });
}

template <class T>
void run(const Task<T>* task) {
    switch (task->kind) {
        case TANH:
        case RELU: backward<T, TANH>(*task); break;
        case LSTM: backward<T, LSTM>(*task); break;
        default: backward<T, GRU>(*task); break;
    }
}

}  // namespace

extern "C" void recurrence_backward_float(const Task<float>* task) { run(task); }
extern "C" void recurrence_backward_double(const Task<double>* task) { run(task); }
