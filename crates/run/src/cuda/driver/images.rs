//! Images: texels in arrays or row by row, and how kernels see them. See `driver` for what makes the calls sound.
#![allow(unsafe_code, reason = "the CUDA driver is a C interface")]

use super::allocations::{Allocation, beyond, short};
use super::context::Context;
use super::cu;
use super::functions::Functions;
use crate::DeviceError;
use cudarc::driver::sys::*;
use warpsight_emit::cuda::PITCH_TEXELS;
use warpsight_ir::{Border, ImageFormat, ImageKind};

/// An image that textures can look at.
pub(crate) struct Image {
    driver: &'static Functions,
    texels: Texels,
    format: ImageFormat,
    width: usize,
    height: usize,
}

/// Where texels lie.
enum Texels {
    /// In the driver's own order, of one or two dimensions.
    Array(Array),
    /// One after the other.
    Line(Allocation),
    /// Row by row, each so many bytes after the other.
    Rows(Allocation, usize),
}

/// The driver's array.
struct Array(&'static Functions, CUarray);

impl Drop for Array {
    fn drop(&mut self) {
        let _ = cu!(self.0, cuArrayDestroy(self.1));
    }
}

impl Image {
    /// # Errors
    /// [`DeviceError::Limit`] with what is free, where memory is short.
    pub(crate) fn new(context: &Context, kind: ImageKind, format: ImageFormat, [width, height]: [u32; 2]) -> Result<Self, DeviceError> {
        let (texel, rows) = (format.bytes() as usize, height as usize);
        let allocation = |row: usize| Allocation::new(context, row * rows);
        let texels = match kind {
            ImageKind::Image1d => Texels::Array(array(context, format, [width, 0])?),
            ImageKind::Image2d => Texels::Array(array(context, format, [width, height])?),
            ImageKind::Image1dBuffer => Texels::Line(allocation(width as usize * texel)?),
            ImageKind::Image2dFromBuffer => {
                // As `warpsight_emit::cuda::linear_pitch`.
                let pitch = (width as usize).next_multiple_of(PITCH_TEXELS as usize) * texel;
                Texels::Rows(allocation(pitch)?, pitch)
            }
        };
        Ok(Self { driver: context.driver, texels, format, width: width as usize, height: rows })
    }

    /// Bytes of a row without padding.
    fn row(&self) -> usize {
        self.width * self.format.bytes() as usize
    }

    /// Bytes of its rows without padding.
    pub(crate) fn bytes(&self) -> usize {
        self.row() * self.height
    }

    /// Writes all of it; `data` has exactly its bytes.
    pub(crate) fn write(&self, data: &[u8]) -> Result<(), DeviceError> {
        let mut copy = self.copy(data.len())?;
        (copy.srcMemoryType, copy.srcHost, copy.srcPitch) = (CUmemorytype::CU_MEMORYTYPE_HOST, data.as_ptr().cast(), self.row());
        (copy.dstMemoryType, copy.dstArray, copy.dstDevice, copy.dstPitch) = self.place();
        cu!(self.driver, cuMemcpy2D_v2(&copy))
    }

    /// Reads all of it; `into` has exactly its bytes.
    pub(crate) fn read(&self, into: &mut [u8]) -> Result<(), DeviceError> {
        let mut copy = self.copy(into.len())?;
        (copy.srcMemoryType, copy.srcArray, copy.srcDevice, copy.srcPitch) = self.place();
        (copy.dstMemoryType, copy.dstHost, copy.dstPitch) = (CUmemorytype::CU_MEMORYTYPE_HOST, into.as_mut_ptr().cast(), self.row());
        cu!(self.driver, cuMemcpy2D_v2(&copy))
    }

    /// The device's end of a copy: its type, array, address and pitch.
    fn place(&self) -> (CUmemorytype, CUarray, CUdeviceptr, usize) {
        let memory = |at, pitch| (CUmemorytype::CU_MEMORYTYPE_DEVICE, std::ptr::null_mut(), at, pitch);
        match &self.texels {
            Texels::Array(array) => (CUmemorytype::CU_MEMORYTYPE_ARRAY, array.1, 0, 0),
            Texels::Line(line) => memory(line.at, self.row()),
            Texels::Rows(rows, pitch) => memory(rows.at, *pitch),
        }
    }

    /// A copy of all rows, its ends open.
    fn copy(&self, bytes: usize) -> Result<CUDA_MEMCPY2D, DeviceError> {
        if bytes != self.bytes() {
            return Err(beyond("a copy", bytes as u64, self.bytes()));
        }
        Ok(CUDA_MEMCPY2D {
            srcXInBytes: 0,
            srcY: 0,
            srcMemoryType: CUmemorytype::CU_MEMORYTYPE_HOST,
            srcHost: std::ptr::null(),
            srcDevice: 0,
            srcArray: std::ptr::null_mut(),
            srcPitch: 0,
            dstXInBytes: 0,
            dstY: 0,
            dstMemoryType: CUmemorytype::CU_MEMORYTYPE_HOST,
            dstHost: std::ptr::null_mut(),
            dstDevice: 0,
            dstArray: std::ptr::null_mut(),
            dstPitch: 0,
            WidthInBytes: self.row(),
            Height: self.height,
        })
    }

    fn resource(&self) -> CUDA_RESOURCE_DESC {
        // SAFETY: integers and pointers only, for which zero is a value.
        let mut resource: CUDA_RESOURCE_DESC = unsafe { std::mem::zeroed() };
        match &self.texels {
            Texels::Array(array) => {
                resource.resType = CUresourcetype::CU_RESOURCE_TYPE_ARRAY;
                resource.res.array.hArray = array.1;
            }
            Texels::Line(line) => {
                resource.resType = CUresourcetype::CU_RESOURCE_TYPE_LINEAR;
                resource.res.linear = CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_3 {
                    devPtr: line.at,
                    format: component(self.format),
                    numChannels: 4,
                    sizeInBytes: self.bytes(),
                };
            }
            Texels::Rows(rows, pitch) => {
                resource.resType = CUresourcetype::CU_RESOURCE_TYPE_PITCH2D;
                resource.res.pitch2D = CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_4 {
                    devPtr: rows.at,
                    format: component(self.format),
                    numChannels: 4,
                    width: self.width,
                    height: self.height,
                    pitchInBytes: *pitch,
                };
            }
        }
        resource
    }

    /// A texture that reads texels by their coordinates: unnormalised, the nearest, bytes as fractions of 255.
    pub(crate) fn texture(&self, border: Border) -> Result<View, DeviceError> {
        let address = match border {
            Border::Zero => CUaddress_mode::CU_TR_ADDRESS_MODE_BORDER,
            Border::ClampToEdge | Border::None => CUaddress_mode::CU_TR_ADDRESS_MODE_CLAMP,
        };
        let texture = CUDA_TEXTURE_DESC {
            addressMode: [address; 3],
            filterMode: CUfilter_mode::CU_TR_FILTER_MODE_POINT,
            flags: 0,
            maxAnisotropy: 0,
            mipmapFilterMode: CUfilter_mode::CU_TR_FILTER_MODE_POINT,
            mipmapLevelBias: 0.0,
            minMipmapLevelClamp: 0.0,
            maxMipmapLevelClamp: 0.0,
            borderColor: [0.0; 4],
            reserved: [0; 12],
        };
        let (mut object, resource) = (0, self.resource());
        cu!(self.driver, cuTexObjectCreate(&mut object, &resource, &texture, std::ptr::null()))?;
        Ok(View::Texture(self.driver, object))
    }

    /// As what emitted kernels write it: a surface over an array, the address of what lies row by row.
    pub(crate) fn written(&self) -> Result<View, DeviceError> {
        if let Texels::Line(memory) | Texels::Rows(memory, _) = &self.texels {
            return Ok(View::Address(memory.at));
        }
        let (mut object, resource) = (0, self.resource());
        cu!(self.driver, cuSurfObjectCreate(&mut object, &resource))?;
        Ok(View::Surface(self.driver, object))
    }
}

/// An array that textures and surfaces can look at; one of one dimension has the height 0.
fn array(context: &Context, format: ImageFormat, [width, height]: [u32; 2]) -> Result<Array, DeviceError> {
    let description = CUDA_ARRAY3D_DESCRIPTOR {
        Width: width as usize,
        Height: height as usize,
        Depth: 0,
        Format: component(format),
        NumChannels: 4,
        Flags: CUDA_ARRAY3D_SURFACE_LDST,
    };
    let mut array = std::ptr::null_mut();
    let bytes = u64::from(width) * u64::from(height.max(1)) * u64::from(format.bytes());
    cu!(context.driver, cuArray3DCreate_v2(&mut array, &description))
        .map_err(|error| short(error, "an image, in bytes,", bytes, context))?;
    Ok(Array(context.driver, array))
}

/// How a component is stored.
fn component(format: ImageFormat) -> CUarray_format {
    match format {
        ImageFormat::Rgba32F => CUarray_format::CU_AD_FORMAT_FLOAT,
        ImageFormat::Rgba16F | ImageFormat::Rgba16H => CUarray_format::CU_AD_FORMAT_HALF,
        ImageFormat::Rgba32I => CUarray_format::CU_AD_FORMAT_SIGNED_INT32,
        ImageFormat::Rgba32U => CUarray_format::CU_AD_FORMAT_UNSIGNED_INT32,
        ImageFormat::Rgba8Unorm => CUarray_format::CU_AD_FORMAT_UNSIGNED_INT8,
    }
}

/// How a kernel sees an image.
pub(crate) enum View {
    /// Read.
    Texture(&'static Functions, CUtexObject),
    /// Written.
    Surface(&'static Functions, CUsurfObject),
    /// Written, where texels lie row by row.
    Address(CUdeviceptr),
}

impl View {
    /// What a kernel takes for it.
    pub(crate) fn object(&self) -> u64 {
        match self {
            Self::Texture(_, object) | Self::Surface(_, object) | Self::Address(object) => *object,
        }
    }
}

impl Drop for View {
    fn drop(&mut self) {
        let _ = match self {
            Self::Texture(driver, object) => cu!(driver, cuTexObjectDestroy(*object)),
            Self::Surface(driver, object) => cu!(driver, cuSurfObjectDestroy(*object)),
            Self::Address(_) => Ok(()),
        };
    }
}
