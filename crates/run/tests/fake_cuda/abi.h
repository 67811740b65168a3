// What the stand-in driver and the kernels it runs know of each other. Kernels include this without any header of the system, so
// that compiling one takes a tenth of a second.
#pragma once

// Where a thread is: what threadIdx and its relatives give.
struct WsDim {
    unsigned x, y, z;
};

// A thread as its kernel sees it.
struct WsThread {
    WsDim thread, block, block_dim, grid_dim;
    char* shared;           // the block's image of `__shared__` variables
    char* dynamic;          // `extern __shared__`, behind the image
    unsigned lane;          // within the warp
    unsigned multiprocessor;
    unsigned cluster_rank;  // of the block within its cluster
    unsigned cluster_size;  // 1 without clusters
    char** cluster_shared;  // the images of the cluster's blocks, by rank
};

// Why a kernel ends its launch.
enum WsTrap { WS_TRAP, WS_MISALIGNED };

// Who meets at a barrier.
enum WsMeeting { WS_BLOCK, WS_WARP, WS_CLUSTER };

// One texel, as floats or as the bits of integers.
struct WsTexel {
    union {
        float f[4];
        int i[4];
        unsigned u[4];
    };
};

// What the driver does for kernels.
struct WsHost {
    // Comes to a meeting. `id`: the barrier's number (block) or the mask of lanes (warp); `count`: threads expected at a numbered
    // barrier, 0 for all. Returns what `await` takes.
    unsigned long long (*arrive)(WsMeeting kind, unsigned id, unsigned count);
    // Lets others run until the meeting has taken place.
    void (*await)(WsMeeting kind, unsigned id, unsigned long long turn);
    // Lets others run: a step of a spin.
    void (*pause)();
    // Values that the lanes of a warp laid down with `exchange`; a lane that did not take part gives 0.
    const unsigned long long* (*exchange)(unsigned mask, unsigned long long value);
    // Lanes of the calling thread's warp that have not ended.
    unsigned (*live_lanes)();
    // Simulated nanoseconds, which advance with every call.
    unsigned long long (*clock)();
    // A texel of a texture (its address mode applied) or of a surface; false where a surface has none there.
    void (*fetch)(unsigned long long texture, float x, float y, WsTexel* out);
    // The same of one dimension, and of linear memory.
    void (*fetch_1d)(unsigned long long texture, float x, WsTexel* out);
    void (*fetch_line)(unsigned long long texture, int x, WsTexel* out);
    // A row of -1 is that of a surface of one dimension.
    bool (*surface_read)(unsigned long long surface, int byte_x, int y, unsigned bytes, void* out);
    bool (*surface_write)(unsigned long long surface, int byte_x, int y, unsigned bytes, const void* in);
    // Ends the launch.
    void (*trap)(WsTrap why);
    // Counts changes of memory that others wait for. A launch whose threads pause long without one hangs.
    unsigned long long* progress;
};

// What the module's text says of one kernel.
struct WsKernel {
    void (*call)(void** arguments);
    const unsigned* sizes;  // bytes of each argument
    unsigned arguments;
    unsigned max_threads;  // of __launch_bounds__, 0 without
};
