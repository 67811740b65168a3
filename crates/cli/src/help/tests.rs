//! Help as a newcomer reads it: every verb has examples, and they are true.

use crate::Cli;
use clap::{Command, CommandFactory, Parser};
use std::collections::BTreeSet;
use std::path::Path;

/// Every verb with its whole name and its long help, as wide as it gets.
fn verbs() -> Vec<(String, Command)> {
    let mut root = Cli::command();
    root.build();
    let mut left = vec![("warpsight".to_owned(), root)];
    let mut all = Vec::new();
    while let Some((name, command)) = left.pop() {
        let own = command.get_subcommands().filter(|verb| verb.get_name() != "help");
        left.extend(own.map(|verb| (format!("{name} {}", verb.get_name()), verb.clone())));
        all.push((name, command));
    }
    all
}

fn long_help(command: &Command) -> String {
    command.clone().term_width(100).render_long_help().to_string()
}

/// The commands of a help's examples, each in one line, without what a shell does with the output.
fn examples(help: &str) -> Vec<String> {
    let text = help.split_once("Examples:").map_or("", |parts| parts.1).replace("\\\n", " ");
    let lines = text.lines().map(str::trim).filter(|line| line.starts_with("warpsight "));
    lines.map(|line| line.split(['>', '|']).next().unwrap_or_default().trim().to_owned()).collect()
}

/// Words as a shell splits them; nothing but double quotes is used.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![];
    for (at, part) in line.split('"').enumerate() {
        match at % 2 {
            0 => words.extend(part.split_whitespace().map(str::to_owned)),
            _ => words.push(part.to_owned()),
        }
    }
    words
}

#[test]
fn every_verb_has_examples_that_can_be_typed() {
    let mut made: BTreeSet<String> = ["packages".to_owned()].into();
    let mut read: Vec<(String, String)> = Vec::new();
    for (name, command) in verbs() {
        let found = examples(&long_help(&command));
        let own = found.iter().any(|line| line.starts_with(&name));
        assert!(own, "`{name} --help` has no example of it: {found:?}");
        for line in found {
            let words = words(&line);
            if let Err(refused) = Cli::try_parse_from(&words) {
                panic!("`{line}` in `{name} --help`: {refused}");
            }
            for pair in words.windows(2) {
                let [option, word] = pair else { continue };
                let file = word.split_once("x=").map_or(word.as_str(), |parts| parts.1);
                match option.as_str() {
                    "--out" | "--output" | "--into" | "--csv" | "--html" | "--plot" | "--trace" | "--breakdown" | "--rewrite"
                    | "--card" | "--cache" => {
                        made.insert(file.to_owned());
                    }
                    _ if looks_like_a_file(file) => read.push((file.to_owned(), line.clone())),
                    _ => {}
                }
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (file, line) in read {
        assert!(made.contains(&file) || file.starts_with('~') || root.join(&file).exists(), "`{line}` names {file}, which nobody has");
    }
}

fn looks_like_a_file(word: &str) -> bool {
    let endings = [".onnx", ".toml", ".json", ".frag", ".spv", ".csv", ".png", ".sqlite"];
    !word.starts_with('-') && (word.contains('/') || endings.iter().any(|ending| word.ends_with(ending)))
}

#[test]
fn no_line_of_help_is_wider_than_100() {
    for (name, command) in verbs() {
        let short = command.clone().term_width(100).render_help().to_string();
        for line in [long_help(&command), short].iter().flat_map(|help| help.lines()) {
            assert!(line.chars().count() <= 100, "{name}: {line}");
        }
    }
}

/// Where names are asked for they are listed, by who knows them.
#[test]
fn names_are_listed_in_help() {
    let help = |name: &str| {
        let all = verbs();
        long_help(&all.iter().find(|verb| verb.0 == name).unwrap_or_else(|| panic!("{name}")).1)
    };
    let devices = warpsight_ir::profile::builtin_names();
    for verb in ["warpsight predict", "warpsight explore", "warpsight pipeline"] {
        assert!(devices.iter().all(|device| help(verb).contains(device)), "{verb}");
    }
    let operators: Vec<String> = warpsight_generate::operators::forms().collect();
    for verb in ["warpsight optimize", "warpsight compile"] {
        let plain = help(verb).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(operators.iter().all(|form| plain.contains(form.as_str())), "{verb}: {plain}");
    }
    let dialects = warpsight_shader::wrap::Dialect::ALL;
    for verb in ["warpsight shader predict", "warpsight shader trace", "warpsight shader diff"] {
        assert!(dialects.iter().all(|dialect| help(verb).contains(dialect.name())), "{verb}");
    }
    for (verb, names) in [
        ("warpsight pipeline", &["best", "kitsune", "two-arbiter"][..]),
        ("warpsight battery", &["stencils", "counters"]),
        ("warpsight optimize", &["expression", "addresses", "exhaustive"]),
        ("warpsight shader train", &["nnls"]),
    ] {
        assert!(names.iter().all(|name| help(verb).contains(name)), "{verb} {names:?}");
    }
}
