// What threads.cpp and shared.cpp ask of each other.
#ifndef EMULATED_SHARED_H
#define EMULATED_SHARED_H

#include <cstddef>

namespace emulated
{

void shared_begin_block();
void shared_end_grid();

// A thread that only tells how much shared memory it declares ends here.
void end_measured(size_t bytes);

} // namespace emulated

#endif
