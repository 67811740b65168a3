//! CUDA C++ 17, without headers except for matrix tiles.
//!
//! **Text.** A kernel's text is plain C++ with `threadIdx`, `blockIdx`, `__shared__`, `__syncthreads()`, `__syncwarp()` and functions called
//! `ws_…`, which stand before it: the [`prelude`], as much of it as the kernel needs.
//!
//! **Without a GPU.** With `WARPSIGHT_HOST` defined (and `-ffp-contract=off`: products are added unrounded only where the Program says
//! so), a C++ compiler leaves out what is hardware's, and whoever compiles supplies it, besides `memcpy`, the functions of `math.h`, and
//! the qualifiers `__global__ __shared__ __restrict__ __launch_bounds__(n)`:
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

mod dialect;
pub mod prelude;
mod tile;
mod words;

use crate::grid::{Grid, SizeError};
use crate::{Unsupported, clike};
use dialect::Cuda;
use prelude::Part;
use std::collections::BTreeMap;
use warpsight_ir::{Checked, Name};

/// What every CUDA compiler is told besides the architecture: products are added unrounded only where the Program says so.
pub const CUDA_OPTIONS: [&str; 2] = ["-std=c++17", "-fmad=false"];

/// A kernel in CUDA C++.
///
/// Its arguments are the Program's parameters in order (buffers as pointers; images as the 64-bit handles of texture objects where they
/// are read, of surface objects where they are written), then its sizes as `int`. Texture objects have unnormalised coordinates, no
/// filter, the address mode that the image's border asks for, and read bytes as fractions.
#[derive(Clone, Debug, PartialEq)]
pub struct CudaSource {
    /// What the kernel needs before it: helpers, headers.
    pub prelude: String,
    /// The kernel function.
    pub kernel: String,
    /// Its name, as C declares it.
    pub entry: Name,
    /// Whether the text includes `mma.h`, `cuda_fp16.h` and `cuda_bf16.h`.
    pub needs_mma: bool,
    /// The launch in hardware dimensions.
    pub grid: Grid,
}

impl CudaSource {
    /// The whole text, ready for a compiler.
    pub fn text(&self) -> String {
        let gap = if self.prelude.is_empty() { "" } else { "\n" };
        format!("{}{gap}{}", self.prelude, self.kernel)
    }

    /// Threads in all and of one block per dimension, for a launch with the given sizes; see [`Grid::ndrange`].
    ///
    /// # Errors
    /// A size without a value, an extent that is too large.
    pub fn ndrange(&self, sizes: &BTreeMap<Name, i64>) -> Result<([u64; 3], [u64; 3]), SizeError> {
        self.grid.ndrange(sizes)
    }
}

/// Writes a Program in CUDA C++, for compute capability 8.0 and above.
///
/// # Errors
/// Channels; sub-groups other than warps; tiles in shapes, types or places that matrix units do not take.
pub fn cuda(program: &Checked) -> Result<CudaSource, Unsupported> {
    let dialect = Cuda::new(program).map_err(|clike::Lacks(what)| Unsupported { target: <Cuda as clike::Dialect>::TARGET, what })?;
    let written = clike::write(program, dialect)?;
    let parts = prelude::used(&written.text);
    let needs_mma = parts.contains(&Part::Tile);
    Ok(CudaSource { prelude: prelude::text(parts), kernel: written.text, entry: written.entry, needs_mma, grid: Grid::of(&program.launch) })
}
