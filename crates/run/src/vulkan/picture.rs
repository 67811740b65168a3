//! A draw made ready: pipeline, descriptors, attachments.
#![allow(unsafe_code, reason = "Vulkan is a C interface")]

use super::device::{Gpu, MAIN, done, zero_ended};
use super::job::{Draw, Format, Resource};
use super::objects::{Buffer, COLOUR, Scope};
use crate::{Contents, DeviceError};
use ash::vk;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A frame that can be drawn again and again.
pub(super) struct Picture {
    pub(super) scope: Scope,
    frame: [u32; 2],
    pass: vk::RenderPass,
    framebuffer: vk::Framebuffer,
    layout: vk::PipelineLayout,
    pipeline: vk::Pipeline,
    sets: Vec<vk::DescriptorSet>,
    push: Vec<u8>,
    images: Vec<vk::Image>,
    pixels: Vec<Buffer>,
    storage: Vec<Buffer>,
}

/// Words of a module that comes with this program.
pub(super) fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.as_chunks::<4>().0.iter().map(|w| u32::from_le_bytes(*w)).collect()
}

const VERTICES: &[u8] = include_bytes!("shaders/frame.vert.spv");
const VERTICES_WITH_VARYINGS: &[u8] = include_bytes!("shaders/varyings.vert.spv");

/// Descriptor set layouts, and what is written into the sets.
struct Descriptors {
    layouts: Vec<vk::DescriptorSetLayout>,
    sets: Vec<vk::DescriptorSet>,
    storage: Vec<Buffer>,
}

impl Picture {
    /// Makes a checked draw ready.
    pub(super) fn new(gpu: Rc<Gpu>, draw: &Draw) -> Result<Self, DeviceError> {
        let mut scope = Scope::new(gpu);
        let Descriptors { layouts, sets, storage } = descriptors(&mut scope, draw)?;
        let (pass, framebuffer, images) = attachments(&mut scope, draw)?;
        let [width, height] = draw.frame;
        let bytes = u64::from(width) * u64::from(height) * draw.format.bytes();
        let pixels =
            images.iter().map(|_| scope.buffer(bytes, vk::BufferUsageFlags::TRANSFER_DST)).collect::<Result<Vec<_>, DeviceError>>()?;
        let ranges = [vk::PushConstantRange::default().stage_flags(vk::ShaderStageFlags::FRAGMENT).size(draw.push.len() as u32)];
        let info = vk::PipelineLayoutCreateInfo::default().set_layouts(&layouts);
        let info = if draw.push.is_empty() { info } else { info.push_constant_ranges(&ranges) };
        // SAFETY: layouts belong to the device; destroyed once.
        let layout = done("vkCreatePipelineLayout", unsafe { scope.gpu.device.create_pipeline_layout(&info, None) })?;
        scope.later(move |d| unsafe { d.destroy_pipeline_layout(layout, None) });
        let pipeline = pipeline(&mut scope, draw, layout, pass, images.len())?;
        let (frame, push) = (draw.frame, draw.push.clone());
        Ok(Self { scope, frame, pass, framebuffer, layout, pipeline, sets, push, images, pixels, storage })
    }

    /// Records so many draws, each after the end of the one before. Between two draws stands a barrier: a renderer that works tile by
    /// tile would skip what a later draw covers.
    pub(super) fn record(&self, c: vk::CommandBuffer, draws: u32) {
        let d = &self.scope.gpu.device;
        let clear = vec![vk::ClearValue::default(); self.images.len()];
        let [width, height] = self.frame;
        let area = vk::Rect2D { offset: vk::Offset2D::default(), extent: vk::Extent2D { width, height } };
        let begin =
            vk::RenderPassBeginInfo::default().render_pass(self.pass).framebuffer(self.framebuffer).render_area(area).clear_values(&clear);
        let all = vk::PipelineStageFlags::ALL_COMMANDS;
        let wrote = [vk::MemoryBarrier::default()
            .src_access_mask(vk::AccessFlags::MEMORY_WRITE)
            .dst_access_mask(vk::AccessFlags::MEMORY_READ | vk::AccessFlags::MEMORY_WRITE)];
        // SAFETY: the command buffer is being recorded; all objects belong to the device and live as long as this.
        unsafe {
            // Once: lavapipe compiles a shader anew whenever it is bound, with the uniforms in it that decide branches.
            d.cmd_bind_pipeline(c, vk::PipelineBindPoint::GRAPHICS, self.pipeline);
            if !self.sets.is_empty() {
                d.cmd_bind_descriptor_sets(c, vk::PipelineBindPoint::GRAPHICS, self.layout, 0, &self.sets, &[]);
            }
            if !self.push.is_empty() {
                d.cmd_push_constants(c, self.layout, vk::ShaderStageFlags::FRAGMENT, 0, &self.push);
            }
            for _ in 0..draws {
                d.cmd_pipeline_barrier(c, all, all, vk::DependencyFlags::empty(), &wrote, &[], &[]);
                d.cmd_begin_render_pass(c, &begin, vk::SubpassContents::INLINE);
                d.cmd_draw(c, 3, 1, 0, 0);
                d.cmd_end_render_pass(c);
            }
            d.cmd_pipeline_barrier(c, all, all, vk::DependencyFlags::empty(), &wrote, &[], &[]);
        }
    }

