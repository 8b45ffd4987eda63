// A whole Transformer encoder, forward and backward. The tokens of all rows lie one after the other, so nothing is computed
// for padding. The rows are split once over the threads; each takes a few of them at a time through all layers, so that
// what one part leaves is in the cache when the next part reads it. The weights' gradients come afterwards, in products
// over all tokens that are split over their rows: so no result depends on the number of threads.
#include "transformer.h"

namespace {

constexpr int64_t TOGETHER = 96;  // tokens that go through the layers together, at least (a whole row always does)
constexpr int64_t TOKENS = 96;    // taken at once into the product for the weights

template <class T>
int64_t delta_step(int64_t columns) {
    return padded<T>(columns) + WIDTH<T>;  // one vector more: not a power of two
}

// From one token to the next in rows of the model's width. Wide ones are read in parts, where the same holds.
template <class T>
int64_t row_step(int64_t columns) {
    return vectors<T>(columns) > COLUMNS ? delta_step<T>(columns) : padded<T>(columns);
}

// Where the tokens of each row begin. One more: all tokens.
struct Tokens {
    std::vector<int64_t> first;

    template <class T>
    explicit Tokens(const Encoder<T>& task) : first(task.batch + 1, 0) {
        for (int64_t b = 0; b < task.batch; b++) first[b + 1] = first[b] + task.lengths[b];
    }
    int64_t all() const { return first.back(); }
    int64_t length(int64_t row) const { return first[row + 1] - first[row]; }
    // Rows of a part, so that all have about as many tokens.
    int64_t begin(int part, int parts) const {
        int64_t row = 0;
        while (first[row] < all() * part / parts) row++;
        return row;
    }
    // Calls f(first row, row after the last) for a few rows at a time.
    template <class F>
    void in_groups(int part, int parts, const F& f) const {
        for (int64_t row = begin(part, parts), end = begin(part + 1, parts), next; row < end; row = next) {
            for (next = row + 1; next < end && first[next] - first[row] < TOGETHER;) next++;
            f(row, next);
        }
    }
    // The most that such a group has.
    int64_t most() const {
        int64_t longest = 0;
        for (size_t b = 0; b + 1 < first.size(); b++) longest = length(b) > longest ? length(b) : longest;
        return TOGETHER + longest < all() ? TOGETHER + longest : all();
    }
    // Calls f(token, row, step) for tokens from … to.
    template <class F>
    INLINE void each(int64_t from, int64_t to, const F& f) const {
        int64_t row = std::upper_bound(first.begin(), first.end(), from) - first.begin() - 1;
        for (int64_t token = from; token < to; token++) {
            while (first[row + 1] <= token) row++;
            f(token, row, token - first[row]);
        }
    }
};

// What one layer leaves for the way back: what its two norms made, before gain and bias; queries, keys and values; what
// attention saw; what GELU made, and its slope there; and numbers: how the two norms scaled, and two of each head.
template <class T>
struct Kept {
    T *normed, *projected, *seen, *inner_normed, *active, *slope, *numbers;
    int64_t Wp, Qp, Fs, count;  // from token to token

    Kept(const Encoder<T>& task, T* memory, int64_t tokens)
        : Wp(row_step<T>(task.width)), Qp(padded<T>(3 * task.width)), Fs(delta_step<T>(task.feedforward)), count(2 + 2 * task.heads) {
        normed = memory;
        inner_normed = normed + tokens * Wp;
        seen = inner_normed + tokens * Wp;
        projected = seen + tokens * Wp;
        active = projected + tokens * Qp;
        slope = active + tokens * Fs;
        numbers = slope + tokens * Fs;
    }
    static int64_t size(const Encoder<T>& task, int64_t tokens) {
        Kept none(task, nullptr, 0);
        return tokens * (3 * none.Wp + none.Qp + 2 * none.Fs) + padded<T>(tokens * none.count) + WIDTH<T>;
    }
};

// --- products with weights ---

// A block of rows through a part of a panel, from k to end.
template <class T, int MR, int NV>
INLINE void multiply_block(int64_t k, int64_t end, const T* a, int64_t a_step, const T* panel, const T* start, T* out, int64_t out_step) {
    Vec<T> acc[MR][NV];
    const T* rows[MR];
    EACH(r, MR)
        rows[r] = a + r * a_step + k;
        EACH(j, NV) acc[r][j] = k > 0 ? load(out + r * out_step + j * WIDTH<T>) : start ? load(start + j * WIDTH<T>) : Vec<T>{}; END
    END
    multiply<T, MR, NV>(end - k, rows, panel + k * NV * WIDTH<T>, acc);
    EACH(r, MR) EACH(j, NV) store(out + r * out_step + j * WIDTH<T>, acc[r][j]); END END
}

// Weights in panels; ``start``, if any, is what the sums begin with.
template <class T>
struct Packed {
    int64_t depth, columns;
    T *panels, *start = nullptr;

