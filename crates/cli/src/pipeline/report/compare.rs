//! Published numbers beside those of models and simulator, and where a paper disagrees with itself.

use super::published::{Aggregate, Number, Paper, Quantity, Statement};
use super::sensitivity::Change;
use super::speedups::Part;
use super::timelines::{Kind, Ran};
use super::utilisation::{Pass, Used};
use super::{Case, Execution, Figures, geometric_mean, stem};
use crate::failure::Failure;
use crate::page::{Column, Page, Tag, Unit, column, escape, shown};
use crate::pipeline::options::policy_name;
use crate::report::Column::{Below, Keep, Spare};
use crate::report::table;
use serde::Serialize;

/// A published number and an own one.
#[derive(Clone, Debug, Serialize)]
pub struct Compared {
    /// Of which graphs.
    pub graphs: Vec<String>,
    /// On which device.
    pub device: String,
    /// Of what.
    pub quantity: Quantity,
    /// Which value of several.
    pub by: Aggregate,
    /// The published number.
    pub published: f64,
    /// Where it stands.
    pub cite: String,
    /// The own one.
    pub found: f64,
    /// Where that comes from.
    pub tag: Tag,
    /// The own one less the published one.
    pub difference: f64,
    /// What is so near agrees.
    pub within: f64,
    /// Whether it does.
    pub agrees: bool,
    /// What explains that it does not.
    pub term: Option<String>,
    /// What the own number is made of.
    pub made_of: Option<String>,
}

/// Statements of a paper that cannot all hold.
#[derive(Clone, Debug, Serialize)]
pub struct Conflict {
    /// Of what.
    pub about: String,
    /// The statements (published).
    pub says: Vec<Statement>,
    /// What they allow at most, computed from published numbers.
    pub at_most: Option<f64>,
    /// Why they cannot.
    pub why: String,
}

/// Compares what graphs there are of those that the paper is about, on its device.
pub fn compared(paper: &Paper, cases: &[Case], figures: &Figures) -> Vec<Compared> {
    let on: Vec<&Case> = cases.iter().filter(|case| case.outcome.profile.name == paper.paper.device).collect();
    let mut rows = Vec::new();
    for number in &paper.number {
        for device in devices(&on) {
            let of = |name: &String| {
                let own = |case: &&&Case| case.outcome.device == device && stem(&case.outcome.file) == *name;
                on.iter().find(own).copied()
            };
            let Some(graphs) = number.graphs.iter().map(of).collect::<Option<Vec<&Case>>>() else { continue };
            for tag in [Tag::Predicted, Tag::Simulated] {
                let values: Option<Vec<Vec<f64>>> = graphs.iter().map(|case| values(figures, case, number.of, tag)).collect();
                let Some(found) = values.and_then(|values| aggregate(number.by, number.of, &values.concat())) else { continue };
                let agrees = (found - number.value).abs() <= number.within;
                rows.push(Compared {
                    graphs: graphs.iter().map(|case| case.name.clone()).collect(),
                    device: device.clone(),
                    quantity: number.of,
                    by: number.by,
                    published: number.value,
                    cite: number.cite.clone(),
                    found,
                    tag,
                    difference: found - number.value,
                    within: number.within,
                    agrees,
                    term: term(paper, number, &graphs).filter(|_| !agrees),
                    made_of: made_of(figures, &graphs, number, tag),
                });
            }
        }
    }
    rows
}

/// What explains that a number differs. What is written beside a published number is about the paper's groups.
fn term(paper: &Paper, number: &Number, graphs: &[&Case]) -> Option<String> {
    let (of_paper, own) = (paper.paper.policy.as_str(), policy_name(graphs.first()?.outcome.policy));
    if number.of.of_groups() && own != of_paper {
        return Some(format!("groups: policy `{own}` selects others than the paper; `{of_paper}` selects the paper's"));
    }
    number.term.clone()
}

/// Puts published numbers of single graphs beside the own ones.
pub fn beside(figures: &mut Figures) {
    let single = |row: &Compared, graph: &str, device: &str, of: Quantity| {
        (row.device == device && row.quantity == of && matches!(row.graphs.as_slice(), [one] if one == graph)).then_some(row.published)
    };
    let find = |rows: &[Compared], graph: &str, device: &str, of: Quantity| rows.iter().find_map(|row| single(row, graph, device, of));
    for row in figures.speedups.iter_mut().filter(|row| row.part == Part::EndToEnd) {
        let of = if row.execution == Execution::Vertical { Quantity::VerticalSpeedup } else { Quantity::DataflowSpeedup };
        row.published = find(&figures.compared, &row.graph, &row.device, of);
    }
    for row in &mut figures.traffic {
        let (covered, percent) = match row.execution {
            Execution::BulkSynchronous => continue,
            Execution::Vertical => (Quantity::VerticalOperators, Quantity::VerticalTrafficPercent),
            Execution::Dataflow => (Quantity::DataflowOperators, Quantity::DataflowTrafficPercent),
        };
        row.published_covered = find(&figures.compared, &row.graph, &row.device, covered);
        row.published_percent = find(&figures.compared, &row.graph, &row.device, percent);
    }
}

