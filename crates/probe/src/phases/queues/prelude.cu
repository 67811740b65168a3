// What CUDA hardware does and plain C++17 cannot say, as functions named ws_…; kernel texts that follow use nothing else beside
// threadIdx, blockIdx, blockDim, gridDim, __shared__, __syncthreads and __launch_bounds__.
//
// A stand-in that compiles kernel texts for a processor defines WARPSIGHT_HOST and every name of this list itself, before the text:
//
//   types
//     ws_u32x4                        struct of four unsigned x, y, z, w; 16 bytes, 16-byte aligned
//     ws_remote                       an address in the shared memory of a block of this cluster; adding n moves it n bytes
//     ws_mbarrier                     8 bytes of shared memory: an arrival count, a count of bytes to come, a phase
//   memory of the device
//     unsigned ws_load_acquire_gpu(const unsigned*)
//     void     ws_store_release_gpu(unsigned*, unsigned)
//     unsigned ws_atomic_add_release_gpu(unsigned*, unsigned)      gives the value before
//     unsigned ws_atomic_add_acq_rel_gpu(unsigned*, unsigned)      gives the value before
//     ws_u32x4 ws_load_l2(const ws_u32x4*)                         plain load that does not stop at the L1 cache
//   waiting, place and time
//     void     ws_pause()                                          called in every turn of every spin: others may run
//     unsigned ws_smid()                                           the multiprocessor
//     unsigned long long ws_clock()                                its clock
//     void     ws_griddep_wait()                                   waits for the launch before and what it wrote
//     void     ws_griddep_launch()                                 allows the launch after to begin
//   shared memory
//     void*    ws_dynamic_shared()                                 CudaText::dynamic_shared bytes, 128-byte aligned
//   clusters (all blocks of a launch have the same layout of shared memory)
//     unsigned ws_cluster_rank()
//     void     ws_cluster_sync()                                   all threads of all blocks of the cluster meet
//     ws_remote ws_cluster_map(const void* mine, unsigned rank)    where `mine`, an address within ws_dynamic_shared, is in that block
//     unsigned ws_cluster_load(ws_remote)
//     ws_u32x4 ws_cluster_load4(ws_remote)
//     void     ws_cluster_store4(ws_remote, ws_u32x4)
//     void     ws_bulk_copy_to_cluster(ws_remote to, const void* from, unsigned bytes, ws_remote mbarrier)
//                                     copies shared memory of this block (16-byte aligned, a multiple of 16 bytes) to another's, and
//                                     takes the bytes off the count of the mbarrier, which lies in the block of `to`
//     void     ws_bulk_copy_fence()                                what this thread wrote is there for bulk copies that follow
//   mbarriers: a phase ends when its arrivals and its bytes have come; parity 0 names the first, third, … phase
//     void     ws_mbarrier_init(ws_mbarrier*, unsigned arrivals)
//     void     ws_mbarrier_fence()                                 inits are seen by the cluster after ws_cluster_sync
//     void     ws_mbarrier_expect(ws_mbarrier*, unsigned bytes)    one arrival, and so many bytes more to come in this phase
//     void     ws_mbarrier_arrive(ws_remote)                       one arrival at an mbarrier of any block of the cluster
//     bool     ws_mbarrier_test(ws_mbarrier*, unsigned parity)     whether the phase of that parity has ended; does not wait
#ifndef WARPSIGHT_HOST

struct alignas(16) ws_u32x4 {
    unsigned x, y, z, w;
};
typedef unsigned ws_remote;
typedef unsigned long long ws_mbarrier;

__device__ __forceinline__ unsigned ws_load_acquire_gpu(const unsigned* p) {
    unsigned v;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}
