//! The text form of Pipelines.

use super::error::ParseErrorKind;
use super::parse::{Parsed, Parser};
use super::print::{list, program};
use super::words::Word;
use crate::pipeline::{Certificate, Channel, Firings, Pipeline, PipelineStage, SideOutput, StageBody, Step};
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
            match &stage.body {
                StageBody::Program(body) => program(f, body, 1)?,
                StageBody::Firings(body) => firings(f, body)?,
            }
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

fn firings(f: &mut Formatter<'_>, Firings { count, dealt, lanes, registers, local, steps }: &Firings) -> fmt::Result {
    let dealt = if *dealt { " dealt" } else { "" };
    writeln!(f, "fires {count}{dealt} lanes {lanes} registers {registers} local {local} {{")?;
    for step in steps {
        match step {
            Step::Take { channel, count } => writeln!(f, "    take {count} from {channel}")?,
            Step::Work { flops, read, written } => writeln!(f, "    work {flops} flops {read} read {written} written")?,
            Step::Put { channel, count } => writeln!(f, "    put {count} to {channel}")?,
        }
    }
    writeln!(f, "  }}")
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
        let body = if self.is("fires") { StageBody::Firings(self.firings()?) } else { StageBody::Program(self.program()?) };
        Ok(PipelineStage { name, class, ctas, body })
    }

    fn firings(&mut self) -> Parsed<Firings> {
        self.expect("fires")?;
        let count = self.u64()?;
        let dealt = self.accept("dealt");
        self.expect("lanes")?;
        let lanes = self.u32()?;
        self.expect("registers")?;
        let registers = self.u32()?;
        self.expect("local")?;
        let local = self.u64()?;
        self.expect("{")?;
        let mut steps = Vec::new();
        while !self.accept("}") {
            steps.push(self.step()?);
        }
        Ok(Firings { count, dealt, lanes, registers, local, steps })
    }

    fn step(&mut self) -> Parsed<Step> {
        if self.accept("take") {
            let count = self.u64()?;
            self.expect("from")?;
            Ok(Step::Take { channel: self.name()?, count })
        } else if self.accept("put") {
            let count = self.u64()?;
            self.expect("to")?;
            Ok(Step::Put { channel: self.name()?, count })
        } else if self.accept("work") {
            let flops = self.u64()?;
            self.expect("flops")?;
            let read = self.u64()?;
            self.expect("read")?;
            let written = self.u64()?;
            self.expect("written")?;
            Ok(Step::Work { flops, read, written })
        } else {
            Err(self.expected("take, work, put or `}`"))
        }
    }

    fn u64(&mut self) -> Parsed<u64> {
        self.integer("a whole number below 2^64")
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
            Ok((channel, p.u64()?))
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
