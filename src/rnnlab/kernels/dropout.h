// Which numbers are dropped in training.
#pragma once
#include "product.h"

// Whether a number is dropped depends on the seed, on the site (which dropout of the network), on the row of the batch, the
// step and the column: not on padding, nor on who computes it. So nothing is kept for the way back.
inline uint64_t scrambled(uint64_t z) {  // the finalizer of SplitMix64
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

template <class T>
struct Dropout {
    bool active = false, locked = false;  // locked: all steps of a row are dropped alike
    uint64_t site = 0, token = 0;
    uint32_t limit = 0;
    T scale = T(1);

    Dropout(double probability, int64_t seed, int64_t number, bool locked = false) : locked(locked) {
        if (probability <= 0) return;
        active = true;
        site = scrambled(uint64_t(seed) + 0x9e3779b97f4a7c15u * uint64_t(number + 1));
        limit = uint32_t(probability * 4294967296.0);
        scale = T(1.0 / (1.0 - probability));
    }

    void at(int64_t row, int64_t step) { token = scrambled(site + (uint64_t(row) << 32 | uint64_t(locked ? 0 : step))); }

    // A counter through two rounds of a 32-bit hash, each with half of the token's key.
    template <class Bits>
    INLINE Bits draw(Bits column) const {
        Bits z = column + uint32_t(token);
        z = (z ^ (z >> 16)) * 0x21f0aaadu;
        z = (z ^ (z >> 15)) + uint32_t(token >> 32);
        z = (z ^ (z >> 16)) * 0xd35a2d97u;
        return z ^ (z >> 15);
    }
    // What the numbers from ``column`` on are multiplied with: 0 or 1 / (1 - p).
    INLINE Vec<T> factor(int64_t column) const {
        Vec<T> found;
        if constexpr (sizeof(T) == 4) {
            typedef uint32_t Bits __attribute__((vector_size(VECTOR_BYTES)));
            Bits lane;
            EACH(i, WIDTH<T>) lane[i] = uint32_t(i); END
            found = draw(lane + uint32_t(column)) < limit ? Vec<T>{} : spread(scale);
        } else {
            for (int i = 0; i < WIDTH<T>; i++) found[i] = draw(uint32_t(column) + uint32_t(i)) < limit ? T(0) : scale;
        }
        return found;
    }
};
