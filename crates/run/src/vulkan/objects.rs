//! Objects of the driver for one draw, destroyed together in the reverse of their order.
#![allow(unsafe_code, reason = "Vulkan is a C interface")]

use super::device::{Gpu, done};
use super::job::{Level, Sampler, Shape, Texel, Texture, Wrap};
use crate::DeviceError;
use crate::refusal::Reason;
use ash::vk;
use std::rc::Rc;

/// Everything of a colour image's only level and layer.
pub(super) const COLOUR: vk::ImageSubresourceRange = vk::ImageSubresourceRange {
    aspect_mask: vk::ImageAspectFlags::COLOR,
    base_mip_level: 0,
    level_count: 1,
    base_array_layer: 0,
    layer_count: 1,
};

type Undo = Box<dyn FnOnce(&ash::Device)>;

/// What was made, and how it is destroyed.
pub(super) struct Scope {
    pub gpu: Rc<Gpu>,
    undo: Vec<Undo>,
}

impl Drop for Scope {
    fn drop(&mut self) {
        // SAFETY: nothing may be destroyed that the device still uses. A lost device uses nothing.
        let _ = unsafe { self.gpu.device.device_wait_idle() };
        while let Some(undo) = self.undo.pop() {
            undo(&self.gpu.device);
        }
    }
}

/// A buffer that the host sees.
pub(super) struct Buffer {
    pub buffer: vk::Buffer,
    at: *mut u8,
    bytes: usize,
}

impl Buffer {
    /// Writes from the beginning on.
    pub(super) fn write(&mut self, data: &[u8]) {
        let n = data.len().min(self.bytes);
        // SAFETY: `at` is mapped for `bytes` bytes as long as the scope lives; the device does not use the buffer meanwhile.
        unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), self.at, n) };
    }

    /// What it holds now.
    pub(super) fn read(&self) -> &[u8] {
        // SAFETY: as in `write`; memory is coherent.
        unsafe { std::slice::from_raw_parts(self.at, self.bytes) }
    }
}

impl Scope {
    pub(super) fn new(gpu: Rc<Gpu>) -> Self {
        Self { gpu, undo: Vec::new() }
    }

    /// Destroys something when the scope ends, before all that is in it already.
    pub(super) fn later(&mut self, undo: impl FnOnce(&ash::Device) + 'static) {
        self.undo.push(Box::new(undo));
    }

    /// Memory of a kind that the requirements allow: the first of the wished kinds that there is.
    fn memory(&mut self, needs: vk::MemoryRequirements, wishes: &[vk::MemoryPropertyFlags]) -> Result<vk::DeviceMemory, DeviceError> {
        let kinds = &self.gpu.memory;
        let fits = |i: &u32, wish: vk::MemoryPropertyFlags| {
            needs.memory_type_bits >> i & 1 == 1 && kinds.memory_types[*i as usize].property_flags.contains(wish)
        };
        let index = wishes.iter().find_map(|wish| (0..kinds.memory_type_count).find(|i| fits(i, *wish)));
        let index = index.ok_or_else(|| DeviceError::Driver { call: "vkAllocateMemory".into(), code: "no memory of that kind".into() })?;
        let info = vk::MemoryAllocateInfo::default().allocation_size(needs.size).memory_type_index(index);
        // SAFETY: a valid size and type.
        let memory = done("vkAllocateMemory", unsafe { self.gpu.device.allocate_memory(&info, None) })?;
        // SAFETY: it was allocated here and is freed once.
        self.later(move |d| unsafe { d.free_memory(memory, None) });
        Ok(memory)
    }

