//! `warpsight optimize --op "matmul m=1..512 n=768 k=768"`: an operator of which sizes are open.

use super::{Args, Prune, Search};
use crate::export::{self, Export};
use crate::failure::Failure;
use crate::progress;
use crate::record::Record;
use crate::report::Column::{Below, Keep, Spare};
use crate::report::{config, micros, note, out};
use crate::target::Target;
use crate::target::judging::Judging;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;
use warpsight_engine::EngineError;
use warpsight_engine::candidates::{self, Offer};
use warpsight_engine::dynamic::{self, Kept, Shape, Table, Tried};
use warpsight_engine::tune::{Attempt, DOUBTFUL, is_doubtful};
use warpsight_engine::verify::{blank, check_operator};
use warpsight_generate::operators::{Shapes, parse_shapes};
use warpsight_generate::{Candidate, Operator, ScheduleFamily, TensorExpr};
use warpsight_ir::Family;

/// Chooses for every shape that the text describes, and keeps few kernels, which lose little by it.
pub fn run(text: &str, args: &Args, target: &mut Target, record: &mut Record, json: bool) -> Result<(), Failure> {
    let Shapes { open, all } = parse_shapes(text).map_err(|e| Failure::input(e.to_string()).at(text))?;
    all.iter().try_for_each(|own| check_operator(&own.1, &target.device.info().limits))?;
    let (sequence, all) = alone(&all, args, target).ok_or_else(|| {
        let names = args.sequences.as_ref().map_or(String::new(), |names| format!(" as {}", names.join(", ")));
        Failure::input(format!("at some of these shapes the operator is several kernels{names}; sizes may be open of what is one kernel"))
            .at(text)
    })?;
    let judging = Judging::new(target, args.top, args.runs);
    let judge = judging.judge(&target.profile);
    let bar = progress::parts("choosing");
    let show = |doing: &'static str, done: f64| {
        if bar.prefix() != doing {
            // How long one part took says nothing of the next.
            bar.reset();
            bar.set_prefix(doing);
        }
        progress::part_done(&bar, done);
    };
    let shapes = dynamic::choose(all, &judge, &show)?;
    let mut rng = fastrand::Rng::new();
    let name = (open.len() == 1).then(|| open[0].as_str());
    let mut observe = |family: &ScheduleFamily, attempt: &Attempt| record.attempt(family, attempt);
    let table = dynamic::table(name, shapes, &judge, &mut *target.device, &mut rng, &mut observe, &show)?;
    bar.finish_and_clear();
    if let Some(folder) = &args.out {
        write(folder, text, (&open, sequence), &table, target)?;
    }
    if json { out(report(text, (&open, sequence), &table, target)) } else { print(&open, &table).and_then(|()| target.told()) }
}

/// What is asked of one shape alone.
pub fn one_shape_only(args: &Args) -> Result<(), Failure> {
    let asked = [
        ("--search", args.search != Search::Model),
        ("--prune", args.prune != Prune::None),
        ("--explain-pruning", args.explain_pruning),
        ("--dump", args.dump.is_some()),
        ("--accesses", args.accesses.is_some()),
        ("--trace", args.trace.is_some()),
        ("--export-kernel-tuner", args.export_kernel_tuner.is_some()),
        ("--import-kernel-tuner", args.import_kernel_tuner.is_some()),
    ];
    match asked.iter().find(|own| own.1) {
        Some((option, _)) => {
            Err(Failure::input(format!("{option} is of an operator of one shape")).help("name one size in place of each range"))
        }
        None => Ok(()),
    }
}

/// The name of a sequence of one kernel, and the kernel at each shape.
type Alone = (&'static str, Vec<(Vec<i64>, TensorExpr)>);

/// The first sequence that is one kernel at every shape.
fn alone(all: &[(Vec<i64>, Operator)], args: &Args, target: &Target) -> Option<Alone> {
    let offer = Offer { limits: &target.device.info().limits, names: args.sequences.as_deref() };
    let offered: Vec<Vec<Candidate>> = all.iter().map(|own| candidates::offered(&own.1, &offer)).collect();
    let kernel = |own: &Candidate| own.operator.kernels().next().filter(|_| own.operator.steps.len() == 1).cloned();
    let named = |own: &[Candidate], name: &str| own.iter().find(|own| own.name == name).and_then(kernel);
    offered.first()?.iter().find_map(|first| {
        let kernels = all.iter().zip(&offered).map(|(own, offered)| Some((own.0.clone(), named(offered, first.name)?)));
        Some((first.name, kernels.collect::<Option<_>>()?))
    })
}

fn named(open: &[String], sizes: &[i64]) -> String {
    open.iter().zip(sizes).map(|(key, size)| format!("{key}={size}")).collect::<Vec<_>>().join(" ")
}

/// Shapes, by their open sizes, in words: of one size `first..last` where all whole numbers between are there.
fn in_words<'a>(shapes: impl Iterator<Item = &'a [i64]>) -> Vec<String> {
    let mut runs: Vec<(&[i64], i64)> = vec![];
    for sizes in shapes {
        match (runs.last_mut(), sizes) {
            (Some((_, last)), [size]) if *last + 1 == *size => *last = *size,
            _ => runs.push((sizes, sizes[0])),
        }
    }
    let text = |(first, last): (&[i64], i64)| match first {
        [size] if *size < last => format!("{size}..{last}"),
        sizes => words_of(sizes),
    };
    runs.into_iter().map(text).collect()
}

