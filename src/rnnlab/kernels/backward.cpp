// The gradients of a recurrence, some steps at a time, from the last to the first. For these: δ_t, what goes back to the
// state before, and what goes to the input. Then, while the δs are in the cache, what they add to the weights' gradients.
//
// The rows of the batch belong to two groups by turns, each with sums of its own, which are added at the end. That doesn't
// depend on the number of threads, so the result doesn't either; and two threads have a group each, and read nothing that
// the other has just written.
#include "recurrence.h"

namespace {

constexpr int MOST_GROUPS = 2;
constexpr int64_t FEW = 16;  // rows that aren't worth a second group

inline int groups_of(int64_t batch) { return batch < FEW ? 1 : MOST_GROUPS; }

// Tokens, at least, from one product for the weights to the next: their δs stay in the cache. A plain recurrence has a
// quarter of the δs.
constexpr int64_t chunk_of(int kind) { return kind == TANH || kind == RELU ? 1024 : 256; }

// The rows g, g + groups, g + 2 groups … of a layout, by their own numbers: token (t, i) is first[t] + i / groups.
struct Group {
    std::vector<int64_t> first;  // by t; one more: all tokens

    Group(const Layout& layout, int64_t steps, int g, int groups) : first(steps + 1) {
        for (int64_t t = 0; t < steps; t++) first[t + 1] = first[t] + layout.running_of(t, g, groups);
    }
};

// Steps first … end - 1.
struct Chunk {
    int64_t first, end;

    Chunk(const Layout& layout, int64_t end, int64_t enough) : first(end), end(end) {
        do first--;
        while (first > 0 && layout.first[end] - layout.first[first] < enough);
    }
};

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
    const T* highest = task.highest ? task.highest + b * task.end_row : nullptr;
    const T* for_highest = task.highest ? task.for_highest + b * task.end_row : nullptr;
    const T* before = t > 0 ? task.states + b * task.states_row + layout.place(t - 1, i, task.reverse) * task.states_step
                            : task.h_start ? task.h_start + b * H : nullptr;
    const T* saved = task.saved + (layout.first[t] + i) * saved_of(KIND) * Hp;
    const T* saved_before = KIND == LSTM && t > 0 ? task.saved + (layout.first[t - 1] + i) * saved_of(KIND) * Hp : nullptr;
    for (int64_t u = 0; u < Hp; u += W, saved += saved_of(KIND) * W) {
        int n = int(H - u < W ? H - u : W);
        Vec<T> dh = load(carry + u);
        if (direct) dh += load_some(direct + u, n);
        if (highest) dh += load_some(state + u, n) == load_some(highest + u, n) ? load_some(for_highest + u, n) : Vec<T>{};
        if constexpr (KIND == TANH) store(delta + u, through_activation(task.kind == RELU, dh, load_some(state + u, n)));
        if constexpr (KIND == LSTM) {
            auto gates = LstmGates<T>::kept(saved, W);
            Vec<T> c = hyperbolic(load(saved + 4 * W)), of[3];
            Vec<T> earlier = saved_before ? load(saved_before + u * saved_of(KIND) + 4 * W) : task.c_start ? load_some(task.c_start + b * H + u, n) : Vec<T>{};
            Vec<T> dc = load(carry_cell + u) + through_tanh(dh * gates.out, c);
            gates.back(dc, earlier, of);
            EACH(gate, 3) store(delta + gate * Hp + u, of[gate]); END
            store(delta + 3 * Hp + u, through_sigmoid(dh * c, gates.out));
            store(carry_cell + u, dc * gates.forget);
        }
        if constexpr (KIND == GRU) {
            auto gates = GruGates<T>::kept(saved, W);
            Vec<T> dn = gates.for_candidate(dh);
            store(delta + u, dn);
            store(delta + Hp + u, through_sigmoid(dn * load(saved + 3 * W), gates.reset));
            store(delta + 2 * Hp + u, gates.for_update(dh, before ? load_some(before + u, n) : Vec<T>{}));
            store(delta + 3 * Hp + u, dn * gates.reset);
            store(kept + u, dh * gates.update);  // the product is added to it
        }
    }
}

