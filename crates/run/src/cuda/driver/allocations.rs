//! Device memory and arrays of texels, each freed with its wrapper. See `driver` for what makes the calls sound.
#![allow(unsafe_code, reason = "the CUDA driver is a C interface")]

use super::context::Context;
use super::cu;
use super::functions::Functions;
use crate::DeviceError;
use cudarc::driver::sys::*;
use warpsight_ir::{Border, ImageFormat};

/// Device memory.
pub(crate) struct Allocation {
    driver: &'static Functions,
    pub(crate) at: CUdeviceptr,
    pub(crate) bytes: usize,
}

impl Allocation {
    /// # Errors
    /// [`DeviceError::Limit`] with what is free, where memory is short.
    pub(crate) fn new(context: &Context, bytes: usize) -> Result<Self, DeviceError> {
        let mut at = 0;
        cu!(context.driver, cuMemAlloc_v2(&mut at, bytes))
            .map_err(|error| short(error, "an allocation, in bytes,", bytes as u64, context))?;
        Ok(Self { driver: context.driver, at, bytes })
    }

    /// Writes bytes from a position on; they lie inside.
    pub(crate) fn write(&self, position: usize, data: &[u8]) -> Result<(), DeviceError> {
        self.inside(position, data.len())?;
        cu!(self.driver, cuMemcpyHtoD_v2(self.at + position as u64, data.as_ptr().cast(), data.len()))
    }

    /// Reads bytes from a position on; they lie inside.
    pub(crate) fn read(&self, position: usize, into: &mut [u8]) -> Result<(), DeviceError> {
        self.inside(position, into.len())?;
        cu!(self.driver, cuMemcpyDtoH_v2(into.as_mut_ptr().cast(), self.at + position as u64, into.len()))
    }

    /// Sets bytes from a position on; they lie inside.
    pub(crate) fn fill(&self, position: usize, value: u8, bytes: usize) -> Result<(), DeviceError> {
        self.inside(position, bytes)?;
        cu!(self.driver, cuMemsetD8_v2(self.at + position as u64, value, bytes))
    }

    fn inside(&self, position: usize, bytes: usize) -> Result<(), DeviceError> {
        match position.checked_add(bytes) {
            Some(end) if end <= self.bytes => Ok(()),
            _ => Err(beyond("an access from its beginning on", position.saturating_add(bytes) as u64, self.bytes)),
        }
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        let _ = cu!(self.driver, cuMemFree_v2(self.at));
    }
}

/// A two-dimensional array of texels that textures and surfaces can look at.
pub(crate) struct Array {
    driver: &'static Functions,
    array: CUarray,
    row: usize,
    height: usize,
}

impl Array {
    pub(crate) fn new(context: &Context, format: ImageFormat, width: u32, height: u32) -> Result<Self, DeviceError> {
        let description = CUDA_ARRAY3D_DESCRIPTOR {
            Width: width as usize,
            Height: height as usize,
            Depth: 0,
            Format: match format {
                ImageFormat::Rgba32F => CUarray_format::CU_AD_FORMAT_FLOAT,
                ImageFormat::Rgba16F => CUarray_format::CU_AD_FORMAT_HALF,
                ImageFormat::Rgba32I => CUarray_format::CU_AD_FORMAT_SIGNED_INT32,
                ImageFormat::Rgba32U => CUarray_format::CU_AD_FORMAT_UNSIGNED_INT32,
                ImageFormat::Rgba8Unorm => CUarray_format::CU_AD_FORMAT_UNSIGNED_INT8,
            },
            NumChannels: 4,
            Flags: CUDA_ARRAY3D_SURFACE_LDST,
        };
        let mut array = std::ptr::null_mut();
        let row = width as usize * format.bytes() as usize;
        cu!(context.driver, cuArray3DCreate_v2(&mut array, &description))
            .map_err(|error| short(error, "an image, in bytes,", row as u64 * u64::from(height), context))?;
        Ok(Self { driver: context.driver, array, row, height: height as usize })
    }

