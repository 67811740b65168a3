// Queues within a cluster: the ring is the consumers' shared memory. Of 1 + kConsumers neighbouring blocks the first pushes every
// token to the others by bulk copies that count on their `full`; they free a slot by an arrival at the first block's `empty`.
struct Shared {
    ws_mbarrier full[kDepth], empty[kDepth];
    unsigned failed;
    unsigned sums[kThreads];
};

static __device__ bool wait_phase(ws_mbarrier* b, unsigned phase, unsigned* control, unsigned role, unsigned queue, unsigned token) {
    for (unsigned spin = 0; spin < kSpins; ++spin) {
        if (ws_mbarrier_test(b, phase & 1)) return true;
        ws_pause();
    }
    raise_alarm(control, role, queue, token);
    return false;
}

static __device__ void produce(ws_u32x4* ring, unsigned* control, Shared& shared, unsigned queue, unsigned rank) {
    for (unsigned token = 0; token < kTokens; ++token) {
        const unsigned slot = token % kDepth, turn = token / kDepth;
        const bool ready = turn == 0 || wait_phase(&shared.empty[slot], turn - 1, control, 1, queue, token);
        if (!all_well(ready, &shared.failed)) return;
        const unsigned first = first_word(queue, token);
        ws_u32x4* const to = ring + slot * kVectors;
#pragma unroll 4
        for (unsigned i = threadIdx.x; i < kVectors; i += kThreads) to[i] = vector_at(first, i);
        ws_bulk_copy_fence();
        __syncthreads();
        if (threadIdx.x < kConsumers) {
            const unsigned consumer = rank + 1 + threadIdx.x;
            ws_bulk_copy_to_cluster(ws_cluster_map(to, consumer), to, 16 * kVectors, ws_cluster_map(&shared.full[slot], consumer));
        }
    }
}

static __device__ void consume(const ws_u32x4* ring, unsigned* control, Shared& shared, unsigned queue, unsigned producer, ws_u32x4& sums) {
    for (unsigned token = 0; token < kTokens; ++token) {
        const unsigned slot = token % kDepth, turn = token / kDepth;
        const bool ready = wait_phase(&shared.full[slot], turn, control, 2, queue, token);
        if (!all_well(ready, &shared.failed)) return;
        const ws_u32x4* const from = ring + slot * kVectors;
#pragma unroll 4
        for (unsigned i = threadIdx.x; i < kVectors; i += kThreads) fold(sums, from[i]);
        __syncthreads();
        if (threadIdx.x == 0 && token + kDepth < kTokens) {
            ws_mbarrier_expect(&shared.full[slot], 16 * kVectors);
            ws_mbarrier_arrive(ws_cluster_map(&shared.empty[slot], producer));
        }
    }
}

extern "C" __global__ void __launch_bounds__(kThreads) cluster_queue(unsigned* control, unsigned* report) {
    char* const memory = static_cast<char*>(ws_dynamic_shared());
    Shared& shared = *reinterpret_cast<Shared*>(memory);
    ws_u32x4* const ring = reinterpret_cast<ws_u32x4*>(memory + kRing);
    const unsigned rank = ws_cluster_rank(), role = rank % (1 + kConsumers), queue = blockIdx.x / (1 + kConsumers);
    if (threadIdx.x == 0) {
        shared.failed = 0;
        for (unsigned slot = 0; slot < kDepth; ++slot) {
            ws_mbarrier_init(&shared.full[slot], 1);
            ws_mbarrier_init(&shared.empty[slot], kConsumers);
            if (role != 0) ws_mbarrier_expect(&shared.full[slot], 16 * kVectors);
        }
        ws_mbarrier_fence();
    }
    // No block may push or free before all are ready, nor end while others still reach into its memory.
    ws_cluster_sync();
    if (role == 0) {
        produce(ring, control, shared, queue, rank);
    } else {
        ws_u32x4 sums = {0, 0, 0, 0};
        consume(ring, control, shared, queue, rank - role, sums);
        const unsigned sum = block_sum(sums, shared.sums);
        if (threadIdx.x == 0) report[queue * kConsumers + role - 1] = sum;
    }
    ws_cluster_sync();
}
