// Recurrences that do more inside a step: layer norm of what the state brings to each gate, and of the LSTM's cell; the
// GRU's reset before the product. What the input brings is given. The batch is split once over the threads, and each runs
// all its time steps; sums over the batch are taken in an order that doesn't depend on the number of threads.
#include "normalised.h"

namespace {

constexpr int64_t TOKENS = 96;  // taken at once into the product for the weights

// What is kept of a token, in rows of Hp numbers: each gate's product, normalised; each gate; the LSTM's cell, and it
// normalised. Then what the products, and the cell, were multiplied with to normalise them. In backward the tokens of a
// step lie together.
template <class T>
struct Token {
    T* numbers;
    int64_t gates, Hp;
    T* product(int64_t gate) const { return numbers + gate * Hp; }
    T* gate(int64_t gate) const { return numbers + (gates + gate) * Hp; }
    T* cell() const { return numbers + 2 * gates * Hp; }
    T* normed_cell() const { return cell() + Hp; }
    T* scales() const { return numbers + (2 * gates + (gates == 4 ? 2 : 0)) * Hp; }
    static int64_t size(int64_t gates, int64_t Hp) { return (2 * gates + (gates == 4 ? 2 : 0)) * Hp + 16; }
};

// Weights padded to whole vectors with zeros: what lies beyond a row's end stays zero.
template <class T>
struct Padded {
    T *panels, *gain, *bias, *cell_gain, *cell_bias;
};

// out[r] = a[r] · panels, or added to it, for n rows of K numbers each; panels of so many columns, in vectors.
template <class T>
void multiply_panels(int64_t n, int64_t K, const T* const* a, const T* panels, int64_t columns, T* const* out, T** at, bool add) {
    in_panels(columns, [&](int64_t column, auto width) {
        constexpr int NV = decltype(width)::value;
        for (int64_t r = 0; r < n; r++) at[r] = out[r] + column * WIDTH<T>;
        multiply_rows<T, NV>(n, K, a, panels + column * WIDTH<T> * K, at, NV * WIDTH<T>, add);
    });
}

// ---- forward

// Panels for gates first … end, those that one product computes: K = H rows, a gate's units beside the next gate's.
template <class T>
void pack_gates(const Steps<T>& task, int64_t first, int64_t end, T* panels, int part, int parts) {
    constexpr int W = WIDTH<T>;
    int64_t H = task.hidden, Hv = vectors<T>(H);
    in_panels((end - first) * Hv, [&](int64_t column, auto width) {
        if (column / COLUMNS % parts != part) return;
        for (int j = 0; j < width; j++) {
            int64_t gate = first + (column + j) / Hv, unit = (column + j) % Hv * W;
            int rows = int(H - unit < W ? H - unit : W);
            transpose(task.w_hh + (gate * H + unit) * H, H, rows, H, panels + (first * Hv + column) * W * H + j * W, width * W);
        }
    });
}

// Rows of H numbers to rows of Hp; without any, all are ``otherwise``.
template <class T>
void pad(const T* from, T otherwise, int64_t rows, int64_t H, T* to) {
    int64_t Hp = padded<T>(H);
    for (int64_t row = 0; row < rows; row++)
        for (int64_t u = 0; u < Hp; u++) to[row * Hp + u] = u >= H ? T(0) : from ? from[row * H + u] : otherwise;
}

template <class T>
Padded<T> pad_weights(const Steps<T>& task, Arena<T>& arena, int64_t panels) {
    int64_t G = task.gates(), H = task.hidden, Hp = padded<T>(H);
    Padded<T> weights{arena.take(panels), arena.take(G * Hp), arena.take(G * Hp), arena.take(Hp), arena.take(Hp)};
    pad(task.gain, T(1), G, H, weights.gain);
    pad(task.b_hh, T(0), G, H, weights.bias);
    pad(task.cell_gain, T(1), 1, H, weights.cell_gain);
    pad(task.cell_bias, T(0), 1, H, weights.cell_bias);
    return weights;
}

template <class T>
INLINE void normalise_gate(const Steps<T>& task, const Token<T>& token, int64_t gate) {
    if (task.normed()) token.scales()[gate] = normalise(token.product(gate), task.hidden);
}

// What input and state bring to a gate, and what the state alone does.
template <class T>
INLINE Vec<T> from_state(const Padded<T>& weights, const Token<T>& token, int64_t gate, int64_t u) {
    int64_t at = gate * token.Hp + u;
    return load(token.product(gate) + u) * load(weights.gain + at) + load(weights.bias + at);
}
template <class T>
INLINE Vec<T> from_both(const Steps<T>& task, const Padded<T>& weights, const Token<T>& token, const T* a, int64_t gate, int64_t u) {
    return load_some(a + gate * task.hidden + u, int(task.hidden - u)) + from_state(weights, token, gate, u);
}

template <class T>
void step_rnn(const Steps<T>& task, const Padded<T>& weights, const Token<T>& token, const T* a, T* h) {
    normalise_gate(task, token, 0);
    for (int64_t u = 0; u < task.hidden; u += WIDTH<T>) {
        Vec<T> z = from_both(task, weights, token, a, 0, u);
        store_some(h + u, activated(task.kind == RELU, z), int(task.hidden - u));
    }
}

template <class T>
void step_lstm(const Steps<T>& task, const Padded<T>& weights, const Token<T>& token, const T* a, const T* cell_before, int64_t known, T* h) {
    int64_t H = task.hidden;
    for (int64_t gate = 0; gate < 4; gate++) normalise_gate(task, token, gate);
    for (int64_t u = 0; u < H; u += WIDTH<T>) {
        auto brought = [&](int64_t gate) { return from_both(task, weights, token, a, gate, u); };
        auto gates = LstmGates<T>::of(brought(0), brought(1), brought(2), brought(3));
        Vec<T> c = gates.cell(cell_before ? load_some(cell_before + u, int(known - u)) : Vec<T>{});
        gates.keep(token.gate(0) + u, token.Hp);
        store(token.cell() + u, c);
        store(token.normed_cell() + u, c);
    }
    if (task.normed()) token.scales()[4] = normalise(token.normed_cell(), H);
    for (int64_t u = 0; u < H; u += WIDTH<T>) {
        Vec<T> seen = load(token.normed_cell() + u) * load(weights.cell_gain + u) + load(weights.cell_bias + u);
        store_some(h + u, load(token.gate(3) + u) * hyperbolic(seen), int(H - u));
    }
}

// Reset and update; the state as the reset leaves it, if that enters a product.
template <class T>
void open_gru(const Steps<T>& task, const Padded<T>& weights, const Token<T>& token, const T* a, const T* seen, T* left) {
    normalise_gate(task, token, 0);
    normalise_gate(task, token, 1);
    for (int64_t u = 0; u < task.hidden; u += WIDTH<T>) {
        Vec<T> reset = sigmoid(from_both(task, weights, token, a, 0, u));
        store(token.gate(0) + u, reset);
        store(token.gate(1) + u, sigmoid(from_both(task, weights, token, a, 1, u)));
        if (task.reset_before && seen) store(left + u, reset * load_some(seen + u, int(task.hidden - u)));
    }
}

template <class T>
void step_gru(const Steps<T>& task, const Padded<T>& weights, const Token<T>& token, const T* a, const T* before, T* h) {
    int64_t H = task.hidden;
    normalise_gate(task, token, 2);
    for (int64_t u = 0; u < H; u += WIDTH<T>) {
        int n = int(H - u);
        Vec<T> brought = from_state(weights, token, 2, u);
        if (!task.reset_before) brought *= load(token.gate(0) + u);
        store(token.gate(2) + u, hyperbolic(load_some(a + 2 * H + u, n) + brought));
        store_some(h + u, GruGates<T>::kept(token.gate(0) + u, token.Hp).state(before ? load_some(before + u, n) : Vec<T>{}), n);
    }
}

// One thread: rows first … end. ``masked`` and ``left`` (B, Hp) are scratch space; without ``saved`` ``tokens`` are those
// of one step.
template <class T>
void run_forward(const Steps<T>& task, const Padded<T>& weights, T* tokens, T* masked, T* left, int64_t first, int64_t end) {
    int64_t B = task.batch, G = task.gates(), H = task.hidden, Hp = padded<T>(H), n = end - first, Hv = vectors<T>(H);
    std::vector<const T*> seen(n), lefts(n);
    std::vector<T*> out(n), at(n);
    auto token = [&](int64_t t, int64_t b) {
        return Token<T>{tokens + ((task.saved ? t * B : 0) + b) * Token<T>::size(G, Hp), G, Hp};
    };
    for (int64_t t = 0; t < task.steps; t++) {
        for (int64_t r = 0; r < n; r++) {
            int64_t b = first + r;
            seen[r] = task.before(t, b);
            lefts[r] = left + b * Hp;
            out[r] = token(t, b).numbers;
            if (!seen[r]) memset(out[r], 0, G * Hp * sizeof(T));
            if (!seen[r] || !task.mask) continue;
            for (int64_t u = 0; u < H; u++) masked[b * Hp + u] = seen[r][u] * task.mask[b * H + u];
            seen[r] = masked + b * Hp;
        }
        bool any = n > 0 && seen[0];
        int64_t together = task.reset_before ? 2 : G;
        if (any) multiply_panels<T>(n, H, seen.data(), weights.panels, together * Hv, out.data(), at.data(), false);
        if (task.kind == GRU)
            for (int64_t r = 0; r < n; r++)
                open_gru(task, weights, token(t, first + r), task.input(t, first + r), seen[r], left + (first + r) * Hp);
        if (any && task.reset_before) {
            for (int64_t r = 0; r < n; r++) out[r] += 2 * Hp;
            multiply_panels<T>(n, H, lefts.data(), weights.panels + 2 * Hp * H, Hv, out.data(), at.data(), false);
        }
        for (int64_t r = 0; r < n; r++) {
            int64_t b = first + r;
            Token<T> now = token(t, b);
            const T* a = task.input(t, b);
            T* h = task.state(t, b);
            if (task.kind == GRU)
                step_gru(task, weights, now, a, task.before(t, b), h);
            else if (task.kind != LSTM)
                step_rnn(task, weights, now, a, h);
            else if (t == 0)
                step_lstm(task, weights, now, a, task.c_start ? task.c_start + b * H : nullptr, H, h);
            else
                step_lstm(task, weights, now, a, token(t - 1, b).cell(), Hp, h);
        }
    }
    if (task.c_end)
        for (int64_t b = first; b < end; b++) memcpy(task.c_end + b * H, token(task.steps - 1, b).cell(), H * sizeof(T));
}

}  // namespace

