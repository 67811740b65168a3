#include "scheduler.h"

#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "fiber.h"
#include "images.h"

namespace scheduler {
namespace {

// A turn of a thread counts as a microsecond: kernels that give up after seconds of their own clock do so before a hang is declared.
constexpr uint64_t TURN = 1000;
// A launch hangs after so many turns, and so many rounds, in which nobody changed memory with an atomic or a release, ended, or met.
constexpr uint64_t IDLE_TURNS = 4'000'000, IDLE_ROUNDS = 8192;
// Threads begun and not ended at any time, unless blocks must be resident together.
constexpr size_t MOST_FIBERS = 16384;
constexpr unsigned char UNINITIALISED = 0xcb;

// So many nanoseconds of this processor are no part of a launch: what is short takes the same every time.
constexpr uint64_t UNNOTICED = 2'000'000;

uint64_t ticks = 0;

// What this processor has computed for the thread that asks, in nanoseconds.
uint64_t worked() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return uint64_t(t.tv_sec) * 1'000'000'000 + uint64_t(t.tv_nsec);
}

struct Meeting {
    unsigned expected = 0;  // 0: all that live
    unsigned arrived = 0;
    unsigned long long turn = 0;
};

// Lanes that meet, and two sets of places where they lay values down by turns: a lane may come to the next meeting before a slower
// one has read what was laid down at the last.
struct Lanes : Meeting {
    unsigned long long laid[2][32] = {};
};

struct Warp {
    unsigned live = 0;
    std::map<unsigned, Lanes> meetings;  // by mask
};

struct Cluster {
    unsigned live = 0;
    Meeting meeting;
    std::vector<char*> shared;
    std::vector<std::unique_ptr<char[], void (*)(char*)>> images;
};

struct Block;
struct Thread {
    WsThread view{};
    Block* block = nullptr;
    Warp* warp = nullptr;
    Fiber* fiber = nullptr;
    const Meeting* waits = nullptr;
    unsigned long long turn = 0;
    bool done = false;
};

struct Block {
    unsigned live = 0;
    std::map<unsigned, Meeting> meetings;  // by number
    std::vector<Warp> warps;
    std::vector<Thread> threads;
    std::shared_ptr<Cluster> cluster;
};

// The launch that runs; one at a time.
struct Launch {
    const WsKernel* kernel;
    void** arguments;
    WsThread** now;
    Grid grid;
    std::deque<std::unique_ptr<Block>> resident;
    size_t threads = 0;
    uint64_t next = 0, blocks = 0;
    unsigned long long progress = 0;
    uint64_t turns = 0;
    Thread* running = nullptr;
    bool trapped = false;
    WsTrap why = WS_TRAP;
};
Launch* launch = nullptr;
unsigned long long stray_progress = 0;
WsHost services{};

bool complete(Meeting& m, unsigned expected) {
    if (m.arrived == 0 || m.arrived < expected) return false;
    m.arrived = 0;
    ++m.turn;
    ++launch->progress;
    return true;
}

unsigned members(const Thread& t, WsMeeting kind, unsigned id, const Meeting& m) {
    if (kind == WS_WARP) return unsigned(__builtin_popcount(id & t.warp->live));
    if (kind == WS_CLUSTER) return t.block->cluster->live;
    return m.expected ? m.expected : t.block->live;
}

Meeting& meeting(Thread& t, WsMeeting kind, unsigned id) {
    if (kind == WS_WARP) return t.warp->meetings[id];
    if (kind == WS_CLUSTER) return t.block->cluster->meeting;
    return t.block->meetings[id];
}

unsigned long long arrive(WsMeeting kind, unsigned id, unsigned count) {
    Thread& t = *launch->running;
    Meeting& m = meeting(t, kind, id);
    unsigned long long turn = m.turn;
    m.expected = count;
    ++m.arrived;
    complete(m, members(t, kind, id, m));
    return turn;
}

void leave() {
    Thread& t = *launch->running;
    switch_back(t.fiber);
}

void await(WsMeeting kind, unsigned id, unsigned long long turn) {
    Thread& t = *launch->running;
    const Meeting& m = meeting(t, kind, id);
    if (m.turn != turn) return;
    t.waits = &m;
    t.turn = turn;
    leave();
}

void pause() { leave(); }

const unsigned long long* exchange(unsigned mask, unsigned long long value) {
    Thread& t = *launch->running;
    Lanes& lanes = t.warp->meetings[mask];
    unsigned long long* laid = lanes.laid[lanes.turn & 1];
    laid[t.view.lane] = value;
    await(WS_WARP, mask, arrive(WS_WARP, mask, 0));
    return laid;
}

unsigned live_lanes() { return launch->running->warp->live; }

unsigned long long tell_clock() {
    ticks += 16;
    return ticks;
}

void trap(WsTrap why) {
    launch->trapped = true;
    launch->why = why;
    abandon(launch->running->fiber);
}

// Barriers count the threads that have not ended, so an end may complete one.
void end(Thread& t) {
    t.done = true;
    ++launch->progress;
    --launch->threads;
    --t.block->live;
    --t.block->cluster->live;
    t.warp->live &= ~(1u << t.view.lane);
    for (auto& [id, m] : t.block->meetings)
        if (!m.expected) complete(m, t.block->live);
    for (auto& [mask, m] : t.warp->meetings) complete(m, unsigned(__builtin_popcount(mask & t.warp->live)));
    complete(t.block->cluster->meeting, t.block->cluster->live);
}

void body(void*) { launch->kernel->call(launch->arguments); }

void give_turn(Thread& t) {
    if (!t.fiber) t.fiber = take_fiber(body);
    launch->running = &t;
    *launch->now = &t.view;
    ticks += TURN;
    ++launch->turns;
    if (switch_to(t.fiber)) {
        give_fiber(t.fiber);
        t.fiber = nullptr;
        end(t);
    }
}

std::unique_ptr<Block> make_block(uint64_t number, std::shared_ptr<Cluster> cluster, unsigned rank) {
    const Grid& g = launch->grid;
    auto block = std::make_unique<Block>();
    unsigned threads = g.threads.x * g.threads.y * g.threads.z;
    block->live = threads;
    block->threads.resize(threads);
    block->warps.resize((threads + 31) / 32);
    WsDim at = {unsigned(number % g.blocks.x), unsigned(number / g.blocks.x % g.blocks.y),
                unsigned(number / g.blocks.x / g.blocks.y)};
    for (unsigned i = 0; i < threads; ++i) {
        Thread& t = block->threads[i];
        t.block = block.get();
        t.warp = &block->warps[i / 32];
        t.warp->live |= 1u << i % 32;
        WsDim thread = {i % g.threads.x, i / g.threads.x % g.threads.y, i / g.threads.x / g.threads.y};
        size_t dynamic = (g.static_bytes + 127) / 128 * 128;
        char* shared = cluster->shared[rank];
        t.view = {thread, at, g.threads, g.blocks, shared, shared + dynamic, i % 32, unsigned(number % g.multiprocessors), rank, g.cluster, cluster->shared.data()};
    }
    block->cluster = std::move(cluster);
    return block;
}

// Clusters begin whole, in the order of their numbers.
void admit() {
    const Grid& g = launch->grid;
    unsigned per_block = g.threads.x * g.threads.y * g.threads.z;
    while (launch->next < launch->blocks && (g.all_resident || launch->threads == 0 || launch->threads + g.cluster * per_block <= MOST_FIBERS)) {
        auto cluster = std::make_shared<Cluster>();
        cluster->live = g.cluster * per_block;
        size_t bytes = (g.static_bytes + 127) / 128 * 128 + g.dynamic_bytes;
        size_t rounded = (bytes + 1023) / 1024 * 1024 + 1024;
        for (unsigned rank = 0; rank < g.cluster; ++rank) {
            char* image = static_cast<char*>(std::aligned_alloc(1024, rounded));
            std::memset(image, UNINITIALISED, rounded);
            cluster->images.emplace_back(image, [](char* p) { std::free(p); });
            cluster->shared.push_back(image);
        }
        for (unsigned rank = 0; rank < g.cluster; ++rank) launch->resident.push_back(make_block(launch->next++, cluster, rank));
        launch->threads += g.cluster * per_block;
    }
}

// WS_FAKE_ORDER=reverse lets the last thread go first, which shows what a missing barrier hides in the usual order.
bool backwards() {
    const char* order = std::getenv("WS_FAKE_ORDER");
    return order && std::strcmp(order, "reverse") == 0;
}

// One turn for every thread that may run. Returns whether one could.
bool round(bool reverse) {
    bool any = false;
    for (auto& block : launch->resident) {
        size_t count = block->threads.size();
        for (size_t i = 0; i < count && block->live; ++i) {
            Thread& t = block->threads[reverse ? count - 1 - i : i];
            if (t.done || (t.waits && t.waits->turn == t.turn)) continue;
            t.waits = nullptr;
            any = true;
            give_turn(t);
            if (launch->trapped) return true;
        }
    }
    return any;
}

End rounds() {
    const bool reverse = backwards();
    uint64_t idle_rounds = 0, idle_since = 0;
    unsigned long long seen = 0;
    admit();
    while (!launch->resident.empty()) {
        if (!round(reverse)) return End::Hung;
        if (launch->trapped) return launch->why == WS_MISALIGNED ? End::Misaligned : End::Trapped;
        // A cluster's memory lives until its last block has ended: others may still write there.
        while (!launch->resident.empty() && launch->resident.front()->cluster->live == 0) launch->resident.pop_front();
        admit();
        if (launch->progress != seen) {
            seen = launch->progress;
            idle_rounds = 0;
            idle_since = launch->turns;
        } else if (++idle_rounds > IDLE_ROUNDS && launch->turns - idle_since > IDLE_TURNS) {
            return End::Hung;
        }
    }
    return End::Finished;
}

}  // namespace

End run(const WsKernel& kernel, void** arguments, WsThread** now, const Grid& grid) {
    Launch l{};
    l.kernel = &kernel;
    l.arguments = arguments;
    l.now = now;
    l.grid = grid;
    l.blocks = uint64_t(grid.blocks.x) * grid.blocks.y * grid.blocks.z;
    launch = &l;
    services.progress = &l.progress;
    End result = End::Fault;
    // Long loops that never wait for anybody have no turns, and take their time nevertheless.
    const uint64_t begun = worked();
    if (!guard_faults([&] { result = rounds(); })) result = End::Fault;
    const uint64_t took = worked() - begun;
    ticks += took > UNNOTICED ? took - UNNOTICED : 0;
    if (result != End::Finished) forget_fibers();
    launch = nullptr;
    services.progress = &stray_progress;
    return result;
}

const WsHost* host() {
    services = {arrive, await, pause, exchange, live_lanes, tell_clock, images::fetch, images::fetch_1d, images::fetch_line, images::surface_read, images::surface_write, trap, &stray_progress};
    return &services;
}

uint64_t clock() { return ticks; }
void advance(uint64_t nanoseconds) { ticks += nanoseconds; }

}  // namespace scheduler
