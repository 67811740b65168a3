//! Where the elements of a tensor lie in the argument of a kernel, and how host data is packed for it.

use crate::expr::{AxisId, Role, Tensor};
use crate::indices::for_each_index;
use half::f16;
use smallvec::SmallVec;
use warpsight_ir::{Affine, ImageFormat, Scalar};

/// Components of a texel.
const TEXEL: i64 = 4;
/// Dimensions of a picture, at least.
const PICTURE: usize = 4;

/// What is asked of a tensor's layout: the kinds that a network's kernels can agree on. Constants are free to follow the kernel that reads
/// them, within the same medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// A buffer, dimensions in their order, nothing padded.
    Buffer,
    /// An image, four elements along one dimension to a texel: rows lie along the last dimension, of constants along what is read one after
    /// the other.
    Image,
    /// The same image with columns and rows exchanged (paper 000, section 3.2).
    #[serde(rename = "image_column")]
    Column,
    /// An image in which so many texels that would follow each other in a row lie below each other, then as many to their right (paper 000's
    /// block-2, -4 and -8).
    #[serde(rename = "image_block")]
    Tall(u8),
    /// Of constants: a buffer in which all that a work-item reads lies together, in the order in which it does.
    Panels,
    /// A buffer in which rows or columns are cut into strips of so many, or are one strip of all (`None`): those of a strip lie side by side,
    /// place by place, and the strips one behind the other. `Strips(Rows, Some(8))` makes `n c/8 h w 8` of a picture `n c h w`, and `b r/8 c 8`
    /// of matrices `b r c`, the packed first operand of a product; `Strips(Columns, Some(8))` makes `b c/8 r 8` of these, the packed second
    /// one; `Strips(Rows, None)` makes `n h w c` of a picture.
    Strips(Along, Option<u8>),
}

/// What strips are cut of: all tensors are matrices with something in front of them. Those of four dimensions and more (pictures, tiles) are
/// matrices of channels, the second dimension, by places, the dimensions behind it; others are matrices of their last two dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Along {
    /// Channels, or the last dimension but one.
    Rows,
    /// The last dimension.
    Columns,
}

impl Along {
    /// The dimension of a tensor of at least two dimensions.
    fn dim(self, rank: usize) -> usize {
        match self {
            Self::Rows => first_of_matrix(rank),
            Self::Columns => rank.saturating_sub(1),
        }
    }
}

/// Where the matrix begins that a tensor is.
fn first_of_matrix(rank: usize) -> usize {
    if rank >= PICTURE { 1 } else { rank.saturating_sub(2) }
}

impl Place {
    /// Whether it is an image.
    pub fn is_image(self) -> bool {
        matches!(self, Self::Image | Self::Column | Self::Tall(_))
    }

    /// Blocks of so many channels of a picture.
    pub const fn blocks(width: u8) -> Self {
        Self::Strips(Along::Rows, Some(width))
    }

    /// The dimension of an activation that is packed, and how many of its elements lie side by side then; `None` where all of some dimension do.
    pub fn packed(self, rank: usize) -> Option<(usize, i64)> {
        match self {
            Self::Buffer | Self::Panels | Self::Strips(_, None) => None,
            Self::Image | Self::Column | Self::Tall(_) => Some((if rank >= PICTURE { 1 } else { rank.saturating_sub(1) }, TEXEL)),
            Self::Strips(along, Some(width)) => Some((along.dim(rank), width.into())),
        }
    }

    /// How elements are packed, whatever the dimension: in texels or in buffers, and how many side by side, where that is not all of a dimension.
    pub fn packing(self) -> Option<(bool, Option<u8>)> {
        match self {
            Self::Buffer | Self::Panels => None,
            Self::Image | Self::Column | Self::Tall(_) => Some((true, Some(TEXEL as u8))),
            Self::Strips(_, width) => Some((false, width)),
        }
    }

    /// The dimension of an activation along which neighbours lie side by side.
    pub fn innermost(self, rank: usize) -> usize {
        match self {
            Self::Strips(along, None) => along.dim(rank),
            _ => self.packed(rank).map_or(rank.saturating_sub(1), |own| own.0),
        }
    }

