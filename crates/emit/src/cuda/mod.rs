//! CUDA C++ 17, without headers except for matrix tiles.
//!
//! **Text.** A kernel's text is plain C++ with `threadIdx`, `blockIdx`, `__shared__`, `__syncthreads()`, `__syncwarp()` and functions called
//! `ws_…`, which stand before it: the [`prelude`], as much of it as the kernel needs.
//!
//! **Without a GPU.** With `WARPSIGHT_HOST` defined, a C++ compiler leaves out what is hardware's, and whoever compiles supplies it,
//! besides `memcpy`, the functions of `math.h`, and the qualifiers `__global__ __shared__ __restrict__ __launch_bounds__(n)`:
//!
//! ```text
//! float    ws_rsqrt(float), double ws_rsqrt(double)
//! float    ws_f16_to_f32(unsigned short bits);  unsigned short ws_f32_to_f16(float), ws_f32_to_bf16(float): to nearest even
//! template <int BYTES> void ws_load_words(const void* from, unsigned* words): BYTES is 4, 8 or 16
//! template <int POLICY, int BYTES> void ws_store_words(void* to, const unsigned* words): BYTES is 1, 2, 4, 8 or 16
//! void     ws_read_texel(unsigned long long texture, int x, int y, float* out), the same with int*, unsigned*: four components
//! template <int BYTES> void ws_write_words(unsigned long long surface, int x, int y, const unsigned* words): BYTES a texel, a
//!          component in the low bits of each of four words
//! template <int ORDER, int SCOPE, int SPACE> T ws_atomic_OP(T* at, T value): T is int, unsigned, long long, unsigned long long;
//!          OP is add (float too), min, max, and, or, xor, exchange; ORDER is 0 relaxed, 1 acquire, 2 release, 3 both; SCOPE is
//!          0 block, 1 device; SPACE is 0 global, 1 shared
//! template <same> T ws_atomic_compare_exchange(T* at, T compare, T value), T ws_atomic_load(T* at), void ws_atomic_store(T* at, T value)
//! template <int PART, int OPERAND, int M, int N, int K> struct ws_tile: PART is 0 left (m × k), 1 right (k × n), 2 sum (m × n);
//!          OPERAND is 0 half, 1 bfloat16; sums are float
//! void     ws_tile_load(tile&, const void* from, int stride), ws_tile_store(void* to, const tile&, int stride),
//!          ws_tile_fill(tile&, float), ws_mma(sum&, const left&, const right&); strides in elements
//! ```

pub mod prelude;

/// What every CUDA compiler is told besides the architecture: products are added unrounded only where the Program says so.
pub const CUDA_OPTIONS: [&str; 2] = ["-std=c++17", "-fmad=false"];

/// The same for a C++ compiler of the host.
pub const CUDA_HOST_OPTIONS: [&str; 3] = ["-std=c++17", "-ffp-contract=off", "-DWARPSIGHT_HOST"];
