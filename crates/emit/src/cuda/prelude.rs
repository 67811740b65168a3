//! What stands before a kernel: types and functions in parts, of which a text gets those it uses.

use std::collections::BTreeSet;

/// A part of the prelude, in the order of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// The compiler's headers for matrix tiles.
    Headers,
    /// Qualifiers and bit patterns.
    Core,
    /// Vectors.
    Vector,
    /// Functions of numbers.
    Math,
    /// Conversions.
    Cast,
    /// 16-bit floats and truth values in memory.
    Storage,
    /// Half precision that is computed with.
    Half,
    /// Vector loads and stores, store policies.
    Memory,
    /// Textures and surfaces.
    Image,
    /// Atomics with order and scope.
    Atomic,
    /// Matrix tiles of a warp.
    Tile,
}

impl Part {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Headers,
        Self::Core,
        Self::Vector,
        Self::Math,
        Self::Cast,
        Self::Storage,
        Self::Half,
        Self::Memory,
        Self::Image,
        Self::Atomic,
        Self::Tile,
    ];

    fn text(self) -> &'static str {
        match self {
            Self::Headers => include_str!("prelude/headers.cuh"),
            Self::Core => include_str!("prelude/core.cuh"),
            Self::Vector => include_str!("prelude/vector.cuh"),
            Self::Math => include_str!("prelude/math.cuh"),
            Self::Cast => include_str!("prelude/cast.cuh"),
            Self::Storage => include_str!("prelude/storage.cuh"),
            Self::Half => include_str!("prelude/half.cuh"),
            Self::Memory => include_str!("prelude/memory.cuh"),
            Self::Image => include_str!("prelude/image.cuh"),
            Self::Atomic => include_str!("prelude/atomic.cuh"),
            Self::Tile => include_str!("prelude/tile.cuh"),
        }
    }

    /// The functions and types that kernels use of it, by name; instances of templates count too.
    fn offers(self) -> &'static [&'static str] {
        match self {
            Self::Headers => &[],
            Self::Core => &["ws_bits"],
            Self::Vector => &["ws_vec", "ws_splat", "ws_select", "ws_slice", "ws_lane", "ws_concat"],
            Self::Math => &[
                "ws_abs", "ws_floor", "ws_ceil", "ws_exp", "ws_log", "ws_sqrt", "ws_rsqrt", "ws_tanh", "ws_sin", "ws_cos", "ws_erf",
                "ws_min", "ws_max", "ws_fmod", "ws_fma", "ws_shl", "ws_shr",
            ],
            Self::Cast => &["ws_cast"],
            Self::Storage => &["ws_f16", "ws_bf16", "ws_bool", "ws_widen", "ws_narrow", "ws_round"],
            Self::Half => &["ws_real16", "ws_half_of"],
            Self::Memory => &["ws_load", "ws_store"],
            Self::Image => &[
                "ws_texel",
                "ws_texel_1d",
                "ws_texel_buffer",
                "ws_write_texel",
                "ws_write_texel_1d",
                "ws_write_texel_buffer",
                "ws_write_texel_rows",
            ],
            Self::Atomic => &[
                "ws_atomic_add",
                "ws_atomic_sub",
                "ws_atomic_min",
                "ws_atomic_max",
                "ws_atomic_and",
                "ws_atomic_or",
                "ws_atomic_xor",
                "ws_atomic_exchange",
                "ws_atomic_compare_exchange",
                "ws_atomic_load",
                "ws_atomic_store",
            ],
            Self::Tile => &["ws_tile", "ws_tile_load", "ws_tile_store", "ws_tile_fill", "ws_mma"],
        }
    }

    /// The parts that this one's text uses.
    fn needs(self) -> &'static [Self] {
        match self {
            Self::Headers | Self::Core => &[],
            Self::Vector | Self::Math | Self::Cast | Self::Storage | Self::Atomic => &[Self::Core],
            Self::Half => &[Self::Core, Self::Vector, Self::Math, Self::Cast, Self::Storage],
            Self::Memory => &[Self::Vector, Self::Storage],
            Self::Image => &[Self::Vector, Self::Storage, Self::Memory],
            Self::Tile => &[Self::Headers, Self::Core],
        }
    }
}

/// The parts that a kernel's text uses: those that offer one of its words.
pub fn used(kernel: &str) -> BTreeSet<Part> {
    let words: BTreeSet<&str> = kernel.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).collect();
    Part::ALL.into_iter().filter(|part| part.offers().iter().any(|word| words.contains(word))).collect()
}

/// The text of some parts and of what they need.
pub fn text(parts: impl IntoIterator<Item = Part>) -> String {
    let mut all = BTreeSet::new();
    let mut open: Vec<Part> = parts.into_iter().collect();
    while let Some(part) = open.pop() {
        if all.insert(part) {
            open.extend(part.needs());
        }
    }
    all.into_iter().map(Part::text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_bring_what_they_need() {
        assert_eq!(text([]), "");
        let image = text([Part::Image]);
        assert!(image.contains("struct ws_vec") && image.contains("To ws_bits(") && !image.contains("ws_atomic_"));
        let order = [
            "#include",
            "ws_bits",
            "struct ws_vec",
            "ws_fma",
            "ws_cast",
            "struct ws_f16",
            "ws_load_words",
            "ws_texel",
            "ws_atomic",
            "ws_tile",
        ];
        let whole = text(Part::ALL);
        let places: Vec<_> = order.iter().map(|word| whole.find(word).expect("is there")).collect();
        assert!(places.is_sorted(), "{places:?}");
    }
}