    static int64_t size(int64_t depth, int64_t columns) { return (depth + 1) * padded<T>(columns); }
    Packed(Arena<T>& arena, int64_t depth, int64_t columns)
        : depth(depth), columns(columns), panels(arena.take(depth * padded<T>(columns))), start(arena.take(padded<T>(columns))) {}

    // x · Wᵀ + bias; or, of a normed x, (gain · x + shift) · Wᵀ + bias, which is x · (gain · W)ᵀ + (W · shift + bias).
    void pack_ahead(const T* w, const T* bias, const T* gain, const T* shift) {
        in_panels(vectors<T>(columns), [&](int64_t column, auto width) {
            constexpr int NV = decltype(width)::value;
            T* panel = panels + column * depth * WIDTH<T>;
            EACH(j, NV)
                int64_t at = (column + j) * WIDTH<T>;
                int rows = int(columns - at < WIDTH<T> ? columns - at : WIDTH<T>);
                transpose(w + at * depth, depth, rows, depth, panel + j * WIDTH<T>, NV * WIDTH<T>);
                Vec<T> sum = bias ? load_some(bias + at, columns - at) : Vec<T>{};
                for (int64_t k = 0; k < depth && gain; k++) {
                    T* to = panel + (k * NV + j) * WIDTH<T>;
                    sum += load(to) * shift[k];
                    store(to, load(to) * gain[k]);
                }
                store(start + at, sum);
            END
        });
    }
    // δ · W, or δ · (gain · W): ``depth`` rows of W.
    void pack_back(const T* w, const T* gain) {
        start = nullptr;
        in_panels(vectors<T>(columns), [&](int64_t column, auto width) {
            constexpr int NV = decltype(width)::value;
            T* to = panels + column * depth * WIDTH<T>;
            for (int64_t k = 0; k < depth; k++, to += NV * WIDTH<T>) {
                EACH(j, NV)
                    int64_t at = (column + j) * WIDTH<T>;
                    Vec<T> v = load_some(w + k * columns + at, columns - at);
                    store(to + j * WIDTH<T>, gain ? v * load_some(gain + at, columns - at) : v);
                END
            }
        });
    }
    // Of n rows; out has whole vectors.
    void multiply(int64_t n, const T* a, int64_t a_step, T* out, int64_t out_step) const {
        in_panels(vectors<T>(columns), [&](int64_t column, auto width) {
            constexpr int NV = decltype(width)::value;
            const T *panel = panels + column * depth * WIDTH<T>, *begin = start ? start + column * WIDTH<T> : nullptr;
            in_depths(depth, [&](int64_t k, int64_t end) {
                in_blocks(n, [&](int64_t first, auto count) {
                    T* to = out + first * out_step + column * WIDTH<T>;
                    multiply_block<T, decltype(count)::value, NV>(k, end, a + first * a_step, a_step, panel, begin, to, out_step);
                });
            });
        });
    }
};

// The products of an encoder, one way or the other. On the way back depth and columns change places.
template <class T>
struct Products {
    Packed<T> project;
    std::vector<Packed<T>> projected, output, inner, outer;

    static int64_t size(const Encoder<T>& task) {
        int64_t D = task.inputs, W = task.width, F = task.feedforward;
        auto both = [](int64_t a, int64_t b) { return Packed<T>::size(a, b) + Packed<T>::size(b, a) + 4 * WIDTH<T>; };  // more than either
        return both(D, W) + task.layers * (both(W, 3 * W) + both(W, W) + 2 * both(W, F));
    }
    Products(const Encoder<T>& task, Arena<T>& arena, bool back) : project(made(arena, task.inputs, task.width, back)) {
        for (int64_t layer = 0; layer < task.layers; layer++) {
            projected.push_back(made(arena, task.width, 3 * task.width, back));
            output.push_back(made(arena, task.width, task.width, back));
            inner.push_back(made(arena, task.width, task.feedforward, back));
            outer.push_back(made(arena, task.feedforward, task.width, back));
        }
    }
    static Packed<T> made(Arena<T>& arena, int64_t inputs, int64_t outputs, bool back) {
        return back ? Packed<T>(arena, outputs, inputs) : Packed<T>(arena, inputs, outputs);
    }
    void pack(const Encoder<T>& task, bool back, int part, int parts) {
        auto w = [&](int64_t layer, int which) { return task.weights[place(layer, which)]; };
        int64_t number = 0;
        auto one = [&](Packed<T>& packed, const T* weight, const T* bias, const T* gain, const T* shift) {
            if (number++ % parts != part) return;
            back ? packed.pack_back(weight, gain) : packed.pack_ahead(weight, bias, gain, shift);
        };
        for (int64_t l = 0; l < task.layers; l++) {
            one(projected[l], w(l, QKV), nullptr, w(l, NORM), w(l, NORM_BIAS));
            one(output[l], w(l, OUTPUT), w(l, OUTPUT_BIAS), nullptr, nullptr);
            one(inner[l], w(l, INNER), w(l, INNER_BIAS), w(l, INNER_NORM), w(l, INNER_NORM_BIAS));
            one(outer[l], w(l, OUTER), w(l, OUTER_BIAS), nullptr, nullptr);
        }
        one(project, task.weights[PROJECT], task.weights[PROJECT_BIAS], nullptr, nullptr);
    }
};

template <class T>
Attention<T> attention_of(const Encoder<T>& task, const Tokens& tokens, const Kept<T>& kept, int64_t offset, int64_t row, int64_t head, T* memory) {
    int64_t first = tokens.first[row] - offset, W = task.width, d = task.head_width();
    const T* query = kept.projected + first * kept.Qp + head * d;
    T* numbers = kept.numbers + first * kept.count + 2 + 2 * head;
    return {row, tokens.length(row), d, kept.Qp, query, query + W, query + 2 * W, task.look_ahead != 0, numbers, kept.count, memory};
}

// The input of some tokens, one after the other.
template <class T>
void gather(const Encoder<T>& task, const Tokens& tokens, int64_t first, int64_t end, T* to) {
    int64_t D = task.inputs;
    tokens.each(first, end, [&](int64_t, int64_t row, int64_t step) {
        for (int64_t u = 0; u < D; u += WIDTH<T>, to += WIDTH<T>) store(to, load_some(task.x + row * task.x_row + step * task.x_step + u, D - u));
    });
}

// --- forward ---

// Calls f(first, count) for four rows at a time, then for one: what is summed across a vector takes long for one row, and no
// longer for four.
template <class F>
INLINE void in_fours(int64_t n, const F& f) {
    int64_t r = 0;
    for (; r + 4 <= n; r += 4) f(r, std::integral_constant<int, 4>{});
    for (; r < n; r++) f(r, std::integral_constant<int, 1>{});
}

// n rows of x, normalised, to where they are kept; how they were scaled, too.
template <class T>
void norm_rows(int64_t n, int64_t W, const T* x, T* normed, T* scale, int64_t scale_step) {
    int64_t Wp = row_step<T>(W);
    in_fours(n, [&](int64_t first, auto count) {
        constexpr int R = decltype(count)::value;
        const T* from = x + first * Wp;
        T* to = normed + first * Wp;
        Vec<T> sum[R], squares[R];
        T mean[R], factor[R];
        EACH(r, R) sum[r] = squares[r] = Vec<T>{}; END
        for (int64_t u = 0; u < W; u += WIDTH<T>) EACH(r, R) sum[r] += load(from + r * Wp + u); END
        EACH(r, R) mean[r] = total(sum[r]) / T(W); END
        for (int64_t u = 0; u < W; u += WIDTH<T>) EACH(r, R)
            Vec<T> v = up_to<T>(load(from + r * Wp + u) - mean[r], W - u, T(0));
            squares[r] += v * v;
            store(to + r * Wp + u, v);
        END
        EACH(r, R) scale[(first + r) * scale_step] = factor[r] = T(1) / std::sqrt(total(squares[r]) / T(W) + T(EPSILON)); END
        for (int64_t u = 0; u < W; u += WIDTH<T>) EACH(r, R) store(to + r * Wp + u, load(to + r * Wp + u) * factor[r]); END
    });
}

// x += what a part adds, some of it dropped.
template <class T>
void add_dropped(const Tokens& tokens, int64_t first, int64_t end, Dropout<T> dropout, const T* added, T* x, int64_t W) {
    int64_t Wp = row_step<T>(W);
    tokens.each(first, end, [&](int64_t token, int64_t row, int64_t step) {
        int64_t at = (token - first) * Wp;
        dropout.at(row, step);
        for (int64_t u = 0; u < W; u += WIDTH<T>) {
            Vec<T> v = load(added + at + u);
            store(x + at + u, load(x + at + u) + (dropout.active ? v * dropout.factor(u) : v));
        }
    });
}

template <class T>
int64_t forward_memory(const Encoder<T>& task, int64_t most) {
    int64_t Wp = row_step<T>(task.width), Fp = padded<T>(task.feedforward), Dp = padded<T>(task.inputs);
    return most * (2 * Wp + Fp + Dp) + Attention<T>::memory_of(most, task.head_width()) + Kept<T>::size(task, most) + most * Wp + padded<T>(most);
}

// One thread, a few rows: all layers.
template <class T>
void forward_group(const Encoder<T>& task, const Tokens& tokens, const Products<T>& products, int64_t begin, int64_t end, int64_t most, T* memory) {
    int64_t W = task.width, Wp = row_step<T>(W), Fp = padded<T>(task.feedforward), Dp = padded<T>(task.inputs);
    int64_t first = tokens.first[begin], last = tokens.first[end], n = last - first;
    T *x = memory, *added = x + most * Wp, *wide = added + most * Wp, *inputs = wide + most * Fp, *work = inputs + most * Dp;
    T* own = work + Attention<T>::memory_of(most, task.head_width());  // if nothing is to be saved
    int64_t offset = task.saved ? 0 : first, known = task.saved ? tokens.all() : most, size = task.saved ? Kept<T>::size(task, known) : 0;

    gather(task, tokens, first, last, inputs);
    products.project.multiply(n, inputs, Dp, x, Wp);
    Dropout<T> dropout = Site<T>::input(task);
    tokens.each(first, last, [&](int64_t token, int64_t row, int64_t step) {
        T* to = x + (token - first) * Wp;
        dropout.at(row, step);
        for (int64_t u = 0; u < W; u += WIDTH<T>) {
            Vec<T> v = load(to + u) + load_some(task.positions + step * W + u, W - u);
            store(to + u, dropout.active ? v * dropout.factor(u) : v);
        }
    });
    for (int64_t layer = 0; layer < task.layers; layer++) {
        Kept<T> kept(task, task.saved ? task.saved + layer * size : own, known);
        int64_t at = first - offset;
        T *normed = kept.normed + at * Wp, *inner_normed = kept.inner_normed + at * Wp, *seen = kept.seen + at * Wp, *active = kept.active + at * kept.Fs;
        norm_rows(n, W, x, normed, kept.numbers + at * kept.count, kept.count);
        products.projected[layer].multiply(n, normed, Wp, kept.projected + at * kept.Qp, kept.Qp);
        for (int64_t b = begin; b < end; b++)
            for (int64_t head = 0; head < task.heads; head++)
                attention_of(task, tokens, kept, offset, b, head, work)
                    .forward(Site<T>::attention(task, layer, head), seen + (tokens.first[b] - first) * Wp + head * task.head_width(), Wp);
        products.output[layer].multiply(n, seen, Wp, added, Wp);
        add_dropped(tokens, first, last, Site<T>::attended(task, layer), added, x, W);
        norm_rows(n, W, x, inner_normed, kept.numbers + at * kept.count + 1, kept.count);
        products.inner[layer].multiply(n, inner_normed, Wp, wide, Fp);
        for (int64_t r = 0; r < n; r++)
            for (int64_t u = 0; u < Fp; u += WIDTH<T>) {
                Vec<T> v = load(wide + r * Fp + u), share = share_below<T>(v);
                store(active + r * kept.Fs + u, v * share);
                if (task.saved) store(kept.slope + (at + r) * kept.Fs + u, share + v * density<T>(v));
            }
        products.outer[layer].multiply(n, active, kept.Fs, added, Wp);
        add_dropped(tokens, first, last, Site<T>::fed_forward(task, layer), added, x, W);
    }
    T *normed = task.saved ? task.saved + task.layers * size : own, *scales = normed + known * Wp;
    norm_rows(n, W, x, normed + (first - offset) * Wp, scales + first - offset, 1);
    const T *gain = task.weights[place(task.layers, 0)], *shift = task.weights[place(task.layers, 1)];
    tokens.each(first, last, [&](int64_t token, int64_t row, int64_t step) {
        T* state = task.states + (row * task.steps + step) * W;
        for (int64_t u = 0; u < W; u += WIDTH<T>)
            store_some(state + u, load(normed + (token - offset) * Wp + u) * load_some(gain + u, W - u) + load_some(shift + u, W - u), W - u);
    });
    for (int64_t b = begin; b < end; b++)
        memset(task.states + (b * task.steps + tokens.length(b)) * W, 0, (task.steps - tokens.length(b)) * W * sizeof(T));
}

}  // namespace

