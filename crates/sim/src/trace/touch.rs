//! An access to device memory: which lanes take part, and where each finds what it touches.

use super::draw::Draw;
use super::form::Form;
use smallvec::SmallVec;
use warpsight_ir::AccessKind;
use warpsight_ir::layout::Mapper;

/// A condition: `0 ≤ form < extent`.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// The form.
    pub form: Form,
    /// Its limit.
    pub extent: i64,
    /// Of each element of a vector for itself: that of element e is `form + e`.
    pub per_element: bool,
}

/// Where lanes find what they touch.
#[derive(Clone, Debug)]
pub enum Place {
    /// At addresses in bytes.
    Linear(Form),
    /// At coordinates that are drawn, or those of texels.
    Apart(Box<Apart>),
}

/// Coordinates that are no linear address.
#[derive(Clone, Debug)]
pub struct Apart {
    /// First byte of element (0, …, 0).
    pub base: i64,
    /// Of each coordinate its form, its extent and bytes from one to the next.
    pub coords: SmallVec<[(Form, i64, i64); 4]>,
    /// How texels lie.
    pub image: Option<Mapper>,
    /// How coordinates are drawn.
    pub draw: Option<Draw>,
}

/// An access to device memory.
#[derive(Clone, Debug)]
pub struct Touch {
    /// Position among `Script::names`.
    pub tensor: u16,
    /// What it does.
    pub kind: AccessKind,
    /// Elements of a lane.
    pub width: u32,
    /// Bytes of an element, and from one to the next.
    pub element: (i64, i64),
    /// Where.
    pub place: Place,
    /// When.
    pub conditions: Vec<Condition>,
    /// Which branch it is in, if it has one for itself.
    pub branch: Option<u32>,
}
