//! Finding and opening devices.
#![allow(unsafe_code, reason = "Vulkan is a C interface")]

use super::IDS;
use crate::refusal::Reason;
use crate::{DeviceError, DeviceInfo, DeviceLimits, Listing};
use ash::vk;
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char};
use warpsight_ir::TimeSource;

/// A device and its one queue. Objects made on it hold it, so that it is destroyed last.
pub(super) struct Gpu {
    pub device: ash::Device,
    pub queue: vk::Queue,
    pub commands: vk::CommandPool,
    pub memory: vk::PhysicalDeviceMemoryProperties,
    pub limits: vk::PhysicalDeviceLimits,
    pub instance: ash::Instance,
    pub physical: vk::PhysicalDevice,
    /// Seconds of a tick and the valid bits of a timestamp; `None` where the queue has none.
    pub timestamps: Option<(f64, u64)>,
    /// Whether it is the processor.
    pub is_cpu: bool,
    pub info: DeviceInfo,
    // Dropped last: the library stays loaded as long as anything of it is used.
    _entry: ash::Entry,
}

impl Drop for Gpu {
    fn drop(&mut self) {
        // SAFETY: everything made on the device is gone (it holds the device), and the device is idle or lost.
        unsafe {
            let _ = self.device.device_wait_idle();
            self.device.destroy_command_pool(self.commands, None);
            self.device.destroy_device(None);
            self.instance.destroy_instance(None);
        }
    }
}

/// What a driver's call came to.
pub(super) fn done<T>(call: &str, result: Result<T, vk::Result>) -> Result<T, DeviceError> {
    result.map_err(|code| match code {
        vk::Result::ERROR_DEVICE_LOST => DeviceError::Lost(format!("{call} says so")),
        code => DeviceError::Driver { call: call.to_owned(), code: format!("{code:?}") },
    })
}

/// Why there is no device, or not this one.
#[derive(Debug, thiserror::Error)]
enum NoVulkan {
    #[error("no Vulkan: {0}")]
    Loader(String),
    #[error("no Vulkan: the loader knows version 1.0 only, 1.1 is needed")]
    OldLoader,
    #[error("no Vulkan: the loader finds no driver that works (vkCreateInstance: {0:?})")]
    NoDriver(vk::Result),
    #[error("no Vulkan: vkEnumeratePhysicalDevices failed with {0:?}")]
    Devices(vk::Result),
    #[error("no Vulkan: its drivers know no device")]
    NoDevice,
    #[error("no instance")]
    NoInstance,
    #[error("no Vulkan driver for a GPU: there are only rasterisers on the processor ({0})")]
    NoGpu(String),
    #[error("its driver knows Vulkan 1.0 only, 1.1 is needed")]
    OldDriver,
    #[error("it draws nothing")]
    NoGraphics,
}

/// An instance, destroyed unless it is kept.
struct Found {
    instance: Option<ash::Instance>,
    entry: ash::Entry,
    devices: Vec<vk::PhysicalDevice>,
}

impl Found {
    /// The position of the first device that is not the processor.
    fn first_gpu(&self) -> Result<usize, NoVulkan> {
        let Some(instance) = &self.instance else { return Err(NoVulkan::NoInstance) };
        // SAFETY: the devices are the instance's.
        let properties = self.devices.iter().map(|d| unsafe { instance.get_physical_device_properties(*d) });
        let properties: Vec<_> = properties.collect();
        let names = || properties.iter().map(|p| text(&p.device_name)).collect::<Vec<_>>().join(", ");
        let gpu = properties.iter().position(|p| p.device_type != vk::PhysicalDeviceType::CPU);
        gpu.ok_or_else(|| NoVulkan::NoGpu(names()))
    }
}

impl Drop for Found {
    fn drop(&mut self) {
        if let Some(instance) = self.instance.take() {
            // SAFETY: nothing was made with it that still lives.
            unsafe { instance.destroy_instance(None) };
        }
    }
}

/// Every device, or why there is none.
pub fn list() -> Listing {
    let found = match find() {
        Ok(found) => found,
        Err(reason) => return Listing { devices: vec![], skipped: vec![("Vulkan".to_owned(), reason.to_string())] },
    };
    let mut listing = Listing::default();
    for (index, physical) in found.devices.iter().enumerate() {
        let id = format!("vulkan:{index}");
        match found.instance.as_ref().ok_or(NoVulkan::NoInstance).and_then(|i| describe(i, *physical, &id)) {
            Ok(described) => listing.devices.push(described.info),
            Err(reason) => listing.skipped.push((id, reason.to_string())),
        }
    }
    listing
}

