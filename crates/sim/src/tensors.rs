//! The arguments of a launch: their bytes, where they lie, and how texels lie in memory.

use crate::fault::SimFault;
use crate::silicon::{ImagePath, Silicon};
use warpsight_ir::layout::Mapper;
use warpsight_ir::{Bindings, ImageFormat, Name, ParamKind, Program};

/// One argument.
#[derive(Debug)]
pub struct Tensor {
    /// Its contents, as in [`Bindings`].
    pub bytes: Vec<u8>,
    /// The address of its first byte.
    pub base: u64,
    /// Of an image.
    pub image: Option<Image>,
}

/// An image's extent and layout.
#[derive(Clone, Debug)]
pub struct Image {
    /// Component format.
    pub format: ImageFormat,
    /// Texels.
    pub width: u32,
    /// Texels.
    pub height: u32,
    /// Where texels lie.
    pub layout: Mapper,
    /// Which of the ways that kinds of images are fetched by.
    pub path: usize,
}

/// The way images of this kind are fetched by, and its place among them.
pub fn path(_kind: (), silicon: &Silicon) -> (usize, &ImagePath) {
    (2, &silicon.texture.image2d)
}

/// Bytes that memory is given out in.
const PAGE: u64 = 4096;

/// Takes the arguments out of the bindings, after checking that they fit.
pub fn take(
    program: &Program,
    extents: &[Vec<u32>],
    bindings: &mut Bindings,
    addresses: Option<&[u64]>,
    silicon: &Silicon,
) -> Result<Vec<Tensor>, SimFault> {
    let fault = |argument: &Name, what: String| SimFault::Binding { kernel: program.name.clone(), argument: argument.clone(), what };
    let mut next = PAGE;
    let mut found = vec![];
    for (at, (param, dims)) in program.params.iter().zip(extents).enumerate() {
        let given = bindings.data.get(at).ok_or_else(|| fault(&param.name, "is missing".into()))?.len() as u64;
        let elements: u64 = dims.iter().map(|&d| u64::from(d)).product();
        let (needed, image) = match &param.kind {
            ParamKind::Image { format, .. } => {
                let limit = |texels: u32| SimFault::Limit {
                    kernel: program.name.clone(),
                    what: format!("image `{}`", param.name),
                    needed: texels.into(),
                    available: silicon.limits.image.into(),
                };
                let (height, width) = (dims[0], dims[1]);
                if let Some(&over) = [width, height].iter().find(|&&d| d > silicon.limits.image) {
                    return Err(limit(over));
                }
                let (path, fetched) = path((), silicon);
                let layout = fetched.layout.mapper(width, height, format.bytes());
                (elements * u64::from(format.bytes()), Some(Image { format: *format, width, height, layout, path }))
            }
            ParamKind::Buffer { element, .. } => (elements * u64::from(element.bytes()), None),
            ParamKind::Channel { .. } => (0, None),
        };
        if given != needed {
            return Err(fault(&param.name, format!("has {given} bytes; its extents {dims:?} need {needed}")));
        }
        let size = image.as_ref().map_or(needed, |i| i.layout.bytes());
        let base = addresses.and_then(|a| a.get(at)).copied().unwrap_or(next);
        next = next.max(base + size).next_multiple_of(PAGE);
        if next > silicon.limits.memory {
            return Err(SimFault::Limit {
                kernel: program.name.clone(),
                what: format!("memory up to `{}`", param.name),
                needed: next,
                available: silicon.limits.memory,
            });
        }
        found.push((base, image));
    }
    let bytes = bindings.data.iter_mut().map(std::mem::take);
    Ok(bytes.zip(found).map(|(bytes, (base, image))| Tensor { bytes, base, image }).collect())
}

/// Puts the arguments back.
pub fn put_back(tensors: Vec<Tensor>, bindings: &mut Bindings) {
    for (slot, tensor) in bindings.data.iter_mut().zip(tensors) {
        *slot = tensor.bytes;
    }
}
