// The linear head and the loss of whole training steps, forward and backward.
#pragma once
#include "whole_steps.h"

// The cross-entropy of some logits (n, ·), rows `step` apart, which become its gradient times `share`; `targets[r]` is of
// row r. Rows count by the weight of their class, where there are `weights` (classes). Writes the loss of each row, and whether
// its highest logit is the target's. Rows lie side by side in the lanes of vectors meanwhile: nothing has to be added up
// across a vector.
template <class T>
void cross_entropy(int64_t n, T* logits, int64_t step, int64_t classes, const int64_t* targets, const T* weights, T share,
                   double* losses, char* right) {
    constexpr int W = WIDTH<T>;
    T* columns = buffer<T>(COLUMNS_OF_LOGITS, classes * W);
    for (int64_t first = 0; first < n; first += W) {
        int some = int(std::min<int64_t>(W, n - first));
        transpose(logits + first * step, step, some, classes, columns, W);
        Vec<T> highest = load(columns), sum{};
        for (int64_t c = 1; c < classes; c++) {
            Vec<T> v = load(columns + c * W);
            highest = v > highest ? v : highest;
        }
        T wanted[W], sums[W], tops[W], shares[W] = {};
        store(tops, highest);
        for (int r = 0; r < some; r++) {
            int64_t target = targets[first + r], c = 0;
            wanted[r] = columns[target * W + r];
            shares[r] = weights ? share * weights[target] : share;
            right[first + r] = false;
            if (wanted[r] != tops[r]) continue;
            while (columns[c * W + r] != tops[r]) c++;  // of equals, the first one is the answer
            right[first + r] = c == target;
        }
        for (int64_t c = 0; c < classes; c++) {
            Vec<T> power = exponential(load(columns + c * W) - highest);
            sum += power;
            store(columns + c * W, power);
        }
        store(sums, sum);
        Vec<T> factor = load(shares) / sum;
        for (int64_t c = 0; c < classes; c++) store(columns + c * W, load(columns + c * W) * factor);
        for (int r = 0; r < some; r++) {
            int64_t target = targets[first + r];
            losses[first + r] = double((weights ? weights[target] : T(1)) * (std::log(sums[r]) - (wanted[r] - tops[r])));
            columns[target * W + r] -= shares[r];
        }
        for (int64_t c = 0; c < classes; c += W)
            transpose(columns + c * W, W, int(std::min<int64_t>(W, classes - c)), some, logits + first * step + c, step);
    }
}

// The cross-entropy of one label by itself; its logit becomes the gradient times `share`. `whole` is lost where the answer,
// yes from 0 on, is wrong.
template <class T>
double yes_or_no(T& logit, bool wanted, T share, bool& whole) {
    T power = std::exp(-std::abs(logit)), z = logit;  // at most 1
    whole &= (z >= 0) == wanted;
    T yes = z >= 0 ? 1 / (1 + power) : power / (1 + power);
    logit = (yes - T(wanted)) * share;
    return double(std::max(z, T(0)) - (wanted ? z : T(0)) + std::log1p(power));
}

constexpr int64_t WORTH_A_THREAD = 1 << 20;  // multiplications: a guess; threads take time to begin

// part(first, end) over slices of the rows, in whole blocks, each on a thread of its own. A row's numbers don't depend on which.
template <class Part>
void in_slices(int64_t n, int64_t threads, int64_t block, const Part& part) {
    int64_t blocks = (n + block - 1) / block;
    in_parallel(threads_for(threads, blocks), [&](int i, int parts) {
        int64_t first = blocks * i / parts * block, end = std::min(n, blocks * (i + 1) / parts * block);
        if (first < end) part(first, end);
    });
}

// The head and the loss, forward and backward: `for_rows` gets the gradient of each row that is asked for; `places` are
// where their targets are.
template <class T>
void learn_head(const Member<T>& m, Step<T>& step, const std::vector<const T*>& rows, const std::vector<int64_t>& places,
                const std::vector<T*>& for_rows) {
    int64_t n = int64_t(rows.size()), S = m.width_read(), C = m.outputs, Cp = padded<T>(C);
    T* logits = buffer<T>(LOGITS, (n + WIDTH<T>) * Cp);
    std::vector<T*> out(n);
    std::vector<const T*> left(n);
    for (int64_t r = 0; r < n; r++) left[r] = out[r] = logits + r * Cp;
    int64_t threads = n * S * C < WORTH_A_THREAD ? 1 : m.threads;
    in_slices(n, threads, BLOCK, [&](int64_t first, int64_t end) {
        multiply_by(end - first, S, C, rows.data() + first, m.head, out.data() + first);
        for (int64_t r = first; r < end; r++) add(C, T(1), m.head_bias, out[r]);
    });
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
    } else if (m.answer == LABELS) {
        for (int64_t r = 0; r < n; r++) {
            const uint8_t* wanted = static_cast<const uint8_t*>(step.targets) + places[r] * C;
            bool whole = true;
            for (int64_t c = 0; c < C; c++) loss += yes_or_no(out[r][c], wanted[c] > 0, share, whole);
            right[r] += whole;
        }
    } else {
        std::vector<int64_t> targets(n);
        for (int64_t r = 0; r < n; r++) targets[r] = static_cast<const int64_t*>(step.targets)[places[r]];
        std::vector<double> losses(n);
        std::vector<char> hits(n);
        in_slices(n, threads, BLOCK, [&](int64_t first, int64_t end) {
            cross_entropy<T>(end - first, logits + first * Cp, Cp, C, targets.data() + first, m.class_weights, share,
                             losses.data() + first, hits.data() + first);
        });
        for (int64_t r = 0; r < n; r++) loss += losses[r], right[places[r] / per_row] += hits[r];
    }
    step.loss = double(T(loss / double(n)));
    step.share = 0;
    step.whole = 0;
    for (int64_t b = 0; b < step.batch; b++) {
        if (asked[b]) step.share += double(right[b]) / double(asked[b]);
        step.whole += right[b] == asked[b];
    }
    in_slices(n, threads, BLOCK, [&](int64_t first, int64_t end) {
        multiply_back<T>(end - first, S, C, left.data() + first, m.head, for_rows.data() + first);
    });
    in_slices(vectors<T>(S), threads, COLUMNS, [&](int64_t first, int64_t end) {
        weigh(n, S, C, rows.data(), logits, Cp, m.for_head, first * WIDTH<T>, std::min(S, end * WIDTH<T>));
    });
    memset(m.for_head_bias, 0, C * sizeof(T));
    for (int64_t from = 0; from < n; from += BLOCK) {
        std::vector<T> sums(C);
        for (int64_t r = from; r < std::min(n, from + BLOCK); r++) add(C, T(1), logits + r * Cp, sums.data());
        add(C, T(1), sums.data(), m.for_head_bias);
    }
}
