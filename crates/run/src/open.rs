//! Opening devices by their ids, and listing them: in processes of their own, unless the options say otherwise.

use crate::isolated::{self, Isolated, IsolatedRenderer};
use crate::sim::Sim;
use crate::vulkan::{IDS, Renderer};
use crate::{Device, DeviceError, Listing, Options, here};

/// Opens a device: `opencl:N` or `cuda:N` as [`devices`] numbers them, `sim:NAME`, or `sim:FILE.toml` for a simulated GPU of one's own.
///
/// # Errors
/// [`DeviceError::NoDevice`] says what there is; [`DeviceError::Driver`], [`DeviceError::Lost`] and [`DeviceError::Timeout`] when
/// a driver fails to open it.
pub fn open(id: &str, options: &Options) -> Result<Box<dyn Device>, DeviceError> {
    // Names of files keep their case.
    let id = &id.split_once(':').map_or_else(|| id.to_owned(), |(backend, own)| format!("{}:{own}", backend.to_lowercase()));
    let apart = options.simulator_too || id.starts_with("opencl:") || id.starts_with("cuda:");
    if options.in_process || !apart {
        return here::open(id, options.cache.clone());
    }
    Ok(Box::new(Isolated::spawn(id, &options.program()?, options.timeout, options.cache.clone())?))
}

/// Opens `vulkan:N`, or `vulkan:gpu` for the first that is not the processor, in a process of its own unless the options say otherwise. `vector_bits` asks lavapipe for vectors of another
/// width than it chooses itself.
///
/// # Errors
/// [`DeviceError::NoDevice`] says why there is none, [`DeviceError::Lost`] and [`DeviceError::Timeout`] where the driver fails at once.
pub fn open_renderer(id: &str, options: &Options, vector_bits: Option<u32>) -> Result<Box<dyn Renderer>, DeviceError> {
    let id = &id.to_lowercase();
    // What opens other devices would take them for what was meant.
    if !id.starts_with("vulkan:") {
        return Err(DeviceError::NoDevice { id: id.to_owned(), reason: IDS.into() });
    }
    if options.in_process {
        return here::renderer(id);
    }
    let program = options.program()?;
    // It is looked for from that folder.
    let program = std::path::absolute(&program).ok().filter(|p| p.exists()).unwrap_or(program);
    Ok(Box::new(IsolatedRenderer::spawn(id, &program, options.timeout, vector_bits)?))
}

/// Every device that can be opened here, and what was passed over.
pub fn devices(options: &Options) -> Listing {
    let mut listing = Listing::default();
    for (backend, name) in [("opencl", "OpenCL"), ("cuda", "CUDA")] {
        let found = listed(backend, name, options);
        listing.devices.extend(found.devices);
        listing.skipped.extend(found.skipped);
    }
    listing.devices.extend(Sim::all().into_iter().map(|sim| sim.info().clone()));
    listing
}

/// Every device that draws shaders ([`open_renderer`]), and what was passed over.
pub fn renderers(options: &Options) -> Listing {
    listed("vulkan", "Vulkan", options)
}

/// The devices of one back end, each asked in a child of its own: a driver that crashes when it is asked does not hide the others.
fn listed(backend: &str, name: &str, options: &Options) -> Listing {
    if options.in_process {
        return here::list(backend).unwrap_or_default();
    }
    let found = options.program().and_then(|program| isolated::list(backend, &program, options.timeout));
    found.unwrap_or_else(|error| Listing { devices: vec![], skipped: vec![(name.into(), error.to_string())] })
}

#[cfg(all(test, feature = "opencl", feature = "cuda"))]
mod tests {
    use super::*;

    #[test]
    fn ids_choose_the_back_end() {
        let options = Options { in_process: true, cache: None, ..Options::default() };
        assert_eq!(open("sim:adreno640", &options).unwrap().info().backend, "sim");
        for id in ["", "sim", "cuda:0", "opencl", "opencl:", "opencl:x", "sim:"] {
            let error = open(id, &options).err();
            assert!(matches!(&error, Some(DeviceError::NoDevice { id: asked, .. }) if asked == id), "{id}: {error:?}");
        }
    }

    #[test]
    fn what_is_listed_can_be_opened() {
        let options = Options { in_process: true, cache: None, ..Options::default() };
        let listing = devices(&options);
        assert!(listing.devices.iter().any(|device| device.id == "sim:adreno640"));
        for info in &listing.devices {
            assert_eq!(open(&info.id, &options).unwrap().info(), info);
        }
    }

    #[test]
    fn a_listing_survives_a_child_that_fails() {
        let listing = devices(&Options { program: Some("/no/such/program".into()), ..Options::default() });
        assert_eq!(listing.devices.len(), Sim::all().len());
        let names: Vec<&str> = listing.skipped.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["OpenCL", "CUDA"]);
        assert!(listing.skipped.iter().all(|(_, reason)| reason.contains("could not be started")));
    }
}
