//! Image instructions.

use super::super::step::Step;
use super::super::step::{Ask, Lod, TextureStep};
use super::{Compiler, Done, Ins};
use crate::module::spirv::ImageOperands;
use crate::module::{ComponentType, Image, Op, Type};

impl Compiler<'_> {
    /// Compiles the instruction if it is one of images, and says whether it was.
    pub(super) fn image(&mut self, ins: &Ins) -> Done<bool> {
        use Op as O;
        let ask = match ins.op {
            O::SampledImage | O::Image => {
                let src = self.handle_cell(ins.args[0], ins.line)?.0;
                let dst = self.value(ins.id, ins.line)?;
                if !matches!(self.ty(ins.ty)?, Type::Image(_)) {
                    return self.invalid(ins.line, "an image of another type");
                }
                self.steps.push(Step::Copy { dst, src, n: 1 });
                return Ok(true);
            }
            O::ImageSampleImplicitLod | O::ImageSampleExplicitLod | O::ImageSampleProjImplicitLod | O::ImageSampleProjExplicitLod => {
                Ask::Sample
            }
            O::ImageSampleDrefImplicitLod
            | O::ImageSampleDrefExplicitLod
            | O::ImageSampleProjDrefImplicitLod
            | O::ImageSampleProjDrefExplicitLod => Ask::Sample,
            O::ImageFetch => Ask::Fetch,
            O::ImageGather | O::ImageDrefGather => Ask::Gather(None),
            O::ImageQuerySize | O::ImageQuerySizeLod => Ask::Size,
            O::ImageQueryLod => Ask::Lod,
            O::ImageQueryLevels => Ask::Levels,
            O::ImageQuerySamples => Ask::Samples,
            _ => return Ok(false),
        };
        let step = self.texture_step(ins, ask)?;
        let dst = step.dst;
        self.steps.push(Step::Texture(Box::new(step)));
        self.fit(dst, self.ty(ins.ty)?);
        Ok(true)
    }

    fn handle_cell(&self, id: u32, line: u32) -> Done<(u32, Image)> {
        match self.typed(id, line)? {
            (at, Type::Image(image)) => Ok((at, *image)),
            _ => self.invalid(line, "an image is none"),
        }
    }

    fn texture_step(&mut self, ins: &Ins, ask: Ask) -> Done<TextureStep> {
        use Op as O;
        let line = ins.line;
        let (image, shape) = self.handle_cell(ins.args[0], line)?;
        let axes = shape.coordinates();
        let ty = self.ty(ins.ty)?;
        let mut step = TextureStep {
            ask,
            dst: self.value(ins.id, line)?,
            n: ty.components(),
            image,
            coordinate: image,
            axes,
            arrayed: shape.arrayed,
            projector: None,
            reference: None,
            lod: Lod::Implicit { bias: None },
            offset: None,
            integer: matches!(shape.texel, ComponentType::Int { .. }),
        };
        if ty.components() == 0 || ty.components() != ty.cells() {
            return self.invalid(line, "an image gives another type");
        }
        let mut rest = &ins.args[1..];
        if matches!(ask, Ask::Size | Ask::Levels | Ask::Samples) {
            if ins.op == O::ImageQuerySizeLod {
                step.lod = Lod::Explicit(self.numbers(*rest.first().unwrap_or(&0), 1, false, line)?);
            }
            return Ok(step);
        }
        let next = |rest: &mut &[u32]| match rest.split_first() {
            Some((first, others)) => {
                *rest = others;
                Ok(*first)
            }
            None => self.invalid(line, "an operand is missing"),
        };
        let (coordinate, coordinates) = self.typed(next(&mut rest)?, line)?;
        let projected = matches!(
            ins.op,
            O::ImageSampleProjImplicitLod
                | O::ImageSampleProjExplicitLod
                | O::ImageSampleProjDrefImplicitLod
                | O::ImageSampleProjDrefExplicitLod
        );
        let wants = axes + u32::from(step.arrayed && ask != Ask::Lod) + u32::from(projected);
        if coordinates.components() < wants || coordinates.components() != coordinates.cells() {
            return self.invalid(line, "an image has more coordinates");
        }
        step.coordinate = coordinate;
        step.arrayed &= ask != Ask::Lod;
        step.projector = projected.then_some(coordinate + axes);
        let dref = matches!(
            ins.op,
            O::ImageSampleDrefImplicitLod
                | O::ImageSampleDrefExplicitLod
                | O::ImageSampleProjDrefImplicitLod
                | O::ImageSampleProjDrefExplicitLod
                | O::ImageDrefGather
        );
        if dref {
            step.reference = Some(self.numbers(next(&mut rest)?, 1, false, line)?);
        } else if ins.op == O::ImageGather {
            step.ask = Ask::Gather(Some(self.numbers(next(&mut rest)?, 1, false, line)?));
        }
        let Some((mask, operands)) = rest.split_first() else { return Ok(step) };
        self.image_operands(&mut step, ImageOperands::from_bits_truncate(*mask), *mask, operands, line)?;
        Ok(step)
    }

    fn image_operands(&self, step: &mut TextureStep, mask: ImageOperands, bits: u32, operands: &[u32], line: u32) -> Done {
        let known = ImageOperands::BIAS | ImageOperands::LOD | ImageOperands::GRAD | ImageOperands::CONST_OFFSET | ImageOperands::OFFSET;
        if bits & !known.bits() != 0 {
            return self.unsupported(line, format!("the image operands {mask:?}"));
        }
        let mut operands = operands.iter();
        let mut next = |n: u32| match operands.next() {
            Some(id) => self.numbers(*id, n, false, line),
            None => self.invalid(line, "an operand is missing"),
        };
        if mask.contains(ImageOperands::BIAS) {
            step.lod = Lod::Implicit { bias: Some(next(1)?) };
        }
        if mask.contains(ImageOperands::LOD) {
            step.lod = Lod::Explicit(next(1)?);
        }
        if mask.contains(ImageOperands::GRAD) {
            step.lod = Lod::Gradient(next(step.axes)?, next(step.axes)?);
        }
        if mask.intersects(ImageOperands::CONST_OFFSET | ImageOperands::OFFSET) {
            step.offset = Some(next(step.axes)?);
        }
        Ok(())
    }
}
