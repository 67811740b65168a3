//! Reading a model file, and binding the shapes it leaves open.

use crate::error::GraphError;
use crate::graph::Graph;
use crate::import;
use crate::literal::type_name;
use crate::memory;
use crate::onnx::tensor_shape_proto::dimension::Value as DimValue;
use crate::onnx::{ModelProto, ValueInfoProto, tensor_proto, type_proto};
use prost::Message;
use std::ops::RangeInclusive;
use std::path::Path;
use std::str::FromStr;

/// Versions of ONNX's operator set that are read. Before 7, operators broadcast by an attribute.
pub const OPSETS: RangeInclusive<i64> = 7..=22;

/// A decoded model file.
#[derive(Clone, Debug)]
pub struct Model {
    proto: ModelProto,
    opset: i64,
}

/// One dimension of a declared shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// A number.
    Fixed(i64),
    /// Open, perhaps with a name.
    Free(Option<String>),
}

/// An input as the model declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelInput {
    /// Its name.
    pub name: String,
    /// Its dimensions; `None` where even their number is open.
    pub shape: Option<Vec<Dimension>>,
}

/// A dimension of an input that the model leaves open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FreeDimension {
    /// The input.
    pub input: String,
    /// Its position; `None` where the number of dimensions is open as well.
    pub axis: Option<usize>,
    /// The model's name for it.
    pub name: Option<String>,
}

impl std::fmt::Display for FreeDimension {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.axis, &self.name) {
            (Some(axis), Some(name)) => write!(f, "{}[{axis}] ({name})", self.input),
            (Some(axis), None) => write!(f, "{}[{axis}]", self.input),
            (None, _) => write!(f, "all of {}", self.input),
        }
    }
}

/// A shape given for an input, as in `x=1,3,48,192`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputShape {
    /// The input's name.
    pub input: String,
    /// Its extents, each at least 1.
    pub shape: Vec<i64>,
}

impl FromStr for InputShape {
    type Err = GraphError;

    fn from_str(text: &str) -> Result<Self, GraphError> {
        let fail = |reason: String| GraphError::InputShape { text: text.into(), reason };
        // The last `=`: names may have others.
        let (input, list) = text.rsplit_once('=').ok_or_else(|| fail("there is no `=`".into()))?;
        if input.trim().is_empty() {
            return Err(fail("the input's name is missing".into()));
        }
        let extent = |word: &str| match word.trim().parse::<i64>() {
            Ok(extent) if extent >= 1 => Ok(extent),
            _ => Err(fail(format!("`{}` is no positive whole number", word.trim()))),
        };
        let shape = list.split(',').map(extent).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { input: input.trim().into(), shape })
    }
}

impl Model {
    /// Reads a file.
    ///
    /// # Errors
    /// [`GraphError::Read`] where there is none, and those of [`Model::from_bytes`].
    pub fn read(path: impl AsRef<Path>) -> Result<Self, GraphError> {
        Self::from_bytes(&warpsight_files::read(path.as_ref(), warpsight_files::MODEL)?)
    }