// The product that was just stored went through a mask; what goes around the product is added to it.
template <class T, int KIND>
void through_mask(const Task<T>& task, int64_t b, T* carry, const T* kept) {
    for (int64_t u = 0; u < task.hidden; u++) carry[u] = carry[u] * task.mask[b * task.hidden + u] + (KIND == GRU ? kept[u] : T(0));
}

// A row of n numbers, as row k of the panels of so many tokens.
template <class T>
INLINE void lay(const T* row, const T* factor, int64_t n, int64_t tokens, int64_t k, T* panels) {
    in_panels(vectors<T>(n), [&](int64_t column, auto width) {
        constexpr int NV = decltype(width)::value;
        T* to = panels + column * tokens * WIDTH<T> + k * NV * WIDTH<T>;
        EACH(j, NV)
            int64_t at = (column + j) * WIDTH<T>;
            Vec<T> v = load_some(row + at, int(n - at));
            if (factor) v *= load_some(factor + at, int(n - at));
            store(to + j * WIDTH<T>, v);
        END
    });
}

// The inputs that come in whole vectors, or fill most of one. The others, up to ROWS - 1, would each cost as much as a
// vector; with a 1 for the bias beside them they go through a product of their own, in which δs are the vectors.
template <class T>
int64_t in_vectors(int64_t inputs) {
    return inputs % WIDTH<T> < ROWS ? inputs / WIDTH<T> * WIDTH<T> : inputs;
}

// What the tokens of a group in a chunk leave for the weights.
template <class T>
struct Work {
    int64_t token, tokens;         // the first of them, and how many
    int64_t alone;                 // so many of these have no state before: those of the first step, unless a start was given
    T* deltas;                     // a token every delta_step
    T *inputs, *before;            // x, as far as `in_vectors`, and the state before, each padded to whole vectors, in panels
    T* others;                     // the rest of x and a 1: a token every ROWS
    T *of_input, *of_state;        // sums: (G · Hp, Dp), (G · Hp, Hp)
    T *of_others, *inner;          // sums: (ROWS, G · Hp), and of the GRU (Hp)
    T* of_brought;                 // sums: (kinds, G · Hp)
    int64_t* places;               // of each token, b · T + its place: where its ids stand

    void begin(const Task<T>& task, const Group& group, const Chunk& chunk) {
        token = group.first[chunk.first];
        tokens = group.first[chunk.end] - token;
        alone = chunk.first == 0 && !task.h_start ? group.first[1] : 0;
    }
};

// All that threads share.
template <class T>
struct Shared {
    Layout layout;
    int groups;
    std::vector<Group> group;
    std::vector<Work<T>> work;  // of each
    Panels<T> panels;
    T *carries, *cell_carries, *kept;
};