template <class T>
void normalised_forward(const Steps<T>* given) {
    const Steps<T>& task = *given;
    static thread_local Arena<T> arena;
    int64_t B = task.batch, G = task.gates(), H = task.hidden, Hp = padded<T>(H);
    int64_t tokens = task.saved ? 0 : B * Token<T>::size(G, Hp);
    arena.begin((G * H + 2 * G + 2 + 2 * B) * Hp + tokens);
    Padded<T> weights = pad_weights(task, arena, G * Hp * H);
    T *masked = arena.take(B * Hp), *left = arena.take(B * Hp);
    T* work = task.saved ? task.saved : arena.take(tokens);
    int threads = threads_for(task.threads, B);
    int64_t together = task.reset_before ? 2 : G;
    if (task.multiplies()) in_parallel(threads, [&](int part, int parts) {
        pack_gates(task, 0, together, weights.panels, part, parts);
        pack_gates(task, together, G, weights.panels, part, parts);
    });
    in_parallel(threads, [&](int part, int parts) {
        run_forward(task, weights, work, masked, left, B * part / parts, B * (part + 1) / parts);
    });
}

// ---- backward

namespace {

// Panels for the way back through gates first … end: a row for each of their units, columns are those of the state.
template <class T>
void pack_back(const Steps<T>& task, int64_t first, int64_t end, T* panels, int part, int parts) {
    constexpr int W = WIDTH<T>;
    int64_t H = task.hidden, Hp = padded<T>(H), K = (end - first) * Hp;
    in_panels(vectors<T>(H), [&](int64_t column, auto width) {
        if (column / COLUMNS % parts != part) return;
        T* to = panels + first * Hp * Hp + column * W * K;
        for (int64_t k = 0; k < K; k++, to += width * W)
            for (int j = 0; j < width; j++) {
                int64_t gate = first + k / Hp, u = k % Hp, unit = (column + j) * W;
                store(to + j * W, u < H ? load_some(task.w_hh + (gate * H + u) * H + unit, int(H - unit)) : Vec<T>{});
            }
    });
}

// What backward carries from step to step, of one row of the batch; Hp numbers each.
template <class T>
struct Carried {
    T *h, *c;         // gradients of state and cell
    T *around;        // what goes to the state before around the product; scratch space of the LSTM
    T *sums;          // of the gradients of each gate's bias, each gate's gain, the cell's gain and its bias
    int64_t gates, Hp;
    T* for_bias(int64_t gate) const { return sums + gate * Hp; }
    T* for_gain(int64_t gate) const { return sums + (gates + gate) * Hp; }
    T* for_cell_gain() const { return sums + 2 * gates * Hp; }
    T* for_cell_bias() const { return for_cell_gain() + Hp; }
    static int64_t size(int64_t gates, int64_t Hp) { return (3 + 2 * gates + 2) * Hp; }
    static Carried of(T* memory, int64_t gates, int64_t Hp) { return {memory, memory + Hp, memory + 2 * Hp, memory + 3 * Hp, gates, Hp}; }
};

template <class T>
INLINE void differentiate_gate(const Steps<T>& task, const Padded<T>& weights, const Token<T>& token, const Carried<T>& carried, T* delta, int64_t gate) {
    differentiate_norm(task.normed(), delta + gate * token.Hp, token.product(gate), token.scales()[gate],
                       weights.gain + gate * token.Hp, task.hidden, carried.for_gain(gate), carried.for_bias(gate));
}

template <class T>
INLINE Vec<T> for_state(const Steps<T>& task, const Carried<T>& carried, int64_t t, int64_t b, int64_t u) {
    Vec<T> dh = load(carried.h + u);
    if (!task.for_states) return dh;
    return dh + load_some(task.for_states + b * task.for_states_row + t * task.for_states_step + u, int(task.hidden - u));
}

// δ (G·Hp), the gradients of the products of one token, and those of what its input brings, from that of its state.
template <class T>
void back_rnn(const Steps<T>& task, const Padded<T>& weights, const Token<T>& token, const Carried<T>& carried, int64_t t, int64_t b, T* delta, T* for_a) {
    for (int64_t u = 0; u < task.hidden; u += WIDTH<T>) {
        int n = int(task.hidden - u);
        Vec<T> h = load_some(task.state(t, b) + u, n), d = for_state(task, carried, t, b, u);
        d = through_activation(task.kind == RELU, d, h);
        store(delta + u, d);
        store_some(for_a + u, d, n);
    }
    differentiate_gate(task, weights, token, carried, delta, 0);
}

template <class T>
void back_lstm(const Steps<T>& task, const Padded<T>& weights, const Token<T>& token, const Carried<T>& carried, const T* cell_before, int64_t known,
               int64_t t, int64_t b, T* delta, T* for_a) {
    int64_t H = task.hidden, Hp = token.Hp;
    T* for_cell = carried.around;
    for (int64_t u = 0; u < H; u += WIDTH<T>) {
        Vec<T> dh = for_state(task, carried, t, b, u), out = load(token.gate(3) + u);
        Vec<T> seen = hyperbolic(load(token.normed_cell() + u) * load(weights.cell_gain + u) + load(weights.cell_bias + u));
        Vec<T> d = through_sigmoid(dh * seen, out);
        store(delta + 3 * Hp + u, d);
        store_some(for_a + 3 * H + u, d, int(H - u));
        store(for_cell + u, through_tanh(dh * out, seen));
    }
    differentiate_norm(task.normed(), for_cell, token.normed_cell(), token.scales()[4], weights.cell_gain, H, carried.for_cell_gain(), carried.for_cell_bias());
    for (int64_t u = 0; u < H; u += WIDTH<T>) {
        int n = int(H - u);
        auto gates = LstmGates<T>::kept(token.gate(0) + u, Hp);
        Vec<T> dc = load(carried.c + u) + load(for_cell + u), d[3];
        gates.back(dc, cell_before ? load_some(cell_before + u, int(known - u)) : Vec<T>{}, d);
        store(carried.c + u, dc * gates.forget);
        EACH(gate, 3)
            store(delta + gate * Hp + u, d[gate]);
            store_some(for_a + gate * H + u, d[gate], n);
        END
    }
    for (int64_t gate = 0; gate < 4; gate++) differentiate_gate(task, weights, token, carried, delta, gate);
}

// All gates; of a GRU that resets before the product, all but the reset gate.
template <class T>
void back_gru(const Steps<T>& task, const Padded<T>& weights, const Token<T>& token, const Carried<T>& carried, int64_t t, int64_t b, T* delta, T* for_a) {
    int64_t H = task.hidden, Hp = token.Hp;
    const T* before = task.before(t, b);
    for (int64_t u = 0; u < H; u += WIDTH<T>) {
        int n = int(H - u);
        Vec<T> dh = for_state(task, carried, t, b, u);
        auto gates = GruGates<T>::kept(token.gate(0) + u, Hp);
        Vec<T> for_update = gates.for_update(dh, before ? load_some(before + u, n) : Vec<T>{}), for_candidate = gates.for_candidate(dh);
        store(carried.around + u, dh * gates.update);
        store(delta + Hp + u, for_update);
        store_some(for_a + H + u, for_update, n);
        store_some(for_a + 2 * H + u, for_candidate, n);
        store(delta + 2 * Hp + u, task.reset_before ? for_candidate : for_candidate * gates.reset);
        if (task.reset_before) continue;
        Vec<T> for_reset = through_sigmoid(for_candidate * from_state(weights, token, 2, u), gates.reset);
        store(delta + u, for_reset);
        store_some(for_a + u, for_reset, n);
    }
    for (int64_t gate = task.reset_before ? 1 : 0; gate < 3; gate++) differentiate_gate(task, weights, token, carried, delta, gate);
}

// The reset gate before the product. The gradient of what it left of the state is in carried.h, which becomes its share
// of the state's.
template <class T>
void back_reset(const Steps<T>& task, const Padded<T>& weights, const Token<T>& token, const Carried<T>& carried, int64_t t, int64_t b, T* delta, T* for_a) {
    int64_t H = task.hidden;
    const T *before = task.before(t, b), *mask = task.mask ? task.mask + b * H : nullptr;
    for (int64_t u = 0; u < H; u += WIDTH<T>) {
        int n = int(H - u);
        Vec<T> left = load(carried.h + u), reset = load(token.gate(0) + u), seen = before ? load_some(before + u, n) : Vec<T>{};
        if (mask) seen *= load_some(mask + u, n);
        Vec<T> d = through_sigmoid(left * seen, reset);
        store(carried.h + u, left * reset);
        store(delta + u, d);
        store_some(for_a + u, d, n);
    }
    differentiate_gate(task, weights, token, carried, delta, 0);
}

template <class T>
int64_t delta_step(int64_t gates, int64_t Hp) {
    return gates * Hp + WIDTH<T>;  // one vector more: not a power of two
}

// One thread: rows first … end.
template <class T>
void run_backward(const Steps<T>& task, const Padded<T>& weights, T* deltas, T* memory, int64_t first, int64_t end) {
    int64_t B = task.batch, G = task.gates(), H = task.hidden, Hp = padded<T>(H), n = end - first, Hv = vectors<T>(H);
    auto carried = [&](int64_t b) { return Carried<T>::of(memory + b * Carried<T>::size(G, Hp), G, Hp); };
    auto token = [&](int64_t t, int64_t b) { return Token<T>{task.saved + (t * B + b) * Token<T>::size(G, Hp), G, Hp}; };
    std::vector<const T*> delta(n);
    std::vector<T*> out(n), at(n);
    for (int64_t b = first; b < end; b++) {
        memset(carried(b).h, 0, Carried<T>::size(G, Hp) * sizeof(T));
        if (task.for_c_end) memcpy(carried(b).c, task.for_c_end + b * H, H * sizeof(T));
        out[b - first] = carried(b).h;
    }
    for (int64_t t = task.steps - 1; t >= 0; t--) {
        bool any = t > 0 || task.h_start;
        for (int64_t r = 0; r < n; r++) {
            int64_t b = first + r;
            T* mine = deltas + (t * B + b) * delta_step<T>(G, Hp);
            T* for_a = task.for_a + (b * task.steps + t) * G * H;
            delta[r] = mine;
            if (task.kind == GRU)
                back_gru(task, weights, token(t, b), carried(b), t, b, mine, for_a);
            else if (task.kind != LSTM)
                back_rnn(task, weights, token(t, b), carried(b), t, b, mine, for_a);
            else if (t == 0)
                back_lstm(task, weights, token(t, b), carried(b), task.c_start ? task.c_start + b * H : nullptr, H, t, b, mine, for_a);
            else
                back_lstm(task, weights, token(t, b), carried(b), token(t - 1, b).cell(), Hp, t, b, mine, for_a);
        }
        if (task.reset_before) {
            for (int64_t r = 0; r < n; r++) delta[r] += 2 * Hp;
            if (any) multiply_panels<T>(n, Hp, delta.data(), weights.panels + 2 * Hp * Hp, Hv, out.data(), at.data(), false);
            for (int64_t r = 0; r < n; r++) {
                int64_t b = first + r;
                delta[r] -= 2 * Hp;
                T* mine = deltas + (t * B + b) * delta_step<T>(G, Hp);
                back_reset(task, weights, token(t, b), carried(b), t, b, mine, task.for_a + (b * task.steps + t) * G * H);
            }
        }
        if (!any) continue;
        multiply_panels<T>(n, (task.reset_before ? 2 : G) * Hp, delta.data(), weights.panels, Hv, out.data(), at.data(), task.reset_before);
        for (int64_t b = first; b < end && (task.mask || task.kind == GRU); b++)
            for (int64_t u = 0; u < H; u += WIDTH<T>) {
                Vec<T> dh = load(carried(b).h + u);
                if (task.mask) dh *= load_some(task.mask + b * H + u, int(H - u));
                store(carried(b).h + u, task.kind == GRU ? dh + load(carried(b).around + u) : dh);
            }
    }
    for (int64_t b = first; b < end; b++) {
        if (task.for_h_start) memcpy(task.for_h_start + b * H, carried(b).h, H * sizeof(T));
        if (task.for_c_start) memcpy(task.for_c_start + b * H, carried(b).c, H * sizeof(T));
    }
}

// The states that some tokens saw, or what the reset gate left of them, in panels.
template <class T>
void lay(const Steps<T>& task, int64_t first, int64_t tokens, bool reset, T* panels) {
    constexpr int W = WIDTH<T>;
    int64_t B = task.batch, G = task.gates(), H = task.hidden, Hp = padded<T>(H);
    in_panels(vectors<T>(H), [&](int64_t column, auto width) {
        constexpr int NV = decltype(width)::value;
        T* to = panels + column * tokens * W;
        for (int64_t token = first; token < first + tokens; token++, to += NV * W) {
            int64_t b = token % B;
            const T* before = task.before(token / B, b);
            Token<T> kept{task.saved + token * Token<T>::size(G, Hp), G, Hp};
            EACH(j, NV)
                int64_t u = (column + j) * W;
                Vec<T> v = load_some(before + u, int(H - u));
                if (task.mask) v *= load_some(task.mask + b * H + u, int(H - u));
                if (reset) v *= load(kept.gate(0) + u);
                store(to + j * W, v);
            END
        }
    });
}

// One thread: some rows of the gradient of W_hh.
template <class T>
void weigh(const Steps<T>& task, const T* deltas, T* right, T* sums, int part, int parts) {
    int64_t G = task.gates(), H = task.hidden, Hp = padded<T>(H), rows = G * Hp;
    int64_t blocks = (rows + ROWS - 1) / ROWS, first = blocks * part / parts * ROWS, end = blocks * (part + 1) / parts * ROWS;
    if (end > rows) end = rows;
    if (first >= end) return;
    memset(sums + first * Hp, 0, (end - first) * Hp * sizeof(T));
    int64_t plain = task.reset_before ? 2 * Hp : rows;  // those whose product is with the state as it is
    int64_t step = delta_step<T>(G, Hp), all = task.batch * task.steps;
    for (int64_t token = task.h_start ? 0 : task.batch; token < all; token += TOKENS) {
        int64_t some = all - token < TOKENS ? all - token : TOKENS;
        if (first < plain) {
            lay(task, token, some, false, right);
            add_products(deltas + token * step, step, some, right, Hp, first, end < plain ? end : plain, sums);
        }
        if (end > plain) {
            lay(task, token, some, true, right);
            add_products(deltas + token * step, step, some, right, Hp, first > plain ? first : plain, end, sums);
        }
    }
    for (int64_t row = first; row < end; row++)
        if (row % Hp < H) memcpy(task.for_w_hh + (row / Hp * H + row % Hp) * H, sums + row * Hp, H * sizeof(T));
}

// The gradients of biases and gains, row by row of the batch.
template <class T>
void add_up(const Steps<T>& task, T* memory) {
    int64_t G = task.gates(), H = task.hidden, Hp = padded<T>(H);
    auto carried = [&](int64_t b) { return Carried<T>::of(memory + b * Carried<T>::size(G, Hp), G, Hp); };
    T* total = carried(0).sums;
    for (int64_t b = 1; b < task.batch; b++) {
        const T* more = carried(b).sums;
        for (int64_t i = 0; i < (2 * G + 2) * Hp; i += WIDTH<T>) store(total + i, load(total + i) + load(more + i));
    }
    for (int64_t gate = 0; gate < G; gate++) {
        memcpy(task.for_b_hh + gate * H, carried(0).for_bias(gate), H * sizeof(T));
        if (task.for_gain) memcpy(task.for_gain + gate * H, carried(0).for_gain(gate), H * sizeof(T));
    }
    if (task.for_cell_gain) memcpy(task.for_cell_gain, carried(0).for_cell_gain(), H * sizeof(T));
    if (task.for_cell_bias) memcpy(task.for_cell_bias, carried(0).for_cell_bias(), H * sizeof(T));
}

}  // namespace

