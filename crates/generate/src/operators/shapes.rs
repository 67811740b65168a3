//! Operators of which sizes are open: `matmul m=1..512 n=768 k=768`, `softmax n=1,8,17 c=1000`.

use super::grammar::is_no_size;
use super::{OperatorError, parse_operator};
use crate::expr::Operator;

/// Shapes of one operator, at most.
pub const MOST_SHAPES: usize = 1024;

/// An operator of several shapes.
#[derive(Clone, Debug, PartialEq)]
pub struct Shapes {
    /// The keys whose sizes are open, in the order of the text.
    pub open: Vec<String>,
    /// Every combination of their sizes, the last key's changing fastest, with the operator that it makes.
    pub all: Vec<(Vec<i64>, Operator)>,
}

/// Whether a text has open sizes.
pub fn is_open(text: &str) -> bool {
    text.split_whitespace().filter_map(|word| word.split_once('=')).any(|(_, value)| value.contains("..") || value.contains(','))
}

/// Reads an operator as [`parse_operator`] does, in which a size may be a range with both ends (`1..512`), or a list of numbers and ranges (`1,8,17,64..66`).
///
/// # Errors
/// Ranges that are none, of what is no size, or of more than [`MOST_SHAPES`] shapes together; what [`parse_operator`] says of one of these.
pub fn parse_shapes(text: &str) -> Result<Shapes, OperatorError> {
    let operator = text.split_whitespace().next().unwrap_or_default();
    let mut open = vec![];
    let mut texts: Vec<(Vec<i64>, String)> = vec![(vec![], String::new())];
    for word in text.split_whitespace() {
        let Some((key, value)) = word.split_once('=').filter(|_| is_open(word)) else {
            texts.iter_mut().for_each(|own| own.1 += &format!("{word} "));
            continue;
        };
        if is_no_size(key) {
            return Err(OperatorError::NotASize { operator: operator.into(), key: key.into(), value: value.into() });
        }
        let bad = |expected: &str| OperatorError::BadValue {
            operator: operator.into(),
            key: key.into(),
            value: value.into(),
            expected: expected.into(),
        };
        let sizes = sizes(value, &bad)?;
        let shapes = sizes.len().saturating_mul(texts.len());
        if shapes > MOST_SHAPES {
            return Err(OperatorError::TooManyShapes { operator: operator.into(), key: key.into(), shapes, most: MOST_SHAPES });
        }
        open.push(key.to_owned());
        let with = |own: &(Vec<i64>, String), size: i64| ([&own.0[..], &[size]].concat(), format!("{}{key}={size} ", own.1));
        texts = texts.iter().flat_map(|own| sizes.iter().map(move |&size| with(own, size))).collect();
    }
    let all = texts.into_iter().map(|(sizes, text)| Ok((sizes, parse_operator(&text)?))).collect::<Result<_, _>>()?;
    Ok(Shapes { open, all })
}

/// The sizes of a list, each once, in order.
fn sizes(value: &str, bad: &impl Fn(&str) -> OperatorError) -> Result<Vec<i64>, OperatorError> {
    let number = |text: &str| text.parse::<i64>().map_err(|_| bad("a list of whole numbers and ranges, such as 1,8,17 or 1..512"));
    let mut all = vec![];
    for part in value.split(',') {
        match part.split_once("..") {
            None => all.push(number(part)?),
            Some(("", _) | (_, "")) => return Err(bad("a range with two ends, both of which belong to it, such as 1..512")),
            Some((first, last)) => {
                let (first, last) = (number(first)?, number(last)?);
                if last < first {
                    return Err(bad("a range whose first end is the smaller one"));
                }
                if last.saturating_sub(first) > i64::from(i32::MAX) {
                    return Err(bad("below 2147483648"));
                }
                // What is too long is told by one size more than there may be.
                all.extend((first..=last).take(MOST_SHAPES + 1 - all.len().min(MOST_SHAPES)));
            }
        }
    }
    all.sort_unstable();
    all.dedup();
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        parse_shapes(text).expect_err(text).to_string()
    }

    #[test]
    fn ranges_and_lists() {
        let own = parse_shapes("matmul m=1,8,17,64..66 n=12..13 k=5").expect("shapes");
        assert_eq!(own.open, ["m", "n"]);
        let sizes: Vec<&[i64]> = own.all.iter().map(|own| &own.0[..]).collect();
        assert_eq!(sizes.len(), 12);
        assert_eq!((sizes[0], sizes[3], sizes[11]), (&[1, 12][..], &[8, 13][..], &[66, 13][..]));
        assert_eq!(own.all[3].1, parse_operator("matmul m=8 n=13 k=5").expect("an operator"));
        assert_eq!(parse_shapes("softmax n=4 c=3,3,2..3").expect("shapes").all.len(), 2);
        assert!(is_open("softmax n=1..2 c=3") && !is_open("softmax n=1 c=3"));
    }

    #[test]
    fn what_is_no_range_is_said() {
        assert_eq!(refused("matmul m=9..3 n=4 k=4"), "`matmul`: `m=9..3` is not a range whose first end is the smaller one");
        assert!(refused("matmul m=3.. n=4 k=4").contains("a range with two ends"));
        assert!(refused("matmul m=.. n=4 k=4").contains("a range with two ends"));
        assert!(refused("matmul m=1,,2 n=4 k=4").contains("a list of whole numbers"));
        assert!(refused("matmul m=1..x n=4 k=4").contains("a list of whole numbers"));
        assert_eq!(refused("matmul m=0..3 n=4 k=4"), "`matmul`: m must be 1 or more, not 0");
        assert!(refused("conv2d n=1 c=4 h=8 w=8 k=4 r=3 s=3 stride=1..2").contains("`stride=1..2`: only sizes of tensors"));
        assert!(refused("matmul m=1..2 n=4 k=4 dtype=f32,f16").contains("only sizes of tensors"));
        for word in [
            "stridew=1..2",
            "padh=0,1",
            "dilationd=1..2",
            "output_paddingw=0..1",
            "axis=0..1",
            "start_n=0..1",
            "step_c=1..2",
            "before_w=0..1",
            "maxpool=0..2",
            "avgpool=2,3",
            "poolstride=1..2",
            "poolpad=0..1",
            "softmax=0..1",
            "layernorm=0..1",
            "winograd=0..1",
        ] {
            assert!(refused(&format!("slice n=4 c=8 {word}")).contains("only sizes of tensors"), "{word}");
        }
        for key in ["transpose_left", "transpose_right"] {
            let words = format!("`matmul`: `{key}=0..1`: only sizes of tensors may be ranges or lists");
            assert_eq!(refused(&format!("matmul m=4 n=4 k=4 {key}=0..1")), words);
        }
        assert_eq!(parse_shapes("slice n=4 c=8 size_c=1..3").expect("shapes").all.len(), 3);
        assert_eq!(
            refused("matmul m=1..64 n=1..64 k=4"),
            "`matmul`: with the sizes of `n` there are at least 4096 shapes, at most 1024 are chosen for together"
        );
        assert!(refused("matmul m=1..2000000000 n=4 k=4").contains("at most 1024"));
        assert!(refused("matmul m=1..2 n=4").contains("needs `k=`"));
        assert!(refused("matmul q=1..2 n=4").contains("no key `q`"));
    }
}