fn served(kept: &Kept, table: &Table) -> Vec<String> {
    in_words(kept.serves.iter().map(|&shape| &table.shapes[shape].sizes[..]))
}

/// What is lost where kernels were timed: Σ of what they take over Σ of what the shapes' own choices take.
fn loss(table: &Table) -> Option<f64> {
    let all = table.kept.iter().flat_map(|kept| &kept.tried);
    let pairs: Vec<(f64, f64)> = all.filter_map(|own| Some((own.time?.0.0, own.own?.0))).collect();
    let sum = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>();
    (!pairs.is_empty()).then(|| percent(sum(|own| own.0) / sum(|own| own.1) - 1.0))
}

fn percent(part: f64) -> f64 {
    100.0 * part
}

fn total(table: &Table) -> Duration {
    table.shapes.iter().map(|shape| shape.took).sum()
}

fn report(text: &str, (open, sequence): (&[String], &str), table: &Table, target: &Target) -> Value {
    let tried = |own: &Tried| {
        json!({
            "sizes": table.shapes[own.shape].sizes,
            "rel_l2_error": own.verdict.rel_l2,
            "time_s": own.time.map(|time| time.0),
            "time_source": own.time.map(|time| time.1),
            "own_time_s": own.own,
            "loss_percent": own.loss().map(percent),
        })
    };
    let kernel = |kept: &Kept| {
        json!({
            "config": kept.meant.words(&table.shapes),
            "generic": kept.generic.is_some(),
            "size": kept.generic.as_ref().map(|own| json!({"name": own.size.name, "lo": own.size.lo, "hi": own.size.hi})),
            "serves": served(kept, table),
            "verified": kept.tried.iter().map(tried).collect::<Vec<_>>(),
        })
    };
    let row = |(at, shape): (usize, &Shape)| {
        json!({
            "sizes": shape.sizes,
            "kernel": table.kernel[at],
            "predicted_s": table.kept[table.kernel[at]].able.get(&at),
            "own_predicted_s": shape.best(),
            "own_config": shape.ranked.first().map(|own| shape.family.space().describe(&own.config)),
            "predicted_loss_percent": percent(table.loss(at)),
            "expected_loss_percent": table.expected[at].map(percent),
            "doubtful": is_doubtful(table.expected[at]),
            "candidates": shape.candidates,
            "chosen_in_s": shape.took.as_secs_f64(),
        })
    };
    let rejected = |(config, reason): &(dynamic::Words, String)| json!({"config": config, "reason": reason});
    let info = target.device.info();
    json!({
        "op": text,
        "device": info.id,
        "driver": info.driver,
        "profile": target.profile.name,
        "open": open,
        "sequence": sequence,
        "loss_percent": loss(table),
        "predicted_worst_loss_percent": percent(table.worst()),
        "chosen_in_s": total(table).as_secs_f64(),
        "kernels": table.kept.iter().map(kernel).collect::<Vec<_>>(),
        "dispatch": table.shapes.iter().enumerate().map(row).collect::<Vec<_>>(),
        "rejected": table.rejected.iter().map(rejected).collect::<Vec<_>>(),
    })
}

