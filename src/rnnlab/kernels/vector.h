// Vectors as wide as the processor's registers, and the functions of them that a recurrence needs.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#define VECTOR_NAME "avx512"
#include <immintrin.h>
#elif defined(__AVX2__)
#define VECTOR_BYTES 32
#define VECTOR_NAME "avx2"
#include <immintrin.h>
#elif defined(__ARM_NEON)
#define VECTOR_BYTES 16
#define VECTOR_NAME "neon"
#else
#define VECTOR_BYTES 16
#define VECTOR_NAME "128 bits"
#endif

#define INLINE inline __attribute__((always_inline))

// A function of both precisions, exported as two pointers, so that nothing has to repeat what it takes.
#define EXPORT(NAME) \
    extern "C" { auto* NAME##_float = NAME<float>; auto* NAME##_double = NAME<double>; }

// f(a compile-time number): n, from 1 to MOST, or MOST where it is more.
template <int MOST, class F>
INLINE void as_constant(int64_t n, const F& f) {
    if constexpr (MOST > 1)
        if (n < MOST) return as_constant<MOST - 1>(n, f);
    f(std::integral_constant<int, MOST>{});
}

template <class T>
struct Lanes {
    typedef T type __attribute__((vector_size(VECTOR_BYTES)));
    typedef T loose __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(T)), may_alias));  // anywhere in memory
};
template <class T>
using Vec = typename Lanes<T>::type;
template <class T>
constexpr int WIDTH = VECTOR_BYTES / int(sizeof(T));  // numbers in a vector

template <class T>
INLINE Vec<T> load(const T* from) {
    return *reinterpret_cast<const typename Lanes<T>::loose*>(from);
}
template <class T>
INLINE void store(T* to, Vec<T> v) {
    *reinterpret_cast<typename Lanes<T>::loose*>(to) = v;
}
template <class T>
INLINE Vec<T> spread(T x) {
    return x - Vec<T>{};
}

// The first n numbers only: beyond the end of a row lies something else.
template <class T>
INLINE Vec<T> load_some(const T* from, int64_t n) {
    if (n >= WIDTH<T>) return load(from);
    if (n <= 0) return Vec<T>{};
#if defined(__AVX512F__)
    if constexpr (sizeof(T) == 4) return (Vec<T>)_mm512_maskz_loadu_ps(__mmask16((1u << n) - 1), from);
    if constexpr (sizeof(T) == 8) return (Vec<T>)_mm512_maskz_loadu_pd(__mmask8((1u << n) - 1), from);
#endif
    Vec<T> v{};
    memcpy(&v, from, n * sizeof(T));
    return v;
}
template <class T>
INLINE void store_some(T* to, Vec<T> v, int64_t n) {
    if (n >= WIDTH<T>) return store(to, v);
    if (n <= 0) return;
#if defined(__AVX512F__)
    if constexpr (sizeof(T) == 4) return _mm512_mask_storeu_ps(to, __mmask16((1u << n) - 1), (__m512)v);
    if constexpr (sizeof(T) == 8) return _mm512_mask_storeu_pd(to, __mmask8((1u << n) - 1), (__m512d)v);
#endif
    memcpy(to, &v, n * sizeof(T));
}

// The first n numbers of a vector, and something else from there on.
template <class T>
INLINE Vec<T> up_to(Vec<T> v, int64_t n, T beyond) {
    typedef std::conditional_t<sizeof(T) == 4, int32_t, int64_t> Index;
    if (n >= WIDTH<T>) return v;
    Vec<Index> lane;
    for (int i = 0; i < WIDTH<T>; i++) lane[i] = i;
    return lane < Index(n) ? v : spread(beyond);
}

// Of all numbers of a vector: their sum, and the highest.
#if defined(__AVX512F__)
INLINE float total(Vec<float> v) { return _mm512_reduce_add_ps((__m512)v); }
INLINE double total(Vec<double> v) { return _mm512_reduce_add_pd((__m512d)v); }
INLINE float highest(Vec<float> v) { return _mm512_reduce_max_ps((__m512)v); }
INLINE double highest(Vec<double> v) { return _mm512_reduce_max_pd((__m512d)v); }
#else
template <class V>
INLINE auto total(V v) {
    for (int half = sizeof(V) / sizeof(v[0]) / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++) v[i] += v[i + half];
    return v[0];
}
template <class V>
INLINE auto highest(V v) {
    auto most = v[0];
    for (size_t i = 1; i < sizeof(V) / sizeof(v[0]); i++) most = v[i] > most ? v[i] : most;
    return most;
}
#endif