fn find() -> Result<Found, NoVulkan> {
    // SAFETY: the loader's library runs its initialisers, as for any program that uses Vulkan.
    let entry = unsafe { ash::Entry::load() }.map_err(|error| NoVulkan::Loader(error.to_string()))?;
    // SAFETY: plain calls of the loader with valid structures.
    unsafe {
        let version = entry.try_enumerate_instance_version().ok().flatten().unwrap_or(vk::API_VERSION_1_0);
        if version < vk::API_VERSION_1_1 {
            return Err(NoVulkan::OldLoader);
        }
        let application = vk::ApplicationInfo::default().application_name(c"warpsight").api_version(vk::API_VERSION_1_3);
        let instance =
            entry.create_instance(&vk::InstanceCreateInfo::default().application_info(&application), None).map_err(NoVulkan::NoDriver)?;
        let devices = instance.enumerate_physical_devices();
        let mut found = Found { instance: Some(instance), entry, devices: vec![] };
        found.devices = devices.map_err(NoVulkan::Devices)?;
        if found.devices.is_empty() { Err(NoVulkan::NoDevice) } else { Ok(found) }
    }
}

struct Described {
    info: DeviceInfo,
    family: u32,
    timestamps: Option<(f64, u64)>,
    api: u32,
}

/// Reads a text of a structure. The driver's texts end with a zero, or fill their array.
fn text(chars: &[c_char]) -> String {
    let bytes: Vec<u8> = chars.iter().map(|c| *c as u8).take_while(|c| *c != 0).collect();
    String::from_utf8_lossy(&bytes).trim().to_owned()
}

fn describe(instance: &ash::Instance, physical: vk::PhysicalDevice, id: &str) -> Result<Described, NoVulkan> {
    // SAFETY: the instance is valid and the device is one of its own.
    unsafe {
        let api = instance.get_physical_device_properties(physical).api_version;
        if api < vk::API_VERSION_1_1 {
            return Err(NoVulkan::OldDriver);
        }
        let (mut driver, mut subgroup) = (vk::PhysicalDeviceDriverProperties::default(), vk::PhysicalDeviceSubgroupProperties::default());
        let mut ids = vk::PhysicalDeviceIDProperties::default();
        let mut properties = vk::PhysicalDeviceProperties2::default().push_next(&mut subgroup).push_next(&mut ids);
        if api >= vk::API_VERSION_1_2 {
            properties = properties.push_next(&mut driver);
        }
        instance.get_physical_device_properties2(physical, &mut properties);
        let device = properties.properties;
        let families = instance.get_physical_device_queue_family_properties(physical);
        let family = families.iter().position(|f| f.queue_flags.contains(vk::QueueFlags::GRAPHICS)).ok_or(NoVulkan::NoGraphics)?;
        let bits = families[family].timestamp_valid_bits;
        let mask = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
        let timestamps = (bits > 0).then(|| (f64::from(device.limits.timestamp_period) * 1e-9, mask));
        let (core, int64_atomics) = features(instance, physical, api);
        let name = text(&device.device_name);
        let version = device.driver_version;
        let driver = match (text(&driver.driver_name), text(&driver.driver_info)) {
            (name, info) if name.is_empty() && info.is_empty() => format!("{version:#x}"),
            // NVIDIA and AMD say the version here, Mesa that of its compiler, too.
            (name, info) => format!("{name} {info}").trim().to_owned(),
        };
        let is_cpu = device.device_type == vk::PhysicalDeviceType::CPU;
        let fragment = subgroup.supported_stages.contains(vk::ShaderStageFlags::FRAGMENT);
        let yes = |flag: bool| flag.to_string();
        let subgroups = |flag| yes(fragment && subgroup.supported_operations.contains(flag));
        let mut facts = BTreeMap::from([
            ("device_type".to_owned(), kind(device.device_type).to_owned()),
            ("api_version".to_owned(), format!("{}.{}", vk::api_version_major(api), vk::api_version_minor(api))),
            ("shaderInt64".to_owned(), yes(core.shader_int64 == vk::TRUE)),
            ("shaderFloat64".to_owned(), yes(core.shader_float64 == vk::TRUE)),
            ("fragmentStoresAndAtomics".to_owned(), yes(core.fragment_stores_and_atomics == vk::TRUE)),
            ("shaderBufferInt64Atomics".to_owned(), yes(int64_atomics)),
            ("fragmentSubgroupBallot".to_owned(), subgroups(vk::SubgroupFeatureFlags::BALLOT)),
            ("fragmentSubgroupArithmetic".to_owned(), subgroups(vk::SubgroupFeatureFlags::ARITHMETIC)),
            ("subgroupSize".to_owned(), subgroup.subgroup_size.to_string()),
            ("timestampValidBits".to_owned(), bits.to_string()),
        ]);
        if device.vendor_id == NVIDIA {
            facts.insert("nvidia_uuid".to_owned(), nvidia_name(&ids.device_uuid));
        }
        let words: Vec<&str> = name.split([' ', '(', ')', ',']).chain(driver.split([' ', '(', ')', ','])).collect();
        for (fact, word) in [("llvm_version", "LLVM"), ("mesa_version", "Mesa")] {
            if let Some(at) = words.iter().position(|w| *w == word) {
                facts.extend(words.get(at + 1).map(|v| (fact.to_owned(), (*v).to_owned())));
            }
        }
        if let Some(at) = words.iter().position(|w| *w == "bits") {
            facts.insert("vector_bits".to_owned(), words[at.saturating_sub(1)].to_owned());
        }
        let side = device.limits.max_image_dimension2_d;
        let info = DeviceInfo {
            id: id.to_owned(),
            backend: "vulkan".to_owned(),
            name,
            driver,
            is_cpu,
            limits: DeviceLimits { image_2d: Some((side, side)), f64: core.shader_float64 == vk::TRUE, ..DeviceLimits::default() },
            clock: Some(TimeSource::Measured),
            facts,
        };
        Ok(Described { info, family: family as u32, timestamps, api })
    }
}

