// What a training step does besides the encoder: rows of the embedding, head, loss, update.
#include <initializer_list>
#include <vector>

#include "threads.h"
#include "vector.h"

namespace {

constexpr int64_t BLOCK = 4096;   // numbers summed before they are added to the total
constexpr int64_t SHARE = 32768;  // numbers that are worth a thread
constexpr int64_t AHEAD = 8;      // rows fetched from memory while others are worked on

int parts_of(int64_t n, int64_t threads) { return int(std::max<int64_t>(1, std::min(threads, n / SHARE))); }

// part(first, last) over slices of 0 … n, in whole blocks.
template <class Part>
void in_slices(int64_t n, int64_t threads, const Part& part) {
    int64_t blocks = (n + BLOCK - 1) / BLOCK;
    in_parallel(parts_of(n, threads), [&](int i, int parts) {
        part(blocks * i / parts * BLOCK, std::min(n, blocks * (i + 1) / parts * BLOCK));
    });
}

// Has the processor begin to load a row.
template <class T>
INLINE void fetch(const T* row, int64_t width) {
    const char* bytes = reinterpret_cast<const char*>(row);
    for (int64_t at = 0; at < int64_t(width * sizeof(T)) + 63; at += 64) __builtin_prefetch(bytes + at);
}

template <class T>
double squares_of_block(const T* x, int64_t n) {
    Vec<T> sums[4] = {};
    int64_t i = 0;
    for (; i + 4 * WIDTH<T> <= n; i += 4 * WIDTH<T>)
        for (int k = 0; k < 4; k++) {
            Vec<T> v = load(x + i + k * WIDTH<T>);
            sums[k] += v * v;
        }
    for (; i < n; i += WIDTH<T>) {
        Vec<T> v = load_some(x + i, int(std::min<int64_t>(n - i, WIDTH<T>)));
        sums[0] += v * v;
    }
    Vec<T> sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    double total = 0;
    for (int k = 0; k < WIDTH<T>; k++) total += sum[k];
    return total;
}

// The same bits for any number of threads: blocks are summed by themselves, and added up in order.
template <class T>
double squares(const T* x, int64_t n, int64_t threads) {
    if (n <= BLOCK) return squares_of_block(x, n);
    int64_t blocks = (n + BLOCK - 1) / BLOCK;
    std::vector<double> found(blocks);
    in_slices(n, threads, [&](int64_t first, int64_t last) {
        for (int64_t at = first; at < last; at += BLOCK)
            found[at / BLOCK] = squares_of_block(x + at, std::min(BLOCK, last - at));
    });
    double total = 0;
    for (int64_t i = 0; i < blocks; i++) total += found[i];
    return total;
}

template <class T>
struct Adam {
    T scale, keep, blend1, beta2, blend2, root, epsilon, rate;  // keep: what AdamW's decay leaves of a weight

    INLINE void operator()(int64_t n, T* __restrict w, const T* __restrict gradient, T* __restrict m, T* __restrict v) const {
        for (int64_t i = 0; i < n; i++) {
            T g = gradient[i] * scale;
            T first = m[i] + (g - m[i]) * blend1;
            T second = v[i] * beta2 + g * g * blend2;
            m[i] = first;
            v[i] = second;
            w[i] = w[i] * keep - rate * (first / (std::sqrt(second) * root + epsilon));
        }
    }
};

}  // namespace

// One update. Returns the norm of all gradients before clipping; where it isn't finite, nothing else is done.
template <class T>
double adam(T* weights, T* gradient, T* moment1, T* moment2, int64_t n, T* table, T* row_moment1, T* row_moment2,
            const int64_t* rows, const T* row_gradient, int64_t count, int64_t width, double clip, double keep,
            double beta1, double beta2, double root, double epsilon, double rate, int64_t threads) {
    double norm = std::sqrt(T(squares(gradient, n, threads) + squares(row_gradient, count * width, threads)));
    if (!std::isfinite(norm)) return norm;
    Adam<T> update{T(norm > clip ? clip / norm : 1), T(keep),    T(1 - beta1), T(beta2),
                   T(1 - beta2),                     T(root),    T(epsilon),   T(rate)};
    in_slices(n, threads, [&](int64_t first, int64_t last) {
        update(last - first, weights + first, gradient + first, moment1 + first, moment2 + first);
        memset(gradient + first, 0, (last - first) * sizeof(T));
    });
    in_parallel(parts_of(count * width, threads), [&](int i, int parts) {
        int64_t last = count * (i + 1) / parts;
        for (int64_t r = count * i / parts; r < last; r++) {
            if (r + AHEAD < last)
                for (const T* rows_of : {table, row_moment1, row_moment2}) fetch(rows_of + rows[r + AHEAD] * width, width);
            int64_t at = rows[r] * width;
            update(width, table + at, row_gradient + r * width, row_moment1 + at, row_moment2 + at);
        }
    });
    return norm;
}

// The same by gradient descent; the rows of a table without decay and momentum.
template <class T>
double descend(T* weights, T* gradient, T* speed, int64_t n, T* table, const int64_t* rows, const T* row_gradient, int64_t count,
               int64_t width, double clip, double decay, double momentum, double rate, int64_t threads) {
    double norm = std::sqrt(T(squares(gradient, n, threads) + squares(row_gradient, count * width, threads)));
    if (!std::isfinite(norm)) return norm;
    T scale = T(norm > clip ? clip / norm : 1), d = T(decay), m = T(momentum), lr = T(rate);
    in_slices(n, threads, [&](int64_t first, int64_t last) {
        T* __restrict w = weights;
        T* __restrict g = gradient;
        T* __restrict s = speed;
        for (int64_t i = first; i < last; i++) {
            T now = s[i] * m + (g[i] * scale + w[i] * d);
            s[i] = now;
            w[i] -= lr * now;
            g[i] = 0;
        }
    });
    in_parallel(parts_of(count * width, threads), [&](int i, int parts) {
        int64_t last = count * (i + 1) / parts;
        for (int64_t r = count * i / parts; r < last; r++) {
            if (r + AHEAD < last) fetch(table + rows[r + AHEAD] * width, width);
            add(width, -lr * scale, row_gradient + r * width, table + rows[r] * width);
        }
    });
    return norm;
}