    /// The value of a knob in words, of a tensor of so many dimensions.
    pub fn label(self, rank: usize) -> String {
        match self {
            Self::Buffer => "buffer".to_owned(),
            Self::Panels => "panels".to_owned(),
            Self::Image => "image".to_owned(),
            Self::Column => "image_column".to_owned(),
            Self::Tall(height) => format!("image_block{height}"),
            Self::Strips(Along::Rows, Some(width)) if rank >= PICTURE => format!("blocks{width}"),
            Self::Strips(Along::Rows, None) if rank >= PICTURE => "channels_last".to_owned(),
            Self::Strips(along, width) => {
                let of = if along == Along::Rows { "rows" } else { "columns" };
                format!("{of}{}", width.map_or_else(String::new, |width| width.to_string()))
            }
        }
    }
}

/// A part of a dimension as an axis of memory: there an element's coordinate is `index / stride % extent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemoryAxis {
    /// The dimension.
    pub dim: usize,
    /// Elements of the dimension from one place along this axis to the next.
    pub stride: i64,
    /// Places along this axis.
    pub extent: i64,
}

/// The axis of a dimension whose ends the sampler of an image keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Border {
    /// The axis.
    pub axis: MemoryAxis,
    /// Texels from one place along it to the next.
    pub inside: i64,
}

/// The place of a tensor's elements: its memory axes, slowest first, each an axis of a dimension or of a part of it. The parts of a dimension
/// follow from its strides: each reaches to the next larger one, the last to the end of the dimension. Row-major, transposed, blocks of
/// channels, panels of a packed operand and texels are all such lists.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    axes: SmallVec<[MemoryAxis; 6]>,
    /// Extent of each dimension in elements, at least the tensor's.
    extents: SmallVec<[i64; 5]>,
    /// Of an image how many of the axes, the first ones, make the row; the last one is the component of a texel, the others make the column.
    rows: Option<usize>,
}

impl Layout {
    /// Axes in this order, each a dimension from this stride on.
    fn new(extents: &[i64], order: impl IntoIterator<Item = (usize, i64)>, rows: Option<usize>) -> Self {
        let order: SmallVec<[(usize, i64); 6]> = order.into_iter().collect();
        let axis = |&(dim, stride): &(usize, i64)| {
            let next = order.iter().filter(|other| other.0 == dim && other.1 > stride).map(|other| other.1).min();
            let extent = next.map_or_else(|| (extents[dim] + stride - 1) / stride, |next| next / stride);
            MemoryAxis { dim, stride, extent }
        };
        Self { axes: order.iter().map(axis).collect(), extents: extents.into(), rows }
    }

    /// A buffer of the dimensions in their order, nothing padded.
    pub fn buffer(tensor: &Tensor) -> Self {
        Self::ordered(&tensor.shape, (0..tensor.shape.len()).map(|d| (d, 1)))
    }

    /// A buffer of such extents whose axes are these dimensions from these strides on, slowest first.
    pub fn ordered(extents: &[i64], order: impl IntoIterator<Item = (usize, i64)>) -> Self {
        Self::new(extents, order, None)
    }

    /// An image of such extents: texels of four elements along `pack`, whose number is the row, all other dimensions the column.
    pub fn texels(extents: &[i64], pack: usize) -> Self {
        let rest = (0..extents.len()).filter(|&d| d != pack).map(|d| (d, 1));
        Self::new(extents, [(pack, TEXEL)].into_iter().chain(rest).chain([(pack, 1)]), Some(1))
    }

