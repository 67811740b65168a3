//! The text form of Programs and Pipelines: what people read and write, and what stores keep.
//!
//! Printing ([`std::fmt::Display`]) and [`parse`] are inverse: `parse(&p.to_string()) == Ok(p)` for every Program whose names are
//! identifiers that occur once ([`crate::Checked`] ones are). A NaN compares unequal to itself, but keeps its bits.
//!
//! ```
//! let text = "\
//! program double {
//!   size n in 1..=1024
//!   read buffer x: f32[n]
//!   write buffer y: f32[n]
//!   groups g = (n + 63) / 64
//!   lanes l = 64
//!   {
//!     let i = g * 64 + l
//!     y[i if 0 <= i < n] = x[i if 0 <= i < n] * 2.0
//!   }
//! }
//! ";
//! let program = warpsight_ir::text::parse(text)?;
//! assert_eq!(program.to_string(), text);
//! # Ok::<(), warpsight_ir::text::ParseError>(())
//! ```
//!
//! # Grammar
//!
//! `[ ]` is optional, `{ }` repeated, `'x'` literal. White space separates, `//` begins a comment that ends with its line. The words of
//! the grammar may also be names, except those that [`crate::Checked`] refuses (`if`, `true`, `inf`, …); therefore trailing words of a
//! statement (`non_temporal`, an atomic's order and scope, a barrier's) stand on the line where the statement ends.
//!
//! ```text
//! program    = 'program' name '{' { size } { declaration } block '}'
//! size       = 'size' name 'in' int '..=' int
//! declaration= access [ space ] 'buffer' name ':' scalar '[' exprs ']'
//!            | access image name ':' format '[' expr [ ',' expr ] ']' [ 'border' border ]       width, and height where it is not 1
//!            | ( 'send' | 'receive' ) 'channel' name ':' scalar '[' ints ']' 'depth' int
//!            | space name ':' scalar '[' ints ']'                            an array
//!            | 'groups' name '=' expr { ',' name '=' expr }                  fastest first
//!            | 'lanes' name '=' int { ',' name '=' int }                     fastest first
//!            | 'subgroup' int
//! access     = 'read' | 'write' | 'read' 'write'
//! space      = 'global' | 'constant' | 'local' | 'tile' | 'private'          a buffer is global unless it says otherwise
//! image      = 'image' | 'image2d' | 'image1d' | 'image1d_buffer' | 'image2d_from_buffer'    the first two are one
//! border     = 'zero' | 'clamp' | 'none'                                     zero unless it says otherwise, none of image1d_buffer
//! format     = 'rgba32f' | 'rgba16f' | 'rgba16h' | 'rgba32i' | 'rgba32u' | 'rgba8unorm'
//! scalar     = 'bool' | 'i32' | 'u32' | 'i64' | 'u64' | 'f16' | 'bf16' | 'half' | 'f32' | 'f64'
//! type       = scalar | scalar 'x' width                                     f32x4
//!
//! block      = '{' { statement } '}'
//! statement  = 'let' name '=' expr
//!            | 'var' name ':' type '=' expr
//!            | name '=' expr
//!            | 'for' name 'in' expr '..' expr [ 'step' int ] [ 'unroll' ( 'none' | 'full' | int ) ] block
//!            | 'if' expr block [ 'else' ( block | 'if' … ) ]
//!            | block                                                         a scope
//!            | name '[' exprs [ guard ] ']' '=' expr [ 'write_through' | 'non_temporal' ]
//!            | name '@' '[' expr [ ',' expr ] [ guard ] ']' '=' expr         a texel at x, y; at x, 0 without y
//!            | [ 'let' name '=' ] 'atomic' op name '[' exprs ']' 'with' expr [ 'if' 'was' expr ] order scope
//!            | 'barrier' scope [ 'local' ] [ 'global' ]
//!            | 'tile' 'load' name '=' name '[' exprs ']'
//!            | 'tile' 'store' name '[' exprs ']' '=' name
//!            | 'tile' 'fill' name '=' expr
//!            | 'tile' 'mma' name '+=' name '*' name
//!            | 'send' name 'from' name
//!            | 'receive' name 'into' name
//! guard      = 'if' bound { ',' bound }
//! bound      = '0' '<=' expr '<' expr [ 'per' 'lane' ]                       operands without comparisons
//! op         = 'add' | 'sub' | 'min' | 'max' | 'and' | 'or' | 'xor' | 'exchange' | 'compare_exchange'
//! order      = 'relaxed' | 'acquire' | 'release' | 'acquire_release'
//! scope      = 'subgroup' | 'group' | 'device'
//!
//! expr       = operators as in Rust, all grouping to the left, comparisons not at all; loosest first:
//!              < <= == !=    |    ^    &    << >>    + -    * / %    unary - !    postfix
//! postfix    = primary { '.[' int '..' int ']' }                             lanes from .. to of a vector
//! primary    = '(' expr ')' | literal | name                                 a size where one of that name is declared
//!            | name '[' exprs [ ':' width ] [ guard ] ']'                    a load; x[i : 4] takes 4 elements from i on
//!            | name '@' '[' expr [ ',' expr ] [ guard ] ']'                  a texel at x, y; at x, 0 without y
//!            | scalar '(' expr ')'                                           a conversion
//!            | 'splat'width '(' expr ')' | 'concat' '(' exprs ')' | 'lane' '(' expr ',' expr ')'
//!            | 'fma' '(' expr ',' expr ',' expr ')' | 'select' '(' expr ',' expr ',' expr ')'
//!            | 'min' '(' expr ',' expr ')' | 'max' '(' expr ',' expr ')'
//!            | ( 'abs' | 'floor' | 'ceil' | 'exp' | 'log' | 'sqrt' | 'rsqrt' | 'tanh' | 'sin' | 'cos' | 'erf' ) '(' expr ')'
//! literal    = 'true' | 'false' | 1 (i32) | 1u (u32) | 1l (i64) | 1ul (u64) | 0.5 1e9 inf nan (f32)
//!            | 0.5d 1e9d infd nand (f64) | 0.5h 1e3h infh nanh (half)
//!            | ( 'nan' | 'nand' | 'nanh' ) '(' hex bits ')'                      a minus before a number belongs to it
//!
//! pipeline   = 'pipeline' name '{' { channel | stage | 'side' 'output' name '.' name } [ certificate ] '}'
//! channel    = 'channel' name ':' scalar '[' ints ']' 'depth' int 'from' '[' names ']' 'to' '[' names ']'
//! stage      = 'stage' name ':' ( 'tensor' | 'simt' ) ',' int 'ctas' ( program | firings )
//! firings    = 'fires' int [ 'dealt' ] 'lanes' int 'registers' int 'local' int '{' { step } '}'
//! step       = 'take' int 'from' name | 'put' int 'to' name | 'work' int 'flops' int 'read' int 'written'
//! certificate= 'certificate' '{' 'order' '[' names ']' 'tokens' '[' { name '=' int } ']' 'resident' int 'of' int '}'
//! ```

mod error;
mod expr;
mod lex;
mod parse;
mod pipeline;
mod print;
mod words;

pub use error::{ParseError, ParseErrorKind};
pub use words::Word;

use crate::pipeline::Pipeline;
use crate::program::Program;

/// Reads a Program. It need not be valid; [`crate::Checked::new`] judges that.
///
/// # Errors
/// The first place where the text does not follow the grammar.
pub fn parse(text: &str) -> Result<Program, ParseError> {
    let mut parser = parse::Parser::new(text)?;
    let program = parser.program()?;
    parser.end()?;
    Ok(program)
}

/// Reads a Pipeline. It need not be valid; [`crate::CheckedPipeline::new`] judges that.
///
/// # Errors
/// The first place where the text does not follow the grammar.
pub fn parse_pipeline(text: &str) -> Result<Pipeline, ParseError> {
    let mut parser = parse::Parser::new(text)?;
    let pipeline = parser.pipeline()?;
    parser.end()?;
    Ok(pipeline)
}
