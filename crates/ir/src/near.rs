//! Which name may be meant by one that nothing has.

/// Names that are named where one is unknown.
const LISTED: usize = 3;

/// How alike two names must be, and how far those that are named may be behind the likeliest.
const ALIKE: f64 = 0.6;
const BEHIND: f64 = 0.1;

/// Characters of a name that somebody may have mistyped: comparing takes the product of both lengths.
const LONGEST: usize = 64;

/// How alike a name and a known one are, from 0 to 1; letters' case and what joins words do not count. An end of a path is as good a name
/// as the whole (`l2.bandwidth` of `memory.l2.bandwidth`), and so is a beginning (`a100` of `a100-40`).
fn likeness(name: &str, known: &str) -> f64 {
    let plain = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect::<String>();
    let name = plain(name);
    if name.is_empty() {
        return 0.0;
    }
    let starts = std::iter::once(0).chain(known.match_indices('.').map(|(dot, _)| dot + 1));
    let alike = |known: String| {
        let beginning: String = known.chars().take(name.chars().count()).collect();
        let [whole, beginning] = [&known, &beginning].map(|known| strsim::normalized_damerau_levenshtein(&name, known));
        whole.max(0.9 * beginning)
    };
    starts.map(|start| alike(plain(&known[start..]))).fold(0.0, f64::max)
}

/// Of the known names those that may be meant, the likeliest first: at most three, often none.
pub fn near<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    if name.len() > LONGEST {
        return vec![];
    }
    let short = known.into_iter().filter(|known| known.len() <= LONGEST);
    let mut all: Vec<(f64, &str)> = short.map(|known| (likeness(name, known), known)).collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    let least = all.first().map_or(ALIKE, |best| best.0 - BEHIND).max(ALIKE);
    all.into_iter().take_while(|(likeness, _)| *likeness >= least).take(LISTED).map(|(_, known)| known).collect()
}

/// The end of a message about an unknown name: ``; did you mean `h100`?``, or nothing where no known name is near.
pub fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let near: Vec<String> = near(name, known).into_iter().map(|known| format!("`{known}`")).collect();
    if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(" or ")) }
}

/// A reader's message about an unknown field, which names those there are, with the one that may be meant.
pub fn explained(message: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    match quoted.next().filter(|_| message.starts_with("unknown ")) {
        Some(name) => format!("{message}{}", did_you_mean(name, quoted)),
        None => message.to_owned(),
    }
}

/// What has that name, in whatever case.
///
/// # Errors
/// A message with all names there are.
pub fn pick<'a, T>(name: &str, all: impl IntoIterator<Item = (&'a str, T)>) -> Result<T, String> {
    let mut known = Vec::new();
    for (own, value) in all {
        if own.eq_ignore_ascii_case(name) {
            return Ok(value);
        }
        known.push(own);
    }
    Err(format!("`{name}` is none of {}{}", known.join(", "), did_you_mean(name, known.iter().copied())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_understood_and_strangers_are_not() {
        let devices = crate::profile::builtin_names();
        for (name, meant) in [
            ("h10", "; did you mean `h100` or `h100-nvl` or `h100-sxm`?"),
            ("h1000", "; did you mean `h100` or `h100-nvl` or `h100-sxm`?"),
            ("hh100", "; did you mean `h100`?"),
            ("a101", "; did you mean `a100-40` or `a100-80`?"),
            ("a100", "; did you mean `a100-40` or `a100-80`?"),
            ("A100_80", "; did you mean `a100-80`?"),
            ("mali_g77", "; did you mean `mali-g77`?"),
            ("adreno-640", "; did you mean `adreno640`?"),
            ("rx6900", "; did you mean `rx6900xt`?"),
            ("nonsense", ""),
            (&"h100".repeat(1 << 20), ""),
            ("", ""),
        ] {
            assert_eq!(did_you_mean(name, devices.iter().copied()), meant, "{name}");
        }
    }

    #[test]
    fn names_are_picked_in_whatever_case() {
        let policies = [("best", 1), ("kitsune", 2)];
        assert_eq!(pick("Kitsune", policies), Ok(2));
        assert_eq!(pick("kitsun", policies), Err("`kitsun` is none of best, kitsune; did you mean `kitsune`?".to_owned()));
        assert_eq!(pick("x", policies), Err("`x` is none of best, kitsune".to_owned()));
    }

    #[test]
    fn a_readers_message_is_explained() {
        let message = "unknown field `blok`, expected one of `block`, `grid`";
        assert_eq!(explained(message), format!("{message}; did you mean `block`?"));
        assert_eq!(explained("invalid type: string"), "invalid type: string");
    }

    #[test]
    fn ends_of_paths_are_names() {
        let keys = ["memory.l2.bandwidth", "memory.dram_bandwidth", "execution.cores", "execution.clock"];
        assert_eq!(near("l2.bandwith", keys), ["memory.l2.bandwidth"]);
        assert_eq!(near("clok", keys), ["execution.clock"]);
        assert_eq!(near("Execution.Core", keys), ["execution.cores"]);
    }
}
