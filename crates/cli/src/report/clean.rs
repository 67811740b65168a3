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
    fn nothing_that_a_terminal_obeys_is_left() {
        assert_eq!(clean("\u{1b}[31mred\u{1b}]0;title\u{7}\r\n\tx\u{7f}"), "␛[31mred␛]0;title␇␍␊␉x␡");
        assert_eq!(clean("8 bit: \u{9b}31m, turned: \u{202e}gpj\u{2066}"), "8 bit: \u{fffd}31m, turned: \u{fffd}gpj\u{fffd}");
        assert_eq!(clean_lines("a\tb\n\u{1b}[2Jc\r"), "a\tb\n␛[2Jc␍");
        for plain in ["x:0", "größe/ü — 長い名前", "", "🙂 [0]"] {
            assert!(matches!(clean(plain), Cow::Borrowed(same) if same == plain));
        }
    }
}
