// Work split over the threads of torch's own pool.
#pragma once
#include <atomic>

// The pool's entry: runs a function once on each of so many threads. Null: there is no pool, parts run one by one.
typedef void (*Pool)(void (*)(void*), void*, unsigned, unsigned);
extern Pool pool;

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
        std::atomic<int> next;
    } job{&part, n, {0}};
    pool(
        [](void* data) {
            Job* job = static_cast<Job*>(data);
            for (int i; (i = job->next.fetch_add(1)) < job->n;) (*job->part)(i, job->n);
        },
        &job, unsigned(n), 0);
}
