//! Groups as pipelines: stages, queues, side outputs (paper 003, figure 9), and which multiprocessor holds which work-groups (figure 8d).

use super::layout::layout;
use super::{Case, Figures};
use crate::failure::Failure;
use crate::page::{COLOURS, Page, Tag, Unit, column, escape, shown};
use crate::pipeline::derived::limiter;
use crate::plot::{Arrow, Block, Diagram, diagram};
use serde::Serialize;
use std::fmt::Write;
use warpsight_dataflow::Role;
use warpsight_dataflow::assign::Pair;
use warpsight_ir::StageClass;

/// A group.
#[derive(Clone, Debug, Serialize)]
pub struct Drawn {
    /// The graph.
    pub graph: String,
    /// The device.
    pub device: String,
    /// Which of its groups.
    pub group: usize,
    /// Where the times come from.
    pub tag: Tag,
    /// The rule that made it.
    pub rule: String,
    /// Of one execution, without launch.
    pub taken_s: f64,
    /// The same in the simulator.
    pub simulated_s: Option<f64>,
    /// Of the predicted time, until the slowest stage has work and behind it.
    pub fill_s: f64,
    /// What limits.
    pub limiter: String,
    /// Whether it cannot deadlock.
    pub proved: bool,
    /// Rows of a token.
    pub rows: u64,
    /// The stages.
    pub stages: Vec<StageBox>,
    /// The queues.
    pub queues: Vec<Ring>,
    /// What goes to memory beside queues.
    pub side_outputs: Vec<Side>,
    /// What each multiprocessor holds.
    pub assignment: Vec<Pair>,
}

/// A stage.
#[derive(Clone, Debug, Serialize)]
pub struct StageBox {
    /// Its position.
    pub stage: usize,
    /// The units it needs.
    pub class: StageClass,
    /// Its part in a split operator.
    pub role: &'static str,
    /// Work-groups.
    pub ctas: u32,
    /// Parts that its operator is divided into.
    pub parts: u32,
    /// Of one execution.
    pub taken_s: f64,
    /// Where that comes from.
    pub tag: Tag,
    /// Its operators: what they compute, and their names.
    pub operators: Vec<String>,
}

/// A queue.
#[derive(Clone, Debug, Serialize)]
pub struct Ring {
    /// Who fills it.
    pub producer: usize,
    /// Who empties it, each all of it.
    pub consumers: Vec<usize>,
    /// What passes.
    pub tensor: String,
    /// Of a slot.
    pub payload_bytes: f64,
    /// Slots.
    pub depth: u32,
    /// Slots that are filled in one execution.
    pub tokens: u64,
}

/// A side output.
#[derive(Clone, Debug, Serialize)]
pub struct Side {
    /// Who writes it.
    pub stage: usize,
    /// What.
    pub tensor: String,
    /// Of one execution.
    pub written_bytes: f64,
}

/// Groups of a graph on a device.
pub fn drawn(case: &Case) -> Vec<Drawn> {
    let (outcome, graph) = (case.outcome, &case.outcome.graph);
    let of = |(at, (plan, own)): (usize, (&warpsight_dataflow::GroupPlan, &warpsight_dataflow::Pipelined))| {
        let design = &plan.design;
        let stages = design.stages.iter().enumerate().map(|(stage, what)| StageBox {
            stage,
            class: what.class,
            role: match what.role {
                Role::Whole => "whole",
                Role::FanIn => "fan-in",
                Role::Final => "final",
            },
            ctas: plan.allocation.ctas[stage],
            parts: what.parts,
            taken_s: own.seconds[stage].0,
            tag: own.sources[stage].into(),
            operators: what.nodes.iter().map(|&id| graph.node(id)).map(|node| format!("{} {}", node.op, node.name)).collect(),
        });
        let queues = design.queues.iter().map(|queue| Ring {
            producer: queue.producer,
            consumers: queue.consumers.clone(),
            tensor: graph.tensor(queue.tensor).name.clone(),
            payload_bytes: queue.payload.0,
            depth: queue.depth,
            tokens: queue.tokens,
        });
        let sides = design.stages.iter().enumerate().flat_map(|(stage, what)| what.side_outputs.iter().map(move |&id| (stage, id)));
        let sides = sides.map(|(stage, id)| {
            let tensor = graph.tensor(id);
            Side { stage, tensor: tensor.name.clone(), written_bytes: tensor.bytes() as f64 }
        });
        Drawn {
            graph: case.name.clone(),
            device: outcome.device.clone(),
            group: at,
            tag: Tag::Predicted,
            rule: plan.group.rule.clone(),
            taken_s: plan.seconds.0,
            simulated_s: case.simulated().and_then(|own| own.groups.get(at)?.as_ref().ok()).map(|run| run.time.0),
            fill_s: plan.fill.0,
            limiter: limiter(design, plan.allocation.limiter, own),
            proved: own.proof.is_ok(),
            rows: design.tiling.rows,
            stages: stages.collect(),
            queues: queues.collect(),
            side_outputs: sides.collect(),
            assignment: plan.assignment.clone(),
        }
    };
    outcome.planned.plan.groups.iter().zip(&outcome.planned.groups).enumerate().map(of).collect()
}

