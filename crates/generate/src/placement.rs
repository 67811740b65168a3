//! Where the elements of a tensor lie in the argument of a kernel, and how host data is packed for it.

use crate::expr::{Role, Tensor};
use half::f16;
use smallvec::SmallVec;
use warpsight_ir::{ImageFormat, Scalar};

/// The place of a tensor's elements.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Placement {
    /// Row-major with the dimensions in this order, slowest first, each extent rounded up to `extents` (indexed by dimension).
    Buffer {
        /// A permutation of the dimensions.
        order: Vec<usize>,
        /// Extent of each dimension in memory, at least the tensor's.
        extents: Vec<i64>,
    },
    /// Texels of four consecutive elements along dimension `pack`; column and row are row-major over the listed dimensions, in which
    /// `pack` counts texels.
    Image {
        /// The packed dimension.
        pack: usize,
        /// Dimensions that make the column, slowest first.
        columns: Vec<usize>,
        /// Dimensions that make the row, slowest first.
        rows: Vec<usize>,
        /// Extent of each dimension in memory (in elements, also for `pack`), at least the tensor's.
        extents: Vec<i64>,
    },
}

impl Placement {
    /// Row-major, nothing padded: how networks keep tensors in buffers.
    pub fn buffer(tensor: &Tensor) -> Self {
        Self::Buffer { order: (0..tensor.shape.len()).collect(), extents: tensor.shape.clone() }
    }

    /// How networks keep activations in images. Four dimensions (n, c, h, w): four channels a texel, column w, row (n, c/4, h).
    /// Otherwise: the last dimension packed, column last/4, row the rest.
    pub fn image(tensor: &Tensor) -> Self {
        let rank = tensor.shape.len();
        let extents = tensor.shape.clone();
        if rank == 4 {
            Self::Image { pack: 1, columns: vec![3], rows: vec![0, 1, 2], extents }
        } else {
            Self::Image { pack: rank - 1, columns: vec![rank - 1], rows: (0..rank - 1).collect(), extents }
        }
    }

    /// Shape, element type and place in words.
    pub fn describe(&self, tensor: &Tensor) -> String {
        let what = format!("{} {:?}", tensor.element.name(), tensor.shape);
        match self {
            Self::Buffer { order, extents } => format!("{what}: buffer, dimensions {order:?} of extents {extents:?}"),
            Self::Image { pack, columns, rows, .. } => {
                let (w, h) = self.image_size().unwrap_or_default();
                format!("{what}: image {w} x {h}, dimension {pack} packed by 4, column from {columns:?}, row from {rows:?}")
            }
        }
    }

    /// Whether it is an image.
    pub fn is_image(&self) -> bool {
        matches!(self, Self::Image { .. })
    }

    /// Extents in memory, one per dimension of the tensor, elements.
    pub fn extents(&self) -> &[i64] {
        match self {
            Self::Buffer { extents, .. } | Self::Image { extents, .. } => extents,
        }
    }

    /// Width and height in texels of an image; `None` for a buffer.
    pub fn image_size(&self) -> Option<(i64, i64)> {
        let Self::Image { pack, columns, rows, extents } = self else { return None };
        let texels = |dims: &[usize]| dims.iter().map(|&d| if d == *pack { (extents[d] + 3) / 4 } else { extents[d] }).product::<i64>();
        Some((texels(columns), texels(rows)))
    }

    /// Bytes of the argument.
    pub fn bytes(&self, element: Scalar) -> u64 {
        let elements = match self.image_size() {
            Some((w, h)) => w * h * 4,
            None => self.extents().iter().product(),
        };
        elements as u64 * u64::from(element.bytes())
    }

