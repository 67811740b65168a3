// The list of crates/probe/src/phases/queues/prelude.cu: queues between blocks, clusters, mbarriers.
#pragma once

struct alignas(16) ws_u32x4 {
    unsigned x, y, z, w;
};
// Shared memory of any block of the cluster has an address of its own here.
typedef unsigned long long ws_remote;
struct alignas(8) ws_mbarrier {
    unsigned short expected, pending;  // arrivals of a phase; those still to come in this one
    int bytes_and_parity;              // twice the bytes to come, and the parity of the phase
};

static inline void ws_pause() { ws_host->pause(); }
static inline unsigned ws_smid() { return ws_now->multiprocessor; }
static inline unsigned long long ws_clock() { return ws_host->clock(); }
// Launches follow each other here.
static inline void ws_griddep_wait() {}
static inline void ws_griddep_launch() {}

static inline unsigned ws_load_acquire_gpu(const unsigned* p) { return *(const volatile unsigned*)p; }
static inline void ws_store_release_gpu(unsigned* p, unsigned v) {
    *(volatile unsigned*)p = v;
    ++*ws_host->progress;
}
static inline unsigned ws_atomic_add_release_gpu(unsigned* p, unsigned v) { return atomicAdd(p, v); }
static inline unsigned ws_atomic_add_acq_rel_gpu(unsigned* p, unsigned v) { return atomicAdd(p, v); }
static inline ws_u32x4 ws_load_l2(const ws_u32x4* p) {
    ws_host_aligned(p, 16);
    return *p;
}

static inline void* ws_dynamic_shared() { return ws_now->dynamic; }

static inline unsigned ws_cluster_rank() { return ws_now->cluster_rank; }
static inline void ws_cluster_sync() { ws_host_meet(WS_CLUSTER, 0, 0); }
static inline ws_remote ws_cluster_map(const void* mine, unsigned rank) {
    if (rank >= ws_now->cluster_size) ws_host->trap(WS_TRAP);
    return (ws_remote)(ws_now->cluster_shared[rank] + ((const char*)mine - ws_now->shared));
}
static inline unsigned ws_cluster_load(ws_remote p) {
    ws_host_aligned((void*)p, 4);
    return *(volatile unsigned*)p;
}
static inline ws_u32x4 ws_cluster_load4(ws_remote p) {
    ws_host_aligned((void*)p, 16);
    return *(ws_u32x4*)p;
}
static inline void ws_cluster_store4(ws_remote p, ws_u32x4 v) {
    ws_host_aligned((void*)p, 16);
    *(ws_u32x4*)p = v;
}

// Ends the phase where nothing is left to come.
static inline void ws_host_phase(ws_mbarrier* b) {
    ++*ws_host->progress;
    if (b->pending || b->bytes_and_parity >> 1) return;
    b->pending = b->expected;
    b->bytes_and_parity ^= 1;
}
static inline void ws_host_arrive(ws_mbarrier* b) {
    if (b->pending == 0) ws_host->trap(WS_TRAP);  // more arrivals than the phase has
    --b->pending;
    ws_host_phase(b);
}
static inline void ws_mbarrier_init(ws_mbarrier* b, unsigned arrivals) {
    ws_host_aligned(b, 8);
    *b = ws_mbarrier{(unsigned short)arrivals, (unsigned short)arrivals, 0};
}
static inline void ws_mbarrier_fence() {}
static inline void ws_mbarrier_expect(ws_mbarrier* b, unsigned bytes) {
    b->bytes_and_parity += int(bytes) * 2;
    ws_host_arrive(b);
}
static inline void ws_mbarrier_arrive(ws_remote b) { ws_host_arrive((ws_mbarrier*)b); }
static inline bool ws_mbarrier_test(ws_mbarrier* b, unsigned parity) {
    bool ended = unsigned(((volatile ws_mbarrier*)b)->bytes_and_parity & 1) != (parity & 1);
    if (!ended) ws_host->pause();
    return ended;
}
// The bytes have come before the call returns; on the device, some time later.
static inline void ws_bulk_copy_to_cluster(ws_remote to, const void* from, unsigned bytes, ws_remote mbarrier) {
    ws_host_aligned((void*)to, 16);
    ws_host_aligned(from, 16);
    if (bytes == 0 || bytes % 16) ws_host->trap(WS_MISALIGNED);
    __builtin_memcpy((void*)to, from, bytes);
    ((ws_mbarrier*)mbarrier)->bytes_and_parity -= int(bytes) * 2;
    ws_host_phase((ws_mbarrier*)mbarrier);
}
static inline void ws_bulk_copy_fence() {}
