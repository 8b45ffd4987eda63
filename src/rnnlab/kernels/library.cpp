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
