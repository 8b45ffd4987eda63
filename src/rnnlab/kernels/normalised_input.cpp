// Layer norm of what the input brings to each gate, for all tokens at once.
#include "normalised.h"

namespace {

constexpr int64_t CHUNKS = 32;  // of tokens, at most: sums are taken chunk by chunk, whatever the number of threads

// f(first, end) for the tokens of each chunk, split over the threads, and the chunk's number.
template <class T, class F>
void in_chunks(const Rows<T>& rows, const F& f) {
    int64_t chunks = rows.tokens < CHUNKS ? rows.tokens : CHUNKS;
    in_parallel(int(rows.threads < chunks ? rows.threads : chunks), [&](int part, int parts) {
        for (int64_t c = part; c < chunks; c += parts) f(c, rows.tokens * c / chunks, rows.tokens * (c + 1) / chunks);
    });
}

}  // namespace

template <class T>
void normalised_input_forward(const Rows<T>* given) {
    const Rows<T>& rows = *given;
    int64_t G = rows.gates, H = rows.hidden, Hp = padded<T>(H);
    in_chunks(rows, [&](int64_t, int64_t first, int64_t end) {
        std::vector<T> scratch(rows.normed ? 0 : Hp);
        for (int64_t at = first * G; at < end * G; at++) {  // a gate of a token
            const T *gain = rows.gain + at % G * H, *bias = rows.bias + at % G * H;
            T* x = rows.normed ? rows.normed + at * Hp : scratch.data();
            for (int64_t u = 0; u < H; u += WIDTH<T>) store(x + u, load_some(rows.x + at * H + u, int(H - u)));
            T scale = normalise(x, H);
            if (rows.scales) rows.scales[at] = scale;
            for (int64_t u = 0; u < H; u += WIDTH<T>) {
                int n = int(H - u);
                store_some(rows.out + at * H + u, load(x + u) * load_some(gain + u, n) + load_some(bias + u, n), n);
            }
        }
    });
}

template <class T>
void normalised_input_backward(const Rows<T>* given) {
    const Rows<T>& rows = *given;
    int64_t G = rows.gates, H = rows.hidden, Hp = padded<T>(H), chunks = rows.tokens < CHUNKS ? rows.tokens : CHUNKS;
    std::vector<T> gain(G * Hp), sums(chunks * 2 * G * Hp);
    for (int64_t gate = 0; gate < G; gate++) memcpy(&gain[gate * Hp], rows.gain + gate * H, H * sizeof(T));
    in_chunks(rows, [&](int64_t chunk, int64_t first, int64_t end) {
        T *for_gain = &sums[chunk * 2 * G * Hp], *for_bias = for_gain + G * Hp;
        std::vector<T> gradient(Hp);
        for (int64_t at = first * G; at < end * G; at++) {
            int64_t gate = at % G * Hp;
            for (int64_t u = 0; u < H; u += WIDTH<T>) store(&gradient[u], load_some(rows.for_out + at * H + u, int(H - u)));
            differentiate_norm(true, gradient.data(), rows.normed + at * Hp, rows.scales[at], &gain[gate], H, for_gain + gate, for_bias + gate);
            for (int64_t u = 0; u < H; u += WIDTH<T>) store_some(rows.for_x + at * H + u, load(&gradient[u]), int(H - u));
        }
    });
    for (int64_t gate = 0; gate < G; gate++)
        for (int64_t u = 0; u < H; u++) {
            T of_gain = 0, of_bias = 0;
            for (int64_t chunk = 0; chunk < chunks; chunk++) {
                of_gain += sums[(chunk * 2 * G + gate) * Hp + u];
                of_bias += sums[(chunk * 2 * G + G + gate) * Hp + u];
            }
            rows.for_gain[gate * H + u] = of_gain;
            rows.for_bias[gate * H + u] = of_bias;
        }
}

EXPORT(normalised_input_forward)
EXPORT(normalised_input_backward)
EXPORT(normalised_input_saved)
