//! Fragment shaders on Vulkan devices: drawn off screen, timed.
//!
//! The loader's library is opened at run time; where there is none, or no driver, that is said. A [`Draw`] is plain values, so that
//! drivers can work in a process of their own ([`crate::open_renderer`]): they crash, hang, and lose devices.
//!
//! What a draw costs is measured in *trials*: as many draws in a row as it takes for a trial to last a while, between two timestamps of
//! the device (paper 004, Algorithm 1). On a device that is the processor (lavapipe, SwiftShader: *CPU rasterisers*), timestamps are
//! the wall's clock, which depends on what else the machine does; processor time of the process is taken instead, and a reference
//! shader is drawn between any two trials, so that a processor that is slower for a while shows there, too.

#[cfg(feature = "vulkan")]
mod check;
#[cfg(feature = "vulkan")]
mod device;
mod job;
#[cfg(feature = "vulkan")]
mod looks;
#[cfg(feature = "vulkan")]
mod objects;
#[cfg(feature = "vulkan")]
mod picture;
#[cfg(all(test, feature = "vulkan"))]
pub(crate) mod tests;
#[cfg(feature = "vulkan")]
mod time;

#[cfg(feature = "vulkan")]
pub use device::list;
pub use job::{
    Binding, Draw, DrawClock, Drawn, Format, Level, Looks, Resource, Sampler, Shape, Texel, Texture, Times, Timing, Trial, VARYINGS, Wrap,
};

#[cfg(feature = "vulkan")]
use crate::clocks::Clocks;
use crate::{DeviceError, DeviceInfo};
#[cfg(feature = "vulkan")]
use device::Gpu;
#[cfg(feature = "vulkan")]
use picture::Picture;
#[cfg(feature = "vulkan")]
use std::rc::Rc;
use std::time::Duration;
#[cfg(feature = "vulkan")]
use std::time::Instant;
#[cfg(feature = "vulkan")]
use time::Reference;
#[cfg(feature = "vulkan")]
use warpsight_ir::Seconds;

/// What a device may be called.
pub(crate) const IDS: &str = "ids of Vulkan devices are `vulkan:N` and `vulkan:gpu`";

/// A device that draws.
pub trait Renderer {
    /// What it is and what it can; see [`has`] for what shaders may need of it.
    fn info(&self) -> &DeviceInfo;
    /// Draws a frame.
    ///
    /// # Errors
    /// [`DeviceError::BadJob`] and [`DeviceError::Limit`] for what cannot be drawn here, [`DeviceError::Lost`] and
    /// [`DeviceError::Timeout`] for a driver that crashed or hangs; the next draw begins with a fresh one.
    fn draw(&mut self, draw: &Draw) -> Result<Drawn, DeviceError>;
    /// From now on no draw may take longer than this. Without effect where draws happen in this process.
    fn limit(&mut self, _timeout: Duration) {}
}

/// Whether a device has a feature, by its name in Vulkan: `shaderInt64`, `shaderBufferInt64Atomics`, `fragmentStoresAndAtomics`; or
/// `fragmentSubgroupBallot`, `fragmentSubgroupArithmetic`.
#[must_use]
pub fn has(info: &DeviceInfo, feature: &str) -> bool {
    info.facts.get(feature).is_some_and(|value| value == "true")
}

/// No device: this build leaves them out.
#[cfg(not(feature = "vulkan"))]
#[must_use]
pub fn list() -> crate::Listing {
    crate::Listing { devices: vec![], skipped: vec![("Vulkan".to_owned(), crate::absent::absent("vulkan"))] }
}

/// A device in this process: none, this build leaves them out.
#[cfg(not(feature = "vulkan"))]
pub enum Vulkan {}

#[cfg(not(feature = "vulkan"))]
impl Vulkan {
    /// Opens nothing.
    ///
    /// # Errors
    /// [`DeviceError::NoDevice`].
    pub fn open(id: &str) -> Result<Self, DeviceError> {
        Err(DeviceError::NoDevice { id: id.to_owned(), reason: crate::absent::absent("vulkan") })
    }
}

#[cfg(not(feature = "vulkan"))]
impl Renderer for Vulkan {
    fn info(&self) -> &DeviceInfo {
        match *self {}
    }
    fn draw(&mut self, _: &Draw) -> Result<Drawn, DeviceError> {
        match *self {}
    }
}

/// A device in this process.
#[cfg(feature = "vulkan")]
pub struct Vulkan {
    gpu: Rc<Gpu>,
    reference: Option<Reference>,
    clocks: Clocks,
}

#[cfg(feature = "vulkan")]
impl Vulkan {
    /// Opens `vulkan:N`, in the order of the loader, or `vulkan:gpu`.
    ///
    /// # Errors
    /// [`DeviceError::NoDevice`], and what the driver says.
    pub fn open(id: &str) -> Result<Self, DeviceError> {
        let gpu = Rc::new(Gpu::open(id)?);
        let clocks = Clocks::new(gpu.info.facts.get("nvidia_uuid"));
        Ok(Self { gpu, reference: None, clocks })
    }
}

#[cfg(feature = "vulkan")]
impl Renderer for Vulkan {
    fn info(&self) -> &DeviceInfo {
        &self.gpu.info
    }

    fn draw(&mut self, draw: &Draw) -> Result<Drawn, DeviceError> {
        check::check(draw, &self.gpu.limits)?;
        let begin = Instant::now();
        let picture = Picture::new(Rc::clone(&self.gpu), draw)?;
        picture.scope.submit(|c| picture.record(c, 1))?;
        let first = Seconds(begin.elapsed().as_secs_f64());
        let attachments = picture.pixels()?;
        let looks = looks::looks(&attachments, draw.format);
        let pixels = if draw.read { attachments.iter().map(|a| crate::Contents(a.to_vec())).collect() } else { vec![] };
        let storage = picture.storage();
        let mut times = None;
        if let Some(timing) = &draw.timing {
            if self.reference.is_none() {
                self.reference = Some(Reference::new(Rc::clone(&self.gpu))?);
            }
            if let Some(reference) = &self.reference {
                times = Some(time::measure(&picture, reference, timing, first, &looks.hash, || self.clocks.now())?);
            }
        }
        Ok(Drawn { pixels, looks, storage, times })
    }
}
