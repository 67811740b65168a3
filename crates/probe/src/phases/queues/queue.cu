// Queues between blocks through the L2 cache: kProducers blocks take turns to write tokens, every one of kConsumers blocks reads all.
// A slot of the ring has two counters, `full` and `empty`: how often it was filled, and how often emptied by any consumer.
struct Shared {
    unsigned failed, last;
    unsigned sums[kThreads];
};

static __device__ void produce(ws_u32x4* ring, unsigned* counters, unsigned* control, Shared& shared, unsigned queue, unsigned producer) {
    for (unsigned token = producer; token < kTokens; token += kProducers) {
        const unsigned slot = token % kDepth, turn = token / kDepth;
        unsigned* const full = counters + 2 * slot * kLine;
        unsigned* const empty = full + kLine;
        if (kSynchronised) {
            const bool ready = threadIdx.x != 0 || wait_for(empty, turn * kConsumers, control, 1, queue, token);
            if (!all_well(ready, &shared.failed)) return;
        }
        const unsigned first = first_word(queue, kSynchronised ? token : slot);
        ws_u32x4* const to = ring + slot * kVectors;
#pragma unroll 4
        for (unsigned i = threadIdx.x; i < kVectors; i += kThreads) to[i] = vector_at(first, i);
        if (kSynchronised) {
            __syncthreads();
            if (threadIdx.x == 0) ws_store_release_gpu(full, turn + 1);
        }
    }
}

static __device__ void consume(const ws_u32x4* ring, unsigned* counters, unsigned* control, Shared& shared, unsigned queue, ws_u32x4& sums) {
    for (unsigned token = 0; token < kTokens; ++token) {
        const unsigned slot = token % kDepth, turn = token / kDepth;
        unsigned* const full = counters + 2 * slot * kLine;
        unsigned* const empty = full + kLine;
        if (kSynchronised) {
            const bool ready = threadIdx.x != 0 || wait_for(full, turn + 1, control, 2, queue, token);
            if (!all_well(ready, &shared.failed)) return;
        }
        const ws_u32x4* const from = ring + slot * kVectors;
#pragma unroll 4
        for (unsigned i = threadIdx.x; i < kVectors; i += kThreads) fold(sums, ws_load_l2(from + i));
        if (kSynchronised) {
            __syncthreads();
            if (threadIdx.x == 0) ws_atomic_add_release_gpu(empty, 1);
        }
    }
}

extern "C" __global__ void __launch_bounds__(kThreads) queue(ws_u32x4* rings, unsigned* control, unsigned* report) {
    Shared& shared = *static_cast<Shared*>(ws_dynamic_shared());
    const unsigned queue = blockIdx.x / (kProducers + kConsumers), role = blockIdx.x % (kProducers + kConsumers);
    ws_u32x4* const ring = rings + queue * (kDepth * kVectors);
    unsigned* const counters = control + kCounters + queue * (2 * kDepth * kLine);
    if (threadIdx.x == 0) shared.failed = 0;
    __syncthreads();
    if (role < kProducers) {
        produce(ring, counters, control, shared, queue, role);
    } else {
        ws_u32x4 sums = {0, 0, 0, 0};
        consume(ring, counters, control, shared, queue, sums);
        const unsigned sum = block_sum(sums, shared.sums);
        if (threadIdx.x == 0) report[queue * kConsumers + role - kProducers] = sum;
    }
    leave(control, gridDim.x / (kProducers + kConsumers) * 2 * kDepth, &shared.last);
}
