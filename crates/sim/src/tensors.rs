//! The arguments of a launch: their bytes, where they lie, and how texels lie in memory.

use crate::fault::SimFault;
use crate::silicon::Silicon;
use warpsight_ir::layout::Mapper;
use warpsight_ir::{Bindings, Border, ImageFormat, ImageKind, ParamKind, Program, Space};

/// One argument.
#[derive(Debug)]
pub struct Tensor {
    /// Its contents, as in [`Bindings`]; empty where only time is asked for.
    pub bytes: Vec<u8>,
    /// Bytes of its contents.
    pub contents: u64,
    /// The address of its first byte, and the bytes it takes from there.
    pub base: u64,
    /// See `base`.
    pub size: u64,
    /// Of an image.
    pub image: Option<Image>,
    /// Whether it lies among constants.
    pub constant: bool,
}

/// An image's extent and layout.
#[derive(Clone, Debug)]
pub struct Image {
    /// What it was made as.
    pub kind: ImageKind,
    /// Component format.
    pub format: ImageFormat,
    /// What a read outside gives.
    pub border: Border,
    /// Texels.
    pub width: u32,
    /// Texels.
    pub height: u32,
    /// Where texels lie.
    pub layout: Mapper,
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
    let mut tensors = placed(program, extents, addresses, silicon)?;
    for (at, (param, tensor)) in program.params.iter().zip(&tensors).enumerate() {
        let fault = |what: String| SimFault::Binding { kernel: program.name.clone(), argument: param.name.clone(), what };
        let given = bindings.data.get(at).ok_or_else(|| fault("is missing".into()))?.len() as u64;
        if given != tensor.contents {
            return Err(fault(format!("has {given} bytes; its extents {:?} need {}", extents[at], tensor.contents)));
        }
    }
    for (tensor, bytes) in tensors.iter_mut().zip(&mut bindings.data) {
        tensor.bytes = std::mem::take(bytes);
    }
    Ok(tensors)
}

/// Where the arguments lie, without contents.
pub fn placed(program: &Program, extents: &[Vec<u32>], addresses: Option<&[u64]>, silicon: &Silicon) -> Result<Vec<Tensor>, SimFault> {
    let limit = |what: String, needed: u64, available: u64| SimFault::Limit { kernel: program.name.clone(), what, needed, available };
    let mut next = PAGE;
    let mut tensors = vec![];
    for (at, (param, dims)) in program.params.iter().zip(extents).enumerate() {
        let elements: u64 = dims.iter().map(|&d| u64::from(d)).product();
        let (contents, image) = match &param.kind {
            ParamKind::Image { kind, format, border, .. } => {
                let (height, width) = (dims[0], dims[1]);
                let most = if *kind == ImageKind::Image1dBuffer { silicon.limits.image_buffer } else { silicon.limits.image };
                if let Some(&over) = [width, height].iter().find(|&&d| d > most) {
                    return Err(limit(format!("image `{}`", param.name), over.into(), most.into()));
                }
                let layout = silicon.texture.path(*kind).layout.mapper(width, height, format.bytes());
                let image = Image { kind: *kind, format: *format, border: *border, width, height, layout };
                (elements * u64::from(format.bytes()), Some(image))
            }
            ParamKind::Buffer { element, .. } => (elements * u64::from(element.bytes()), None),
            ParamKind::Channel { .. } => (0, None),
        };
        let constant = matches!(param.kind, ParamKind::Buffer { space: Space::Constant, .. });
        let size = image.as_ref().map_or(contents, |i| i.layout.bytes());
        let base = addresses.and_then(|a| a.get(at)).copied().unwrap_or(next);
        next = next.max(base + size).next_multiple_of(PAGE);
        if next > silicon.limits.memory {
            return Err(limit(format!("memory up to `{}`", param.name), next, silicon.limits.memory));
        }
        tensors.push(Tensor { bytes: vec![], contents, base, size, image, constant });
    }
    Ok(tensors)
}

/// Puts the arguments back.
pub fn put_back(tensors: Vec<Tensor>, bindings: &mut Bindings) {
    for (slot, tensor) in bindings.data.iter_mut().zip(tensors) {
        *slot = tensor.bytes;
    }
}