    /// The pixels of every attachment, as the last draw left them.
    pub(super) fn pixels(&self) -> Result<Vec<&[u8]>, DeviceError> {
        let [width, height] = self.frame;
        let place = vk::ImageSubresourceLayers { aspect_mask: COLOUR.aspect_mask, mip_level: 0, base_array_layer: 0, layer_count: 1 };
        let extent = vk::Extent3D { width, height, depth: 1 };
        let copy = [vk::BufferImageCopy::default().image_subresource(place).image_extent(extent)];
        let d = &self.scope.gpu.device;
        let host =
            [vk::MemoryBarrier::default().src_access_mask(vk::AccessFlags::MEMORY_WRITE).dst_access_mask(vk::AccessFlags::HOST_READ)];
        let (all, read) = (vk::PipelineStageFlags::ALL_COMMANDS, vk::PipelineStageFlags::HOST);
        // SAFETY: the render pass left the images in this layout; buffers have room for a frame.
        self.scope.submit(|c| unsafe {
            for (image, buffer) in self.images.iter().zip(&self.pixels) {
                d.cmd_copy_image_to_buffer(c, *image, vk::ImageLayout::TRANSFER_SRC_OPTIMAL, buffer.buffer, &copy);
            }
            d.cmd_pipeline_barrier(c, all, read, vk::DependencyFlags::empty(), &host, &[], &[]);
        })?;
        Ok(self.pixels.iter().map(Buffer::read).collect())
    }

    /// What storage buffers hold.
    pub(super) fn storage(&self) -> Vec<Contents> {
        self.storage.iter().map(|b| Contents(b.read().to_vec())).collect()
    }
}

/// How a resource is described to the driver, and how many there are.
fn describe(resource: &Resource) -> (vk::DescriptorType, usize) {
    match resource {
        Resource::Uniform(blocks) => (vk::DescriptorType::UNIFORM_BUFFER, blocks.len()),
        Resource::Storage(_) => (vk::DescriptorType::STORAGE_BUFFER, 1),
        Resource::Sampled(textures) => (vk::DescriptorType::COMBINED_IMAGE_SAMPLER, textures.len()),
        Resource::Images(textures) => (vk::DescriptorType::SAMPLED_IMAGE, textures.len()),
        Resource::Samplers(samplers) => (vk::DescriptorType::SAMPLER, samplers.len()),
    }
}

