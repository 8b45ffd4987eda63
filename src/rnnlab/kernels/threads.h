// Work split over the threads of torch's own pool.
#pragma once
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

// The pool's entry: runs a function once on each of so many threads. Null: there is no pool, parts run one by one.
typedef void (*Pool)(void (*)(void*), void*, unsigned, unsigned);
extern Pool pool;
extern int (*team_size)();  // how many threads run it: the pool may give fewer than were asked for

// How a thread rounds, and whether it takes tiny numbers for zero: the others do as the caller does.
#if defined(__SSE__)
inline unsigned arithmetic() { return _mm_getcsr(); }
inline void set_arithmetic(unsigned mode) { _mm_setcsr(mode); }
#else
inline unsigned arithmetic() { return 0; }
inline void set_arithmetic(unsigned) {}
#endif

// Threads for so many rows, of which each has one at least.
inline int threads_for(int64_t threads, int64_t rows) { return int(std::max<int64_t>(1, std::min(threads, rows))); }

// part(i, n) for i = 0 … n - 1, each on a thread of its own. What is computed depends on n alone, never on timing. A
// thread takes the next part when it is free: one phase of `in_phases`, where all wait for each other, is slower.
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

// Where threads wait for each other. It takes a tenth of the time of a second start of the pool's threads.
struct Barrier {
    std::atomic<int> waiting{0}, round{0};

    void wait(int n) {
        int now = round.load(std::memory_order_acquire);
        if (waiting.fetch_add(1, std::memory_order_acq_rel) == n - 1) {
            waiting.store(0, std::memory_order_relaxed);
            round.store(now + 1, std::memory_order_release);
            return;
        }
        for (int looks = 0; round.load(std::memory_order_acquire) == now; looks++) looks < 2000 ? pause() : (void)sched_yield();
    }
    static void pause() {
#if defined(__SSE__)
        _mm_pause();
#endif
    }
};

// phase(p, i, n) for p = 0 … phases - 1 in turn, in each for i = 0 … n - 1 as `in_parallel` does it.
template <class Phase>
void in_phases(int n, int64_t phases, const Phase& phase) {
    auto one_by_one = [&] {
        for (int64_t p = 0; p < phases; p++)
            for (int i = 0; i < n; i++) phase(p, i, n);
    };
    if (n <= 1 || !pool) return one_by_one();
    struct Job {
        const Phase* phase;
        int64_t phases;
        int n;
        unsigned mode;
        std::atomic<int> next;
        std::atomic<bool> too_few;
        Barrier barrier;
    } job{&phase, phases, n, arithmetic(), {0}, {false}, {}};
    pool(
        [](void* data) {
            Job* job = static_cast<Job*>(data);
            if (team_size() < job->n) {
                job->too_few = true;
                return;
            }
            set_arithmetic(job->mode);
            int i = job->next.fetch_add(1);
            for (int64_t p = 0; p < job->phases; p++) {
                if (p > 0) job->barrier.wait(job->n);
                (*job->phase)(p, i, job->n);
            }
        },
        &job, unsigned(n), 0);
    if (job.too_few) one_by_one();
}