    /// How networks keep activations. In images of four dimensions (n, c, h, w) the column is w, the row (n, c/4, h); of others the column
    /// is the last dimension, four to a texel, the row the rest. Strips are in front of the matrix that they are cut of.
    pub fn of(tensor: &Tensor, place: Place) -> Self {
        let rank = tensor.shape.len();
        let (pack, packed) = (place.innermost(rank), place.packed(rank));
        if place.is_image() {
            let whole = (0..rank).map(|d| (d, if d == pack { TEXEL } else { 1 }));
            return Self::new(&tensor.shape, whole.chain([(pack, 1)]), Some(rank - 1)).patterned(place);
        }
        if !matches!(place, Place::Strips(..)) {
            return Self::buffer(tensor);
        }
        let first = first_of_matrix(rank);
        let strips = packed.into_iter();
        let inside = (first..rank).filter(|&d| d != pack).chain([pack]).map(|d| (d, 1));
        Self::ordered(&tensor.shape, (0..first).map(|d| (d, 1)).chain(strips).chain(inside))
    }

    /// An image whose texels lie along rows in the pattern of another place; the same where that has none, or no row is long enough.
    pub fn patterned(self, place: Place) -> Self {
        let Some(rows) = self.rows else { return self };
        let (row, rest) = self.axes.split_at(rows);
        let (column, texel) = rest.split_at(rest.len() - 1);
        let (axes, rows): (SmallVec<[MemoryAxis; 6]>, usize) = match place {
            Place::Column => ([column, row, texel].concat().into(), column.len()),
            Place::Tall(height) => {
                let height = i64::from(height);
                let parts = |axis: &MemoryAxis| axis.extent >= height && (self.is_outermost(axis) || axis.extent % height == 0);
                let Some(at) = column.iter().rposition(parts) else { return self };
                let below = MemoryAxis { extent: height, ..column[at] };
                let mut beside = column.to_vec();
                beside[at].stride *= height;
                beside[at].extent = (beside[at].extent + height - 1) / height;
                ([row, &[below], &beside, texel].concat().into(), row.len() + 1)
            }
            _ => return self,
        };
        Self { axes, rows: Some(rows), ..self }
    }

    /// Whether no part of the axis' dimension counts more elements.
    fn is_outermost(&self, axis: &MemoryAxis) -> bool {
        !self.axes.iter().any(|other| other.dim == axis.dim && other.stride > axis.stride)
    }

    /// Shape, element type and place in words.
    pub fn describe(&self, tensor: &Tensor) -> String {
        let what = format!("{} {:?}", tensor.element.name(), tensor.shape);
        let names = |axes: &[MemoryAxis]| {
            let name = |axis: &MemoryAxis| {
                let inner = self.axes.iter().any(|other| other.dim == axis.dim && other.stride > axis.stride);
                let part = if axis.stride > 1 { format!("/{}", axis.stride) } else { String::new() };
                let rest = if inner { format!("%{}", axis.stride * axis.extent) } else { String::new() };
                format!("{}{rest}{part}", axis.dim)
            };
            format!("[{}]", axes.iter().map(name).collect::<Vec<_>>().join(", "))
        };
        match (self.rows, self.image_size()) {
            (Some(rows), Some((w, h))) => {
                let (row, rest) = self.axes.split_at(rows);
                let (column, texel) = rest.split_at(rest.len() - 1);
                format!("{what}: image {w} x {h}, texels {}, column {}, row {}", names(texel), names(column), names(row))
            }
            _ => format!("{what}: buffer, dimensions {} of extents {:?}", names(&self.axes), self.extents.as_slice()),
        }
    }

    /// Whether it is an image.
    pub fn is_image(&self) -> bool {
        self.rows.is_some()
    }

    /// Its axes, slowest first. The last one of an image is the component of a texel.
    pub fn axes(&self) -> &[MemoryAxis] {
        &self.axes
    }

    /// Extents in memory, one per dimension of the tensor, elements.
    pub fn extents(&self) -> &[i64] {
        &self.extents
    }

    /// The dimension along which neighbours lie side by side, and how many do; `None` of nothing with dimensions.
    pub fn innermost(&self) -> Option<(usize, i64)> {
        self.axes.last().filter(|axis| axis.stride == 1).map(|axis| (axis.dim, axis.extent))
    }