    /// A buffer of zeros that the host sees.
    pub(super) fn buffer(&mut self, bytes: u64, usage: vk::BufferUsageFlags) -> Result<Buffer, DeviceError> {
        let gpu = Rc::clone(&self.gpu);
        let host = vk::MemoryPropertyFlags::HOST_VISIBLE | vk::MemoryPropertyFlags::HOST_COHERENT;
        let wish = if usage.contains(vk::BufferUsageFlags::TRANSFER_DST) {
            vk::MemoryPropertyFlags::HOST_CACHED
        } else {
            vk::MemoryPropertyFlags::DEVICE_LOCAL
        };
        // SAFETY: structures are valid, objects belong to this device and are destroyed once, memory is bound before it is mapped.
        unsafe {
            let info = vk::BufferCreateInfo::default().size(bytes.max(4)).usage(usage);
            let buffer = done("vkCreateBuffer", gpu.device.create_buffer(&info, None))?;
            self.later(move |d| d.destroy_buffer(buffer, None));
            let memory = self.memory(gpu.device.get_buffer_memory_requirements(buffer), &[host | wish, host])?;
            done("vkBindBufferMemory", gpu.device.bind_buffer_memory(buffer, memory, 0))?;
            let at = done("vkMapMemory", gpu.device.map_memory(memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty()))?.cast::<u8>();
            let bytes = bytes as usize;
            std::ptr::write_bytes(at, 0, bytes);
            Ok(Buffer { buffer, at, bytes })
        }
    }

    /// An image with its view.
    pub(super) fn image(
        &mut self,
        info: &vk::ImageCreateInfo<'_>,
        view: vk::ImageViewType,
        range: vk::ImageSubresourceRange,
    ) -> Result<(vk::Image, vk::ImageView), DeviceError> {
        let gpu = Rc::clone(&self.gpu);
        // SAFETY: as for buffers.
        unsafe {
            let image = done("vkCreateImage", gpu.device.create_image(info, None))?;
            self.later(move |d| d.destroy_image(image, None));
            let anywhere = vk::MemoryPropertyFlags::empty();
            let memory =
                self.memory(gpu.device.get_image_memory_requirements(image), &[vk::MemoryPropertyFlags::DEVICE_LOCAL, anywhere])?;
            done("vkBindImageMemory", gpu.device.bind_image_memory(image, memory, 0))?;
            let info = vk::ImageViewCreateInfo::default().image(image).view_type(view).format(info.format).subresource_range(range);
            let view = done("vkCreateImageView", gpu.device.create_image_view(&info, None))?;
            self.later(move |d| d.destroy_image_view(view, None));
            Ok((image, view))
        }
    }

    /// A sampler; numbers that are no floating point numbers are never mixed.
    pub(super) fn sampler(&mut self, of: Sampler, mixes: bool) -> Result<vk::Sampler, DeviceError> {
        let wrap = |w: Wrap| match w {
            Wrap::Repeat => vk::SamplerAddressMode::REPEAT,
            Wrap::Mirror => vk::SamplerAddressMode::MIRRORED_REPEAT,
            Wrap::Clamp => vk::SamplerAddressMode::CLAMP_TO_EDGE,
            Wrap::Border => vk::SamplerAddressMode::CLAMP_TO_BORDER,
        };
        let filter = if of.linear && mixes { vk::Filter::LINEAR } else { vk::Filter::NEAREST };
        let levels = if of.mix_levels && mixes { vk::SamplerMipmapMode::LINEAR } else { vk::SamplerMipmapMode::NEAREST };
        let border = if mixes { vk::BorderColor::FLOAT_TRANSPARENT_BLACK } else { vk::BorderColor::INT_TRANSPARENT_BLACK };
        let [u, v, w] = of.wrap.map(wrap);
        let info = vk::SamplerCreateInfo::default()
            .mag_filter(filter)
            .min_filter(filter)
            .mipmap_mode(levels)
            .address_mode_u(u)
            .address_mode_v(v)
            .address_mode_w(w)
            .compare_enable(of.compare)
            .compare_op(vk::CompareOp::LESS_OR_EQUAL)
            .max_lod(vk::LOD_CLAMP_NONE)
            .border_color(border);
        // SAFETY: valid structure; destroyed once.
        let sampler = done("vkCreateSampler", unsafe { self.gpu.device.create_sampler(&info, None) })?;
        self.later(move |d| unsafe { d.destroy_sampler(sampler, None) });
        Ok(sampler)
    }

