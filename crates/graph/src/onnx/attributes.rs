//! A node of the file with typed access to its attributes, and errors that name it.

use crate::error::GraphError;
use crate::onnx::proto::attribute_proto::AttributeType;
use crate::onnx::proto::{AttributeProto, NodeProto, TensorProto};

/// One node of the file.
#[derive(Clone, Copy)]
pub(crate) struct NodeView<'a> {
    pub(crate) proto: &'a NodeProto,
    pub(crate) opset: i64,
}

/// A node's name for people: its own, or that of what it writes.
pub(crate) fn node_name(proto: &NodeProto) -> String {
    if !proto.name.is_empty() {
        return proto.name.clone();
    }
    first_output(proto).to_owned()
}

/// The first of what a node writes; layers of sequences may leave out what others have first.
fn first_output(proto: &NodeProto) -> &str {
    proto.output.iter().find(|name| !name.is_empty()).map_or("", String::as_str)
}

/// An operator's name, with its domain where that is not ONNX's own.
pub(crate) fn operator_name(proto: &NodeProto) -> String {
    if proto.domain.is_empty() || proto.domain == "ai.onnx" { proto.op_type.clone() } else { format!("{}.{}", proto.domain, proto.op_type) }
}

impl<'a> NodeView<'a> {
    pub(crate) fn name(&self) -> String {
        node_name(self.proto)
    }
    pub(crate) fn first_output(&self) -> &'a str {
        first_output(self.proto)
    }
    pub(crate) fn unsupported(&self, what: impl Into<String>) -> GraphError {
        GraphError::Unsupported { node: self.name(), operator: operator_name(self.proto), opset: self.opset, what: what.into() }
    }
    pub(crate) fn bad(&self, what: impl Into<String>) -> GraphError {
        GraphError::BadNode { node: self.name(), operator: operator_name(self.proto), opset: self.opset, what: what.into() }
    }

    fn find(&self, name: &str, kind: AttributeType) -> Result<Option<&'a AttributeProto>, GraphError> {
        let Some(attribute) = self.proto.attribute.iter().find(|a| a.name == name) else { return Ok(None) };
        // Files of the first format version leave the type out.
        if attribute.r#type == kind as i32 || attribute.r#type == AttributeType::Undefined as i32 {
            return Ok(Some(attribute));
        }
        Err(self.bad(format!("attribute `{name}` is not of type {}", kind.as_str_name())))
    }
    pub(crate) fn has(&self, name: &str) -> bool {
        self.proto.attribute.iter().any(|a| a.name == name)
    }
    pub(crate) fn int(&self, name: &str, default: i64) -> Result<i64, GraphError> {
        Ok(self.find(name, AttributeType::Int)?.map_or(default, |a| a.i))
    }
    pub(crate) fn float(&self, name: &str, default: f64) -> Result<f64, GraphError> {
        Ok(self.find(name, AttributeType::Float)?.map_or(default, |a| f64::from(a.f)))
    }
    pub(crate) fn ints(&self, name: &str) -> Result<Option<&'a [i64]>, GraphError> {
        Ok(self.find(name, AttributeType::Ints)?.map(|a| a.ints.as_slice()))
    }
    pub(crate) fn floats(&self, name: &str) -> Result<Option<&'a [f32]>, GraphError> {
        Ok(self.find(name, AttributeType::Floats)?.map(|a| a.floats.as_slice()))
    }
    pub(crate) fn string(&self, name: &str) -> Result<Option<String>, GraphError> {
        Ok(self.find(name, AttributeType::String)?.map(|a| String::from_utf8_lossy(&a.s).into_owned()))
    }
    pub(crate) fn strings(&self, name: &str) -> Result<Vec<String>, GraphError> {
        let found = self.find(name, AttributeType::Strings)?;
        Ok(found.map(|a| a.strings.iter().map(|own| String::from_utf8_lossy(own).into_owned()).collect()).unwrap_or_default())
    }
    pub(crate) fn tensor(&self, name: &str) -> Result<Option<&'a TensorProto>, GraphError> {
        Ok(self.find(name, AttributeType::Tensor)?.and_then(|a| a.t.as_ref()))
    }
}