    /// Decodes a file's content.
    ///
    /// # Errors
    /// `Empty`, `NotOnnx`, `Truncated`, `TooLarge`, `Corrupted`, `NoOpset`, `Opset`.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, GraphError> {
        check_envelope(bytes)?;
        let length = bytes.len() as u64;
        // Decoding copies long fields twice.
        memory::granted(2 * length).map_err(|why| GraphError::TooLarge {
            what: "the contents of the file".to_owned(),
            bytes: length,
            why,
        })?;
        let proto = ModelProto::decode(bytes).map_err(|e| GraphError::Corrupted { reason: e.to_string() })?;
        if proto.graph.is_none() {
            return Err(GraphError::NotOnnx { reason: "it holds no graph".into() });
        }
        let own = proto.opset_import.iter().find(|o| o.domain.is_empty() || o.domain == "ai.onnx");
        let opset = own.ok_or(GraphError::NoOpset)?.version;
        if !OPSETS.contains(&opset) {
            return Err(GraphError::Opset { version: opset });
        }
        Ok(Self { proto, opset })
    }

    /// The version of ONNX's operator set it uses.
    pub fn opset(&self) -> i64 {
        self.opset
    }

    /// What a caller provides. Initialisers listed as inputs (as files of before 2019 do) are not among them.
    pub fn inputs(&self) -> Vec<ModelInput> {
        self.input_protos().map(|i| ModelInput { name: i.name.clone(), shape: declared_shape(i) }).collect()
    }

    /// Dimensions of inputs for which [`Model::graph`] needs a shape.
    pub fn free_dimensions(&self) -> Vec<FreeDimension> {
        self.inputs().iter().flat_map(free_dimensions).collect()
    }

    /// The network with these shapes of inputs; inputs that the model declares in full need none.
    ///
    /// # Errors
    /// Everything that may be wrong with shapes, nodes and constants.
    pub fn graph(&self, shapes: &[InputShape]) -> Result<Graph, GraphError> {
        // Checked when the model was made.
        let graph = self.proto.graph.as_ref().ok_or(GraphError::NotOnnx { reason: "it holds no graph".into() })?;
        // Before shapes are asked for: whoever gives them should not learn then that it was for nothing.
        let order = import::order(graph, self.opset)?;
        let bound = self.bind(shapes)?;
        import::import(graph, &order, self.opset, bound)
    }

    fn input_protos(&self) -> impl Iterator<Item = &ValueInfoProto> {
        let graph = self.proto.graph.as_ref();
        let constant = move |name: &str| graph.is_some_and(|g| g.initializer.iter().any(|t| t.name == name));
        graph.into_iter().flat_map(|g| &g.input).filter(move |i| !constant(&i.name))
    }

    /// Name and shape of every input.
    fn bind(&self, shapes: &[InputShape]) -> Result<Vec<InputShape>, GraphError> {
        let inputs = self.inputs();
        if let Some(stranger) = shapes.iter().find(|s| !inputs.iter().any(|i| i.name == s.input)) {
            let names: Vec<&str> = inputs.iter().map(|i| i.name.as_str()).collect();
            return Err(GraphError::NoSuchInput { name: stranger.input.clone(), inputs: names.join(", ") });
        }
        for input in self.input_protos() {
            let found = element_type(input);
            if found != tensor_proto::DataType::Float as i32 {
                return Err(GraphError::WrongType { tensor: input.name.clone(), found: type_name(found.into()), expected: "float32" });
            }
        }
        let mut bound = Vec::new();
        let mut open = Vec::new();
        let mut flags = Vec::new();
        for input in &inputs {
            let given = shapes.iter().rfind(|s| s.input == input.name);
            match (given, fixed(input)) {
                (Some(given), _) => {
                    check_given(input, &given.shape)?;
                    bound.push(given.clone());
                }
                (None, Some(shape)) => {
                    check_given(input, &shape)?;
                    bound.push(InputShape { input: input.name.clone(), shape });
                }
                (None, None) => {
                    open.extend(free_dimensions(input));
                    flags.push(format!("--input-shape {}={}", input.name, pattern(input)));
                }
            }
        }
        if open.is_empty() { Ok(bound) } else { Err(GraphError::FreeDimensions { dimensions: open, flags }) }
    }
}

fn element_type(input: &ValueInfoProto) -> i32 {
    match input.r#type.as_ref().and_then(|t| t.value.as_ref()) {
        Some(type_proto::Value::TensorType(t)) => t.elem_type,
        None => 0,
    }
}

fn declared_shape(input: &ValueInfoProto) -> Option<Vec<Dimension>> {
    let Some(type_proto::Value::TensorType(tensor)) = input.r#type.as_ref()?.value.as_ref() else { return None };
    let of = |value: Option<&DimValue>| match value {
        Some(DimValue::DimValue(v)) if *v > 0 => Dimension::Fixed(*v),
        // Some exporters write −1 or 0 for "any".
        Some(DimValue::DimValue(_)) | None => Dimension::Free(None),
        Some(DimValue::DimParam(p)) => Dimension::Free((!p.is_empty()).then(|| p.clone())),
    };
    Some(tensor.shape.as_ref()?.dim.iter().map(|d| of(d.value.as_ref())).collect())
}