template <class T>
void normalised_backward(const Steps<T>* given) {
    const Steps<T>& task = *given;
    static thread_local Arena<T> arena;
    int64_t B = task.batch, G = task.gates(), H = task.hidden, Hp = padded<T>(H), tokens = B * task.steps;
    int threads = threads_for(task.threads, B);
    int64_t carried = B * Carried<T>::size(G, Hp);
    arena.begin((2 * G * Hp + 2 * G + 2 + threads * TOKENS) * Hp + tokens * delta_step<T>(G, Hp) + carried);
    Padded<T> weights = pad_weights(task, arena, G * Hp * Hp);
    T *deltas = arena.take(tokens * delta_step<T>(G, Hp)), *memory = arena.take(carried);
    T *sums = arena.take(G * Hp * Hp), *right = arena.take(threads * TOKENS * Hp);
    int64_t together = task.reset_before ? 2 : G;
    if (task.multiplies()) in_parallel(threads, [&](int part, int parts) {
        pack_back(task, 0, together, weights.panels, part, parts);
        pack_back(task, together, G, weights.panels, part, parts);
    });
    in_parallel(threads, [&](int part, int parts) {
        run_backward(task, weights, deltas, memory, B * part / parts, B * (part + 1) / parts);
    });
    in_parallel(threads, [&](int part, int parts) {
        weigh(task, deltas, right + part * TOKENS * Hp, sums, part, parts);
        if (part == parts - 1) add_up(task, memory);
    });
}

template <class T>
int64_t normalised_saved(int64_t kind, int64_t tokens, int64_t hidden) {
    return tokens * Token<T>::size(gates_of(int(kind)), padded<T>(hidden));
}

EXPORT(normalised_forward)
EXPORT(normalised_backward)
EXPORT(normalised_saved)