    /// Whether the innermost axis is a part of a dimension only: a texel, a block of channels, a panel.
    pub fn block(&self) -> Option<(usize, i64)> {
        let (dim, width) = self.innermost()?;
        (self.axes.iter().filter(|axis| axis.dim == dim).count() > 1).then_some((dim, width))
    }

    /// Elements behind the first one that an access so wide reaches along a dimension. Of a texel or a part of a block the first element
    /// decides; a vector of any other buffer extends along the innermost dimension.
    pub fn run(&self, dim: usize, width: u8) -> i64 {
        let whole = self.block().is_none() && self.innermost().is_some_and(|own| own.0 == dim);
        if whole { i64::from(width) - 1 } else { 0 }
    }

    /// How many of so many neighbours from an element on, along the innermost dimension, are read at once: as far as they lie within one block.
    pub fn together(&self, first: &[i64], width: u8) -> u8 {
        let Some((pack, block)) = self.block() else { return width };
        let piece = width.min(block as u8);
        let whole = width.is_multiple_of(piece) && first[pack].rem_euclid(i64::from(piece)) == 0 && block % i64::from(piece) == 0;
        if whole { piece } else { 1 }
    }

    /// The dimensions that are taken apart, with the strides of their parts beyond the first.
    pub fn parts(&self) -> impl Iterator<Item = (usize, i64)> + '_ {
        self.axes.iter().filter(|axis| axis.stride > 1).map(|axis| (axis.dim, axis.stride))
    }

    /// The axes that tell where elements lie: those with one place say nothing, and parts of a dimension that follow each other are one.
    fn order(&self) -> SmallVec<[MemoryAxis; 6]> {
        let mut axes: SmallVec<[MemoryAxis; 6]> = SmallVec::new();
        for axis in self.axes.iter().filter(|axis| axis.extent > 1) {
            match axes.last_mut() {
                Some(last) if last.dim == axis.dim && last.stride == axis.stride * axis.extent => {
                    (last.stride, last.extent) = (axis.stride, last.extent * axis.extent);
                }
                _ => axes.push(*axis),
            }
        }
        axes
    }

    /// Whether elements lie where they do in another one of the same tensor.
    pub fn is_order_of(&self, other: &Self) -> bool {
        self.rows == other.rows && self.order() == other.order()
    }

    /// Whether it is rows, of dimensions in their order but for the innermost: what panels are where a work-item reads all of a tensor in order.
    pub fn is_rows(&self) -> bool {
        let mut axes = self.order();
        let innermost = axes.pop().map_or(1, |axis| axis.stride);
        innermost == 1 && axes.iter().all(|axis| axis.stride == 1) && axes.is_sorted_by_key(|axis| axis.dim)
    }

    /// The axes of column and row of an image.
    pub fn image_axes(&self) -> Option<[&[MemoryAxis]; 2]> {
        let (rows, rest) = self.axes.split_at(self.rows?);
        Some([&rest[..rest.len() - 1], rows])
    }

    /// The dimensions whose ends the sampler of an image keeps, one along each of its axes at most: an index beyond them is a texel beside the
    /// image, wherever the indices of all other dimensions are within theirs. That is so of the outermost part of a dimension that nothing but
    /// single places is outside of, where no rest of a last part lies in the image. Of what is packed an index is that of a whole texel.
    pub fn borders(&self) -> SmallVec<[Border; 2]> {
        let border = |axes: &[MemoryAxis]| {
            let at = axes.iter().position(|axis| axis.extent > 1).or(axes.len().checked_sub(1))?;
            let axis = axes[at];
            let texel = self.block().filter(|own| own.0 == axis.dim).map_or(1, |own| own.1);
            let beyond = (self.extents[axis.dim] + texel - 1).div_euclid(texel) * texel;
            let kept = self.is_outermost(&axis) && beyond.div_euclid(axis.stride) >= axis.extent;
            kept.then(|| Border { axis, inside: axes[at + 1..].iter().map(|axis| axis.extent).product() })
        };
        self.image_axes().into_iter().flatten().filter_map(border).collect()
    }

    /// Width and height in texels of an image; `None` for a buffer.
    pub fn image_size(&self) -> Option<(i64, i64)> {
        let [width, height] = self.image_axes()?.map(|axes| axes.iter().map(|axis| axis.extent).product());
        Some((width, height))
    }

    /// Bytes of the argument.
    pub fn bytes(&self, element: Scalar) -> u64 {
        self.axes.iter().map(|axis| axis.extent).product::<i64>() as u64 * u64::from(element.bytes())
    }

    /// The place of an element along a memory axis.
    fn digit(&self, axis: &MemoryAxis, index: i64) -> i64 {
        let quotient = index.div_euclid(axis.stride);
        if self.is_outermost(axis) { quotient } else { quotient.rem_euclid(axis.extent) }
    }

    /// The coordinates of an element: one per memory axis for a buffer, (x, y) of its texel for an image.
    pub fn coords(&self, index: &[i64]) -> SmallVec<[i64; 4]> {
        let digit = |axis: &MemoryAxis| self.digit(axis, index[axis.dim]);
        match self.image_axes() {
            None => self.axes.iter().map(digit).collect(),
            Some(pair) => pair.into_iter().map(|axes| axes.iter().fold(0, |at, axis| at * axis.extent + digit(axis))).collect(),
        }
    }

    /// The same of forms that are multiples, as far as they vary, of the strides of the parts of their dimensions: then the varying part of
    /// each coordinate is that of the form divided by the stride. `None` where one exceeds its numbers.
    pub fn varying<V: Clone + Ord>(&self, dims: &[Affine<V>]) -> Option<SmallVec<[Affine<V>; 4]>> {
        let digit = |axis: &MemoryAxis| {
            let larger =
                self.axes.iter().filter(|other| other.dim == axis.dim && other.stride > axis.stride).map(|other| other.stride).min();
            let own = larger.map_or_else(|| dims[axis.dim].clone(), |larger| dims[axis.dim].divide(larger).1);
            own.divide(axis.stride).0.with_constant(0)
        };
        match self.image_axes() {
            None => Some(self.axes.iter().map(digit).collect()),
            Some(pair) => {
                let linear = |axes: &[MemoryAxis]| {
                    let (mut sum, mut stride) = (Affine::default(), 1_i64);
                    for axis in axes.iter().rev() {
                        sum.add(&digit(axis), stride)?;
                        stride = axis.extent.checked_mul(stride)?;
                    }
                    Some(sum)
                };
                pair.into_iter().map(linear).collect()
            }
        }
    }

    /// The coordinates of such forms with their constants.
    pub fn place<V: Clone + Ord>(&self, dims: &[Affine<V>]) -> Option<SmallVec<[Affine<V>; 4]>> {
        let constants: SmallVec<[i64; 5]> = dims.iter().map(|form| form.constant).collect();
        Some(self.varying(dims)?.iter().zip(self.coords(&constants)).map(|(form, constant)| form.with_constant(constant)).collect())
    }

    /// The element's position in the argument, in elements (for images: texel·4 + component).
    pub fn position(&self, index: &[i64]) -> usize {
        self.axes.iter().fold(0, |position, axis| position * axis.extent + self.digit(axis, index[axis.dim])) as usize
    }

    /// Lays out row-major values; what lies between and behind the elements becomes `fill`.
    pub fn pack(&self, tensor: &Tensor, values: &[f32], fill: f32) -> Vec<u8> {
        let (values, fill) = (encode(tensor.element, values), encode(tensor.element, &[fill]));
        match fill.len() {
            2 => self.placed::<2>(tensor, &values, &fill),
            8 => self.placed::<8>(tensor, &values, &fill),
            _ => self.placed::<4>(tensor, &values, &fill),
        }
    }

    /// The same of elements of so many bytes.
    fn placed<const BYTES: usize>(&self, tensor: &Tensor, values: &[u8], fill: &[u8]) -> Vec<u8> {
        let (values, fill) = (values.as_chunks::<BYTES>().0, fill.as_chunks::<BYTES>().0);
        let mut placed = vec![fill[0]; (self.bytes(tensor.element) / u64::from(tensor.element.bytes())) as usize];
        self.for_each_position(&tensor.shape, |flat, position| placed[position] = values[flat]);
        placed.into_flattened()
    }

    /// The inverse of [`Layout::pack`]: row-major values.
    pub fn unpack(&self, tensor: &Tensor, bytes: &[u8]) -> Vec<f32> {
        let placed = decode(tensor.element, bytes);
        let mut values = vec![0.0; tensor.len()];
        self.for_each_position(&tensor.shape, |flat, position| values[flat] = placed[position]);
        values
    }

    /// The number of each element of a shape, row-major, and its [position](Self::position): a sum of what its place in each dimension adds.
    fn for_each_position(&self, shape: &[i64], mut f: impl FnMut(usize, usize)) {
        let mut added: Vec<Vec<usize>> = shape.iter().map(|&extent| vec![0; extent as usize]).collect();
        let mut stride = 1;
        for axis in self.axes.iter().rev() {
            for (index, own) in added[axis.dim].iter_mut().enumerate() {
                *own += self.digit(axis, index as i64) as usize * stride;
            }
            stride *= axis.extent as usize;
        }
        let Some((inner, outer)) = added.split_last() else { return };
        for_each_index(&shape[..outer.len()], |row, index| {
            let first: usize = outer.iter().zip(index).map(|(own, &index)| own[index as usize]).sum();
            inner.iter().enumerate().for_each(|(at, own)| f(row * inner.len() + at, first + own));
        });
    }
}

