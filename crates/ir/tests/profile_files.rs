//! Profiles that people make: what is printed is read again, files inherit from built-in profiles and from each other, and what is wrong
//! is named with field, line and column.

use std::collections::BTreeMap;
use warpsight_ir::profile::{Fact, ProfileError, Source, Text, builtin, builtin_names};
use warpsight_ir::{Bytes, Hertz, Profile};

/// Reads the first of some files, which find each other by name.
fn read(files: &[(&str, &str)]) -> Result<Profile, ProfileError> {
    let all: BTreeMap<&str, &str> = files.iter().copied().collect();
    let text = |name: &str| all.get(name).map(|text| Text { name: name.to_owned(), text: (*text).to_owned().into() });
    Profile::read(text(files[0].0).unwrap(), &mut |name, _| text(name).ok_or_else(|| format!("{name}: there is no such file")))
}

fn refused(files: &[(&str, &str)]) -> String {
    read(files).expect_err("refused").to_string()
}

#[test]
fn what_is_printed_is_read_as_the_same_profile() {
    for name in builtin_names() {
        let profile = builtin(name).unwrap().unwrap();
        let text = profile.text();
        assert_eq!(Profile::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}\n{text}")), profile, "{name}");
        assert_eq!(Profile::parse(&text).unwrap().text(), text, "{name}");
        assert!(text.contains("source = ") && text.contains("[memory.l2]") && !text.contains("inherits"), "{text}");
    }
}

#[test]
fn whatever_stands_in_a_source_is_printed_so_that_it_is_read() {
    let mut profile = builtin("a40").unwrap().unwrap();
    let cite = "quotes \" and ' and \\ and \n a line, a tab\t, “ü” \u{7f} '''";
    profile.execution.clock = Fact::between(Hertz(1.0e9 / 3.0), Hertz(1.740_000_000_001e9), Hertz(9.9e10), Source::Given, cite);
    profile.memory.l2.bytes = Fact::unknown("because } \" # of = that");
    profile.description = "line\nline".to_owned();
    assert_eq!(Profile::parse(&profile.text()).unwrap(), profile);
    let edited = profile.with("l2.bytes", "7MB").unwrap().with("l2.bytes", "8MB").unwrap();
    assert_eq!(Profile::parse(&edited.text()).unwrap(), edited);
}

const CHILD: &str = r#"inherits = "mid.toml"
[execution]
cores = { value = 10, source = "given", cite = "mine" }
"#;
const MID: &str = r#"inherits = "A40"
name = "mid"
description = "half of it"
[execution]
clock = { value = "1.5 GHz", source = "vendor", cite = "card" }
cores = { value = 42, source = "vendor", cite = "card" }
[memory.l2]
bytes = { unknown = "nobody says" }
"#;

#[test]
fn a_file_inherits_from_a_file_that_inherits_from_a_built_in_profile() {
    let found = read(&[("child.toml", CHILD), ("mid.toml", MID)]).unwrap();
    let a40 = builtin("a40").unwrap().unwrap();
    assert_eq!((found.name.as_str(), &found.architecture), ("child", &a40.architecture));
    assert!(found.description.contains("mid.toml"), "{}", found.description);
    assert_eq!(found.execution.cores, Fact::known(10, Source::Given, "mine"));
    // A source that is inherited says whose it is; a fact is taken whole or not at all.
    assert_eq!(found.execution.clock, Fact::known(Hertz(1.5e9), Source::Vendor, "mid: card"));
    assert_eq!(found.memory.l2.bytes, Fact::unknown("mid: nobody says"));
    let Fact::Known { value, cite, .. } = &found.execution.local else { panic!("known") };
    assert_eq!(*value, Bytes(102_400.0));
    assert!(cite.starts_with("a40: CUDA C++ Programming Guide"), "{cite}");
    let (Fact::Known { alternatives, .. }, Fact::Known { alternatives: theirs, .. }) =
        (&found.memory.dram_bandwidth, &a40.memory.dram_bandwidth)
    else {
        panic!("known")
    };
    assert!(alternatives.len() == theirs.len() && alternatives.iter().all(|claim| claim.cite.starts_with("a40: ")));
    assert!(matches!(&found.memory.llc.bytes, Fact::Absent { absent } if absent == "a40: L2 stands before GDDR6"));
    // All numbers that no file states are the a40's.
    let stated = ["execution.cores", "execution.clock", "memory.l2.bytes"];
    let others = |p: &Profile| p.numbers().into_iter().filter(|own| !stated.contains(&own.0.as_str())).collect::<Vec<_>>();
    assert_eq!(others(&found), others(&a40));
    // Printed, it needs neither.
    assert_eq!(Profile::parse(&found.text()).unwrap(), found);
}

