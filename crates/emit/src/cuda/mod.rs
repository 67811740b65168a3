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
//! unsigned short ws_f64_to_f16(double), ws_half_add(unsigned short, unsigned short), ws_half_sub, ws_half_mul, ws_half_fma(a, b, c): of bits
//!          of halves, rounded once to nearest even
//! template <int BYTES> void ws_load_words(const void* from, unsigned* words): BYTES is 4, 8 or 16
//! template <int POLICY, int BYTES> void ws_store_words(void* to, const unsigned* words): BYTES is 1, 2, 4, 8 or 16
//! void     ws_read_texel(unsigned long long texture, int x, int y, float* out), the same with int*, unsigned*: four components;
//!          ws_read_texel_1d and ws_read_texel_buffer without y, of arrays of one dimension and of linear memory
//! template <int BYTES> void ws_write_words(unsigned long long surface, int x, int y, const unsigned* words): BYTES a texel, a
//!          component in the low bits of each of four words; ws_write_words_1d without y
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
use warpsight_ir::{BinaryOp, Checked, Expr, Name};

/// What every CUDA compiler is told besides the architecture: products are added unrounded only where the Program says so.
pub const CUDA_OPTIONS: [&str; 2] = ["-std=c++17", "-fmad=false"];

/// Rows of an `image2d_from_buffer` begin at multiples of so many texels: what textures of linear memory need, whatever the format.
pub const PITCH_TEXELS: u32 = 32;

/// Texels from one row to the next of an `image2d_from_buffer` of a width, as a size expression.
pub fn linear_pitch(width: Expr) -> Expr {
    let (pitch, beyond) = (Expr::int(PITCH_TEXELS.into()), Expr::int(i64::from(PITCH_TEXELS) - 1));
    let rows = Expr::binary(BinaryOp::Div, Expr::binary(BinaryOp::Add, width, beyond), pitch.clone());
    Expr::binary(BinaryOp::Mul, rows, pitch)
}

/// A kernel in CUDA C++.
///
/// Its arguments are the Program's parameters in order (buffers as pointers; images as 64-bit words, see below), then its sizes as `int`.
/// Images that are read are texture objects with unnormalised coordinates, no filter, the address mode that the image's border asks for,
/// and bytes read as fractions: over arrays of one or two dimensions for `image1d` and `image2d`, over linear memory for
/// `image1d_buffer`, over linear memory with rows of [`linear_pitch`] for `image2d_from_buffer`. Images that are written are surface
/// objects over arrays, or the addresses of linear memory.
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