// to += factor · from
template <class T>
INLINE void add(int64_t n, T factor, const T* __restrict from, T* __restrict to) {
    for (int64_t i = 0; i < n; i++) to[i] += factor * from[i];
}

// Within bounds; NaN stays NaN.
INLINE Vec<float> clamped(Vec<float> x, float low, float high) {
#if defined(__AVX512F__)
    return (Vec<float>)_mm512_min_ps(_mm512_set1_ps(high), _mm512_max_ps(_mm512_set1_ps(low), (__m512)x));
#elif defined(__AVX2__)
    return (Vec<float>)_mm256_min_ps(_mm256_set1_ps(high), _mm256_max_ps(_mm256_set1_ps(low), (__m256)x));
#else
    x = x < low ? spread(low) : x;
    return x > high ? spread(high) : x;
#endif
}

// 1 / x. The processor's estimate and one step of Newton's method: 2 units in the last place, a third of the time of
// a division.
INLINE Vec<float> inverse(Vec<float> x) {
#if defined(__AVX512F__)
    Vec<float> y = (Vec<float>)_mm512_rcp14_ps((__m512)x);
    return y * (2.0f - x * y);
#else
    return 1.0f / x;
#endif
}

// e^x for |x| up to 87: 2^n times a polynomial on [-1/2, 1/2], n being added to the exponent's bits.
INLINE Vec<float> exponential(Vec<float> x) {
    typedef int32_t Ints __attribute__((vector_size(VECTOR_BYTES)));
    const float big = 12582912.0f;  // 1.5 · 2^23: adding it leaves the nearest whole number in the last bits
    Vec<float> t = clamped(x * 1.44269504f, -126.0f, 126.0f);
    Vec<float> whole = t + big;
    Vec<float> f = t - (whole - big);
    Vec<float> p = f * 1.5469732e-4f + 1.34004322e-3f;
    p = p * f + 9.61802560e-3f;
    p = p * f + 5.55032721e-2f;
    p = p * f + 2.40226512e-1f;
    p = p * f + 6.93147207e-1f;
    p = p * f + 1.0f;
    return (Vec<float>)((Ints)p + ((Ints)whole << 23));
}

INLINE Vec<float> sigmoid(Vec<float> x) { return inverse(1.0f + exponential(-x)); }

// x P(x²) / Q(x²), fitted to tanh on [-9, 9] (relative error 7e-9 before rounding); beyond, tanh is 1 in this precision.
INLINE Vec<float> hyperbolic(Vec<float> x) {
    x = clamped(x, -9.02f, 9.02f);
    Vec<float> s = x * x;
    Vec<float> p = s * -8.435996069765979e-14f + 5.257757318661477e-11f;
    p = p * s + -2.0183917589510702e-08f;
    p = p * s + 1.1144242437084804e-05f;
    p = p * s + 0.0031029999695652176f;
    p = p * s + 0.130831556169792f;
    p = p * s + 0.99999999322464f;
    Vec<float> q = s * 0.0002544749218895468f + 0.024491375468073708f;
    q = q * s + 0.46416482577371226f;
    q = q * s + 1.0f;
    return clamped(x * p * inverse(q), -1.0f, 1.0f);
}

// Double precision is for checking, not for speed: the functions of the standard library, one by one.
INLINE Vec<double> exponential(Vec<double> x) {
    for (int i = 0; i < WIDTH<double>; i++) x[i] = std::exp(x[i]);
    return x;
}
INLINE Vec<double> inverse(Vec<double> x) { return 1.0 / x; }
INLINE Vec<double> sigmoid(Vec<double> x) {
    for (int i = 0; i < WIDTH<double>; i++) x[i] = 1.0 / (1.0 + std::exp(-x[i]));
    return x;
}
INLINE Vec<double> hyperbolic(Vec<double> x) {
    for (int i = 0; i < WIDTH<double>; i++) x[i] = std::tanh(x[i]);
    return x;
}