#[test]
fn circles_and_strangers_are_named_where_they_stand() {
    let circle = [("a.toml", "name = \"a\"\ninherits = \"b.toml\""), ("b.toml", "name = \"b\"\n\n  inherits = \"a.toml\"")];
    assert_eq!(refused(&circle), "b.toml:3:14: `inherits`: profiles inherit in a circle: a.toml → b.toml → a.toml");
    assert_eq!(
        refused(&[("own.toml", "inherits = \"own.toml\"")]),
        "own.toml:1:12: `inherits`: profiles inherit in a circle: own.toml → own.toml"
    );
    assert_eq!(
        refused(&[("a.toml", "inherits = \"a41\"")]),
        "a.toml:1:12: `inherits`: there is no profile `a41`; did you mean `a40` or `a4000`?"
    );
    assert_eq!(refused(&[("a.toml", "inherits = \"b.toml\"")]), "a.toml:1:12: `inherits`: b.toml: there is no such file");
    assert_eq!(refused(&[("a.toml", "inherits = 3")]), "a.toml:1:12: `inherits`: this is no name of a profile, nor of a file");
    let long: Vec<(String, String)> = (0..40).map(|i| (format!("{i}.toml"), format!("inherits = \"{}.toml\"", i + 1))).collect();
    let long: Vec<(&str, &str)> = long.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    assert_eq!(refused(&long), "15.toml:1:12: `inherits`: more than 16 profiles inherit from each other");
    // Of no file, neither a name nor files are known.
    let text = |text: &str| Profile::parse(text).expect_err("refused").to_string();
    assert_eq!(text("inherits = \"a40\""), "line 1, column 12: `name`: a profile that inherits has a name of its own");
    assert_eq!(text("inherits = \"./b.toml\""), "line 1, column 12: `inherits`: only a file can inherit from files");
}

#[test]
fn a_newer_version_is_named_before_what_only_it_knows() {
    let newer = "name = \"mine\"\nversion = 2\n[quanta]\nspin = 3";
    let said =
        "a.toml:2:11: `version`: this profile is of version 2, and this program knows version 1 and older ones: a newer warpsight reads it";
    assert_eq!(refused(&[("a.toml", newer)]), said);
    // Whatever inherits from it is no better.
    let child = ("b.toml", "inherits = \"a.toml\"");
    assert_eq!(refused(&[child, ("a.toml", newer)]), said);
    for none in ["0", "-1", "1.5", "\"1\"", "99999999999999999999"] {
        let said = refused(&[("a.toml", &format!("version = {none}\ninherits = \"a40\""))]);
        assert!(said.starts_with("a.toml:1:11: ") && (said.contains("no version") || said.contains("not a profile")), "{said}");
    }
    let read = read(&[("a.toml", "version = 1\ninherits = \"a40\"")]).expect("a profile");
    assert!(read.text().starts_with("version = 1\nname = \"a\"\n"), "{}", read.text());
}

/// What is wrong with a fact of a file that inherits from the A40.
fn wrong(table: &str, fact: &str) -> String {
    refused(&[("a.toml", &format!("inherits = \"a40\"\n[{table}]\n{fact}"))])
}

