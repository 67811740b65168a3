// Streams, events and graphs. Work is done when it is submitted; a recorded stream keeps it for the graph instead.
//
// What a real driver may do after its call has returned, memsets and copies to the device on the NULL stream, waits here for whoever is
// ordered behind it: other work of that stream, blocking streams, and calls that wait for the device. Non-blocking streams are not.
#include <unistd.h>

#include <map>
#include <memory>
#include <set>
#include <vector>

#include "driver.h"

struct Graph {
    std::vector<std::function<CUresult()>> nodes;
};
struct Stream {
    bool blocking = true;
    std::unique_ptr<Graph> recording;
};
struct Event {
    bool timed = true, recorded = false;
    uint64_t at = 0;
};

namespace {

std::map<CUstream, std::unique_ptr<Stream>> streams;
std::map<CUevent, std::unique_ptr<Event>> events;
std::map<Graph*, std::unique_ptr<Graph>> graphs;
std::vector<std::function<CUresult()>> late;
bool hanging = false;

// Handles 0, 1 and 2 are the default streams.
bool is_default(CUstream s) { return reinterpret_cast<uintptr_t>(s) <= 2; }
bool known(CUstream s) { return is_default(s) || streams.count(s); }
bool follows_null(CUstream s) { return is_default(s) || s->blocking; }

// Does what was put off; faults show at the next call.
void catch_up() {
    auto work = std::move(late);
    late.clear();
    for (auto& w : work)
        if (hanging || usable() || w()) return;
}

bool any_recording() {
    for (auto& [handle, s] : streams)
        if (s->recording) return true;
    return false;
}

CUresult synchronise() {
    wait_for_device();
    return usable();
}

}  // namespace

void hang() { hanging = true; }

// As with a kernel that never ends: whoever waits for the device waits until somebody ends the process.
void wait_for_stream() {
    while (hanging) sleep(1);
}

void wait_for_device() {
    wait_for_stream();
    catch_up();
}

void forget_late() { late.clear(); }

CUresult put_off(std::function<CUresult()> work) {
    late.push_back(std::move(work));
    return CUDA_SUCCESS;
}

CUresult submit(CUstream stream, std::function<CUresult()> work) {
    if (!known(stream)) return CUDA_ERROR_INVALID_HANDLE;
    if (!is_default(stream) && stream->recording) {
        stream->recording->nodes.push_back(std::move(work));
        return CUDA_SUCCESS;
    }
    if (follows_null(stream)) catch_up();
    // Behind a kernel that never ends, work waits and the call returns.
    return hanging ? CUDA_SUCCESS : work();
}

API CUresult cuStreamCreate(CUstream* out, unsigned flags) {
    auto lock = locked();
    if (CUresult r = usable()) return r;
    if (!out || flags > 1) return CUDA_ERROR_INVALID_VALUE;
    auto s = std::make_unique<Stream>();
    s->blocking = !(flags & 1);
    *out = s.get();
    streams[*out] = std::move(s);
    return CUDA_SUCCESS;
}

