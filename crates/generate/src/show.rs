//! The intermediate steps of lowering as text.

use crate::expr::{Combine, Index, ScalarExpr, TensorExpr};
use crate::nest::Nest;
use crate::nest::loops::{Counts, Step, Tree};
use crate::schedule::axis;
use std::fmt::Write;

/// An expression as loops over its axes.
pub fn expression(expr: &TensorExpr) -> String {
    let mut text = String::new();
    for a in &expr.axes {
        let _ = writeln!(text, "for {} in 0..{}", a.name, a.extent);
    }
    let forms: Vec<String> = expr.store.iter().map(|f| index(expr, f)).collect();
    let clipped = if expr.clipped { "~" } else { "" };
    let result = format!("{}{clipped}[{}]", expr.output.name, forms.join(", "));
    for (n, pass) in expr.passes().enumerate() {
        for a in &expr.reduce {
            let _ = writeln!(text, "  {:?} over {} in 0..{}", pass.combine, a.name, a.extent);
        }
        let factor = pass.coefficients.map_or(String::new(), |own| format!("known[{}] * ", index(expr, &own.at)));
        let body = scalar(expr, pass.body);
        let kept = if pass.kept { format!("{result} = ") } else { String::new() };
        let _ = writeln!(text, "  acc = {kept}{factor}{body}");
        if n < expr.before.len() {
            let _ = writeln!(text, "  before{n} = {}", scalar(expr, pass.epilogue));
        }
    }
    if let Some(across) = &expr.across {
        let _ = writeln!(text, "  held = {}", scalar(expr, &expr.epilogue));
        for (n, own) in across.made.iter().enumerate() {
            let _ = writeln!(text, "  {:?} across {}", own.combine, axis(expr, across.along).name);
            let kept = if own.kept { "held = " } else { "" };
            let _ = writeln!(text, "  acc = {kept}{}", of_value(expr, &own.body, "held"));
            let _ = writeln!(text, "  before{n} = {}", scalar(expr, &own.epilogue));
        }
        let _ = writeln!(text, "  {result} = {}", of_value(expr, &across.epilogue, "held"));
        return text;
    }
    let _ = writeln!(text, "  {result} = {}", scalar(expr, &expr.epilogue));
    text
}

fn index(expr: &TensorExpr, form: &Index) -> String {
    form.show(|a| &axis(expr, a).name).to_string()
}

fn scalar(expr: &TensorExpr, s: &ScalarExpr) -> String {
    of_value(expr, s, "acc")
}

/// The same where what is combined is called so.
fn of_value(expr: &TensorExpr, s: &ScalarExpr, acc: &str) -> String {
    let scalar = |s| of_value(expr, s, acc);
    match s {
        ScalarExpr::Const(c) => c.to_string(),
        ScalarExpr::Acc => acc.to_owned(),
        ScalarExpr::Before(n) => format!("before{n}"),
        ScalarExpr::Load { tensor, index: forms, padded } => {
            let forms: Vec<String> = forms.iter().map(|f| index(expr, f)).collect();
            format!("{}{}[{}]", expr.tensor(*tensor).name, if *padded { "~" } else { "" }, forms.join(", "))
        }
        ScalarExpr::Position(form) => index(expr, form),
        ScalarExpr::Gather { tensor, index: forms, found } => {
            let place = |(d, form): (usize, &Index)| {
                let more: Vec<String> = found.iter().filter(|own| own.0 == d).map(|own| scalar(&own.1)).collect();
                let own = (*form != Index::default() || more.is_empty()).then(|| index(expr, form));
                own.into_iter().chain(more).collect::<Vec<_>>().join(" + ")
            };
            let places: Vec<String> = forms.iter().enumerate().map(place).collect();
            format!("{}~[{}]", expr.inputs[*tensor].name, places.join(", "))
        }
        ScalarExpr::Select(condition, a, b) => {
            format!("select({}, {}, {})", scalar(condition), scalar(a), scalar(b))
        }
        ScalarExpr::Unary(op, a) => format!("{}({})", format!("{op:?}").to_lowercase(), scalar(a)),
        ScalarExpr::Round(to, a) => format!("{}({})", to.name(), scalar(a)),
        ScalarExpr::Binary(op, a, b) => format!("{}({}, {})", format!("{op:?}").to_lowercase(), scalar(a), scalar(b)),
    }
}