// Rows of the tables by id, into `out` (n, width + frozen_width); with them, which distinct rows of the first table they
// are: `rows` in order of first appearance, and of each id its place among them, -1 for padding (id 0). `places` (words)
// is zero before and after. Returns how many rows; -1 for an id that isn't in the table.
template <class T>
int64_t pick(const int64_t* ids, int64_t n, const T* table, int64_t words, int64_t width, const T* frozen,
             int64_t frozen_width, int32_t* places, T* out, int64_t* rows, int32_t* numbers) {
    for (int64_t i = 0; i < n; i++)
        if (ids[i] < 0 || ids[i] >= words) return -1;
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) {
        if (i + AHEAD < n) fetch(table + ids[i + AHEAD] * width, width);
        int64_t id = ids[i];
        memcpy(out, table + id * width, width * sizeof(T));
        if (frozen) memcpy(out + width, frozen + id * frozen_width, frozen_width * sizeof(T));
        out += width + frozen_width;
        if (id == 0) {
            numbers[i] = -1;
            continue;
        }
        if (!places[id]) {
            rows[count] = id;
            places[id] = int32_t(++count);
        }
        numbers[i] = places[id] - 1;
    }
    for (int64_t r = 0; r < count; r++) places[rows[r]] = 0;
    return count;
}

// The gradients of equal rows added up: (n, stride), of which `width` columns count, into (rows, width).
template <class T>
void gather_gradients(const T* gradient, int64_t n, int64_t stride, int64_t width, const int32_t* numbers, T* out) {
    int32_t seen = 0;  // rows are numbered in order of first appearance
    for (int64_t i = 0; i < n; i++, gradient += stride) {
        if (numbers[i] < 0) continue;
        T* to = out + numbers[i] * width;
        if (numbers[i] == seen) {
            memcpy(to, gradient, width * sizeof(T));
            seen++;
        } else {
            add(width, T(1), gradient, to);
        }
    }
}

namespace {

// Where a row is highest; the first NaN is, as torch has it.
template <class T>
int64_t highest_of(const T* row, int64_t n) {
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
        if (row[i] > row[best] || (std::isnan(row[i]) && !std::isnan(row[best]))) best = i;
    return best;
}

template <class T>
T dot(const T* a, const T* b, int64_t n) {
    Vec<T> sums[2] = {};
    int64_t i = 0;
    for (; i + 2 * WIDTH<T> <= n; i += 2 * WIDTH<T>) {
        sums[0] += load(a + i) * load(b + i);
        sums[1] += load(a + i + WIDTH<T>) * load(b + i + WIDTH<T>);
    }
    for (; i < n; i += WIDTH<T>) {
        int some = int(std::min<int64_t>(n - i, WIDTH<T>));
        sums[0] += load_some(a + i, some) * load_some(b + i, some);
    }
    T parts[WIDTH<T>];
    store(parts, sums[0] + sums[1]);
    for (int half = WIDTH<T> / 2; half; half /= 2)
        for (int k = 0; k < half; k++) parts[k] += parts[k + half];
    return parts[0];
}

}  // namespace

// A linear head and its mean cross-entropy, forward and backward, row by row: logits = W x + b, of x (B, H) and W (C, H).
// Rows count by the weight of their class, where there are `weights` (C).
// The gradients of W and b are added to, that of x is written. Returns how many have their highest logit at the target;
// -1 if a target is no class.
template <class T>
int64_t classify(const T* x, const T* weight, const T* bias, const int64_t* targets, const T* weights, int64_t batch, int64_t width,
                 int64_t classes, T* loss, T* d_x, T* d_weight, T* d_bias) {
    for (int64_t b = 0; b < batch; b++)
        if (targets[b] < 0 || targets[b] >= classes) return -1;
    std::vector<T> row(classes);
    T* d = row.data();  // the logits of a row, then their gradient
    double total = 0;
    int64_t right = 0;
    for (int64_t b = 0; b < batch; b++, x += width, d_x += width) {
        for (int64_t c = 0; c < classes; c++) d[c] = dot(x, weight + c * width, width) + bias[c];
        int64_t best = highest_of(d, classes), target = targets[b];
        right += best == target;
        T highest = d[best], wanted = d[target], sum = 0;
        for (int64_t c = 0; c < classes; c++) sum += d[c] = std::exp(d[c] - highest);
        T own = weights ? weights[target] : T(1);
        total += double(own * (std::log(sum) - (wanted - highest)));
        T share = own / (sum * T(batch));
        for (int64_t c = 0; c < classes; c++) d[c] *= share;
        d[target] -= own / T(batch);
        memset(d_x, 0, width * sizeof(T));
        for (int64_t c = 0; c < classes; c++) {
            d_bias[c] += d[c];
            add(width, d[c], weight + c * width, d_x);
            add(width, d[c], x, d_weight + c * width);
        }
    }
    *loss = T(total / double(batch));
    return right;
}

EXPORT(adam)
EXPORT(descend)
EXPORT(pick)
EXPORT(gather_gradients)
EXPORT(classify)