fn devices(cases: &[&Case]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for case in cases {
        if !found.contains(&case.outcome.device) {
            found.push(case.outcome.device.clone());
        }
    }
    found
}

/// The own numbers of a quantity, as the figures show them; `None` where they do not.
fn values(figures: &Figures, case: &Case, of: Quantity, tag: Tag) -> Option<Vec<f64>> {
    let here = |graph: &str, device: &str| graph == case.name && device == case.outcome.device;
    let moved = |execution: Execution| {
        // Counted, whoever times it.
        let own = |row: &&super::traffic::Moved| here(&row.graph, &row.device) && row.execution == execution && row.tag == tag;
        figures.traffic.iter().find(own)
    };
    let speedups = |part: Part, execution: Execution| -> Vec<f64> {
        let own = figures.speedups.iter().filter(|row| here(&row.graph, &row.device) && row.part == part);
        own.filter(|row| row.execution == execution && row.tag == tag).map(|row| row.speedup).collect()
    };
    let used = |execution: Execution, of: fn(&Used) -> f64| {
        let whole = if case.trains() { Pass::Both } else { Pass::Forward };
        let own = |row: &&Used| here(&row.graph, &row.device) && row.execution == execution && row.tag == tag && row.pass == whole;
        figures.utilisation.iter().filter(own).map(of).collect::<Vec<_>>()
    };
    let larger = |execution: Execution| -> Vec<f64> {
        let own = figures.sensitivity.iter().filter(|row| here(&row.graph, &row.device) && row.twice == Change::Both);
        own.filter(|row| row.execution == execution && row.tag == tag).map(|row| 100.0 * (row.speedup - 1.0)).collect()
    };
    let found = match of {
        Quantity::Operators => moved(Execution::BulkSynchronous).map(|row| row.operators as f64).into_iter().collect(),
        Quantity::VerticalOperators => moved(Execution::Vertical).map(|row| row.covered as f64).into_iter().collect(),
        Quantity::DataflowOperators => moved(Execution::Dataflow).map(|row| row.covered as f64).into_iter().collect(),
        Quantity::VerticalTrafficPercent => moved(Execution::Vertical).map(|row| row.reduction_percent).into_iter().collect(),
        Quantity::DataflowTrafficPercent => moved(Execution::Dataflow).map(|row| row.reduction_percent).into_iter().collect(),
        Quantity::VerticalSpeedup => speedups(Part::EndToEnd, Execution::Vertical),
        Quantity::DataflowSpeedup => speedups(Part::EndToEnd, Execution::Dataflow),
        Quantity::GroupSpeedup => speedups(Part::Pipeline, Execution::Dataflow),
        Quantity::GroupedTimePercent => grouped(figures, case, tag).into_iter().collect(),
        Quantity::LowBothPercent => used(Execution::BulkSynchronous, |row| row.low_both_percent),
        Quantity::DataflowLowBothPercent => used(Execution::Dataflow, |row| row.low_both_percent),
        Quantity::LowDramPercent => used(Execution::BulkSynchronous, |row| row.low_dram_percent),
        Quantity::DataflowLowDramPercent => used(Execution::Dataflow, |row| row.low_dram_percent),
        Quantity::LargerBulkSynchronousPercent => larger(Execution::BulkSynchronous),
        Quantity::LargerDataflowPercent => larger(Execution::Dataflow),
    };
    (!found.is_empty()).then_some(found)
}

/// Bulk-synchronous kernels of a graph, without launches: all, and those of operators that pipelines take.
fn kernels<'a>(figures: &'a Figures, case: &'a Case, tag: Tag) -> impl Iterator<Item = &'a Ran> {
    let own = move |row: &&Ran| row.graph == case.name && row.device == case.outcome.device && row.tag == tag;
    figures.timelines.iter().filter(own).filter(|row| row.execution == Execution::BulkSynchronous)
}

/// Percent of the bulk-synchronous time.
fn grouped(figures: &Figures, case: &Case, tag: Tag) -> Option<f64> {
    let sum = |taken: bool| {
        kernels(figures, case, tag).filter(|row| !taken || row.kind == Kind::Taken).map(|row| row.end_s - row.begin_s).sum::<f64>()
    };
    let all = sum(false);
    (all > 0.0).then(|| 100.0 * sum(true) / all)
}

/// What a number of one graph is made of.
fn made_of(figures: &Figures, graphs: &[&Case], number: &Number, tag: Tag) -> Option<String> {
    let [case] = graphs else { return None };
    match number.of {
        Quantity::DataflowSpeedup => {
            let share = grouped(figures, case, tag)?;
            let mean = geometric_mean(&values(figures, case, Quantity::GroupSpeedup, tag)?)?;
            let end = kernels(figures, case, tag).map(|row| row.end_s).fold(0.0, f64::max);
            let work: f64 = kernels(figures, case, tag).map(|row| row.end_s - row.begin_s).sum();
            let launches = 100.0 * (1.0 - work / end);
            let groups = format!("{share:.0} % of the work in groups, which are {mean:.2}× as fast");
            Some(format!("{groups}; launches are {launches:.0} % of bulk-synchronous time"))
        }
        Quantity::DataflowOperators | Quantity::DataflowTrafficPercent => {
            let refused: usize = case.outcome.planned.plan.refused.iter().map(|(group, _)| group.nodes.len()).sum();
            (refused > 0).then(|| format!("{refused} operators more were selected, and are no pipelines: slower, or not possible"))
        }
        _ => None,
    }
}