    /// Bytes of its rows without padding.
    pub(crate) fn bytes(&self) -> usize {
        self.row * self.height
    }

    /// Writes all of it; `data` has exactly its bytes.
    pub(crate) fn write(&self, data: &[u8]) -> Result<(), DeviceError> {
        let mut copy = self.copy(data.len())?;
        (copy.srcMemoryType, copy.srcHost, copy.srcPitch) = (CUmemorytype::CU_MEMORYTYPE_HOST, data.as_ptr().cast(), self.row);
        (copy.dstMemoryType, copy.dstArray) = (CUmemorytype::CU_MEMORYTYPE_ARRAY, self.array);
        cu!(self.driver, cuMemcpy2D_v2(&copy))
    }

    /// Reads all of it; `into` has exactly its bytes.
    pub(crate) fn read(&self, into: &mut [u8]) -> Result<(), DeviceError> {
        let mut copy = self.copy(into.len())?;
        (copy.srcMemoryType, copy.srcArray) = (CUmemorytype::CU_MEMORYTYPE_ARRAY, self.array);
        (copy.dstMemoryType, copy.dstHost, copy.dstPitch) = (CUmemorytype::CU_MEMORYTYPE_HOST, into.as_mut_ptr().cast(), self.row);
        cu!(self.driver, cuMemcpy2D_v2(&copy))
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
            WidthInBytes: self.row,
            Height: self.height,
        })
    }

    fn resource(&self) -> CUDA_RESOURCE_DESC {
        // SAFETY: integers and pointers only, for which zero is a value.
        let mut resource: CUDA_RESOURCE_DESC = unsafe { std::mem::zeroed() };
        resource.resType = CUresourcetype::CU_RESOURCE_TYPE_ARRAY;
        resource.res.array.hArray = self.array;
        resource
    }

    /// A texture that reads texels by their coordinates: unnormalised, the nearest, bytes as fractions of 255.
    pub(crate) fn texture(&self, border: Border) -> Result<View, DeviceError> {
        let address = match border {
            Border::Zero => CUaddress_mode::CU_TR_ADDRESS_MODE_BORDER,
            Border::ClampToEdge => CUaddress_mode::CU_TR_ADDRESS_MODE_CLAMP,
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

    /// A surface, to be written.
    pub(crate) fn surface(&self) -> Result<View, DeviceError> {
        let (mut object, resource) = (0, self.resource());
        cu!(self.driver, cuSurfObjectCreate(&mut object, &resource))?;
        Ok(View::Surface(self.driver, object))
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        let _ = cu!(self.driver, cuArrayDestroy(self.array));
    }
}

/// How a kernel sees an array.
pub(crate) enum View {
    /// Read.
    Texture(&'static Functions, CUtexObject),
    /// Written.
    Surface(&'static Functions, CUsurfObject),
}

impl View {
    /// What a kernel takes for it.
    pub(crate) fn object(&self) -> u64 {
        match self {
            Self::Texture(_, object) | Self::Surface(_, object) => *object,
        }
    }
}

impl Drop for View {
    fn drop(&mut self) {
        let _ = match self {
            Self::Texture(driver, object) => cu!(driver, cuTexObjectDestroy(*object)),
            Self::Surface(driver, object) => cu!(driver, cuSurfObjectDestroy(*object)),
        };
    }
}

/// A copy that would leave its allocation: whoever asks has checked that before.
fn beyond(what: &str, needed: u64, bytes: usize) -> DeviceError {
    DeviceError::Limit { what: format!("{what}, in bytes of an allocation,"), needed, available: bytes as u64 }
}

/// A lack of memory, with what was asked for and what is free.
fn short(error: DeviceError, what: &str, needed: u64, context: &Context) -> DeviceError {
    match (&error, context.free_memory()) {
        (DeviceError::Driver { code, .. }, Ok(available)) if code.starts_with("CUDA_ERROR_OUT_OF_MEMORY") => {
            DeviceError::Limit { what: format!("{what} of memory that is free now"), needed, available }
        }
        _ => error,
    }
}
