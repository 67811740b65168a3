// Runs the threads of a launch as fibers on one thread of the processor, block after block in turn, always in the same order.
#pragma once
#include <cstddef>
#include <cstdint>

#include "abi.h"

namespace scheduler {

struct Grid {
    WsDim blocks, threads;
    unsigned cluster;          // blocks of a cluster along x; 1 for none
    unsigned multiprocessors;  // blocks are on them by turns
    bool all_resident;         // cooperative: every block at once
    size_t static_bytes, dynamic_bytes;
};

enum class End { Finished, Hung, Fault, Trapped, Misaligned };

// Runs a kernel to its end. `now` is where the module looks for the running thread.
End run(const WsKernel& kernel, void** arguments, WsThread** now, const Grid& grid);

// What kernels call; handed to every module.
const WsHost* host();

// Simulated nanoseconds since the start: a count of launches and of threads' turns, so the same calls give the same times.
uint64_t clock();
void advance(uint64_t nanoseconds);

}  // namespace scheduler