fn aggregate(by: Aggregate, of: Quantity, values: &[f64]) -> Option<f64> {
    let percent = matches!(of, Quantity::LargerBulkSynchronousPercent | Quantity::LargerDataflowPercent);
    let found = match by {
        Aggregate::Mean => values.iter().sum::<f64>() / values.len() as f64,
        Aggregate::GeometricMean if percent => {
            100.0 * (geometric_mean(&values.iter().map(|value| 1.0 + value / 100.0).collect::<Vec<_>>())? - 1.0)
        }
        Aggregate::GeometricMean => geometric_mean(values)?,
        Aggregate::Least => values.iter().copied().fold(f64::INFINITY, f64::min),
        Aggregate::Most => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    };
    found.is_finite().then_some(found)
}

/// Where the paper disagrees with itself.
pub fn conflicts(paper: &Paper) -> Vec<Conflict> {
    let of = |own: &super::published::Contradiction| Conflict {
        about: own.about.clone(),
        says: own.says.clone(),
        at_most: own.bound.map(super::published::Amdahl::end_to_end),
        why: own.why.clone(),
    };
    paper.conflict.iter().map(of).collect()
}

const COLUMNS: [Column<Compared>; 11] = [
    column!(graphs, "graphs"),
    column!(quantity, "quantity"),
    column!(by, "of several"),
    column!(published, "published"),
    column!(cite, "where"),
    column!(found, "found"),
    column!(tag, "tag", Tag),
    column!(difference, "difference"),
    column!(within, "agrees within"),
    column!(term, "the term that explains it"),
    column!(made_of, "made of"),
];

/// The section.
pub fn show(figures: &Figures, page: &mut Page) -> Result<(), Failure> {
    let Some(paper) = &figures.paper else { return Ok(()) };
    page.section(
        "compared",
        "Published numbers beside these",
        &format!("From {paper}. A number of several graphs is compared where all of them are given, on the paper's device."),
    );
    let rows = |agrees: bool| figures.compared.iter().enumerate().filter(move |(_, row)| row.agrees == agrees).collect::<Vec<_>>();
    let (agree, differ) = (rows(true), rows(false));
    page.text(&format!("{} of {} comparisons agree.", agree.len(), figures.compared.len()));
    if !differ.is_empty() {
        page.part("Where they disagree");
        page.table_of(&differ, "/compared", &COLUMNS);
    }
    if !agree.is_empty() {
        page.details("Where they agree", |page| page.table_of(&agree, "/compared", &COLUMNS));
    }
    if !figures.conflicts.is_empty() {
        page.part("Where the paper disagrees with itself (published)");
        page.raw("<div class=\"scroll\"><table><thead><tr><th>about</th><th>what it says, and where</th><th>why that cannot be</th><th>at most</th></tr></thead><tbody>");
        for (at, own) in figures.conflicts.iter().enumerate() {
            let says: Vec<String> = own.says.iter().map(|one| format!("{} ({})", escape(&one.claim), escape(&one.cite))).collect();
            let most = own.at_most.map_or_else(String::new, |most| {
                format!("<span data-at=\"/conflicts/{at}/at_most\" data-value=\"{most}\">{}×</span>", shown(Unit::Plain, most))
            });
            page.raw(&format!(
                "<tr><td>{}</td><td>{}</td><td>{}</td><td>{most}</td></tr>",
                escape(&own.about),
                says.join("<br/>"),
                escape(&own.why)
            ));
        }
        page.raw("</tbody></table></div>");
    }
    Ok(())
}

/// What disagrees, as a table.
pub fn text(rows: &[Compared]) -> String {
    let mut differing = table(&[
        Keep("graphs"),
        Keep("quantity"),
        Spare(1, "of several"),
        Keep("published"),
        Keep("found"),
        Spare(2, ""),
        Below("where it is published"),
    ]);
    for row in rows.iter().filter(|row| !row.agrees) {
        let [quantity, by] = [serde_json::to_value(row.quantity), serde_json::to_value(row.by)].map(|word| word.unwrap_or_default());
        let word = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let numbers = [row.published, row.found].map(|number| shown(Unit::Plain, number));
        let [published, found] = numbers;
        differing.add_row([
            row.graphs.join(", "),
            word(&quantity),
            word(&by),
            published,
            found,
            row.tag.word().to_owned(),
            row.cite.clone(),
        ]);
    }
    let agree = rows.iter().filter(|row| row.agrees).count();
    format!("{agree} of {} comparisons with published numbers agree; these do not:\n{differing}", rows.len())
}
