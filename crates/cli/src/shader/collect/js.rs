//! Strings of JavaScript: where packages for the web keep their shaders.

use std::collections::BTreeMap;

/// A string literal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Literal {
    /// What it is assigned to, as far as that can be seen.
    pub name: String,
    /// Its text, and between its parts the names in `${}`; anything else there is an empty name.
    pub parts: Vec<(String, Option<String>)>,
    /// Where it begins in the file, in bytes.
    pub at: usize,
}

impl Literal {
    /// The text with names replaced; `None` where one is not known.
    pub fn text(&self, known: &BTreeMap<String, Literal>, depth: usize) -> Option<String> {
        let mut out = String::new();
        for (text, name) in &self.parts {
            out.push_str(text);
            if let Some(name) = name {
                // Texts that contain each other have no end.
                out.push_str(&known.get(name).filter(|_| depth < 16)?.text(known, depth + 1)?);
            }
        }
        Some(out)
    }
}

/// The strings of a file, in order.
pub fn literals(text: &str) -> Vec<Literal> {
    let mut out = Vec::new();
    let mut scanner = Scanner { text, bytes: text.as_bytes(), at: 0 };
    let mut name = String::new();
    // The last sign that is no white space: after most of them `/` begins a regular expression.
    let mut last = b'(';
    while let Some(&byte) = scanner.bytes.get(scanner.at) {
        let rest = &scanner.bytes[scanner.at..];
        if byte.is_ascii_whitespace() {
            scanner.at += 1;
            continue;
        }
        if rest.starts_with(b"//") {
            scanner.at += rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
            continue;
        }
        if rest.starts_with(b"/*") {
            scanner.at += rest[2..].windows(2).position(|w| w == b"*/").map_or(rest.len(), |p| p + 4);
            continue;
        }
        match byte {
            b'"' | b'\'' | b'`' => {
                let at = scanner.at;
                let parts = scanner.string(byte);
                out.push(Literal { name: if matches!(last, b'=' | b':') { name.clone() } else { String::new() }, parts, at });
                last = b'"';
                continue;
            }
            b'/' if b"(,=:[!&|?{};+".contains(&last) => scanner.expression(),
            _ if word(byte) => {
                let end = rest.iter().position(|b| !word(*b)).unwrap_or(rest.len());
                name = String::from_utf8_lossy(&rest[..end]).into_owned();
                scanner.at += end;
                last = b'a';
                continue;
            }
            _ => scanner.at += 1,
        }
        last = byte;
    }
    out
}

fn word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

struct Scanner<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
}

impl Scanner<'_> {
    /// A string from its quote on, with `${}` where it is a template.
    fn string(&mut self, quote: u8) -> Vec<(String, Option<String>)> {
        let mut parts = Vec::new();
        let mut text = Vec::new();
        self.at += 1;
        while let Some(&byte) = self.bytes.get(self.at) {
            self.at += 1;
            match byte {
                b'\\' => self.escape(&mut text),
                b'$' if quote == b'`' && self.bytes.get(self.at) == Some(&b'{') => {
                    let begin = self.at + 1;
                    let mut depth = 0usize;
                    while let Some(&inner) = self.bytes.get(self.at) {
                        self.at += 1;
                        depth = match inner {
                            b'{' => depth + 1,
                            b'}' => depth - 1,
                            _ => depth,
                        };
                        if depth == 0 {
                            break;
                        }
                    }
                    let inner = self.text.get(begin..self.at.saturating_sub(1)).unwrap_or_default().trim();
                    let name = if inner.bytes().all(|b| word(b) || b == b'.') { inner.to_owned() } else { String::new() };
                    parts.push((String::from_utf8_lossy(&std::mem::take(&mut text)).into_owned(), Some(name)));
                }
                _ if byte == quote => break,
                // Strings but templates end with their line, whatever comes.
                b'\n' if quote != b'`' => break,
                _ => text.push(byte),
            }
        }
        parts.push((String::from_utf8_lossy(&text).into_owned(), None));
        parts
    }

    fn escape(&mut self, text: &mut Vec<u8>) {
        let Some(&byte) = self.bytes.get(self.at) else { return };
        self.at += 1;
        match byte {
            b'n' => text.push(b'\n'),
            b't' => text.push(b'\t'),
            b'r' => text.push(b'\r'),
            b'\n' => {}
            // `\u00b0` and `\xb0` stand in comments.
            b'u' | b'x' => text.push(b'?'),
            other => text.push(other),
        }
    }

    /// A regular expression: it ends in its line.
    fn expression(&mut self) {
        self.at += 1;
        let mut class = false;
        while let Some(&byte) = self.bytes.get(self.at) {
            self.at += 1;
            match byte {
                b'\\' => self.at += 1,
                b'[' => class = true,
                b']' => class = false,
                b'/' if !class => break,
                b'\n' => break,
                _ => {}
            }
        }
    }
}

/// The macros of the last `defines: { NAME: value }` before a place.
pub fn defines(text: &str, before: usize) -> Vec<(String, String)> {
    let head = text.get(..before).unwrap_or(text);
    let Some(at) = head.rfind("defines: {") else { return Vec::new() };
    let Some((inner, _)) = head[at + 10..].split_once('}') else { return Vec::new() };
    let one = |entry: &str| {
        let entry = entry.split("//").next().unwrap_or_default();
        let (name, value) = entry.split_once(':')?;
        let clean = |text: &str| text.trim().trim_matches(['\'', '"', '`']).to_owned();
        let (name, value) = (clean(name), clean(value));
        let value = match value.as_str() {
            "true" => "1".to_owned(),
            "false" => "0".to_owned(),
            _ => value,
        };
        (!name.is_empty() && name.bytes().all(word)).then_some((name, value))
    };
    inner.split([',', '\n']).filter_map(one).collect()
}

/// The number that a property has in a file: `10` for `limits.count` where it says `count: 10`.
pub fn number(text: &str, path: &str) -> Option<Literal> {
    let key = path.rsplit_once('.')?.1;
    let mut rest = text;
    while let Some(at) = rest.find(key) {
        rest = &rest[at + key.len()..];
        if let Some(value) = rest.strip_prefix(':') {
            let value: String = value.trim_start().chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
            return (!value.is_empty()).then(|| Literal { parts: vec![(value, None)], ..Literal::default() });
        }
    }
    None
}
