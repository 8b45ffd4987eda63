// What the library says about itself.
#include "threads.h"
#include "vector.h"

Pool pool = nullptr;
int (*team_size)() = nullptr;

extern "C" void use_threads(void* start, void* size) {
    pool = reinterpret_cast<Pool>(start);
    team_size = reinterpret_cast<int (*)()>(size);
}

extern "C" const char* vector_name() { return VECTOR_NAME; }

// How many tokens there are; 0 if not every sequence has from 1 to all steps.
extern "C" int64_t count_tokens(const int64_t* lengths, int64_t batch, int64_t steps) {
    int64_t all = 0;
    for (int64_t b = 0; b < batch; b++) {
        if (lengths[b] < 1 || lengths[b] > steps) return 0;
        all += lengths[b];
    }
    return all;
}