// One thread: rows part, part + parts, … of the layout.
template <class T, int KIND>
void run_part(const Task<T>& task, const Shared<T>& shared, const Chunk& chunk, int part, int parts) {
    constexpr int W = WIDTH<T>;
    const Layout& layout = shared.layout;
    const Panels<T>& panels = shared.panels;
    T *carries = shared.carries, *cell_carries = shared.cell_carries, *kept = shared.kept;
    const int64_t step = delta_step<T>(KIND, task.hidden);
    int64_t D = task.inputs, H = task.hidden, Hp = padded<T>(H), K = gates_of(KIND) * Hp, plain = in_vectors<T>(D);
    std::vector<const T*> left;
    std::vector<T*> right;
    for (int64_t t = chunk.end - 1; t >= chunk.first; t--) {
        int64_t running = layout.running_of(t, part, parts);
        left.resize(running);
        right.resize(running);
        for (int64_t r = 0; r < running; r++) {
            int64_t i = part + r * parts, b = layout.row[i], g = i % shared.groups;
            const Work<T>& work = shared.work[g];
            int64_t k = shared.group[g].first[t] + i / shared.groups - work.token;
            T *carry = carries + i * Hp, *carry_cell = KIND == LSTM ? cell_carries + i * Hp : nullptr, *delta = work.deltas + k * step;
            if (t == layout.length[i] - 1) {
                memset(carry, 0, Hp * sizeof(T));
                if (task.for_h_end) memcpy(carry, task.for_h_end + b * task.end_row, H * sizeof(T));
                if (KIND == LSTM) memset(carry_cell, 0, Hp * sizeof(T));
                if (KIND == LSTM && task.for_c_end) memcpy(carry_cell, task.for_c_end + b * task.end_row, H * sizeof(T));
            }
            differentiate<T, KIND>(task, layout, t, i, delta, carry, carry_cell, task.mask ? kept + i * Hp : carry);
            int64_t place = layout.place(t, i, task.reverse);
            work.places[k] = b * task.steps + place;
            const T* x = task.x + b * task.x_row + place * task.x_step;
            lay<T>(x, nullptr, plain, work.tokens, k, work.inputs);
            for (int64_t d = plain; d < D; d++) work.others[k * ROWS + d - plain] = x[d];
            work.others[k * ROWS + D - plain] = T(1);
            const T* before = t > 0 ? task.states + b * task.states_row + layout.place(t - 1, i, task.reverse) * task.states_step
                                    : task.h_start ? task.h_start + b * H : nullptr;
            if (before) lay<T>(before, task.mask ? task.mask + b * H : nullptr, H, work.tokens - work.alone, k - work.alone, work.before);
            left[r] = delta + (KIND == GRU ? Hp : 0);
        }
        if (t == 0 && !task.for_h_start) break;
        in_panels(vectors<T>(H), [&](int64_t column, auto width) {
            for (int64_t r = 0; r < running; r++) right[r] = carries + (part + r * parts) * Hp + column * W;
            const T* panel = panels.of_state + column / COLUMNS * panels.size;
            multiply_rows<T, decltype(width)::value>(running, K, left.data(), panel, right.data(), Hp, KIND == GRU && !task.mask);
        });
        if (task.mask)
            for (int64_t i = part; i < layout.running[t]; i += parts) through_mask<T, KIND>(task, layout.row[i], carries + i * Hp, kept + i * Hp);
    }
    if (!task.for_x) return;
    left.clear();
    right.clear();
    for (int64_t t = chunk.first; t < chunk.end; t++)
        for (int64_t i = part; i < layout.running[t]; i += parts) {
            const Work<T>& work = shared.work[i % shared.groups];
            left.push_back(work.deltas + (shared.group[i % shared.groups].first[t] + i / shared.groups - work.token) * step);
            right.push_back(task.for_x + (layout.row[i] * task.steps + layout.place(t, i, task.reverse)) * D);
        }
    in_panels(vectors<T>(D), [&](int64_t column, auto width) {
        const T* panel = panels.of_input + column / COLUMNS * panels.size;
        multiply_rows<T, decltype(width)::value>(left.size(), K, left.data(), panel, right.data(), D - column * W, task.add_to_x);
        for (T*& to : right) to += decltype(width)::value * W;
    });
}

// One thread: what a chunk of a group adds to some rows of the weights' gradients.
template <class T, int KIND>
void weigh_part(const Task<T>& task, bool begin, const Work<T>& work, int part, int parts) {
    const int64_t step = delta_step<T>(KIND, task.hidden);
    int64_t Dp = padded<T>(in_vectors<T>(task.inputs)), Hp = padded<T>(task.hidden), rows = gates_of(KIND) * Hp;
    int64_t blocks = (rows + ROWS - 1) / ROWS, first = blocks * part / parts * ROWS, end = blocks * (part + 1) / parts * ROWS;
    if (end > rows) end = rows;
    if (first >= end) return;
    if (begin) {
        memset(work.of_input + first * Dp, 0, (end - first) * Dp * sizeof(T));
        memset(work.of_state + first * Hp, 0, (end - first) * Hp * sizeof(T));
    }
    add_products(work.deltas, step, work.tokens, work.inputs, Dp, first, end, work.of_input);
    add_products(work.deltas + work.alone * step + (KIND == GRU ? Hp : 0), step, work.tokens - work.alone, work.before, Hp, first, end, work.of_state);
}