impl Drawn {
    /// Whether another one is drawn alike but for names.
    fn alike(&self, other: &Self) -> bool {
        let stage = |own: &StageBox| (own.class, own.role, own.ctas, own.parts, own.operators.len(), own.taken_s.to_bits());
        let queue = |own: &Ring| (own.producer, own.consumers.clone(), own.payload_bytes.to_bits(), own.depth, own.tokens);
        let side = |own: &Side| (own.stage, own.written_bytes.to_bits());
        self.graph == other.graph
            && self.device == other.device
            && self.stages.iter().map(stage).eq(other.stages.iter().map(stage))
            && self.queues.iter().map(queue).eq(other.queues.iter().map(queue))
            && self.side_outputs.iter().map(side).eq(other.side_outputs.iter().map(side))
            && self.assignment == other.assignment
    }

    /// Stages as boxes, queues as arrows, side outputs as boxes below who writes them.
    fn diagram(&self) -> Diagram {
        const SIZE: (i32, i32) = (270, 58);
        /// Room for a label at the right edge.
        const LABEL: i32 = 230;
        let stages = self.stages.len();
        let mut edges = Vec::new();
        let mut labels = Vec::new();
        for queue in &self.queues {
            let label = format!("{}: {} × {}", queue.tensor, kib(queue.payload_bytes), queue.depth);
            for &to in &queue.consumers {
                edges.push((queue.producer, to));
                labels.push(label.clone());
            }
        }
        for (at, side) in self.side_outputs.iter().enumerate() {
            edges.push((side.stage, stages + at));
            labels.push(String::new());
        }
        let found = layout(stages + self.side_outputs.len(), &edges, SIZE);
        let block = |(at, stage): (usize, &StageBox)| Block {
            at: found.boxes[at],
            size: SIZE,
            lines: vec![
                format!("{at}: {}, {} CTA{}", word(stage.class), stage.ctas, if stage.ctas == 1 { "" } else { "s" }),
                stage.operators.join(" + "),
                match (stage.role, stage.parts) {
                    ("whole", 1) => format!("{} µs, {}", shown(Unit::Micros, stage.taken_s), stage.tag.word()),
                    ("whole", parts) => format!("{} µs, {}; {parts} parts", shown(Unit::Micros, stage.taken_s), stage.tag.word()),
                    (role, _) => format!("{} µs, {}; {role}", shown(Unit::Micros, stage.taken_s), stage.tag.word()),
                },
            ],
            colour: usize::from(stage.class == StageClass::Simt),
        };
        let side = |(at, side): (usize, &Side)| Block {
            at: found.boxes[stages + at],
            size: SIZE,
            lines: vec!["to memory".to_owned(), side.tensor.clone(), format!("{} MB", shown(Unit::Megabytes, side.written_bytes))],
            colour: 7,
        };
        let mut blocks: Vec<Block> = self.stages.iter().enumerate().map(block).collect();
        blocks.extend(self.side_outputs.iter().enumerate().map(side));
        let mut arrows: Vec<Arrow> = Vec::new();
        for (way, label) in found.ways.iter().zip(labels) {
            let Some(&(x, y)) = way.last() else { continue };
            // Just above its head, and above labels that are there already.
            let wide = |label: &str| 7 * label.chars().count() as i32;
            let taken = |place: (i32, i32)| {
                arrows.iter().filter_map(|arrow| arrow.label.as_ref()).any(|(other, text)| {
                    let beside = place.0 < other.0 + wide(text) && other.0 < place.0 + wide(&label);
                    beside && (place.1 - other.1).abs() < 13
                })
            };
            let places = (0..4).map(|row| (x + 8, y - 12 - 13 * row));
            let place = places.clone().find(|&place| !taken(place)).unwrap_or((x + 8, y - 12));
            arrows.push(Arrow { way: way.clone(), label: (!label.is_empty()).then_some((place, label)) });
        }
        let (width, height) = found.size;
        Diagram { size: ((width + LABEL) as u32, height as u32), blocks, arrows }
    }
}

