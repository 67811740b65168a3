// What the words of a token are, and what a consumer makes of them; `tokens.rs` says the same for the host.
constexpr unsigned kStep = 0x9e3779b1u;
constexpr unsigned kFold = 0x01000193u;

// The first word of a token; every next one is kStep more.
static __device__ unsigned first_word(unsigned queue, unsigned token) {
    unsigned v = kSeed ^ (queue * 0x85ebca6bu) ^ (token * 0xc2b2ae35u);
    v = (v ^ (v >> 16)) * 0x7feb352du;
    v = (v ^ (v >> 15)) * 0x846ca68bu;
    return v ^ (v >> 16);
}

static __device__ ws_u32x4 vector_at(unsigned first, unsigned i) {
    const unsigned v = first + 4 * i * kStep;
    return ws_u32x4{v, v + kStep, v + 2 * kStep, v + 3 * kStep};
}

// A polynomial in kFold over all that a thread reads: another value, order or place gives another sum.
static __device__ void fold(ws_u32x4& sums, ws_u32x4 v) {
    sums.x = sums.x * kFold + v.x;
    sums.y = sums.y * kFold + v.y;
    sums.z = sums.z * kFold + v.z;
    sums.w = sums.w * kFold + v.w;
}

// The sum of the block, each thread with a weight of its own; known to thread 0.
static __device__ unsigned block_sum(ws_u32x4 sums, unsigned* scratch) {
    scratch[threadIdx.x] = (((sums.x * kFold + sums.y) * kFold + sums.z) * kFold + sums.w) * (2 * threadIdx.x + 1);
    __syncthreads();
    unsigned sum = 0;
    if (threadIdx.x == 0) {
        for (unsigned i = 0; i < kThreads; ++i) sum += scratch[i];
    }
    return sum;
}
