//! Chains of letters as automata: `x y`, `x | y`, `x?`, `x*`, `x+`, parentheses.

use std::ops::Range;

/// Letters that a chain may have.
const MOST: usize = 64;
/// Parentheses within each other that a chain may have.
const DEEPEST: usize = 32;

/// The automaton of Glushkov: a state for each occurrence of a letter. Sets of states are bits.
#[derive(Clone, Debug, PartialEq)]
pub struct Chain {
    /// The letter of each state.
    pub letters: Vec<usize>,
    /// States that a chain may begin with.
    pub first: u64,
    /// States that it may end with.
    pub last: u64,
    /// States that may come after each.
    pub follow: Vec<u64>,
}

/// What is wrong with a chain, and at which bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct ChainError {
    /// Which part.
    pub at: Range<usize>,
    /// What.
    pub what: String,
}

/// A part of a chain.
#[derive(Clone, Copy)]
struct Part {
    empty: bool,
    first: u64,
    last: u64,
}

struct Parser<'a> {
    tokens: Vec<(Range<usize>, &'a str)>,
    at: usize,
    depth: usize,
    chain: Chain,
    letter: &'a dyn Fn(&str) -> Option<usize>,
}

impl Chain {
    /// Of a text; `letter` numbers the letters.
    ///
    /// # Errors
    /// What was not expected, and where.
    pub fn parse(text: &str, letter: &dyn Fn(&str) -> Option<usize>) -> Result<Self, ChainError> {
        let chain = Self { letters: Vec::new(), first: 0, last: 0, follow: Vec::new() };
        let mut parser = Parser { tokens: tokens(text), at: 0, depth: 0, chain, letter };
        let whole = parser.alternatives()?;
        if let Some((at, token)) = parser.tokens.get(parser.at) {
            return Err(ChainError { at: at.clone(), what: format!("`{token}` closes nothing") });
        }
        if whole.empty {
            return Err(ChainError { at: 0..text.len(), what: "it matches no operator at all".to_owned() });
        }
        Ok(Self { first: whole.first, last: whole.last, ..parser.chain })
    }
}

fn tokens(text: &str) -> Vec<(Range<usize>, &str)> {
    let mut found = Vec::new();
    let mut begin = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        if c.is_alphanumeric() || c == '_' {
            begin.get_or_insert(at);
            continue;
        }
        if let Some(begin) = begin.take() {
            found.push((begin..at, &text[begin..at]));
        }
        if !c.is_whitespace() {
            found.push((at..at + c.len_utf8(), &text[at..at + c.len_utf8()]));
        }
    }
    found
}

