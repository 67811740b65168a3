//! Where tensors lie in device memory.

use super::fault::TraceFault;
use super::levels::Levels;
use smallvec::SmallVec;
use warpsight_ir::layout::Mapper;
use warpsight_ir::{Accesses, Name, Space, TensorPlace};

/// A tensor in device memory.
pub struct Laid {
    /// Its name.
    pub name: Name,
    /// Position among those in device memory.
    pub number: u16,
    /// First byte of element (0, …, 0).
    pub base: i64,
    /// Extents and bytes from one index to the next, slowest first.
    pub axes: SmallVec<[(i64, i64); 4]>,
    /// Bytes of an element.
    pub element: i64,
    /// How texels lie.
    pub image: Option<Mapper>,
}

/// Tensors begin at multiples of this, as allocators have it.
const ALIGNED: i64 = 4096;

/// And images at multiples of this.
const OF_IMAGES: i64 = 1 << 16;

/// The first boundary that is not before an address of at least 0.
fn boundary(at: i64, of: i64) -> Option<i64> {
    Some(at.checked_add(of - 1)? / of * of)
}

/// The tensors in device memory one after the other, with room for what accesses touch beside them; `None` for those that
/// are served by others than these caches.
///
/// # Errors
/// Addresses beyond all numbers.
pub fn layout(accesses: &Accesses, levels: &Levels) -> Result<Vec<Option<Laid>>, TraceFault> {
    let (mut laid, mut end, mut number) = (Vec::new(), 0_i64, 0);
    for (at, tensor) in accesses.tensors.iter().enumerate() {
        let too_far = || TraceFault::TooFar(tensor.name.clone());
        let own = match &tensor.place {
            TensorPlace::Buffer { space: Space::Global, element, dims, layout } => {
                let size = i64::from(element.bytes());
                let mut axes: SmallVec<[(i64, i64); 4]> = SmallVec::new();
                let mut stride = size;
                for (i, &dim) in dims.iter().enumerate().rev() {
                    stride = layout.strides.get(i).map_or(Some(stride), |own| own.checked_mul(size)).ok_or_else(too_far)?;
                    axes.insert(0, (dim, stride));
                    stride = stride.checked_mul(dim.max(1)).ok_or_else(too_far)?;
                }
                let (lo, hi) = reach(accesses, at as u16, &axes).ok_or_else(too_far)?;
                let first = layout.align.checked_mul(size).ok_or_else(too_far)?;
                // Elements begin `first` bytes after a boundary, and the least of what is touched after everything before.
                let base = end.checked_sub(lo.min(0)).and_then(|at| boundary(at, ALIGNED)?.checked_add(first)).ok_or_else(too_far)?;
                let hi = axes.iter().fold(hi, |hi, &(dim, stride)| hi.max(dim.saturating_mul(stride.saturating_abs())));
                end = base.checked_add(hi).and_then(|end| end.checked_add(ALIGNED)).filter(|&end| end < 1 << 62).ok_or_else(too_far)?;
                Laid { name: tensor.name.clone(), number, base, axes, element: size, image: None }
            }
            TensorPlace::Image { kind, format, width, height } => {
                let texel = format.bytes();
                let extents = u32::try_from((*width).max(1)).ok().zip(u32::try_from((*height).max(1)).ok());
                let (width, height) = extents.ok_or_else(too_far)?;
                let image = levels.image.of(*kind).mapper(width, height, texel);
                let base = boundary(end, OF_IMAGES).ok_or_else(too_far)?;
                end = i64::try_from(image.bytes()).ok().and_then(|bytes| base.checked_add(bytes)).ok_or_else(too_far)?;
                let axes = SmallVec::from_slice(&[(i64::from(width), 0), (i64::from(height), 0)]);
                Laid { name: tensor.name.clone(), number, base, axes, element: texel.into(), image: Some(image) }
            }
            // Served by others than these caches.
            TensorPlace::Buffer { .. } => {
                laid.push(None);
                continue;
            }
        };
        number += 1;
        laid.push(Some(own));
    }
    Ok(laid)
}

/// The bytes from a tensor's begin on that accesses may touch, whatever conditions say: from the least to past the last.
fn reach(accesses: &Accesses, tensor: u16, axes: &[(i64, i64)]) -> Option<(i64, i64)> {
    let mut bounds = Some((0_i64, 0_i64));
    accesses.each(&mut |access| {
        if access.tensor != tensor {
            return;
        }
        let last = |var: u16| i64::from(accesses.vars[usize::from(var)].trips.unwrap_or(1).max(1)) - 1;
        bounds = bounds.and_then(|(mut lo, mut hi)| {
            let (mut least, mut most) = (0_i64, 0_i64);
            for (form, &(_, stride)) in access.coords.iter().zip(axes) {
                let constant = form.constant.checked_mul(stride)?;
                (least, most) = (least.checked_add(constant)?, most.checked_add(constant)?);
                for &(var, c) in form.terms() {
                    let far = i64::from(c).checked_mul(stride)?.checked_mul(last(var.0))?;
                    (least, most) = (least.checked_add(far.min(0))?, most.checked_add(far.max(0))?);
                }
            }
            let wide = axes.last()?.1.checked_abs()?.checked_mul(i64::from(access.width) + 1)?;
            (lo, hi) = (lo.min(least), hi.max(most.checked_add(wide)?));
            Some((lo, hi))
        });
    });
    bounds
}