/// The vendor's number on the PCI bus.
const NVIDIA: u32 = 0x10de;

/// A device's identifier as NVIDIA's tools write it.
fn nvidia_name(uuid: &[u8; 16]) -> String {
    let hex: Vec<String> = uuid.iter().map(|b| format!("{b:02x}")).collect();
    let parts = [&hex[..4], &hex[4..6], &hex[6..8], &hex[8..10], &hex[10..]].map(|part| part.concat());
    format!("GPU-{}", parts.join("-"))
}

fn kind(of: vk::PhysicalDeviceType) -> &'static str {
    match of {
        vk::PhysicalDeviceType::CPU => "cpu",
        vk::PhysicalDeviceType::DISCRETE_GPU => "discrete_gpu",
        vk::PhysicalDeviceType::INTEGRATED_GPU => "integrated_gpu",
        vk::PhysicalDeviceType::VIRTUAL_GPU => "virtual_gpu",
        _ => "other",
    }
}

/// The features of Vulkan 1.0, and whether storage buffers have atomics of 64 bits.
fn features(instance: &ash::Instance, physical: vk::PhysicalDevice, api: u32) -> (vk::PhysicalDeviceFeatures, bool) {
    let mut newer = vk::PhysicalDeviceVulkan12Features::default();
    let mut all = vk::PhysicalDeviceFeatures2::default();
    if api >= vk::API_VERSION_1_2 {
        all = all.push_next(&mut newer);
    }
    // SAFETY: the instance is valid and the device is one of its own.
    unsafe { instance.get_physical_device_features2(physical, &mut all) };
    let core = all.features;
    (core, newer.shader_buffer_int64_atomics == vk::TRUE)
}