fn print(open: &[String], table: &Table) -> Result<(), Failure> {
    let dims = open.join(" x ");
    let mut rows = crate::report::table(&[Keep("kernel"), Below(&dims), Keep("program"), Below("configuration")]);
    for (number, kept) in table.kept.iter().enumerate() {
        let program = match (&kept.generic, kept.serves.len()) {
            (Some(own), _) => format!("one, with {}", own.size.name),
            (None, 1) => "of this shape".to_owned(),
            (None, _) => "one each".to_owned(),
        };
        rows.add_row([number.to_string(), served(kept, table).join(" "), program, config(&kept.meant.words(&table.shapes))]);
    }
    out(format_args!("{rows}"))?;
    let mut rows = crate::report::table(&[
        Keep(&dims),
        Keep("kernel"),
        Keep("predicted us"),
        Keep("own choice us"),
        Keep("loss % (predicted)"),
        Keep("expected loss %"),
        Spare(1, "candidates"),
        Keep("chosen in ms"),
    ]);
    for (at, shape) in table.shapes.iter().enumerate() {
        let time = table.kept[table.kernel[at]].able.get(&at);
        rows.add_row([
            words_of(&shape.sizes),
            table.kernel[at].to_string(),
            time.map_or("-".into(), |&time| micros(time)),
            micros(shape.best()),
            format!("{:.1}", percent(table.loss(at))),
            match table.expected[at] {
                Some(loss) if is_doubtful(Some(loss)) => format!("{:.1}, doubtful", percent(loss)),
                Some(loss) => format!("{:.1}", percent(loss)),
                None => "unknown, doubtful".to_owned(),
            },
            shape.candidates.to_string(),
            format!("{:.1}", 1e3 * shape.took.as_secs_f64()),
        ]);
    }
    out(format_args!("{rows}"))?;
    for (number, kept) in table.kept.iter().enumerate() {
        for own in kept.tried.iter().filter(|own| own.time.is_some()) {
            let loss = own.loss().map_or(String::new(), |loss| format!(", {:+.1} % to its own choice", percent(loss)));
            let time = own.time.map_or(String::new(), |time| format!(", {} us ({})", micros(time.0), time.1.name()));
            out(format_args!("kernel {number} is right with {}{time}{loss}", named(open, &table.shapes[own.shape].sizes)))?;
        }
    }
    for (number, kept) in table.kept.iter().enumerate() {
        let untimed = in_words(kept.tried.iter().filter(|own| own.time.is_none()).map(|own| &table.shapes[own.shape].sizes[..]));
        if !untimed.is_empty() {
            out(format_args!("kernel {number} is right, and was not timed, with {dims} {}", untimed.join(" ")))?;
        }
    }
    for (words, reason) in &table.rejected {
        out(format_args!("passed over: {}: {reason}", config(words)))?;
    }
    let doubted = table.expected.iter().filter(|own| is_doubtful(**own)).count();
    if doubted > 0 {
        let all = table.shapes.len();
        out(format_args!(
            "{doubted} of {all} shapes are doubtful: their kernels are expected to lose more than {:.0} %",
            percent(DOUBTFUL)
        ))?;
    }
    let timed = loss(table).map_or(String::new(), |loss| format!("; where timed, all together {loss:+.1} %"));
    let (shapes, kernels) = (table.shapes.len(), table.kept.len());
    let each = 1e3 * total(table).as_secs_f64() / shapes as f64;
    out(format_args!(
        "{shapes} shapes chosen for in {each:.1} ms each in the mean; {kernels} kernels kept, which lose {:.1} % at most (predicted){timed}",
        percent(table.worst())
    ))
}

/// The kernels as OpenCL C, what runs for each shape, and the table that says how that was chosen.
fn write(folder: &Path, text: &str, named: (&[String], &str), table: &Table, target: &Target) -> Result<(), Failure> {
    let name = table.shapes.first().map_or(text, |shape| shape.family.name());
    let mut export = Export::create(folder, name, &target.device.info().id, named.0)?;
    let mut value = report(text, named, table, target);
    let mut shapes = vec![];
    for (number, kept) in table.kept.iter().enumerate() {
        let mut files = vec![];
        let generic = match &kept.generic {
            Some(own) => {
                files.push(format!("{number}_{}.cl", own.program.name));
                Some((export.kernel(files[0].clone(), &own.program)?, &own.program))
            }
            None => None,
        };
        for &at in &kept.serves {
            let shape = &table.shapes[at];
            let config = kept.meant.at(shape, &table.shapes);
            let config = config.ok_or_else(|| Failure::input(format!("kernel {number} cannot be made for {}", words_of(&shape.sizes))))?;
            let family = &shape.family;
            let own;
            let (kernel, program, sizes) = match generic {
                Some((kernel, program)) => (kernel, program, shape.sizes.clone()),
                None => {
                    files.push(format!("{number}_{}_{}.cl", family.name(), words_of(&shape.sizes)));
                    own = family.finish(&config).map_err(EngineError::from)?;
                    (export.kernel(files[files.len() - 1].clone(), &own)?, &own, vec![])
                }
            };
            let layouts = family.layouts(&config).map_err(EngineError::from)?;
            let mut job = blank(family.expr(), &layouts, program);
            job.read = vec![job.memory.len() - 1];
            job.launches.iter_mut().for_each(|launch| launch.sizes = sizes.clone());
            shapes.push((at, kernel, export::operator(family.expr(), &layouts, job)));
        }
        value["kernels"][number]["files"] = json!(files);
    }
    shapes.sort_by_key(|own| own.0);
    for (at, kernel, sequence) in &shapes {
        export.shape(table.shapes[*at].sizes.clone(), *kernel, sequence)?;
    }
    export.write(export::DISPATCH, format!("{value:#}\n").as_bytes())?;
    export.finish()?;
    note(format_args!("{} kernels for {} shapes, launch.json and dispatch.json", table.kept.len(), shapes.len()));
    Ok(())
}

fn words_of(sizes: &[i64]) -> String {
    sizes.iter().map(i64::to_string).collect::<Vec<_>>().join("x")
}

#[cfg(test)]
mod tests {
    use super::in_words;

    #[test]
    fn a_range_is_written_where_every_size_of_it_is_there() {
        let words = |shapes: &[&[i64]]| in_words(shapes.iter().copied()).join(" ");
        assert_eq!(words(&[&[2], &[9]]), "2 9");
        assert_eq!(words(&[&[2], &[3], &[4], &[9], &[16], &[17]]), "2..4 9 16..17");
        assert_eq!(words(&[&[3, 8], &[3, 9], &[4, 8]]), "3x8 3x9 4x8");
    }
}
