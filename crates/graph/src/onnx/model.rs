//! Reading a model file, and binding the shapes it leaves open.

use crate::error::GraphError;
use crate::graph::Graph;
use crate::onnx::declared::{FreeDimension, ModelInput, OPSETS};
use crate::onnx::given::{InputShape, InputValues};
use crate::onnx::import;
use crate::onnx::literal::{is_int, type_name};
use crate::onnx::proto::{ModelProto, ValueInfoProto, tensor_proto, type_proto};
use crate::room::granted;
use prost::Message;
use std::path::Path;

/// A decoded model file.
#[derive(Clone, Debug)]
pub struct Model {
    proto: ModelProto,
    opset: i64,
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
        granted(2 * length).map_err(|why| GraphError::TooLarge { what: "the contents of the file".to_owned(), bytes: length, why })?;
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
        self.input_protos().map(ModelInput::of).collect()
    }

    /// Makes constants of inputs whose values are given; their shapes may be given, too, or are what the model declares.
    ///
    /// # Errors
    /// An input that there is not, [`GraphError::InputValues`], and types that are not read.
    pub fn with_values(mut self, values: &[InputValues], shapes: &[InputShape]) -> Result<Self, GraphError> {
        for own in values {
            let inputs = self.inputs();
            let found = inputs.iter().zip(self.input_protos()).find(|input| input.0.name == own.input);
            let Some((input, proto)) = found else { return Err(no_such_input(&own.input, &inputs)) };
            let found = element_type(proto);
            let kind = tensor_proto::DataType::try_from(found).unwrap_or(tensor_proto::DataType::Undefined);
            let constant = own.constant(input, kind, shapes.iter().rfind(|shape| shape.input == own.input))?;
            self.proto.graph.iter_mut().for_each(|graph| graph.initializer.push(constant.clone()));
        }
        Ok(self)
    }

    /// Dimensions of inputs for which [`Model::graph`] needs a shape.
    pub fn free_dimensions(&self) -> Vec<FreeDimension> {
        self.inputs().iter().flat_map(ModelInput::free_dimensions).collect()
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
    fn bind(&self, shapes: &[InputShape]) -> Result<Vec<(InputShape, tensor_proto::DataType)>, GraphError> {
        let inputs = self.inputs();
        if let Some(stranger) = shapes.iter().find(|s| !inputs.iter().any(|i| i.name == s.input)) {
            return Err(no_such_input(&stranger.input, &inputs));
        }
        let mut kinds = Vec::new();
        for input in self.input_protos() {
            let found = element_type(input);
            let read = tensor_proto::DataType::try_from(found).ok();
            // Kernels compute in single precision: what is of a wider type they cannot take, what is of a narrower one they hold.
            let read = read.filter(|kind| *kind != tensor_proto::DataType::Double && is_int(*kind).is_some());
            let wrong = || GraphError::WrongType { tensor: input.name.clone(), found: type_name(found.into()), expected: "float32" };
            kinds.push(read.ok_or_else(wrong)?);
        }
        let mut bound = Vec::new();
        let mut open = Vec::new();
        let mut flags = Vec::new();
        for (input, kind) in inputs.iter().zip(kinds) {
            let given = shapes.iter().rfind(|s| s.input == input.name);
            let declared = || input.fixed().map(|shape| InputShape { input: input.name.clone(), shape });
            match given.cloned().or_else(declared) {
                Some(shape) => {
                    shape.check(input)?;
                    bound.push((shape, kind));
                }
                None => {
                    open.extend(input.free_dimensions());
                    flags.push(format!("--input-shape {}={}", input.name, input.pattern()));
                }
            }
        }
        if open.is_empty() { Ok(bound) } else { Err(GraphError::FreeDimensions { dimensions: open, flags }) }
    }
}

fn no_such_input(name: &str, inputs: &[ModelInput]) -> GraphError {
    let names: Vec<&str> = inputs.iter().map(|i| i.name.as_str()).collect();
    GraphError::NoSuchInput { name: name.to_owned(), inputs: names.join(", ") }
}

fn element_type(input: &ValueInfoProto) -> i32 {
    match input.r#type.as_ref().and_then(|t| t.value.as_ref()) {
        Some(type_proto::Value::TensorType(t)) => t.elem_type,
        None => 0,
    }
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