impl Gpu {
    /// Opens `vulkan:N`, or the first device that is not the processor as `vulkan:gpu`.
    pub(super) fn open(id: &str) -> Result<Self, DeviceError> {
        let missing = |reason: &dyn std::fmt::Display| DeviceError::NoDevice { id: id.to_owned(), reason: reason.to_string() };
        let wanted = id.strip_prefix("vulkan:").map(|rest| (rest == "gpu", rest.parse::<usize>().ok()));
        let Some((gpu, index)) = wanted.filter(|(gpu, index)| *gpu || index.is_some()) else {
            return Err(missing(&IDS));
        };
        let mut found = find().map_err(|error| missing(&error))?;
        let index = if gpu { found.first_gpu().map_err(|error| missing(&error))? } else { index.unwrap_or(0) };
        let count = found.devices.len();
        let physical = *found.devices.get(index).ok_or_else(|| missing(&format_args!("Vulkan knows {count}, numbered from 0")))?;
        let id = &format!("vulkan:{index}");
        let Some(instance) = &found.instance else { return Err(missing(&NoVulkan::NoInstance)) };
        let described = describe(instance, physical, id).map_err(|error| missing(&error))?;
        let device = make(instance, physical, &described)?;
        // SAFETY: the device was just made with this queue.
        let (queue, limits, memory) = unsafe {
            let limits = instance.get_physical_device_properties(physical).limits;
            (device.get_device_queue(described.family, 0), limits, instance.get_physical_device_memory_properties(physical))
        };
        let pool = vk::CommandPoolCreateInfo::default().queue_family_index(described.family);
        // SAFETY: as above; the instance leaves `found` only when nothing can fail any more.
        let commands = match unsafe { device.create_command_pool(&pool, None) } {
            Ok(commands) => commands,
            Err(code) => {
                // SAFETY: nothing was made on it.
                unsafe { device.destroy_device(None) };
                return done("vkCreateCommandPool", Err(code));
            }
        };
        let entry = found.entry.clone();
        let Some(instance) = found.instance.take() else { return Err(missing(&NoVulkan::NoInstance)) };
        let Described { info, timestamps, .. } = described;
        let is_cpu = info.is_cpu;
        Ok(Self { device, queue, commands, memory, limits, instance, physical, timestamps, is_cpu, info, _entry: entry })
    }
}

/// The device with what shaders may need, but without checks of accesses, which cost time.
fn make(instance: &ash::Instance, physical: vk::PhysicalDevice, described: &Described) -> Result<ash::Device, DeviceError> {
    let priority = [1.0];
    let queues = [vk::DeviceQueueCreateInfo::default().queue_family_index(described.family).queue_priorities(&priority)];
    let (mut has12, mut has13) = (vk::PhysicalDeviceVulkan12Features::default(), vk::PhysicalDeviceVulkan13Features::default());
    let mut has = vk::PhysicalDeviceFeatures2::default();
    if described.api >= vk::API_VERSION_1_2 {
        has = has.push_next(&mut has12);
    }
    if described.api >= vk::API_VERSION_1_3 {
        has = has.push_next(&mut has13);
    }
    // SAFETY: the instance is valid and the device is one of its own; structures outlive the calls.
    unsafe {
        instance.get_physical_device_features2(physical, &mut has);
        let core = has.features.robust_buffer_access(false);
        let mut want12 = vk::PhysicalDeviceVulkan12Features {
            shader_buffer_int64_atomics: has12.shader_buffer_int64_atomics,
            shader_float16: has12.shader_float16,
            shader_int8: has12.shader_int8,
            vulkan_memory_model: has12.vulkan_memory_model,
            scalar_block_layout: has12.scalar_block_layout,
            uniform_buffer_standard_layout: has12.uniform_buffer_standard_layout,
            ..Default::default()
        };
        let mut want13 = vk::PhysicalDeviceVulkan13Features {
            shader_demote_to_helper_invocation: has13.shader_demote_to_helper_invocation,
            shader_terminate_invocation: has13.shader_terminate_invocation,
            ..Default::default()
        };
        let mut create = vk::DeviceCreateInfo::default().queue_create_infos(&queues).enabled_features(&core);
        if described.api >= vk::API_VERSION_1_2 {
            create = create.push_next(&mut want12);
        }
        if described.api >= vk::API_VERSION_1_3 {
            create = create.push_next(&mut want13);
        }
        done("vkCreateDevice", instance.create_device(physical, &create, None))
    }
}

/// The name of an entry point for the driver.
pub(super) fn zero_ended(name: &str) -> Result<std::ffi::CString, DeviceError> {
    std::ffi::CString::new(name).map_err(|_| Reason::draw("the entry point's name has a zero in it"))
}

/// The entry point of the shaders that come with this program.
pub(super) const MAIN: &CStr = c"main";