API CUresult cuStreamDestroy_v2(CUstream stream) {
    auto lock = locked();
    return streams.erase(stream) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

API CUresult cuStreamSynchronize(CUstream stream) {
    auto lock = locked();
    if (!known(stream)) return CUDA_ERROR_INVALID_HANDLE;
    if (!is_default(stream) && stream->recording) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (follows_null(stream)) return synchronise();
    wait_for_stream();
    return usable();
}

API CUresult cuStreamQuery(CUstream stream) {
    auto lock = locked();
    if (!known(stream)) return CUDA_ERROR_INVALID_HANDLE;
    if (CUresult r = usable()) return r;
    return hanging ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

API CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
    auto lock = locked();
    if (!known(stream) || !events.count(event)) return CUDA_ERROR_INVALID_HANDLE;
    return usable();
}

API CUresult cuCtxSynchronize() {
    auto lock = locked();
    if (any_recording()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    return synchronise();
}

API CUresult cuStreamBeginCapture_v2(CUstream stream, unsigned mode) {
    auto lock = locked();
    if (CUresult r = usable()) return r;
    if (mode > 2) return CUDA_ERROR_INVALID_VALUE;
    // The legacy default stream cannot be recorded.
    if (!streams.count(stream)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (stream->recording) return CUDA_ERROR_INVALID_VALUE;
    stream->recording = std::make_unique<Graph>();
    return CUDA_SUCCESS;
}

API CUresult cuStreamEndCapture(CUstream stream, CUgraph* out) {
    auto lock = locked();
    if (CUresult r = usable()) return r;
    if (!out || !streams.count(stream) || !stream->recording) return CUDA_ERROR_INVALID_VALUE;
    *out = stream->recording.get();
    graphs[*out] = std::move(stream->recording);
    return CUDA_SUCCESS;
}

API CUresult cuGraphInstantiateWithFlags(CUgraphExec* out, CUgraph graph, unsigned long long) {
    auto lock = locked();
    if (CUresult r = usable()) return r;
    if (!out || !graphs.count(graph)) return CUDA_ERROR_INVALID_VALUE;
    auto copy = std::make_unique<Graph>(*graph);
    *out = copy.get();
    graphs[*out] = std::move(copy);
    return CUDA_SUCCESS;
}

API CUresult cuGraphUpload(CUgraphExec graph, CUstream) {
    auto lock = locked();
    if (CUresult r = usable()) return r;
    return graphs.count(graph) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

API CUresult cuGraphLaunch(CUgraphExec graph, CUstream stream) {
    auto lock = locked();
    if (CUresult r = usable()) return r;
    if (!graphs.count(graph)) return CUDA_ERROR_INVALID_HANDLE;
    return submit(stream, [graph] {
        size_t nodes = graph->nodes.size();
        if (nodes > 1 && setting("WS_FAKE_LOSE_NODE", 0)) --nodes;
        for (size_t i = 0; i < nodes; ++i)
            if (CUresult r = hanging ? CUDA_SUCCESS : graph->nodes[i]()) return r;
        return CUDA_SUCCESS;
    });
}

API CUresult cuGraphExecDestroy(CUgraphExec graph) {
    auto lock = locked();
    return graphs.erase(graph) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

API CUresult cuGraphDestroy(CUgraph graph) { return cuGraphExecDestroy(graph); }

API CUresult cuGraphGetNodes(CUgraph graph, void** nodes, size_t* count) {
    auto lock = locked();
    if (!graphs.count(graph) || nodes) return CUDA_ERROR_INVALID_VALUE;
    *count = graph->nodes.size();
    return CUDA_SUCCESS;
}

API CUresult cuEventCreate(CUevent* out, unsigned flags) {
    auto lock = locked();
    if (CUresult r = usable()) return r;
    auto e = std::make_unique<Event>();
    e->timed = !(flags & 2);
    *out = e.get();
    events[*out] = std::move(e);
    return CUDA_SUCCESS;
}

API CUresult cuEventDestroy_v2(CUevent event) {
    auto lock = locked();
    return events.erase(event) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

API CUresult cuEventRecord(CUevent event, CUstream stream) {
    auto lock = locked();
    if (CUresult r = usable()) return r;
    if (!events.count(event)) return CUDA_ERROR_INVALID_HANDLE;
    return submit(stream, [event] {
        scheduler::advance(100);
        event->at = scheduler::clock();
        event->recorded = true;
        return CUDA_SUCCESS;
    });
}

API CUresult cuEventSynchronize(CUevent event) {
    auto lock = locked();
    if (!events.count(event)) return CUDA_ERROR_INVALID_HANDLE;
    wait_for_stream();
    return usable();
}

API CUresult cuEventQuery(CUevent event) {
    auto lock = locked();
    if (!events.count(event)) return CUDA_ERROR_INVALID_HANDLE;
    if (CUresult r = usable()) return r;
    return hanging ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

API CUresult cuEventElapsedTime(float* milliseconds, CUevent begin, CUevent end) {
    auto lock = locked();
    if (CUresult r = usable()) return r;
    if (!milliseconds || !events.count(begin) || !events.count(end)) return CUDA_ERROR_INVALID_HANDLE;
    if (!begin->timed || !end->timed || !begin->recorded || !end->recorded) return CUDA_ERROR_INVALID_HANDLE;
    *milliseconds = float((double(end->at) - double(begin->at)) * 1e-6);
    return CUDA_SUCCESS;
}

API CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent begin, CUevent end) { return cuEventElapsedTime(milliseconds, begin, end); }