// One thread: the same for the other inputs, and the biases.
template <class T, int KIND>
void weigh_others(const Task<T>& task, bool begin, const Work<T>& work, int part, int parts) {
    constexpr int W = WIDTH<T>;
    const int64_t step = delta_step<T>(KIND, task.hidden);
    int64_t D = task.inputs, all = gates_of(KIND) * padded<T>(task.hidden) / W;
    int64_t first = all * part / parts, end = all * (part + 1) / parts;
    in_panels(end - first, [&](int64_t panel, auto width) {
        constexpr int NV = decltype(width)::value;
        T* sums = work.of_others + (first + panel) * W;
        in_blocks(D - in_vectors<T>(D) + 1, [&](int64_t, auto count) {
            constexpr int MR = decltype(count)::value;
            Vec<T> acc[MR][NV];
            EACH(r, MR) EACH(j, NV) acc[r][j] = begin ? Vec<T>{} : load(sums + (r * all + j) * W); END END
            multiply_along<T, MR, NV>(work.tokens, work.others, ROWS, work.deltas + (first + panel) * W, acc, step);
            EACH(r, MR) EACH(j, NV) store(sums + (r * all + j) * W, acc[r][j]); END END
        });
    });
}

// The GRU's second bias of n: it stands inside the reset gate.
template <class T>
void weigh_inner_bias(const Task<T>& task, bool begin, const Work<T>& work) {
    int64_t H = task.hidden, Hp = padded<T>(H);
    for (int64_t u = 0; u < H; u += WIDTH<T>) {
        Vec<T> sum = begin ? Vec<T>{} : load(work.inner + u);
        for (int64_t token = 0; token < work.tokens; token++) sum += load(work.deltas + token * delta_step<T>(GRU, H) + 3 * Hp + u);
        store(work.inner + u, sum);
    }
}

// One thread: the same for what is looked up, of some of the δs.
template <class T, int KIND>
void weigh_brought(const Task<T>& task, bool begin, const Work<T>& work, int part, int parts) {
    constexpr int W = WIDTH<T>;
    const int64_t step = delta_step<T>(KIND, task.hidden);
    int64_t width = gates_of(KIND) * padded<T>(task.hidden), all = width / W, first = all * part / parts * W, end = all * (part + 1) / parts * W;
    if (begin)
        for (int64_t row = 0; row < task.kinds; row++) memset(work.of_brought + row * width + first, 0, (end - first) * sizeof(T));
    for (int64_t token = 0; token < work.tokens; token++)
        for (int64_t k = 0; k < task.tokens; k++) {
            T* sums = work.of_brought + task.ids[work.places[token] * task.tokens + k] * width;
            const T* delta = work.deltas + token * step;
            for (int64_t u = first; u < end; u += W) store(sums + u, load(sums + u) + load(delta + u));
        }
}

template <class T, int KIND>
void weigh(const Task<T>& task, const Chunk& chunk, const Work<T>& work, int part, int parts) {
    bool begin = chunk.end == task.steps;
    weigh_part<T, KIND>(task, begin, work, part, parts);
    weigh_others<T, KIND>(task, begin, work, part, parts);
    if (task.ids) weigh_brought<T, KIND>(task, begin, work, part, parts);
    if (KIND == GRU && part == parts - 1) weigh_inner_bias(task, begin, work);
}

// One thread: some rows of the weights' gradients, from the sums of the groups.
template <class T, int KIND>
void write_part(const Task<T>& task, const Shared<T>& shared, int part, int parts) {
    int64_t D = task.inputs, H = task.hidden, plain = in_vectors<T>(D), Dp = padded<T>(plain), Hp = padded<T>(H), rows = gates_of(KIND) * Hp;
    auto add_up = [&](T* Work<T>::*sums, int64_t at, int64_t n, T* to) {
        for (int64_t u = 0; u < n; u += WIDTH<T>) {
            Vec<T> sum = load_some(shared.work[0].*sums + at + u, int(n - u));
            for (int g = 1; g < shared.groups; g++) sum += load_some(shared.work[g].*sums + at + u, int(n - u));
            store_some(to + u, sum, int(n - u));
        }
    };
    for (int64_t row = rows * part / parts; row < rows * (part + 1) / parts; row++) {
        int64_t delta = row / Hp, unit = row % Hp;
        if (unit >= H) continue;
        int64_t at = gate_of_input(KIND, delta) * H + unit;
        add_up(&Work<T>::of_input, row * Dp, plain, task.for_w_ih + at * D);
        add_up(&Work<T>::of_state, row * Hp, H, task.for_w_hh + (delta * H + unit) * H);
        for (int64_t d = plain; d < D; d++) add_up(&Work<T>::of_others, (d - plain) * rows + row, 1, task.for_w_ih + at * D + d);
        add_up(&Work<T>::of_others, (D - plain) * rows + row, 1, task.for_b_ih + at);
        if (KIND == GRU && delta > 0) task.for_b_hh[at] = task.for_b_ih[at];  // of n it is another
    }
    if (KIND == GRU && part == 0) add_up(&Work<T>::inner, 0, H, task.for_b_hh + 2 * H);
    for (int64_t row = task.kinds * part / parts; row < task.kinds * (part + 1) / parts; row++)
        for (int64_t delta = 0; delta < gates_of(KIND); delta++)
            add_up(&Work<T>::of_brought, row * rows + delta * Hp, H, task.for_brought + (row * gates_of(KIND) + gate_of_input(KIND, delta)) * H);
}

// One thread, when all steps are done: what is left to write of rows part, part + parts, …
template <class T, int KIND>
void finish_part(const Task<T>& task, const Shared<T>& shared, int part, int parts) {
    int64_t D = task.inputs, H = task.hidden, Hp = padded<T>(H);
    for (int64_t i = part; i < task.batch; i += parts) {
        int64_t b = shared.layout.row[i], length = shared.layout.length[i];
        if (task.for_h_start) memcpy(task.for_h_start + b * H, shared.carries + i * Hp, H * sizeof(T));
        if (task.for_c_start && KIND == LSTM) memcpy(task.for_c_start + b * H, shared.cell_carries + i * Hp, H * sizeof(T));
        if (task.for_x && !task.add_to_x)
            memset(task.for_x + (b * task.steps + length) * D, 0, (task.steps - length) * D * sizeof(T));
    }
}