template <class T>
void transformer_forward(const Encoder<T>* given) {
    const Encoder<T>& task = *given;
    static thread_local Arena<T> arena;
    Tokens tokens(task);
    int threads = threads_for(task.threads, task.batch);
    int64_t most = tokens.most(), memory = forward_memory(task, most);
    arena.begin(Products<T>::size(task) + threads * memory);
    Products<T> products(task, arena, false);
    T* work = arena.take(threads * memory);
    in_parallel(threads, [&](int part, int parts) { products.pack(task, false, part, parts); });
    in_parallel(threads, [&](int part, int parts) {
        tokens.in_groups(part, parts, [&](int64_t begin, int64_t end) { forward_group(task, tokens, products, begin, end, most, work + part * memory); });
    });
}

// --- backward ---

namespace {

// Gradients of what a layer's products made, of all tokens.
template <class T>
struct Deltas {
    T *projected, *output, *inner, *outer;
    int64_t Qs, Ws, Fs;  // from token to token

    Deltas(const Encoder<T>& task, T* memory, int64_t tokens)
        : Qs(delta_step<T>(3 * task.width)), Ws(delta_step<T>(task.width)), Fs(delta_step<T>(task.feedforward)) {
        projected = memory;
        output = projected + tokens * Qs;
        inner = output + tokens * Ws;
        outer = inner + tokens * Fs;
    }
    static int64_t size(const Encoder<T>& task, int64_t tokens) {
        Deltas none(task, nullptr, 0);
        return tokens * (none.Qs + 2 * none.Ws + none.Fs);
    }
};

// The gradient of a sum is that of what was added, but for what was dropped.
template <class T>
void drop_rows(const Tokens& tokens, int64_t first, int64_t end, Dropout<T> dropout, const T* dx, T* delta, int64_t W) {
    int64_t Wp = row_step<T>(W), step_size = delta_step<T>(W);
    tokens.each(first, end, [&](int64_t token, int64_t row, int64_t step) {
        const T* from = dx + (token - first) * Wp;
        T* to = delta + token * step_size;
        dropout.at(row, step);
        for (int64_t u = 0; u < W; u += WIDTH<T>) store(to + u, dropout.active ? load(from + u) * dropout.factor(u) : load(from + u));
    });
}

// From the gradient of what a norm made, before gain and bias, to that of what it was given; written or added to dx.
template <class T>
void back_through_norm(int64_t n, int64_t W, const T* gradient, const T* normed, const T* scale, int64_t scale_step, T* dx, bool add) {
    int64_t Wp = row_step<T>(W);
    in_fours(n, [&](int64_t first, auto count) {
        constexpr int R = decltype(count)::value;
        Vec<T> sum[R], along[R];
        T mean[R], slope[R];
        EACH(r, R) sum[r] = along[r] = Vec<T>{}; END
        for (int64_t u = 0; u < W; u += WIDTH<T>) EACH(r, R)
            Vec<T> v = load(gradient + (first + r) * Wp + u);
            sum[r] += v;
            along[r] += v * load(normed + (first + r) * Wp + u);
        END
        EACH(r, R)
            mean[r] = total(sum[r]) / T(W);
            slope[r] = total(along[r]) / T(W);
        END
        for (int64_t u = 0; u < W; u += WIDTH<T>) EACH(r, R)
            int64_t at = (first + r) * Wp + u;
            Vec<T> before = add ? load(dx + at) : Vec<T>{};  // one sum for both: else four rows may round otherwise than one
            store(dx + at, before + (load(gradient + at) - mean[r] - load(normed + at) * slope[r]) * scale[(first + r) * scale_step]);
        END
    });
}

template <class T>
int64_t backward_memory(const Encoder<T>& task, int64_t most) {
    int64_t Wp = row_step<T>(task.width), Fp = padded<T>(task.feedforward), Dp = padded<T>(task.inputs);
    return most * (2 * Wp + Fp + Dp) + WIDTH<T> + Attention<T>::memory_of(most, task.head_width());
}

// One thread, a few rows: all layers, from the last to the first.
template <class T>
void backward_group(const Encoder<T>& task, const Tokens& tokens, const Products<T>& products, T* all_deltas, T* of_project, T* inputs, int64_t begin,
                    int64_t end, int64_t most, T* memory) {
    int64_t D = task.inputs, W = task.width, Wp = row_step<T>(W), Fp = padded<T>(task.feedforward), Dp = padded<T>(D), d = task.head_width();
    int64_t first = tokens.first[begin], last = tokens.first[end], n = last - first, all = tokens.all();
    T *dx = memory, *back = dx + most * Wp, *wide = back + most * Wp + WIDTH<T>, *for_inputs = wide + most * Fp, *work = for_inputs + most * Dp;
    int64_t size = Kept<T>::size(task, all), delta_size = Deltas<T>::size(task, all);
    const T *normed = task.saved + task.layers * size, *scales = normed + all * Wp, *gain = task.weights[place(task.layers, 0)];
    tokens.each(first, last, [&](int64_t token, int64_t row, int64_t step) {
        const T* direct = task.for_states + row * task.for_states_row + step * task.for_states_step;
        for (int64_t u = 0; u < W; u += WIDTH<T>) store(back + (token - first) * Wp + u, load_some(direct + u, W - u) * load_some(gain + u, W - u));
    });
    back_through_norm(n, W, back, normed + first * Wp, scales + first, 1, dx, false);
    for (int64_t layer = task.layers - 1; layer >= 0; layer--) {
        Kept<T> kept(task, task.saved + layer * size, all);
        Deltas<T> deltas(task, all_deltas + layer * delta_size, all);
        const T* numbers = kept.numbers + first * kept.count;

        drop_rows(tokens, first, last, Site<T>::fed_forward(task, layer), dx, deltas.outer, W);
        products.outer[layer].multiply(n, deltas.outer + first * deltas.Ws, deltas.Ws, wide, Fp);
        for (int64_t r = 0; r < n; r++)
            for (int64_t u = 0; u < Fp; u += WIDTH<T>)
                store(deltas.inner + (first + r) * deltas.Fs + u, load(wide + r * Fp + u) * load(kept.slope + (first + r) * kept.Fs + u));
        products.inner[layer].multiply(n, deltas.inner + first * deltas.Fs, deltas.Fs, back, Wp);
        back_through_norm(n, W, back, kept.inner_normed + first * Wp, numbers + 1, kept.count, dx, true);

        drop_rows(tokens, first, last, Site<T>::attended(task, layer), dx, deltas.output, W);
        products.output[layer].multiply(n, deltas.output + first * deltas.Ws, deltas.Ws, back, Wp);
        for (int64_t b = begin; b < end; b++)
            for (int64_t head = 0; head < task.heads; head++) {
                int64_t token = tokens.first[b];
                T* delta = deltas.projected + token * deltas.Qs + head * d;
                const T *seen = kept.seen + token * Wp + head * d, *for_seen = back + (token - first) * Wp + head * d;
                attention_of(task, tokens, kept, 0, b, head, work)
                    .backward(Site<T>::attention(task, layer, head), seen, for_seen, Wp, delta, delta + W, delta + 2 * W, deltas.Qs);
            }
        products.projected[layer].multiply(n, deltas.projected + first * deltas.Qs, deltas.Qs, back, Wp);
        back_through_norm(n, W, back, kept.normed + first * Wp, numbers, kept.count, dx, true);
    }
    int64_t step_size = delta_step<T>(W);
    drop_rows(tokens, first, last, Site<T>::input(task), dx, of_project, W);
    gather(task, tokens, first, last, inputs + first * Dp);
    if (!task.for_x) return;
    products.project.multiply(n, of_project + first * step_size, step_size, for_inputs, Dp);
    tokens.each(first, last, [&](int64_t token, int64_t row, int64_t step) {
        memcpy(task.for_x + (row * task.steps + step) * D, for_inputs + (token - first) * Dp, D * sizeof(T));
    });
    for (int64_t b = begin; b < end; b++)
        memset(task.for_x + (b * task.steps + tokens.length(b)) * D, 0, (task.steps - tokens.length(b)) * D * sizeof(T));
}

// --- the weights' gradients ---

// One thread: some rows of δᵀ · right over all tokens, and of Σ δ.
template <class T>
void weigh(int64_t tokens, const T* delta, int64_t step, const T* right, int64_t right_step, int64_t rows, int64_t width, T* sums, T* bias, int part,
           int parts) {
    int64_t blocks = (rows + ROWS - 1) / ROWS, first = blocks * part / parts * ROWS, end = blocks * (part + 1) / parts * ROWS;
    int64_t line = padded<T>(width);
    if (end > rows) end = rows;
    for (int64_t token = 0; token < tokens; token += TOKENS) {
        int64_t some = tokens - token < TOKENS ? tokens - token : TOKENS;
        const T *mine = delta + token * step + first, *theirs = right + token * right_step;
        multiply_small<T, true>(end - first, some, mine, step, theirs, right_step, line, sums + first * line, line, token > 0);
        for (int64_t u = first; u < end; u += WIDTH<T>) {
            Vec<T> sum = token > 0 ? load_some(bias + u, end - u) : Vec<T>{};
            for (int64_t one = token; one < token + some; one++) sum += load(delta + one * step + u);
            store_some(bias + u, sum, end - u);
        }
    }
}

// The gradient of weights whose right side is as they saw it.
template <class T>
void copy_rows(const T* sums, int64_t rows, int64_t width, T* to) {
    for (int64_t row = 0; row < rows; row++) memcpy(to + row * width, sums + row * padded<T>(width), width * sizeof(T));
}

// Weights that saw gain · x + shift, but were weighed with x: their gradient, and those of gain and shift.
template <class T>
void unfold(const T* sums, const T* bias, int64_t rows, int64_t width, const T* w, const T* gain, const T* shift, T* for_w, T* for_gain, T* for_shift) {
    for (int64_t u = 0; u < width; u += WIDTH<T>) {
        int64_t n = width - u;
        Vec<T> scale = load_some(gain + u, n), more = load_some(shift + u, n), of_gain{}, of_shift{};
        for (int64_t row = 0; row < rows; row++) {
            Vec<T> sum = load(sums + row * padded<T>(width) + u), weight = load_some(w + row * width + u, n);
            of_gain += sum * weight;
            of_shift += bias[row] * weight;
            store_some(for_w + row * width + u, sum * scale + bias[row] * more, n);
        }
        store_some(for_gain + u, of_gain, n);
        store_some(for_shift + u, of_shift, n);
    }
}

// Of the last norm's gain and shift, and of the positions.
template <class T>
void weigh_ends(const Encoder<T>& task, const Tokens& tokens, const T* of_project) {
    int64_t W = task.width, Wp = row_step<T>(W), step_size = delta_step<T>(W);
    const T* normed = task.saved + task.layers * Kept<T>::size(task, tokens.all());
    if (task.gradients)
        for (int64_t u = 0; u < W; u += WIDTH<T>) {
            Vec<T> of_gain{}, of_shift{};
            tokens.each(0, tokens.all(), [&](int64_t token, int64_t row, int64_t step) {
                Vec<T> v = load_some(task.for_states + row * task.for_states_row + step * task.for_states_step + u, W - u);
                of_shift += v;
                of_gain += v * load(normed + token * Wp + u);
            });
            store_some(task.gradients[place(task.layers, 0)] + u, of_gain, W - u);
            store_some(task.gradients[place(task.layers, 1)] + u, of_shift, W - u);
        }
    if (!task.for_positions) return;
    memset(task.for_positions, 0, task.steps * W * sizeof(T));
    tokens.each(0, tokens.all(), [&](int64_t token, int64_t, int64_t step) {
        for (int64_t u = 0; u < W; u += WIDTH<T>) {
            T* to = task.for_positions + step * W + u;
            store_some(to, load_some(to, W - u) + load(of_project + token * step_size + u), W - u);
        }
    });
}

// Room for one layer's sums: those of its four products, then their biases.
template <class T>
struct Sums {
    T *projected, *output, *inner, *outer, *bias;

