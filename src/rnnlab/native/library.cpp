// What the library says about itself.
#include "threads.h"
#include "vector.h"

Pool pool = nullptr;

extern "C" void use_threads(void* start) { pool = reinterpret_cast<Pool>(start); }

extern "C" const char* vector_name() { return VECTOR_NAME; }