/// A position in terms of the numbers of blocks: of an axis, its variable counts work-items' tiles, or trips of its loop.
pub type Coord = Affine<AxisId>;

/// A position in each dimension of a tensor, or each coordinate of an argument.
pub type Coords = SmallVec<[Coord; 4]>;

/// `f32` values as elements in memory; 16-bit floats round to nearest even, integers towards zero. What is no number stays none: all bits
/// set, which of integers is -1.
pub fn encode(element: Scalar, values: &[f32]) -> Vec<u8> {
    match element {
        Scalar::F16 | Scalar::Half => values.iter().flat_map(|&v| f16::from_f32(v).to_le_bytes()).collect(),
        Scalar::Bf16 => values.iter().flat_map(|&v| half::bf16::from_f32(v).to_le_bytes()).collect(),
        Scalar::F64 => values.iter().flat_map(|&v| f64::from(v).to_le_bytes()).collect(),
        Scalar::I32 => values.iter().flat_map(|&v| if v.is_nan() { -1 } else { v as i32 }.to_le_bytes()).collect(),
        _ => warpsight_ir::data::f32_bytes(values),
    }
}

/// Elements in memory as `f32` values.
pub fn decode(element: Scalar, bytes: &[u8]) -> Vec<f32> {
    match element {
        Scalar::F16 | Scalar::Half => bytes.as_chunks::<2>().0.iter().map(|b| f16::from_le_bytes(*b).to_f32()).collect(),
        Scalar::Bf16 => bytes.as_chunks::<2>().0.iter().map(|b| half::bf16::from_le_bytes(*b).to_f32()).collect(),
        Scalar::F64 => bytes.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b) as f32).collect(),
        Scalar::I32 => bytes.as_chunks::<4>().0.iter().map(|b| i32::from_le_bytes(*b) as f32).collect(),
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

/// What a tensor holds, as it is read back, where that follows from the operator itself.
pub fn known(tensor: &Tensor) -> Option<Vec<f32>> {
    let values = tensor.values.as_ref()?;
    Some(stored(tensor.element, values.iter().map(|&value| value as f32).collect()))
}

/// The image format that holds an element type.
pub fn image_format(element: Scalar) -> ImageFormat {
    match element {
        Scalar::F16 => ImageFormat::Rgba16F,
        Scalar::Half => ImageFormat::Rgba16H,
        _ => ImageFormat::Rgba32F,
    }
}

/// Whether a tensor may be laid out at will.
pub fn is_free(tensor: &Tensor) -> bool {
    tensor.role == Role::Weight
}
