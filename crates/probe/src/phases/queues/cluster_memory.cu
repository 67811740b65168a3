// Plain loads and stores in the shared memory of another block of the cluster, kHop ranks further on; 0 is the block's own.
extern "C" __global__ void __launch_bounds__(kThreads) cluster_memory(unsigned* report) {
    ws_u32x4* const mine = static_cast<ws_u32x4*>(ws_dynamic_shared());
    unsigned* const scratch = reinterpret_cast<unsigned*>(mine + kVectors);
    const unsigned rank = ws_cluster_rank(), peer = (rank + kHop) % kCluster;
    const ws_remote theirs = ws_cluster_map(mine, peer);
    ws_u32x4 sums = {0, 0, 0, 0};
    if (kAccess == kLoad) {
        const unsigned first = first_word(blockIdx.x, 0);
        for (unsigned i = threadIdx.x; i < kVectors; i += kThreads) mine[i] = vector_at(first, i);
        ws_cluster_sync();
        for (unsigned round = 0; round < kRounds; ++round) {
#pragma unroll 4
            for (unsigned i = threadIdx.x; i < kVectors; i += kThreads) fold(sums, ws_cluster_load4(theirs + 16 * i));
        }
        ws_cluster_sync();
    } else if (kAccess == kStore) {
        ws_cluster_sync();
        for (unsigned round = 0; round < kRounds; ++round) {
            const unsigned first = first_word(blockIdx.x, round);
#pragma unroll 4
            for (unsigned i = threadIdx.x; i < kVectors; i += kThreads) ws_cluster_store4(theirs + 16 * i, vector_at(first, i));
        }
        ws_cluster_sync();
        for (unsigned i = threadIdx.x; i < kVectors; i += kThreads) fold(sums, mine[i]);
    } else {
        // One cycle through all words (Hull and Dobell, 1962), as byte offsets: every load waits for the one before.
        unsigned* const words = reinterpret_cast<unsigned*>(mine);
        for (unsigned i = threadIdx.x; i < 4 * kVectors; i += kThreads) words[i] = 4 * ((i * 0x915f77f5u + 0x6d2b79f5u) & (4 * kVectors - 1));
        ws_cluster_sync();
        if (threadIdx.x == 0 && rank == 0) {
            unsigned at = 0;
#pragma unroll 4
            for (unsigned step = 0; step < kRounds; ++step) at = ws_cluster_load(theirs + at);
            sums.w = at;
        }
        ws_cluster_sync();
    }
    const unsigned sum = block_sum(sums, scratch);
    if (threadIdx.x == 0) report[blockIdx.x] = sum;
}