fn fixed(input: &ModelInput) -> Option<Vec<i64>> {
    let of = |d: &Dimension| match d {
        Dimension::Fixed(v) => Some(*v),
        Dimension::Free(_) => None,
    };
    input.shape.as_ref()?.iter().map(of).collect()
}

fn free_dimensions(input: &ModelInput) -> Vec<FreeDimension> {
    let Some(shape) = &input.shape else {
        return vec![FreeDimension { input: input.name.clone(), axis: None, name: None }];
    };
    let of = |(axis, d): (usize, &Dimension)| match d {
        Dimension::Fixed(_) => None,
        Dimension::Free(name) => Some(FreeDimension { input: input.name.clone(), axis: Some(axis), name: name.clone() }),
    };
    shape.iter().enumerate().filter_map(of).collect()
}

/// `?,3,?,?`
fn pattern(input: &ModelInput) -> String {
    let of = |d: &Dimension| match d {
        Dimension::Fixed(v) => v.to_string(),
        Dimension::Free(_) => "?".into(),
    };
    input.shape.as_ref().map_or_else(|| "?".into(), |s| s.iter().map(of).collect::<Vec<_>>().join(","))
}

fn check_given(input: &ModelInput, given: &[i64]) -> Result<(), GraphError> {
    let length = given.iter().try_fold(1i64, |n, &e| if e < 1 { None } else { n.checked_mul(e) });
    if length.is_none_or(|n| n > i64::from(i32::MAX)) {
        let declared = "extents of 1 or more and at most 2147483647 elements".into();
        return Err(GraphError::ShapeConflict { input: input.name.clone(), given: given.into(), declared });
    }
    let fits = |shape: &Vec<Dimension>| {
        shape.len() == given.len() && shape.iter().zip(given).all(|(d, g)| !matches!(d, Dimension::Fixed(v) if v != g))
    };
    if input.shape.as_ref().is_none_or(fits) {
        return Ok(());
    }
    Err(GraphError::ShapeConflict { input: input.name.clone(), given: given.into(), declared: pattern(input) })
}

/// Walks the outermost fields, so that a foreign file, a cut one and a damaged one are told apart.
fn check_envelope(bytes: &[u8]) -> Result<(), GraphError> {
    if bytes.is_empty() {
        return Err(GraphError::Empty);
    }
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        let cut = |needed: u64, at: usize| GraphError::Truncated { at: start, needed, have: bytes.len() - at.min(bytes.len()) };
        let tag = varint(bytes, &mut at).ok_or_else(|| cut(1, at))?;
        let (field, wire) = (tag >> 3, tag & 7);
        // ModelProto's fields: numbers 1 and 5 are integers, all others are messages or strings.
        let expected = if field == 1 || field == 5 { 0 } else { 2 };
        if field == 0 || field > 100 || wire != expected {
            if start == 0 {
                return Err(GraphError::NotOnnx { reason: "it does not begin with a field of an ONNX model".into() });
            }
            return Err(GraphError::Corrupted { reason: format!("no field of a model at byte {start}") });
        }
        let value = varint(bytes, &mut at).ok_or_else(|| cut(1, at))?;
        if wire == 2 {
            let left = (bytes.len() - at) as u64;
            if value > left {
                // The length of a foreign file's first "field" is noise.
                if start == 0 && field != 7 {
                    return Err(GraphError::NotOnnx { reason: "it does not begin with a field of an ONNX model".into() });
                }
                return Err(cut(value, at));
            }
            at += value as usize;
        }
    }
    Ok(())
}

/// A variable-length integer; `None` where the bytes end in it.
fn varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    Some(value)
}