    /// The coordinates of an element: one per dimension in memory order for a buffer, (x, y) of its texel for an image.
    pub fn coords(&self, index: &[i64]) -> SmallVec<[i64; 4]> {
        match self {
            Self::Buffer { order, .. } => order.iter().map(|&d| index[d]).collect(),
            Self::Image { pack, columns, rows, extents } => {
                let step = |at: i64, &d: &usize| {
                    if d == *pack { at * ((extents[d] + 3) / 4) + index[d].div_euclid(4) } else { at * extents[d] + index[d] }
                };
                [columns, rows].into_iter().map(|dims| dims.iter().fold(0, step)).collect()
            }
        }
    }

    /// The element's position in the argument, in elements (for images: texel·4 + component).
    pub fn position(&self, index: &[i64]) -> usize {
        let at = self.coords(index);
        match self {
            Self::Buffer { order, extents } => order.iter().zip(at).fold(0, |position, (&d, at)| position * extents[d] + at) as usize,
            Self::Image { pack, .. } => {
                let width = self.image_size().map_or(0, |size| size.0);
                ((at[1] * width + at[0]) * 4 + index[*pack] % 4) as usize
            }
        }
    }

    /// Lays out row-major values; what lies between and behind the elements becomes `fill`.
    pub fn pack(&self, tensor: &Tensor, values: &[f32], fill: f32) -> Vec<u8> {
        let elements = self.bytes(tensor.element) / u64::from(tensor.element.bytes());
        let mut placed = vec![fill; elements as usize];
        for_each_index(&tensor.shape, |flat, index| placed[self.position(index)] = values[flat]);
        encode(tensor.element, &placed)
    }

    /// The inverse of [`Placement::pack`]: row-major values.
    pub fn unpack(&self, tensor: &Tensor, bytes: &[u8]) -> Vec<f32> {
        let placed = decode(tensor.element, bytes);
        let mut values = vec![0.0; tensor.len()];
        for_each_index(&tensor.shape, |flat, index| values[flat] = placed[self.position(index)]);
        values
    }
}

/// Every index of a shape in row-major order, with its number.
pub fn for_each_index(shape: &[i64], mut f: impl FnMut(usize, &[i64])) {
    let mut index = vec![0; shape.len()];
    for flat in 0..shape.iter().product::<i64>() as usize {
        f(flat, &index);
        for d in (0..shape.len()).rev() {
            index[d] += 1;
            if index[d] < shape[d] {
                break;
            }
            index[d] = 0;
        }
    }
}

/// `f32` values as elements in memory; 16-bit floats round to nearest even.
pub fn encode(element: Scalar, values: &[f32]) -> Vec<u8> {
    match element {
        Scalar::F16 => values.iter().flat_map(|&v| f16::from_f32(v).to_le_bytes()).collect(),
        Scalar::Bf16 => values.iter().flat_map(|&v| half::bf16::from_f32(v).to_le_bytes()).collect(),
        Scalar::F64 => values.iter().flat_map(|&v| f64::from(v).to_le_bytes()).collect(),
        _ => warpsight_ir::data::f32_bytes(values),
    }
}

/// Elements in memory as `f32` values.
pub fn decode(element: Scalar, bytes: &[u8]) -> Vec<f32> {
    match element {
        Scalar::F16 => bytes.as_chunks::<2>().0.iter().map(|b| f16::from_le_bytes(*b).to_f32()).collect(),
        Scalar::Bf16 => bytes.as_chunks::<2>().0.iter().map(|b| half::bf16::from_le_bytes(*b).to_f32()).collect(),
        Scalar::F64 => bytes.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b) as f32).collect(),
        _ => warpsight_ir::data::bytes_f32(bytes),
    }
}

/// Values as they are read back after they were stored as elements.
pub fn stored(element: Scalar, values: Vec<f32>) -> Vec<f32> {
    match element {
        Scalar::F32 => values,
        _ => decode(element, &encode(element, &values)),
    }
}

/// The image format that holds an element type.
pub fn image_format(element: Scalar) -> ImageFormat {
    if element == Scalar::F16 { ImageFormat::Rgba16F } else { ImageFormat::Rgba32F }
}

/// Whether a tensor may be laid out at will.
pub fn is_free(tensor: &Tensor) -> bool {
    tensor.role == Role::Weight
}
