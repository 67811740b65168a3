//! Text of others as it may stand on a terminal: names in models, files and drivers hold whatever somebody put there.

use std::borrow::Cow;

/// One line of it: no control character and nothing that turns the direction of writing, each shown by a picture of itself.
pub fn clean(text: &str) -> Cow<'_, str> {
    cleaned(text, &[])
}

/// As [`clean`], of text that has lines and columns.
pub fn clean_lines(text: &str) -> Cow<'_, str> {
    cleaned(text, &['\n', '\t'])
}

fn cleaned<'a>(text: &'a str, kept: &[char]) -> Cow<'a, str> {
    let harmless = |c: char| kept.contains(&c) || !(c.is_control() || turns(c));
    if text.chars().all(harmless) { Cow::Borrowed(text) } else { text.chars().map(|c| if harmless(c) { c } else { picture(c) }).collect() }
}

/// JSON with the controls that it does not escape by itself escaped: it says the same.
pub fn clean_json(text: &str) -> Cow<'_, str> {
    let harmless = |c: char| c.is_ascii() && c != '\u{7f}' || !(c.is_control() || turns(c));
    if text.chars().all(harmless) {
        return Cow::Borrowed(text);
    }
    // They stand within texts alone, and none is beyond 16 bits.
    text.chars()
        .fold(String::with_capacity(text.len()), |mut clean, c| {
            if harmless(c) {
                clean.push(c);
            } else {
                clean.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            clean
        })
        .into()
}

/// Whether a character embeds, overrides or isolates a direction, so that a line reads otherwise than it is.
fn turns(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}')
}

/// Unicode has pictures of the controls of ASCII.
fn picture(c: char) -> char {
    match u32::from(c) {
        code @ 0..0x20 => char::from_u32(0x2400 + code).unwrap_or(char::REPLACEMENT_CHARACTER),
        0x7f => '\u{2421}',
        _ => char::REPLACEMENT_CHARACTER,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_says_the_same() {
        let value = serde_json::json!({"a\u{9b}": "\u{7f}\u{202e}ü\u{1b}\n"});
        let clean = clean_json(&value.to_string()).into_owned();
        assert_eq!(clean, r#"{"a\u009b":"\u007f\u202eü\u001b\n"}"#);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&clean).unwrap(), value);
        assert!(matches!(clean_json("[1,\n2]"), Cow::Borrowed(_)));
    }

    #[test]
    fn nothing_that_a_terminal_obeys_is_left() {
        assert_eq!(clean("\u{1b}[31mred\u{1b}]0;title\u{7}\r\n\tx\u{7f}"), "␛[31mred␛]0;title␇␍␊␉x␡");
        assert_eq!(clean("8 bit: \u{9b}31m, turned: \u{202e}gpj\u{2066}"), "8 bit: \u{fffd}31m, turned: \u{fffd}gpj\u{fffd}");
        assert_eq!(clean_lines("a\tb\n\u{1b}[2Jc\r"), "a\tb\n␛[2Jc␍");
        for plain in ["x:0", "größe/ü — 長い名前", "", "🙂 [0]"] {
            assert!(matches!(clean(plain), Cow::Borrowed(same) if same == plain));
        }
    }
}
