// All blocks of a cooperative launch meet kRounds times: each says which round it is in, and looks at its neighbour after the barrier.
struct Shared {
    unsigned failed, last;
};

extern "C" __global__ void __launch_bounds__(kThreads) grid_barrier(unsigned* marks, unsigned* control, unsigned* report) {
    Shared& shared = *static_cast<Shared*>(ws_dynamic_shared());
    unsigned* const arrived = control + kCounters;
    unsigned seen = 0;
    if (threadIdx.x == 0) shared.failed = 0;
    __syncthreads();
    for (unsigned round = 1; round <= kRounds; ++round) {
        if (threadIdx.x == 0) marks[blockIdx.x * kLine] = round;
        __syncthreads();
        bool met = true;
        if (threadIdx.x == 0) {
            ws_atomic_add_release_gpu(arrived, 1);
            met = wait_for(arrived, round * gridDim.x, control, 3, blockIdx.x, round);
        }
        if (!all_well(met, &shared.failed)) break;
        // The neighbour may be one round ahead, never behind.
        const unsigned theirs = *const_cast<const volatile unsigned*>(&marks[(blockIdx.x + 1) % gridDim.x * kLine]);
        seen += theirs - round <= 1 ? 1 : 0;
    }
    if (threadIdx.x == 0) report[blockIdx.x] = seen;
    leave(control, 1, &shared.last);
}