fn descriptors(scope: &mut Scope, draw: &Draw) -> Result<Descriptors, DeviceError> {
    let gpu = Rc::clone(&scope.gpu);
    let count = draw.bindings.iter().map(|b| b.set + 1).max().unwrap_or(0);
    let mut per_set = vec![Vec::new(); count as usize];
    let mut sizes = BTreeMap::<vk::DescriptorType, u32>::new();
    for binding in &draw.bindings {
        let (kind, count) = describe(&binding.resource);
        *sizes.entry(kind).or_default() += count as u32;
        let layout = vk::DescriptorSetLayoutBinding::default().binding(binding.binding).descriptor_type(kind);
        per_set[binding.set as usize].push(layout.descriptor_count(count as u32).stage_flags(vk::ShaderStageFlags::FRAGMENT));
    }
    let mut layouts = Vec::new();
    for bindings in &per_set {
        let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(bindings);
        // SAFETY: valid structures; destroyed once. The same below.
        let layout = done("vkCreateDescriptorSetLayout", unsafe { gpu.device.create_descriptor_set_layout(&info, None) })?;
        scope.later(move |d| unsafe { d.destroy_descriptor_set_layout(layout, None) });
        layouts.push(layout);
    }
    let mut storage = Vec::new();
    if layouts.is_empty() {
        return Ok(Descriptors { layouts, sets: vec![], storage });
    }
    let mut sizes: Vec<_> = sizes.into_iter().map(|(kind, n)| vk::DescriptorPoolSize::default().ty(kind).descriptor_count(n)).collect();
    if sizes.is_empty() {
        sizes.push(vk::DescriptorPoolSize::default().ty(vk::DescriptorType::UNIFORM_BUFFER).descriptor_count(1));
    }
    let info = vk::DescriptorPoolCreateInfo::default().max_sets(count).pool_sizes(&sizes);
    let pool = done("vkCreateDescriptorPool", unsafe { gpu.device.create_descriptor_pool(&info, None) })?;
    scope.later(move |d| unsafe { d.destroy_descriptor_pool(pool, None) });
    let info = vk::DescriptorSetAllocateInfo::default().descriptor_pool(pool).set_layouts(&layouts);
    let sets = done("vkAllocateDescriptorSets", unsafe { gpu.device.allocate_descriptor_sets(&info) })?;
    let views = draw.textures.iter().map(|t| scope.texture(t)).collect::<Result<Vec<_>, _>>()?;
    let mixes = |i: usize| !matches!(draw.textures[i].texel, super::job::Texel::Signed | super::job::Texel::Unsigned);
    for binding in &draw.bindings {
        let (kind, _) = describe(&binding.resource);
        let write =
            vk::WriteDescriptorSet::default().dst_set(sets[binding.set as usize]).dst_binding(binding.binding).descriptor_type(kind);
        let image = |view: vk::ImageView, sampler: vk::Sampler| {
            let info = vk::DescriptorImageInfo::default().image_view(view).sampler(sampler);
            info.image_layout(vk::ImageLayout::SHADER_READ_ONLY_OPTIMAL)
        };
        let mut images = Vec::new();
        let mut buffers = Vec::new();
        match &binding.resource {
            Resource::Uniform(blocks) => {
                for bytes in blocks {
                    let mut buffer = scope.buffer(bytes.0.len() as u64, vk::BufferUsageFlags::UNIFORM_BUFFER)?;
                    buffer.write(&bytes.0);
                    buffers.push(vk::DescriptorBufferInfo::default().buffer(buffer.buffer).range(vk::WHOLE_SIZE));
                }
            }
            Resource::Storage(bytes) => {
                let usage = vk::BufferUsageFlags::STORAGE_BUFFER | vk::BufferUsageFlags::TRANSFER_DST;
                let mut buffer = scope.buffer(bytes.0.len() as u64, usage)?;
                buffer.write(&bytes.0);
                buffers.push(vk::DescriptorBufferInfo::default().buffer(buffer.buffer).range(vk::WHOLE_SIZE));
                storage.push(buffer);
            }
            Resource::Sampled(all) => {
                for &i in all {
                    images.push(image(views[i], scope.sampler(draw.textures[i].sampler, mixes(i))?));
                }
            }
            Resource::Images(all) => images.extend(all.iter().map(|&i| image(views[i], vk::Sampler::null()))),
            Resource::Samplers(all) => {
                for sampler in all {
                    images.push(image(vk::ImageView::null(), scope.sampler(*sampler, true)?));
                }
            }
        }
        let write = if images.is_empty() { write.buffer_info(&buffers) } else { write.image_info(&images) };
        unsafe { gpu.device.update_descriptor_sets(&[write], &[]) };
    }
    Ok(Descriptors { layouts, sets, storage })
}