#[test]
fn units_and_sizes_that_do_not_fit_are_named_with_field_line_and_column() {
    let known = |key: &str, value: &str| format!("{key} = {{ value = {value}, source = \"vendor\", cite = \"x\" }}");
    for (table, key, value, why) in [
        ("execution", "clock", "\"40MB\"", "a number of hertz"),
        ("execution", "clock", "\"1.74\"", "a number of hertz"),
        ("execution", "clock", "true", "a number of hertz"),
        ("execution", "clock", "1.74", "less than any device has"),
        ("execution", "clock", "1740", "less than any device has"),
        ("execution", "clock", "1740e12", "more than any device has"),
        ("execution", "clock", "nan", "not a number"),
        ("execution", "cores", "\"84 MHz\"", "expected u32"),
        ("execution", "cores", "-1", "expected u32"),
        ("execution", "cores", "84.5", "expected u32"),
        ("execution", "launch_overhead", "2.5", "more than any device has"),
        ("memory", "llc_beside", "1.5", "more than any device has"),
        ("memory", "dram_beside", "-0.1", "not positive"),
        ("execution", "matrix.f16", "1e9", "more than any device has"),
        ("memory", "dram_bandwidth", "696", "less than any device has"),
        ("memory", "dram_bandwidth", "\"696GB\"", "a number of bytes per second"),
        ("memory", "dram_latency", "\"300ns\"", "a number of cycles"),
        ("memory.l2", "bytes", "\"6GHz\"", "a number of bytes"),
        ("memory.l2", "bytes", "0.5", "less than any device has"),
        ("memory.l2", "bytes", "inf", "not a number"),
        ("memory.l2", "latency", "1e9", "more than any device has"),
    ] {
        let said = wrong(table, &known(key, value));
        let column = key.len() + " = { value = ".len() + 1;
        let begin = format!("a.toml:3:{column}: `{table}.{key}`: ");
        // Of what is of another kind, the reader may point at the fact.
        let of_fact = format!("a.toml:3:{}: `{table}.{key}`: ", key.len() + " = ".len() + 1);
        assert!((said.starts_with(&begin) || said.starts_with(&of_fact)) && said.contains(why), "{table}.{key} = {value}: {said}");
    }
    let interval = wrong("execution", "clock = { value = 1e9, lo = 2e9, source = \"vendor\", cite = \"x\" }");
    assert!(interval.contains("`execution.clock`: this is 1000000000, which is outside its interval"), "{interval}");
    // Tables of their own, names that are slips, and what is no fact.
    assert!(wrong("execution.clock", "value = \"1MB\"\nsource = \"vendor\"\ncite = \"x\"").contains("`execution.clock`: "));
    let slip = wrong("memory.l2", "bite = { unknown = \"x\" }");
    assert!(slip.starts_with("a.toml:3:1: `memory.l2.bite`: unknown field `bite`") && slip.contains("did you mean"), "{slip}");
    for (text, field) in
        [("memory = 3", "memory"), ("execution.cores = 3", "execution.cores"), ("[memory]\nl2 = []", "memory.l2"), ("name = 3", "name")]
    {
        let said = refused(&[("a.toml", &format!("inherits = \"a40\"\n{text}"))]);
        assert!(said.starts_with("a.toml:") && said.contains(&format!("`{field}`: ")), "{text}: {said}");
    }
}

#[test]
fn hostile_texts_are_refused_in_words() {
    let deep = format!("inherits = \"a40\"\nexecution = {}", "{a=".repeat(100_000));
    let nested = format!("inherits = \"a40\"\n{}", "[a]\n".repeat(1000));
    let dotted = format!("inherits = \"a40\"\n{}b = 1", "a.".repeat(20_000));
    let arrays = format!("inherits = \"a40\"\nname = {}{}", "[".repeat(60), "]".repeat(60));
    for text in [
        deep.as_str(),
        &nested,
        &dotted,
        &arrays,
        "\u{0}\u{1}",
        "inherits = ",
        "inherits = \"\"",
        "inherits = \"/\"",
        "[[memory]]\n[memory.l2]",
    ] {
        let said = refused(&[("a.toml", text)]);
        assert!(said.contains("a.toml:") && said.len() < 4000, "{} … {said}", text.chars().take(40).collect::<String>());
    }
}
