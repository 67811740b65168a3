// Launches: what a device checks, then the scheduler.
#include <algorithm>
#include <memory>
#include <vector>

#include "driver.h"

namespace {

int launches = 0;

// Registers and threads are given out per warp; nothing here has registers, so threads, blocks and shared memory decide.
int resident_blocks(const Function& f, unsigned threads, size_t dynamic) {
    int by_threads = attribute(39) / int((threads + 31) / 32 * 32);
    size_t shared = f.module->static_shared + dynamic + size_t(attribute(111));
    int by_shared = int(size_t(attribute(81)) / shared);
    return std::min({by_threads, by_shared, attribute(106)});
}

struct Arguments {
    std::vector<std::unique_ptr<char[]>> copies;
    std::vector<void*> pointers;
    Arguments(const WsKernel& k, void** given) {
        for (unsigned i = 0; i < k.arguments; ++i) {
            copies.emplace_back(new char[k.sizes[i]]);
            std::copy_n(static_cast<char*>(given[i]), k.sizes[i], copies.back().get());
            pointers.push_back(copies.back().get());
        }
    }
};

CUresult check(const CUlaunchConfig& c, const Function& f, const scheduler::Grid& grid) {
    const unsigned blocks[3] = {c.gridDimX, c.gridDimY, c.gridDimZ}, threads[3] = {c.blockDimX, c.blockDimY, c.blockDimZ};
    for (int axis = 0; axis < 3; ++axis) {
        if (blocks[axis] == 0 || blocks[axis] > unsigned(attribute(5 + axis))) return CUDA_ERROR_INVALID_VALUE;
        if (threads[axis] == 0 || threads[axis] > unsigned(attribute(2 + axis))) return CUDA_ERROR_INVALID_VALUE;
    }
    uint64_t size = uint64_t(threads[0]) * threads[1] * threads[2];
    if (size > unsigned(attribute(1))) return CUDA_ERROR_INVALID_VALUE;
    if (size > f.most_threads()) return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    if (c.sharedMemBytes > f.most_dynamic) return CUDA_ERROR_INVALID_VALUE;
    if (grid.cluster > 1) {
        if (!attribute(120)) return CUDA_ERROR_NOT_SUPPORTED;
        if (blocks[0] % grid.cluster || grid.cluster > (f.large_clusters ? 16u : 8u)) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    }
    uint64_t room = uint64_t(attribute(16)) * uint64_t(resident_blocks(f, unsigned(size), c.sharedMemBytes));
    if (grid.all_resident && uint64_t(blocks[0]) * blocks[1] * blocks[2] > room) return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
    return CUDA_SUCCESS;
}

// Faults of a running kernel come to light later, at the next call: the launch itself has succeeded.
CUresult execute(Function* f, const Arguments& arguments, const scheduler::Grid& grid) {
    if (CUresult r = usable()) return r;
    ++launches;
    scheduler::advance(2000);
    if (launches == setting("WS_FAKE_LOST_AT", 0)) {
        lose(CUDA_ERROR_ILLEGAL_ADDRESS);
        return CUDA_SUCCESS;
    }
    if (launches == setting("WS_FAKE_HANG_AT", 0)) {
        hang();
        return CUDA_SUCCESS;
    }
    switch (scheduler::run(*f->kernel, const_cast<void**>(arguments.pointers.data()), f->module->now, grid)) {
        case scheduler::End::Finished: break;
        case scheduler::End::Hung: lose(CUDA_ERROR_LAUNCH_TIMEOUT); break;
        case scheduler::End::Fault: lose(CUDA_ERROR_ILLEGAL_ADDRESS); break;
        case scheduler::End::Trapped: lose(CUDA_ERROR_ILLEGAL_INSTRUCTION); break;
        case scheduler::End::Misaligned: lose(CUDA_ERROR_MISALIGNED_ADDRESS); break;
    }
    return CUDA_SUCCESS;
}

}  // namespace

CUresult blocks_per_sm(const Function& f, unsigned threads, size_t dynamic, int* out) {
    *out = resident_blocks(f, threads, dynamic);
    if (threads > f.most_threads() || dynamic > f.most_dynamic) *out = 0;
    return CUDA_SUCCESS;
}

API CUresult cuLaunchKernelEx(const CUlaunchConfig* c, CUfunction f, void** given, void** extra) {
    auto lock = locked();
    if (CUresult r = usable()) return r;
    if (!c || !f || extra || (f->kernel->arguments && !given)) return CUDA_ERROR_INVALID_VALUE;
    scheduler::Grid grid{dim(c->gridDimX, c->gridDimY, c->gridDimZ), dim(c->blockDimX, c->blockDimY, c->blockDimZ), 1, unsigned(std::max(1, attribute(16))), false,
                         f->module->static_shared, c->sharedMemBytes};
    for (unsigned i = 0; i < c->numAttrs; ++i) {
        const CUlaunchAttribute& a = c->attrs[i];
        switch (a.id) {
            case CU_LAUNCH_ATTRIBUTE_IGNORE:
            case CU_LAUNCH_ATTRIBUTE_PRIORITY:
            case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
            // Kernels of a stream follow each other here in any case.
            case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION: break;
            case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW: {
                const CUaccessPolicyWindow& w = a.value.accessPolicyWindow;
                if (w.num_bytes > size_t(attribute(109)) || !(w.hitRatio >= 0.0f && w.hitRatio <= 1.0f)) return CUDA_ERROR_INVALID_VALUE;
                break;
            }
            case CU_LAUNCH_ATTRIBUTE_COOPERATIVE: grid.all_resident = a.value.cooperative != 0; break;
            case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
                // Clusters along x are all that the project launches.
                if (a.value.clusterDim.y != 1 || a.value.clusterDim.z != 1 || a.value.clusterDim.x == 0) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
                grid.cluster = a.value.clusterDim.x;
                break;
            default: return CUDA_ERROR_INVALID_VALUE;
        }
    }
    if (CUresult r = check(*c, *f, grid)) return r;
    auto arguments = std::make_shared<Arguments>(*f->kernel, given);
    return submit(c->hStream, [=] { return execute(f, *arguments, grid); });
}

API CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, CUstream stream, void** arguments, void** extra) {
    CUlaunchConfig c{gx, gy, gz, bx, by, bz, shared, stream, nullptr, 0};
    return cuLaunchKernelEx(&c, f, arguments, extra);
}

API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* out, CUfunction f, int threads, size_t dynamic) {
    auto lock = locked();
    if (CUresult r = usable()) return r;
    if (!out || !f || threads < 1) return CUDA_ERROR_INVALID_VALUE;
    return blocks_per_sm(*f, unsigned(threads), dynamic, out);
}

API CUresult cuOccupancyMaxActiveClusters(int* out, CUfunction f, const CUlaunchConfig* c) {
    auto lock = locked();
    if (CUresult r = usable()) return r;
    if (!out || !f || !c) return CUDA_ERROR_INVALID_VALUE;
    if (!attribute(120)) return CUDA_ERROR_NOT_SUPPORTED;
    unsigned size = 1;
    for (unsigned i = 0; i < c->numAttrs; ++i)
        if (c->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) size = std::max(1u, c->attrs[i].value.clusterDim.x);
    int per_sm = 0;
    blocks_per_sm(*f, c->blockDimX * c->blockDimY * c->blockDimZ, c->sharedMemBytes, &per_sm);
    *out = attribute(16) * per_sm / int(size);
    return CUDA_SUCCESS;
}