fn attachments(scope: &mut Scope, draw: &Draw) -> Result<(vk::RenderPass, vk::Framebuffer, Vec<vk::Image>), DeviceError> {
    let gpu = Rc::clone(&scope.gpu);
    let [width, height] = draw.frame;
    let count = draw.outputs.max(1);
    let format = match draw.format {
        Format::Bytes => vk::Format::R8G8B8A8_UNORM,
        Format::Floats => vk::Format::R32G32B32A32_SFLOAT,
    };
    let info = vk::ImageCreateInfo::default()
        .image_type(vk::ImageType::TYPE_2D)
        .format(format)
        .extent(vk::Extent3D { width, height, depth: 1 })
        .mip_levels(1)
        .array_layers(1)
        .samples(vk::SampleCountFlags::TYPE_1)
        .usage(vk::ImageUsageFlags::COLOR_ATTACHMENT | vk::ImageUsageFlags::TRANSFER_SRC);
    let (mut images, mut views) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let (image, view) = scope.image(&info, vk::ImageViewType::TYPE_2D, COLOUR)?;
        images.push(image);
        views.push(view);
    }
    let attachment = vk::AttachmentDescription::default()
        .format(format)
        .samples(vk::SampleCountFlags::TYPE_1)
        .load_op(vk::AttachmentLoadOp::CLEAR)
        .store_op(vk::AttachmentStoreOp::STORE)
        .final_layout(vk::ImageLayout::TRANSFER_SRC_OPTIMAL);
    let attachments = vec![attachment; count as usize];
    let layout = vk::ImageLayout::COLOR_ATTACHMENT_OPTIMAL;
    let references: Vec<_> = (0..count).map(|attachment| vk::AttachmentReference { attachment, layout }).collect();
    let subpass = [vk::SubpassDescription::default().color_attachments(&references)];
    let info = vk::RenderPassCreateInfo::default().attachments(&attachments).subpasses(&subpass);
    // SAFETY: valid structures over objects of this device; destroyed once. The same below.
    let pass = done("vkCreateRenderPass", unsafe { gpu.device.create_render_pass(&info, None) })?;
    scope.later(move |d| unsafe { d.destroy_render_pass(pass, None) });
    let info = vk::FramebufferCreateInfo::default().render_pass(pass).attachments(&views).width(width).height(height).layers(1);
    let framebuffer = done("vkCreateFramebuffer", unsafe { gpu.device.create_framebuffer(&info, None) })?;
    scope.later(move |d| unsafe { d.destroy_framebuffer(framebuffer, None) });
    Ok((pass, framebuffer, images))
}

fn pipeline(
    scope: &mut Scope,
    draw: &Draw,
    layout: vk::PipelineLayout,
    pass: vk::RenderPass,
    attachments: usize,
) -> Result<vk::Pipeline, DeviceError> {
    let gpu = Rc::clone(&scope.gpu);
    let name = zero_ended(&draw.entry)?;
    let mut module = |words: &[u32]| {
        let info = vk::ShaderModuleCreateInfo::default().code(words);
        // SAFETY: the driver trusts the words; that is why drawing happens in a process of its own. Destroyed once.
        let module = done("vkCreateShaderModule", unsafe { gpu.device.create_shader_module(&info, None) })?;
        scope.later(move |d| unsafe { d.destroy_shader_module(module, None) });
        Ok::<_, DeviceError>(module)
    };
    let vertices = module(&words(if draw.varyings { VERTICES_WITH_VARYINGS } else { VERTICES }))?;
    let stages = [
        vk::PipelineShaderStageCreateInfo::default().stage(vk::ShaderStageFlags::VERTEX).module(vertices).name(MAIN),
        vk::PipelineShaderStageCreateInfo::default().stage(vk::ShaderStageFlags::FRAGMENT).module(module(&draw.words)?).name(&name),
    ];
    let [width, height] = draw.frame;
    let vertices = vk::PipelineVertexInputStateCreateInfo::default();
    let assembly = vk::PipelineInputAssemblyStateCreateInfo::default().topology(vk::PrimitiveTopology::TRIANGLE_LIST);
    let viewports = [vk::Viewport { x: 0.0, y: 0.0, width: width as f32, height: height as f32, min_depth: 0.0, max_depth: 1.0 }];
    let scissors = [vk::Rect2D { offset: vk::Offset2D::default(), extent: vk::Extent2D { width, height } }];
    let viewport = vk::PipelineViewportStateCreateInfo::default().viewports(&viewports).scissors(&scissors);
    let rasterisation = vk::PipelineRasterizationStateCreateInfo::default().line_width(1.0);
    let samples = vk::PipelineMultisampleStateCreateInfo::default().rasterization_samples(vk::SampleCountFlags::TYPE_1);
    let blend = vk::PipelineColorBlendAttachmentState::default().color_write_mask(vk::ColorComponentFlags::RGBA);
    let blends = vec![blend; attachments];
    let blend = vk::PipelineColorBlendStateCreateInfo::default().attachments(&blends);
    let info = vk::GraphicsPipelineCreateInfo::default()
        .stages(&stages)
        .vertex_input_state(&vertices)
        .input_assembly_state(&assembly)
        .viewport_state(&viewport)
        .rasterization_state(&rasterisation)
        .multisample_state(&samples)
        .color_blend_state(&blend)
        .layout(layout)
        .render_pass(pass);
    // SAFETY: valid structures over objects of this device; destroyed once.
    let made = unsafe { gpu.device.create_graphics_pipelines(vk::PipelineCache::null(), &[info], None) };
    let pipeline = match made {
        Ok(pipelines) => pipelines[0],
        Err((_, code)) => return done("vkCreateGraphicsPipelines", Err(code)),
    };
    scope.later(move |d| unsafe { d.destroy_pipeline(pipeline, None) });
    Ok(pipeline)
}
