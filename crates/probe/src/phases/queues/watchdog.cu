// Words of the control memory, each alone on its line of 128 bytes, so that no two counters share one.
constexpr unsigned kLine = 32;
constexpr unsigned kDone = 0 * kLine;      // blocks that have ended
constexpr unsigned kAlarm = 1 * kLine;     // how many waits were in vain; then who waited first: role, queue, token
constexpr unsigned kCounters = 2 * kLine;  // the counters of a kernel's protocol

static __device__ void raise_alarm(unsigned* control, unsigned role, unsigned queue, unsigned token) {
    if (ws_atomic_add_acq_rel_gpu(control + kAlarm, 1) == 0) {
        control[kAlarm + 1] = role;
        control[kAlarm + 2] = queue;
        control[kAlarm + 3] = token;
    }
}

// Waits until a counter is at least so much: false when that takes too long or others gave up, so that no kernel hangs.
static __device__ bool wait_for(const unsigned* counter, unsigned least, unsigned* control, unsigned role, unsigned queue, unsigned token) {
    for (unsigned spin = 0; spin < kSpins; ++spin) {
        if (ws_load_acquire_gpu(counter) >= least) return true;
        if (spin % 256 == 255 && ws_load_acquire_gpu(control + kAlarm) != 0) return false;
        ws_pause();
    }
    raise_alarm(control, role, queue, token);
    return false;
}

// Whether no thread of the block failed, now or before; all threads meet here.
static __device__ bool all_well(bool mine, unsigned* failed) {
    if (!mine) *failed = 1;
    __syncthreads();
    return *failed == 0;
}

// The last block to end leaves the counters at zero for the next launch.
static __device__ void leave(unsigned* control, unsigned counters, unsigned* last) {
    __syncthreads();
    if (threadIdx.x == 0) *last = ws_atomic_add_acq_rel_gpu(control + kDone, 1) == gridDim.x - 1;
    __syncthreads();
    if (*last == 0) return;
    for (unsigned i = threadIdx.x; i < counters; i += kThreads) control[kCounters + i * kLine] = 0;
    if (threadIdx.x == 0) control[kDone] = 0;
}