    /// Records commands, hands them to the device and waits for their end.
    pub(super) fn submit(&self, record: impl FnOnce(vk::CommandBuffer)) -> Result<(), DeviceError> {
        let d = &self.gpu.device;
        // SAFETY: the buffer is of this device's pool, and is freed after the device is done with it, or lost.
        unsafe {
            let info = vk::CommandBufferAllocateInfo::default().command_pool(self.gpu.commands).command_buffer_count(1);
            let buffers = done("vkAllocateCommandBuffers", d.allocate_command_buffers(&info))?;
            let once = vk::CommandBufferBeginInfo::default().flags(vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT);
            let ended = done("vkBeginCommandBuffer", d.begin_command_buffer(buffers[0], &once))
                .map(|()| record(buffers[0]))
                .and_then(|()| done("vkEndCommandBuffer", d.end_command_buffer(buffers[0])))
                .and_then(|()| {
                    let batch = [vk::SubmitInfo::default().command_buffers(&buffers)];
                    done("vkQueueSubmit", d.queue_submit(self.gpu.queue, &batch, vk::Fence::null()))
                })
                .and_then(|()| done("vkQueueWaitIdle", d.queue_wait_idle(self.gpu.queue)));
            d.free_command_buffers(self.gpu.commands, &buffers);
            ended
        }
    }

    /// A texture with its contents, ready to be sampled.
    pub(super) fn texture(&mut self, of: &Texture) -> Result<vk::ImageView, DeviceError> {
        let (format, aspect) = format(of.texel);
        self.supports(of, format)?;
        let count = of.levels.len() as u32;
        let range = vk::ImageSubresourceRange { aspect_mask: aspect, level_count: count, layer_count: of.layers, ..COLOUR };
        let (kind, view, flags) = match (of.shape, of.arrayed) {
            (Shape::D1, false) => (vk::ImageType::TYPE_1D, vk::ImageViewType::TYPE_1D, vk::ImageCreateFlags::empty()),
            (Shape::D1, true) => (vk::ImageType::TYPE_1D, vk::ImageViewType::TYPE_1D_ARRAY, vk::ImageCreateFlags::empty()),
            (Shape::D2, false) => (vk::ImageType::TYPE_2D, vk::ImageViewType::TYPE_2D, vk::ImageCreateFlags::empty()),
            (Shape::D2, true) => (vk::ImageType::TYPE_2D, vk::ImageViewType::TYPE_2D_ARRAY, vk::ImageCreateFlags::empty()),
            (Shape::D3, _) => (vk::ImageType::TYPE_3D, vk::ImageViewType::TYPE_3D, vk::ImageCreateFlags::empty()),
            (Shape::Cube, false) => (vk::ImageType::TYPE_2D, vk::ImageViewType::CUBE, vk::ImageCreateFlags::CUBE_COMPATIBLE),
            (Shape::Cube, true) => (vk::ImageType::TYPE_2D, vk::ImageViewType::CUBE_ARRAY, vk::ImageCreateFlags::CUBE_COMPATIBLE),
        };
        let [width, height, depth] = of.levels[0].size;
        let info = vk::ImageCreateInfo::default()
            .flags(flags)
            .image_type(kind)
            .format(format)
            .extent(vk::Extent3D { width, height, depth })
            .mip_levels(count)
            .array_layers(of.layers)
            .samples(vk::SampleCountFlags::TYPE_1)
            .tiling(vk::ImageTiling::OPTIMAL)
            .usage(vk::ImageUsageFlags::SAMPLED | vk::ImageUsageFlags::TRANSFER_DST);
        let (image, view) = self.image(&info, view, range)?;
        self.fill(image, range, &of.levels)?;
        Ok(view)
    }

    fn supports(&self, of: &Texture, format: vk::Format) -> Result<(), DeviceError> {
        // SAFETY: the physical device belongs to the instance.
        let can = unsafe { self.gpu.instance.get_physical_device_format_properties(self.gpu.physical, format) }.optimal_tiling_features;
        let mixes = of.sampler.linear && matches!(of.texel, Texel::Bytes | Texel::Floats | Texel::Depth);
        let mut wanted = vk::FormatFeatureFlags::SAMPLED_IMAGE | vk::FormatFeatureFlags::TRANSFER_DST;
        if mixes {
            wanted |= vk::FormatFeatureFlags::SAMPLED_IMAGE_FILTER_LINEAR;
        }
        let limits = &self.gpu.limits;
        let most = match of.shape {
            Shape::D1 => limits.max_image_dimension1_d,
            Shape::D2 => limits.max_image_dimension2_d,
            Shape::D3 => limits.max_image_dimension3_d,
            Shape::Cube => limits.max_image_dimension_cube,
        };
        let side = of.levels[0].size.into_iter().max().unwrap_or(0);
        let above = |what: &str, needed: u32, available: u32| {
            Err(DeviceError::Limit { what: what.to_owned(), needed: needed.into(), available: available.into() })
        };
        match () {
            () if side > most => above("a side of a texture", side, most),
            () if of.layers > limits.max_image_array_layers => above("a texture's layers", of.layers, limits.max_image_array_layers),
            () if !can.contains(wanted) => {
                Err(Reason::draw(format!("this device cannot sample texels of {:?}{}", of.texel, if mixes { " linearly" } else { "" })))
            }
            () => Ok(()),
        }
    }