/// Where every tensor lies.
pub fn places(nest: &Nest) -> String {
    let mut text = String::new();
    for (tensor, layout) in nest.expr.inputs.iter().chain([&nest.expr.output]).zip(&nest.layouts) {
        let _ = writeln!(text, "{} {}", tensor.name, layout.describe(tensor));
    }
    text
}

/// What each straight-line step loads.
pub fn loads(nest: &Nest) -> String {
    let mut text = String::new();
    for (number, pass) in nest.expr.passes().enumerate() {
        show_trees(nest, &nest.body(pass), 0, &mut text);
        if pass.combine == Combine::Each {
            continue;
        }
        for at in nest.tile_points() {
            let stores = if number == nest.expr.before.len() { nest.stores(&at, &[], nest.out_width()).len() } else { 0 };
            let _ = writeln!(text, "point {:?}: {} loads, {stores} stores", at.as_slice(), nest.epilogue_items(pass, &at).list.len());
        }
    }
    text
}

fn show_trees(nest: &Nest, trees: &[Tree<Step>], depth: usize, text: &mut String) {
    let pad = "  ".repeat(depth);
    for tree in trees {
        match tree {
            Tree::Loop { axis: a, trips, step, counts, body } => {
                let (lanes, among) = match counts {
                    Counts::Lanes(lanes) => (*lanes, format!(", {lanes} lanes")),
                    _ => (1, String::new()),
                };
                let _ = writeln!(text, "{pad}for {} in 0..{} step {step}{among}", axis(nest.expr, *a).name, trips * step * lanes);
                show_trees(nest, body, depth + 1, text);
            }
            Tree::Lanes { axis: a, first, lanes, body } => {
                let from = first.map_or(String::new(), |first| format!(" from block {first} of {}", axis(nest.expr, *a).name));
                let _ = writeln!(text, "{pad}{lanes} lanes{from}");
                show_trees(nest, body, depth + 1, text);
            }
            Tree::Ahead { body, .. } => {
                let _ = writeln!(text, "{pad}load what the first trip copies");
                show_trees(nest, body, depth, text);
            }
            Tree::Copy(chunk) => {
                for own in &nest.staged {
                    let (tensor, extents) = (nest.templates[own.template].tensor, own.local.extents());
                    let copies = nest.copies(own, chunk);
                    let number = copies.as_ref().map_or(0, |copies| copies.number());
                    let width = copies.and_then(|copies| copies.at(0)).map_or(0, |first| first.width);
                    let name = &nest.expr.tensor(tensor).name;
                    let ahead = if chunk.ahead.is_some() { ", of the next trip" } else { "" };
                    let _ = writeln!(text, "{pad}copy {name} to local memory of {extents:?}: {number} loads, {width} wide{ahead}");
                }
            }
            Tree::Step(step) => {
                for item in &step.items.list {
                    let tensor = &nest.expr.tensor(nest.templates[item.template].tensor).name;
                    let bounds: Vec<String> = nest
                        .bounds(item, &step.looped)
                        .iter()
                        .map(|(d, lanes)| format!("{d}{}", if *lanes { " per lane" } else { "" }))
                        .collect();
                    let edge = if bounds.is_empty() { String::new() } else { format!(", bounds on dimensions {}", bounds.join(", ")) };
                    let _ = writeln!(text, "{pad}load {tensor} at {:?}, {} wide{edge}", item.offsets.as_slice(), item.width);
                }
                let _ = writeln!(text, "{pad}combine {} points", step.points.len());
            }
        }
    }
}