impl Parser<'_> {
    fn peek(&self) -> Option<&str> {
        self.tokens.get(self.at).map(|(_, token)| *token)
    }

    fn error<T>(&self, what: &str) -> Result<T, ChainError> {
        let end = self.tokens.last().map_or(0, |(at, _)| at.end);
        let (at, found) = self.tokens.get(self.at).map_or((end..end, "the end"), |(at, token)| (at.clone(), token));
        Err(ChainError { at, what: format!("{what}, found {found}") })
    }

    fn alternatives(&mut self) -> Result<Part, ChainError> {
        let mut all = self.sequence()?;
        while self.peek() == Some("|") {
            self.at += 1;
            let other = self.sequence()?;
            all = Part { empty: all.empty || other.empty, first: all.first | other.first, last: all.last | other.last };
        }
        Ok(all)
    }

    fn sequence(&mut self) -> Result<Part, ChainError> {
        let mut all = self.repeated()?;
        while !matches!(self.peek(), None | Some("|" | ")")) {
            let next = self.repeated()?;
            self.join(all.last, next.first);
            all = Part {
                empty: all.empty && next.empty,
                first: if all.empty { all.first | next.first } else { all.first },
                last: if next.empty { all.last | next.last } else { next.last },
            };
        }
        Ok(all)
    }

    fn repeated(&mut self) -> Result<Part, ChainError> {
        let mut part = self.one()?;
        while let Some(sign @ ("?" | "*" | "+")) = self.peek() {
            let (optional, again) = (sign != "+", sign != "?");
            self.at += 1;
            part.empty |= optional;
            if again {
                self.join(part.last, part.first);
            }
        }
        Ok(part)
    }

    fn one(&mut self) -> Result<Part, ChainError> {
        match self.peek() {
            Some("(") if self.depth == DEEPEST => self.error("fewer parentheses were expected"),
            Some("(") => {
                (self.at, self.depth) = (self.at + 1, self.depth + 1);
                let part = self.alternatives()?;
                if self.peek() != Some(")") {
                    return self.error("`)` was expected");
                }
                (self.at, self.depth) = (self.at + 1, self.depth - 1);
                Ok(part)
            }
            Some(name) if name.starts_with(|c: char| c.is_alphanumeric() || c == '_') => {
                let Some(letter) = (self.letter)(name) else { return self.error("a letter of the file was expected") };
                let state = self.chain.letters.len();
                if state == MOST {
                    return self.error("at most 64 letters were expected");
                }
                self.at += 1;
                self.chain.letters.push(letter);
                self.chain.follow.push(0);
                Ok(Part { empty: false, first: 1 << state, last: 1 << state })
            }
            _ => self.error("a letter or `(` was expected"),
        }
    }

    fn join(&mut self, before: u64, after: u64) {
        states(before).for_each(|state| self.chain.follow[state] |= after);
    }
}

/// The states of a set.
pub fn states(set: u64) -> impl Iterator<Item = usize> {
    (0..u64::BITS as usize).filter(move |state| set >> state & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letter(name: &str) -> Option<usize> {
        ["a", "b", "c"].iter().position(|letter| *letter == name)
    }

    /// Whether a word is in the language.
    fn accepts(chain: &str, word: &[usize]) -> bool {
        let chain = Chain::parse(chain, &letter).expect("a chain");
        let step = |(now, next): (u64, u64), letter: &usize| {
            let here = states(next).filter(|&state| chain.letters[state] == *letter).fold(0, |set, state| set | 1 << state);
            let _ = now;
            (here, states(here).fold(0, |set, state| set | chain.follow[state]))
        };
        word.iter().fold((0, chain.first), step).0 & chain.last != 0
    }

    #[test]
    fn words_of_a_language() {
        for (chain, yes, no) in [
            ("a b", vec![vec![0, 1]], vec![vec![0], vec![1, 0], vec![0, 1, 1]]),
            ("a b?", vec![vec![0], vec![0, 1]], vec![vec![1], vec![0, 1, 1]]),
            ("a (b c?)* | c", vec![vec![0], vec![2], vec![0, 1, 1, 2]], vec![vec![0, 2], vec![2, 0]]),
            ("a? (b | c)+ a", vec![vec![1, 0], vec![0, 2, 1, 0]], vec![vec![0, 0], vec![0, 1]]),
        ] {
            yes.iter().for_each(|word| assert!(accepts(chain, word), "{chain}: {word:?}"));
            no.iter().for_each(|word| assert!(!accepts(chain, word), "{chain}: {word:?}"));
        }
    }

    #[test]
    fn what_is_wrong_is_placed() {
        for (chain, at, what) in [
            ("a q", 2..3, "a letter of the file was expected, found q"),
            ("a (b", 4..4, "`)` was expected, found the end"),
            ("a )", 2..3, "`)` closes nothing"),
            ("a? b*", 0..5, "it matches no operator at all"),
            ("", 0..0, "a letter or `(` was expected, found the end"),
            ("a | *", 4..5, "a letter or `(` was expected, found *"),
        ] {
            assert_eq!(Chain::parse(chain, &letter), Err(ChainError { at, what: what.to_owned() }), "{chain}");
        }
        assert!(Chain::parse(&"(".repeat(100_000), &letter).is_err());
        assert!(Chain::parse(&"a ".repeat(65), &letter).is_err());
    }
}