fn word(class: StageClass) -> &'static str {
    match class {
        StageClass::Tensor => "tensor",
        StageClass::Simt => "SIMT",
    }
}

/// Bytes of a slot, as people compare them with figure 5.
fn kib(bytes: f64) -> String {
    if bytes >= 1024.0 { format!("{:.0} KiB", bytes / 1024.0) } else { format!("{bytes:.0} B") }
}

/// The section.
pub fn show(figures: &Figures, page: &mut Page) -> Result<(), Failure> {
    page.section(
        "groups",
        "Groups as pipelines",
        "Boxes are stages, with the units they need, their work-groups (CTAs) and operators; blue ones run on matrix units, orange ones on \
         vector units. Arrows are queues: the tensor whose tiles pass, bytes of a slot, and slots. Black boxes are tensors that go to memory \
         beside a queue. Below, one cell for each multiprocessor: the stage on its matrix units, and the one on its vector units.",
    );
    if figures.groups.is_empty() {
        page.text("No operators run as a pipeline: there are no groups.");
    }
    for (at, own) in figures.groups.iter().enumerate() {
        if figures.groups[..at].iter().any(|other| other.alike(own)) {
            continue;
        }
        let same: Vec<String> =
            figures.groups[at + 1..].iter().filter(|other| other.alike(own)).map(|other| other.group.to_string()).collect();
        let others = if same.is_empty() { String::new() } else { format!(" (and alike but for names: {})", same.join(", ")) };
        page.part(&format!("{} on {}, group {}{others}", own.graph, own.device, own.group));
        let simulated = own.simulated_s.map_or_else(String::new, |seconds| format!(", {} µs (simulated)", shown(Unit::Micros, seconds)));
        page.text(&format!(
            "{} µs, of which {} µs fill and drain it ({}){simulated}; limited by {}; {}; tokens of {} rows; selected by {}.",
            shown(Unit::Micros, own.taken_s),
            shown(Unit::Micros, own.fill_s),
            own.tag.word(),
            own.limiter,
            if own.proved { "proved free of deadlock" } else { "not proved" },
            own.rows,
            own.rule,
        ));
        let svg = diagram(&own.diagram()).map_err(|error| Failure::input(error.to_string()))?;
        page.drawing(Some(&svg));
        page.raw(&multiprocessors(own, at));
        page.details("Stages, queues and side outputs", |page| {
            let at = format!("/groups/{at}");
            page.table(
                &own.stages,
                &format!("{at}/stages"),
                &[
                    column!(stage, "stage"),
                    column!(class, "class"),
                    column!(role, "role"),
                    column!(ctas, "CTAs"),
                    column!(parts, "parts"),
                    column!(taken_s, "time", Micros),
                    column!(tag, "tag", Tag),
                    column!(operators, "operators"),
                ],
            );
            page.table(
                &own.queues,
                &format!("{at}/queues"),
                &[
                    column!(producer, "from stage"),
                    column!(consumers, "to stages"),
                    column!(tensor, "tensor"),
                    column!(payload_bytes, "slot", Megabytes),
                    column!(depth, "slots"),
                    column!(tokens, "filled"),
                ],
            );
            if !own.side_outputs.is_empty() {
                page.table(
                    &own.side_outputs,
                    &format!("{at}/side_outputs"),
                    &[column!(stage, "stage"), column!(tensor, "side output"), column!(written_bytes, "written", Megabytes)],
                );
            }
        });
    }
    Ok(())
}

/// A cell for each multiprocessor, coloured by stages.
fn multiprocessors(own: &Drawn, at: usize) -> String {
    let mut text = String::from("<div class=\"sms\">");
    for (sm, pair) in own.assignment.iter().enumerate() {
        text.push_str("<div class=\"sm\">");
        for (unit, cta) in [("tensor", pair.tensor), ("simt", pair.simt)] {
            let Some(cta) = cta else {
                text.push_str("<span>–</span>");
                continue;
            };
            let place = escape(&format!("/groups/{at}/assignment/{sm}/{unit}/stage"));
            let _ = write!(text, "<span class=\"c{}\" data-at=\"{place}\" data-value=\"{1}\">{1}</span>", cta.stage % COLOURS, cta.stage);
        }
        text.push_str("</div>");
    }
    text.push_str("</div>");
    text
}