__device__ __forceinline__ void ws_store_release_gpu(unsigned* p, unsigned v) {
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}
__device__ __forceinline__ unsigned ws_atomic_add_release_gpu(unsigned* p, unsigned v) {
    unsigned before;
    asm volatile("atom.add.release.gpu.global.u32 %0, [%1], %2;" : "=r"(before) : "l"(p), "r"(v) : "memory");
    return before;
}
__device__ __forceinline__ unsigned ws_atomic_add_acq_rel_gpu(unsigned* p, unsigned v) {
    unsigned before;
    asm volatile("atom.add.acq_rel.gpu.global.u32 %0, [%1], %2;" : "=r"(before) : "l"(p), "r"(v) : "memory");
    return before;
}
__device__ __forceinline__ ws_u32x4 ws_load_l2(const ws_u32x4* p) {
    const uint4 v = __ldcg(reinterpret_cast<const uint4*>(p));
    return ws_u32x4{v.x, v.y, v.z, v.w};
}

// About 20 ns, a tenth of the way to the L2 cache and back, so that a spin leaves issue slots to others and adds little.
__device__ __forceinline__ void ws_pause() { __nanosleep(20); }
__device__ __forceinline__ unsigned ws_smid() {
    unsigned v;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(v));
    return v;
}
__device__ __forceinline__ unsigned long long ws_clock() { return clock64(); }

__device__ __forceinline__ void* ws_dynamic_shared() {
    extern __shared__ ws_u32x4 ws_dynamic_words[];
    return ws_dynamic_words;
}

#if __CUDA_ARCH__ >= 900
__device__ __forceinline__ void ws_griddep_wait() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
__device__ __forceinline__ void ws_griddep_launch() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }

__device__ __forceinline__ unsigned ws_shared_address(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }
__device__ __forceinline__ unsigned ws_cluster_rank() {
    unsigned v;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(v));
    return v;
}
// Without `.aligned`, which would need a warp whose threads have met again after code for one of them only.
__device__ __forceinline__ void ws_cluster_sync() {
    asm volatile("barrier.cluster.arrive.release;\n\tbarrier.cluster.wait.acquire;" ::: "memory");
}
__device__ __forceinline__ ws_remote ws_cluster_map(const void* mine, unsigned rank) {
    ws_remote there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(ws_shared_address(mine)), "r"(rank));
    return there;
}
__device__ __forceinline__ unsigned ws_cluster_load(ws_remote p) {
    unsigned v;
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(v) : "r"(p) : "memory");
    return v;
}
__device__ __forceinline__ ws_u32x4 ws_cluster_load4(ws_remote p) {
    ws_u32x4 v;
    asm volatile("ld.shared::cluster.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(p) : "memory");
    return v;
}
__device__ __forceinline__ void ws_cluster_store4(ws_remote p, ws_u32x4 v) {
    asm volatile("st.shared::cluster.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(p), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}
__device__ __forceinline__ void ws_bulk_copy_to_cluster(ws_remote to, const void* from, unsigned bytes, ws_remote mbarrier) {
    asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
                 "r"(ws_shared_address(from)), "r"(bytes), "r"(mbarrier)
                 : "memory");
}
__device__ __forceinline__ void ws_bulk_copy_fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

__device__ __forceinline__ void ws_mbarrier_init(ws_mbarrier* b, unsigned arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(ws_shared_address(b)), "r"(arrivals) : "memory");
}
__device__ __forceinline__ void ws_mbarrier_fence() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
__device__ __forceinline__ void ws_mbarrier_expect(ws_mbarrier* b, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(ws_shared_address(b)), "r"(bytes) : "memory");
}
__device__ __forceinline__ void ws_mbarrier_arrive(ws_remote b) {
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(b) : "memory");
}
__device__ __forceinline__ bool ws_mbarrier_test(ws_mbarrier* b, unsigned parity) {
    unsigned ended;
    asm volatile("{\n\t.reg .pred p;\n\tmbarrier.test_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n\tselp.u32 %0, 1, 0, p;\n\t}"
                 : "=r"(ended)
                 : "r"(ws_shared_address(b)), "r"(parity)
                 : "memory");
    return ended != 0;
}
#else
// Programmatic dependent launch begins with compute capability 9.0; before it every launch waits for the one before.
__device__ __forceinline__ void ws_griddep_wait() {}
__device__ __forceinline__ void ws_griddep_launch() {}
#endif
#endif
