//! Names that every emitter can use as they stand.

use super::error::NameError;
use crate::program::Name;

/// Keywords of C99 and C++, qualifiers of OpenCL C and CUDA, literals of the text form, and the functions emitters call.
#[rustfmt::skip]
const RESERVED: &[&str] = &[
    "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break", "case", "catch", "char", "class", "compl",
    "const", "constexpr", "const_cast", "continue", "decltype", "default", "delete", "do", "double", "dynamic_cast", "else", "enum",
    "explicit", "export", "extern", "false", "float", "for", "friend", "goto", "if", "inline", "int", "long", "mutable", "namespace", "new",
    "noexcept", "not", "not_eq", "nullptr", "operator", "or", "or_eq", "private", "protected", "public", "register", "reinterpret_cast",
    "restrict", "return", "short", "signed", "sizeof", "static", "static_assert", "static_cast", "struct", "switch", "template", "this",
    "thread_local", "throw", "true", "try", "typedef", "typeid", "typename", "union", "unsigned", "using", "virtual", "void", "volatile",
    "wchar_t", "while", "xor", "xor_eq",
    "global", "local", "constant", "generic", "kernel", "read_only", "write_only", "read_write", "uniform", "pipe", "half", "uchar", "ushort",
    "uint", "ulong", "size_t", "ptrdiff_t", "intptr_t", "uintptr_t", "event_t", "sampler_t", "image1d_t", "image2d_t", "image3d_t", "quad",
    "complex", "imaginary", "main",
    "gridDim", "blockDim", "blockIdx", "threadIdx", "warpSize",
    "inf", "nan", "infd", "nand", "infh", "nanh",
    "abs", "fabs", "floor", "ceil", "exp", "log", "sqrt", "rsqrt", "tanh", "sin", "cos", "erf", "min", "max", "fmin", "fmax", "fma", "mad",
    "clamp", "select", "barrier", "mem_fence", "printf", "sampler", "isnan", "isinf", "rint", "trunc", "pow",
];

/// Types that OpenCL C and CUDA give vectors of: `float4` is taken.
const VECTORS: &[&str] =
    &["bool", "char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "half", "float", "double", "longlong", "ulonglong"];

/// Beginnings of built-in functions.
const PREFIXES: &[&str] =
    &["__", "get_global_", "get_local_", "get_group_", "convert_", "as_", "vload", "vstore", "read_image", "write_image"];

/// Checks that a name is a C identifier and free in every language we emit.
pub(super) fn check_name(name: &Name) -> Result<(), NameError> {
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if !starts || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Err(NameError::NotIdentifier(name.clone()));
    }
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let vector = matches!(&name[stem.len()..], "1" | "2" | "3" | "4" | "8" | "16") && VECTORS.contains(&stem);
    if vector || RESERVED.contains(&&**name) || PREFIXES.iter().any(|p| name.starts_with(p)) {
        return Err(NameError::Reserved(name.clone()));
    }
    Ok(())
}
