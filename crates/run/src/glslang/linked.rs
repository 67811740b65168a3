//! The compiler, linked in, behind its C interface.
#![allow(unsafe_code, reason = "the compiler is a C interface")]

use super::{CompileError, Message};
use glslang::limits::{DEFAULT_LIMITS, ResourceLimits};
use glslang_sys as sys;
use std::ffi::{CStr, CString, c_char};
use std::ptr::{NonNull, null_mut};
use std::sync::OnceLock;

static LIMITS: ResourceLimits = DEFAULT_LIMITS;

/// What a text for Vulkan leaves open is chosen: bindings, locations, and the block of loose uniforms.
const UNSAID: sys::glslang_shader_options_t = sys::glslang_shader_options_t(
    sys::glslang_shader_options_t::AUTO_MAP_BINDINGS.0
        | sys::glslang_shader_options_t::AUTO_MAP_LOCATIONS.0
        | sys::glslang_shader_options_t::VULKAN_RULES_RELAXED.0,
);

/// Which compiler this is, for instance `glslang 13.1.1`.
#[must_use]
pub fn version() -> String {
    let mut version = sys::glslang_version_t { major: 0, minor: 0, patch: 0, flavor: std::ptr::null() };
    // SAFETY: it writes to the struct that it is given.
    unsafe { sys::glslang_get_version(&raw mut version) };
    format!("glslang {}.{}.{}", version.major, version.minor, version.patch)
}

/// Compiles a fragment shader for Vulkan 1.1 (SPIR-V 1.3), with lines and without optimisation. May be called by many threads at once.
///
/// # Errors
/// The compiler's messages.
pub fn fragment(glsl: &str) -> Result<Vec<u32>, CompileError> {
    static READY: OnceLock<bool> = OnceLock::new();
    let fault = |text: &str| CompileError::Rejected(vec![Message { line: None, text: text.to_owned() }]);
    // SAFETY: called once in this process, which ends without the compiler being finalised.
    if !*READY.get_or_init(|| unsafe { sys::glslang_initialize_process() != 0 }) {
        return Err(fault("the compiler does not start"));
    }
    let code = CString::new(glsl).map_err(|_| fault("the text contains a zero byte"))?;
    let messages = sys::glslang_messages_t::SPV_RULES | sys::glslang_messages_t::VULKAN_RULES | sys::glslang_messages_t::DEBUG_INFO;
    let input = sys::glslang_input_t {
        language: sys::glslang_source_t::GLSL,
        stage: sys::glslang_stage_t::Fragment,
        client: sys::glslang_client_t::Vulkan,
        client_version: sys::glslang_target_client_version_t::Vulkan1_1,
        target_language: sys::glslang_target_language_t::SPIRV,
        target_language_version: sys::glslang_target_language_version_t::SPIRV1_3,
        code: code.as_ptr(),
        default_version: 450,
        default_profile: sys::glslang_profile_t::None,
        force_default_version_and_profile: 0,
        forward_compatible: 0,
        messages,
        // `ResourceLimits` is transparent.
        resource: (&raw const LIMITS).cast(),
        callbacks: sys::glsl_include_callbacks_s { include_system: None, include_local: None, free_include_result: None },
        callbacks_ctx: null_mut(),
    };
    // SAFETY: `input`, `code` and the limits (a static) outlive the shader and program, which are
    // deleted by their owners below; each function gets what it made itself.
    unsafe {
        let shader = Shader(NonNull::new(sys::glslang_shader_create(&raw const input)).ok_or_else(|| fault("no memory for a shader"))?);
        let raw = shader.0.as_ptr();
        sys::glslang_shader_set_options(raw, UNSAID.0 as _);
        if sys::glslang_shader_preprocess(raw, &raw const input) == 0 || sys::glslang_shader_parse(raw, &raw const input) == 0 {
            return Err(errors(sys::glslang_shader_get_info_log(raw)));
        }
        let program = Program(NonNull::new(sys::glslang_program_create()).ok_or_else(|| fault("no memory for a program"))?);
        let linked = program.0.as_ptr();
        sys::glslang_program_add_shader(linked, raw);
        if sys::glslang_program_link(linked, messages.0) == 0 || sys::glslang_program_map_io(linked) == 0 {
            return Err(errors(sys::glslang_program_get_info_log(linked)));
        }
        let mut options = sys::glslang_spv_options_s {
            generate_debug_info: true,
            strip_debug_info: false,
            disable_optimizer: true,
            optimize_size: false,
            optimize_performance: false,
            disassemble: false,
            validate: false,
            emit_nonsemantic_shader_debug_info: false,
            emit_nonsemantic_shader_debug_source: false,
            compile_only: false,
            optimize_allow_expanded_id_bound: false,
            compiler_signature: std::ptr::null(),
            command_line_arguments: std::ptr::null(),
            current_working_directory: std::ptr::null(),
        };
        sys::glslang_program_SPIRV_generate_with_options(linked, sys::glslang_stage_t::Fragment, &raw mut options);
        let mut words = vec![0u32; sys::glslang_program_SPIRV_get_size(linked)];
        sys::glslang_program_SPIRV_get(linked, words.as_mut_ptr());
        // The program refers to the shader: it goes first.
        drop(program);
        drop(shader);
        if words.is_empty() { Err(fault("the compiler makes no SPIR-V of it")) } else { Ok(words) }
    }
}

struct Shader(NonNull<sys::glslang_shader_t>);

impl Drop for Shader {
    fn drop(&mut self) {
        // SAFETY: made by `glslang_shader_create`, deleted once.
        unsafe { sys::glslang_shader_delete(self.0.as_ptr()) }
    }
}

struct Program(NonNull<sys::glslang_program_t>);

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: made by `glslang_program_create`, deleted once.
        unsafe { sys::glslang_program_delete(self.0.as_ptr()) }
    }
}

/// The errors of a log.
///
/// # Safety
/// `log` is null or a string that ends with a zero.
unsafe fn errors(log: *const c_char) -> CompileError {
    let log = if log.is_null() { String::new() } else { unsafe { CStr::from_ptr(log) }.to_string_lossy().into_owned() };
    let mut messages: Vec<Message> = log.lines().filter_map(error).collect();
    if messages.is_empty() {
        messages.push(Message { line: None, text: log.trim().to_owned() });
    }
    CompileError::Rejected(messages)
}

/// `ERROR: 0:12: 'x' : undeclared identifier`
fn error(line: &str) -> Option<Message> {
    let text = line.strip_prefix("ERROR: ")?;
    // How many there were, and what follows from them.
    if text.contains("compilation errors.") || text.contains("compilation terminated") {
        return None;
    }
    let place = text.split_once(": ").and_then(|(place, text)| Some((place.rsplit_once(':')?.1.parse().ok()?, text)));
    let (line, text) = place.map_or((None, text), |(line, text)| (Some(line), text));
    // The parser's own words for its stack.
    let text = if text.ends_with("memory exhausted") { "it nests too deeply for the compiler of GLSL" } else { text.trim() };
    Some(Message { line, text: text.to_owned() })
}
