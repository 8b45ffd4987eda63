// Work split over the threads of torch's own pool.
#pragma once
#include <atomic>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

// The pool's entry: runs a function once on each of so many threads. Null: there is no pool, parts run one by one.
typedef void (*Pool)(void (*)(void*), void*, unsigned, unsigned);
extern Pool pool;

// How a thread rounds, and whether it takes tiny numbers for zero: the others do as the caller does.
#if defined(__SSE__)
inline unsigned arithmetic() { return _mm_getcsr(); }
inline void set_arithmetic(unsigned mode) { _mm_setcsr(mode); }
#else
inline unsigned arithmetic() { return 0; }
inline void set_arithmetic(unsigned) {}
#endif

// part(i, n) for i = 0 … n - 1, each on a thread of its own. What is computed depends on n alone, never on timing.
template <class Part>
void in_parallel(int n, const Part& part) {
    if (n <= 1 || !pool) {
        for (int i = 0; i < n; i++) part(i, n);
        return;
    }
    struct Job {
        const Part* part;
        int n;
        unsigned mode;
        std::atomic<int> next;
    } job{&part, n, arithmetic(), {0}};
    pool(
        [](void* data) {
            Job* job = static_cast<Job*>(data);
            set_arithmetic(job->mode);
            for (int i; (i = job->next.fetch_add(1)) < job->n;) (*job->part)(i, job->n);
        },
        &job, unsigned(n), 0);
}