    /// Copies texels into an image and leaves it ready for shaders.
    fn fill(&mut self, image: vk::Image, range: vk::ImageSubresourceRange, levels: &[Level]) -> Result<(), DeviceError> {
        let mut bytes = Vec::with_capacity(levels.iter().map(|l| l.bytes.len()).sum());
        let mut copies = Vec::with_capacity(levels.len());
        for (level, content) in levels.iter().enumerate() {
            let [width, height, depth] = content.size;
            let place = vk::ImageSubresourceLayers {
                aspect_mask: range.aspect_mask,
                mip_level: level as u32,
                base_array_layer: 0,
                layer_count: range.layer_count,
            };
            let copy = vk::BufferImageCopy::default().buffer_offset(bytes.len() as u64).image_subresource(place);
            copies.push(copy.image_extent(vk::Extent3D { width, height, depth }));
            bytes.extend(&content.bytes);
        }
        // The staging buffer lives no longer than this.
        let mut staging = Scope::new(Rc::clone(&self.gpu));
        let mut buffer = staging.buffer(bytes.len() as u64, vk::BufferUsageFlags::TRANSFER_SRC)?;
        buffer.write(&bytes);
        let d = &self.gpu.device;
        let (empty, target, ready) =
            (vk::ImageLayout::UNDEFINED, vk::ImageLayout::TRANSFER_DST_OPTIMAL, vk::ImageLayout::SHADER_READ_ONLY_OPTIMAL);
        // SAFETY: image and buffer live until the device is done; regions lie within both (levels are checked with the job).
        staging.submit(|c| unsafe {
            turn(d, c, image, range, [empty, target]);
            d.cmd_copy_buffer_to_image(c, buffer.buffer, image, target, &copies);
            turn(d, c, image, range, [target, ready]);
        })
    }
}

/// Waits for all before and changes an image's layout.
pub(super) fn turn(
    d: &ash::Device,
    c: vk::CommandBuffer,
    image: vk::Image,
    range: vk::ImageSubresourceRange,
    [from, to]: [vk::ImageLayout; 2],
) {
    let barrier = vk::ImageMemoryBarrier::default()
        .image(image)
        .old_layout(from)
        .new_layout(to)
        .subresource_range(range)
        .src_queue_family_index(vk::QUEUE_FAMILY_IGNORED)
        .dst_queue_family_index(vk::QUEUE_FAMILY_IGNORED)
        .src_access_mask(vk::AccessFlags::MEMORY_WRITE)
        .dst_access_mask(vk::AccessFlags::MEMORY_READ | vk::AccessFlags::MEMORY_WRITE);
    let all = vk::PipelineStageFlags::ALL_COMMANDS;
    // SAFETY: the command buffer is being recorded, the image lives until it was executed.
    unsafe { d.cmd_pipeline_barrier(c, all, all, vk::DependencyFlags::empty(), &[], &[], &[barrier]) };
}

fn format(texel: Texel) -> (vk::Format, vk::ImageAspectFlags) {
    match texel {
        Texel::Bytes => (vk::Format::R8G8B8A8_UNORM, vk::ImageAspectFlags::COLOR),
        Texel::Floats => (vk::Format::R32G32B32A32_SFLOAT, vk::ImageAspectFlags::COLOR),
        Texel::Signed => (vk::Format::R32G32B32A32_SINT, vk::ImageAspectFlags::COLOR),
        Texel::Unsigned => (vk::Format::R32G32B32A32_UINT, vk::ImageAspectFlags::COLOR),
        Texel::Depth => (vk::Format::D32_SFLOAT, vk::ImageAspectFlags::DEPTH),
    }
}
