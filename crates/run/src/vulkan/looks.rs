//! What images look like.

use super::job::{Format, Looks};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// The first 16 hexadecimal digits of the SHA-256 of all attachments.
pub(super) fn hash(attachments: &[&[u8]]) -> String {
    let mut sha = Sha256::new();
    attachments.iter().for_each(|a| sha.update(a));
    sha.finalize().iter().take(8).fold(String::new(), |mut hex, byte| {
        // Writing to a String cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// Looks at attachments; all but the hash is of the first one.
pub(super) fn looks(attachments: &[&[u8]], format: Format) -> Looks {
    let pixels = attachments.first().copied().unwrap_or_default();
    let (all_black, all_white, constant) = match format {
        Format::Bytes => {
            let pixels = pixels.as_chunks::<4>().0;
            let all = |value: u8| pixels.iter().all(|p| p[..3] == [value; 3]);
            (all(0), all(255), pixels.windows(2).all(|w| w[0][..3] == w[1][..3]))
        }
        Format::Floats => {
            let colour = |p: &[u8; 16]| -> [f32; 3] {
                std::array::from_fn(|i| f32::from_le_bytes([p[4 * i], p[4 * i + 1], p[4 * i + 2], p[4 * i + 3]]))
            };
            let pixels: Vec<[f32; 3]> = pixels.as_chunks::<16>().0.iter().map(colour).collect();
            // What a screen would show: beyond black is black.
            let all = |test: fn(&f32) -> bool| pixels.iter().all(|p| p.iter().all(test));
            let constant = pixels.windows(2).all(|w| w[0].map(f32::to_bits) == w[1].map(f32::to_bits));
            (all(|v| *v <= 0.0 || v.is_nan()), all(|v| *v >= 1.0), constant)
        }
    };
    Looks { hash: hash(attachments), constant, black: all_black, white: all_white }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flat_images_are_told_whatever_their_alpha_is() {
        let bytes = |pixels: &[[u8; 4]]| {
            let l = looks(&[&pixels.concat()], Format::Bytes);
            [l.black, l.white, l.constant]
        };
        assert_eq!(bytes(&[[0, 0, 0, 255], [0, 0, 0, 7]]), [true, false, true]);
        assert_eq!(bytes(&[[255, 255, 255, 0], [255, 255, 255, 9]]), [false, true, true]);
        assert_eq!(bytes(&[[9, 8, 7, 0], [9, 8, 7, 1]]), [false, false, true]);
        assert_eq!(bytes(&[[0, 0, 0, 255], [0, 0, 1, 255]]), [false; 3]);
        let floats = |pixels: &[[f32; 4]]| {
            let bytes: Vec<u8> = pixels.iter().flatten().flat_map(|v| v.to_le_bytes()).collect();
            let l = looks(&[&bytes], Format::Floats);
            [l.black, l.white, l.constant]
        };
        assert_eq!(floats(&[[0.0, -1.0, 0.0, 1.0], [0.0, 0.0, 0.0, 1.0]]), [true, false, false]);
        assert_eq!(floats(&[[1.0, 1.5, 2.0, 0.0], [1.0, 1.5, 2.0, 1.0]]), [false, true, true]);
    }

    #[test]
    fn the_hash_is_of_all_attachments() {
        // The first digits of SHA-256 of "abc".
        assert_eq!(hash(&[b"a", b"bc"]), "ba7816bf8f01cfea");
    }
}