    Sums(const Encoder<T>& task, T* memory) {
        int64_t W = task.width, Wp = padded<T>(W), F = task.feedforward;
        projected = memory;
        output = projected + 3 * W * Wp;
        inner = output + W * Wp;
        outer = inner + F * Wp;
        bias = outer + W * padded<T>(F);
    }
    static int64_t size(const Encoder<T>& task) {
        int64_t W = task.width, F = task.feedforward;
        return (4 * W + F) * padded<T>(W) + W * padded<T>(F) + padded<T>(5 * W + F);
    }
};

}  // namespace

template <class T>
void transformer_backward(const Encoder<T>* given) {
    const Encoder<T>& task = *given;
    static thread_local Arena<T> arena;
    Tokens tokens(task);
    int threads = threads_for(task.threads, task.batch);
    int64_t all = tokens.all(), most = tokens.most(), memory = backward_memory(task, most);
    int64_t D = task.inputs, W = task.width, Wp = row_step<T>(W), F = task.feedforward, Dp = padded<T>(D), Ws = delta_step<T>(W);
    int64_t kept_size = Kept<T>::size(task, all), delta_size = Deltas<T>::size(task, all), sums_size = Sums<T>::size(task);
    int64_t project_size = W * Dp + padded<T>(W);
    arena.begin(Products<T>::size(task) + threads * memory + task.layers * (delta_size + sums_size) + all * (Ws + Dp) + project_size);
    Products<T> products(task, arena, true);
    T *work = arena.take(threads * memory), *deltas = arena.take(task.layers * delta_size);
    T *of_project = arena.take(all * Ws), *inputs = arena.take(all * Dp);
    T *all_sums = arena.take(task.layers * sums_size), *project_sums = arena.take(project_size);
    in_parallel(threads, [&](int part, int parts) { products.pack(task, true, part, parts); });
    in_parallel(threads, [&](int part, int parts) {
        tokens.in_groups(part, parts, [&](int64_t begin, int64_t end) {
            backward_group(task, tokens, products, deltas, of_project, inputs, begin, end, most, work + part * memory);
        });
    });
    if (task.gradients)
        in_parallel(threads, [&](int part, int parts) {
            for (int64_t layer = 0; layer < task.layers; layer++) {
                Kept<T> kept(task, task.saved + layer * kept_size, all);
                Deltas<T> delta(task, deltas + layer * delta_size, all);
                Sums<T> sums(task, all_sums + layer * sums_size);
                weigh(all, delta.projected, delta.Qs, kept.normed, Wp, 3 * W, W, sums.projected, sums.bias, part, parts);
                weigh(all, delta.output, delta.Ws, kept.seen, Wp, W, W, sums.output, sums.bias + 3 * W, part, parts);
                weigh(all, delta.inner, delta.Fs, kept.inner_normed, Wp, F, W, sums.inner, sums.bias + 4 * W, part, parts);
                weigh(all, delta.outer, delta.Ws, kept.active, kept.Fs, W, F, sums.outer, sums.bias + 4 * W + F, part, parts);
            }
            weigh(all, of_project, Ws, inputs, Dp, W, D, project_sums, project_sums + W * Dp, part, parts);
        });
    weigh_ends(task, tokens, of_project);
    if (!task.gradients) return;
    copy_rows(project_sums, W, D, task.gradients[PROJECT]);
    memcpy(task.gradients[PROJECT_BIAS], project_sums + W * Dp, W * sizeof(T));
    for (int64_t layer = 0; layer < task.layers; layer++) {
        Sums<T> sums(task, all_sums + layer * sums_size);
        auto w = [&](int which) { return task.weights[place(layer, which)]; };
        auto g = [&](int which) { return task.gradients[place(layer, which)]; };
        unfold(sums.projected, sums.bias, 3 * W, W, w(QKV), w(NORM), w(NORM_BIAS), g(QKV), g(NORM), g(NORM_BIAS));
        unfold(sums.inner, sums.bias + 4 * W, F, W, w(INNER), w(INNER_NORM), w(INNER_NORM_BIAS), g(INNER), g(INNER_NORM), g(INNER_NORM_BIAS));
        copy_rows(sums.output, W, W, g(OUTPUT));
        copy_rows(sums.outer, W, F, g(OUTER));
        memcpy(g(OUTPUT_BIAS), sums.bias + 3 * W, W * sizeof(T));
        memcpy(g(INNER_BIAS), sums.bias + 4 * W, F * sizeof(T));
        memcpy(g(OUTER_BIAS), sums.bias + 4 * W + F, W * sizeof(T));
    }
}

// Numbers that forward leaves for backward: those of the layers, then what the last norm made, and how it scaled.
template <class T>
int64_t transformer_saved(const Encoder<T>* task, int64_t tokens) {
    return task->layers * Kept<T>::size(*task, tokens) + tokens * row_step<T>(task->width) + padded<T>(tokens);
}

EXPORT(transformer_forward)
EXPORT(transformer_backward)
EXPORT(transformer_saved)

// erf of n numbers, to test it.
extern "C" void transformer_erf_float(int64_t n, const float* x, float* to) {
    for (int64_t i = 0; i < n; i += WIDTH<float>) store_some(to + i, error_function(load_some(x + i, n - i)), n - i);
}
