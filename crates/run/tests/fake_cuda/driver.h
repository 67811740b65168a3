// What the parts of the stand-in driver share.
#pragma once
#include <functional>
#include <mutex>
#include <string>

#include "api.h"
#include "scheduler.h"

// One lock for every call: what the driver does is decided by the order of calls alone.
std::lock_guard<std::recursive_mutex> locked();

// An environment variable as a number.
long long setting(const char* name, long long otherwise);

// What a call gives before it does anything: no cuInit, no context, or a fault that an earlier launch left behind.
CUresult usable();
// From now on every call fails so, as after a fault of a real device, until the context is released.
void lose(CUresult why);

// Facts of the device by the number of their attribute.
int attribute(int number);
std::string device_arch();

// Whether these bytes lie in one allocation.
bool in_device_memory(CUdeviceptr at, size_t bytes);
void release_memory();

struct Module {
    void* handle = nullptr;
    WsThread** now = nullptr;
    size_t static_shared = 0;
};

struct Function {
    Module* module = nullptr;
    const WsKernel* kernel = nullptr;
    unsigned most_dynamic = 48 << 10;
    bool large_clusters = false;
    unsigned most_threads() const;
};

// Either runs the work now, or, while the stream is recorded, puts it into the graph.
CUresult submit(CUstream stream, std::function<CUresult()> work);
// Keeps work of the NULL stream until somebody waits for it or is ordered behind it.
CUresult put_off(std::function<CUresult()> work);
void forget_late();
// Waits for everything in hand, for good behind a hanging launch.
void wait_for_device();
void hang();

CUresult blocks_per_sm(const Function& f, unsigned threads, size_t dynamic, int* out);

inline WsDim dim(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }
