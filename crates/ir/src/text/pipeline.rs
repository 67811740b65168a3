//! The text form of Pipelines.

use super::error::ParseErrorKind;
use super::parse::{Parsed, Parser};
use super::print::{list, program};
use super::words::Word;
use crate::pipeline::{Certificate, Channel, Pipeline, PipelineStage, SideOutput};
use crate::program::Name;
use std::fmt::{self, Display, Formatter};

impl Display for Pipeline {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "pipeline {} {{", self.name)?;
        for Channel { name, element, dims, depth, producers, consumers } in &self.channels {
            write!(f, "  channel {name}: {}[", element.word())?;
            list(f, dims, |f, d| write!(f, "{d}"))?;
            write!(f, "] depth {depth} from [")?;
            names(f, producers)?;
            f.write_str("] to [")?;
            names(f, consumers)?;
            writeln!(f, "]")?;
        }
        for stage in &self.stages {
            write!(f, "  stage {}: {}, {} ctas ", stage.name, stage.class.word(), stage.ctas)?;
            program(f, &stage.program, 1)?;
        }
        for SideOutput { stage, param } in &self.side_outputs {
            writeln!(f, "  side output {stage}.{param}")?;
        }
        if let Some(Certificate { order, tokens, resident: (needed, held) }) = &self.certificate {
            f.write_str("  certificate {\n    order [")?;
            names(f, order)?;
            f.write_str("]\n    tokens [")?;
            list(f, tokens, |f, (channel, count)| write!(f, "{channel} = {count}"))?;
            writeln!(f, "]\n    resident {needed} of {held}\n  }}")?;
        }
        writeln!(f, "}}")
    }
}

fn names(f: &mut Formatter<'_>, items: &[Name]) -> fmt::Result {
    list(f, items, |f, name| f.write_str(name))
}

impl Parser<'_> {
    pub(super) fn pipeline(&mut self) -> Parsed<Pipeline> {
        self.expect("pipeline")?;
        let name = self.name()?;
        let mut pipeline = Pipeline { name, stages: vec![], channels: vec![], side_outputs: vec![], certificate: None };
        self.expect("{")?;
        while !self.accept("}") {
            match self.token().text {
                "channel" => pipeline.channels.push(self.channel()?),
                "stage" => pipeline.stages.push(self.stage()?),
                "side" => {
                    self.advance();
                    self.expect("output")?;
                    let stage = self.name()?;
                    self.expect(".")?;
                    pipeline.side_outputs.push(SideOutput { stage, param: self.name()? });
                }
                "certificate" if pipeline.certificate.is_some() => return Err(self.error(ParseErrorKind::Twice("certificate"))),
                "certificate" => pipeline.certificate = Some(self.certificate()?),
                _ => return Err(self.expected("channel, stage, side output, certificate or `}`")),
            }
        }
        Ok(pipeline)
    }

    fn channel(&mut self) -> Parsed<Channel> {
        self.expect("channel")?;
        let name = self.name()?;
        self.expect(":")?;
        let (element, dims) = (self.one_of()?, self.dims()?);
        self.expect("depth")?;
        let depth = self.u32()?;
        self.expect("from")?;
        let producers = self.names()?;
        self.expect("to")?;
        Ok(Channel { name, element, dims, depth, producers, consumers: self.names()? })
    }

    fn stage(&mut self) -> Parsed<PipelineStage> {
        self.expect("stage")?;
        let name = self.name()?;
        self.expect(":")?;
        let class = self.one_of()?;
        self.expect(",")?;
        let ctas = self.u32()?;
        self.expect("ctas")?;
        Ok(PipelineStage { name, class, ctas, program: self.program()? })
    }

    fn certificate(&mut self) -> Parsed<Certificate> {
        self.expect("certificate")?;
        self.expect("{")?;
        self.expect("order")?;
        let order = self.names()?;
        self.expect("tokens")?;
        self.expect("[")?;
        let tokens = self.list(&["]"], |p| {
            let channel = p.name()?;
            p.expect("=")?;
            Ok((channel, p.integer("a whole number below 2^64")?))
        })?;
        self.expect("]")?;
        self.expect("resident")?;
        let needed = self.u32()?;
        self.expect("of")?;
        let resident = (needed, self.u32()?);
        self.expect("}")?;
        Ok(Certificate { order, tokens, resident })
    }

    /// `[a, b]`
    fn names(&mut self) -> Parsed<Vec<Name>> {
        self.expect("[")?;
        let names = self.list(&["]"], Self::name)?;
        self.expect("]")?;
        Ok(names)
    }
}