template <class T, int KIND>
void backward(const Task<T>& task) {
    constexpr int W = WIDTH<T>;
    static thread_local Arena<T> arena;
    int groups = groups_of(task.batch), threads = threads_for(task.threads, task.batch);
    Shared<T> shared{Layout(task.batch, task.steps, task.lengths), groups, {}, std::vector<Work<T>>(groups), {}, nullptr, nullptr, nullptr};
    const Layout& layout = shared.layout;
    Panels<T>& panels = shared.panels;
    std::vector<Chunk> chunks;
    for (int64_t end = task.steps; end > 0; end = chunks.back().first) chunks.emplace_back(layout, end, chunk_of(KIND));
    int64_t most = 0;  // tokens of a group in a chunk
    for (int g = 0; g < groups; g++) {
        shared.group.emplace_back(layout, task.steps, g, groups);
        for (const Chunk& chunk : chunks) most = std::max(most, shared.group[g].first[chunk.end] - shared.group[g].first[chunk.first]);
    }
    int64_t D = task.inputs, H = task.hidden, Hp = padded<T>(H), Dp = padded<T>(in_vectors<T>(D)), rows = gates_of(KIND) * Hp;
    int64_t state_panels = (vectors<T>(H) + COLUMNS - 1) / COLUMNS, input_panels = task.for_x ? (vectors<T>(D) + COLUMNS - 1) / COLUMNS : 0;
    panels.size = rows * COLUMNS * W;
    int64_t of_group = most * (delta_step<T>(KIND, H) + Dp + Hp + ROWS) + rows * (Dp + Hp + ROWS + task.kinds) + Hp + 9 * W;  // each begins a line
    std::vector<int64_t> places(groups * most);
    arena.begin((state_panels + input_panels) * panels.size + groups * of_group + 3 * task.batch * Hp);
    panels.of_state = arena.take(state_panels * panels.size);
    panels.of_input = arena.take(input_panels * panels.size);
    for (Work<T>& work : shared.work) {
        work.deltas = arena.take(most * delta_step<T>(KIND, H));
        work.inputs = arena.take(most * Dp);
        work.before = arena.take(most * Hp);
        work.of_input = arena.take(rows * Dp);
        work.of_state = arena.take(rows * Hp);
        work.others = arena.take(most * ROWS);
        work.of_others = arena.take(ROWS * rows);
        work.inner = arena.take(Hp);
        work.of_brought = arena.take(task.kinds * rows);
        work.places = places.data() + (&work - shared.work.data()) * most;
    }
    shared.carries = arena.take(task.batch * Hp);
    if (KIND == LSTM) shared.cell_carries = arena.take(task.batch * Hp);
    if (task.mask) shared.kept = arena.take(task.batch * Hp);

    auto pack_part = [&](int part, int parts) {
        for (int64_t panel = part; panel < state_panels + input_panels; panel += parts)
            if (panel < state_panels)
                pack<T, KIND>(task.w_hh, H, H, panel, false, panels.of_state + panel * panels.size);
            else
                pack<T, KIND>(task.w_ih, D, H, panel - state_panels, true, panels.of_input + (panel - state_panels) * panels.size);
    };
    auto end_part = [&](int part, int parts) {
        write_part<T, KIND>(task, shared, part, parts);
        finish_part<T, KIND>(task, shared, part, parts);
    };
    if (threads <= groups) {  // each thread has its groups for itself
        in_phases(threads, 3, [&](int64_t phase, int part, int parts) {
            if (phase == 0) return pack_part(part, parts);
            if (phase == 2) return end_part(part, parts);
            for (const Chunk& chunk : chunks) {
                for (int g = part; g < groups; g += parts) shared.work[g].begin(task, shared.group[g], chunk);
                run_part<T, KIND>(task, shared, chunk, part, parts);
                for (int g = part; g < groups; g += parts) weigh<T, KIND>(task, chunk, shared.work[g], 0, 1);
            }
        });
        return;
    }
    int64_t phases = 2 + 3 * int64_t(chunks.size());
    in_phases(threads, phases, [&](int64_t phase, int part, int parts) {
        if (phase == 0) return pack_part(part, parts);
        if (phase == phases - 1) return end_part(part, parts);
        const Chunk& chunk = chunks[(phase - 1) / 3];
        int g = part % groups;
        switch ((phase - 1) % 3) {
            case 0: if (part < groups) shared.work[g].begin(task, shared.group[g], chunk); break;
            case 1: run_part<T, KIND>(task, shared, chunk, part, parts); break;
            default: weigh<T, KIND>(task, chunk, shared.work[g], part / groups, (parts - g + groups - 1) / groups);
        }
    });
}

}  // namespace

template <class T>
void recurrence_backward(const Task<T>* task) {
    of_kind(task->kind, [&](auto kind) { backward<T, decltype(kind)::value>(*task); });
}
EXPORT(recurrence_backward)
