//! Near-duplicates among shaders: those that say nearly the same with other names and numbers.
//!
//! A text is read as tokens without comments, macros and what wrapping put in; names that the language does not give become one, and so
//! do numbers. Its shingles are the [`LENGTH`] tokens that follow each other, each once. Two shaders are near-duplicates where the
//! Jaccard index of their shingles (common ones over all) is at least [`THRESHOLD`]; a group is a connected component of that.
//! All pairs that reach the threshold are found: sets that do must share one of their rarest few shingles, so that only those are compared.

use super::wrap::OURS;
use super::wrap::lex::{Kind, Token, tokens};
use std::collections::HashMap;

/// Tokens in a shingle.
pub const LENGTH: usize = 6;
/// The least Jaccard index of near-duplicates.
pub const THRESHOLD: f64 = 0.7;

/// Types, keywords, functions and variables of GLSL that shaders differ by.
const KNOWN: &str = " void float int uint bool vec2 vec3 vec4 ivec2 ivec3 ivec4 uvec2 uvec3 uvec4 bvec2 bvec3 bvec4 mat2 mat3 mat4 \
    sampler2D sampler3D samplerCube const in out inout struct if else for while do switch case default break continue return discard true false \
    radians degrees sin cos tan asin acos atan sinh cosh tanh pow exp log exp2 log2 sqrt inversesqrt abs sign floor trunc round ceil fract mod \
    min max clamp mix step smoothstep length distance dot cross normalize faceforward reflect refract matrixCompMult transpose inverse \
    determinant lessThan lessThanEqual greaterThan greaterThanEqual equal notEqual any all not texture textureLod textureProj textureGrad \
    texelFetch textureSize textureOffset dFdx dFdy fwidth main gl_FragCoord gl_FragDepth gl_FrontFacing ";

/// The shingles of a text, as hashes in ascending order.
#[must_use]
pub fn shingles(glsl: &str) -> Vec<u64> {
    let words = normal(glsl);
    let hash = |window: &[u64]| window.iter().fold(0xcbf2_9ce4_8422_2325_u64, |h, w| mix(h ^ w));
    let mut all: Vec<u64> = match words.len() {
        0 => Vec::new(),
        n if n < LENGTH => vec![hash(&words)],
        _ => words.windows(LENGTH).map(hash).collect(),
    };
    all.sort_unstable();
    all.dedup();
    all
}

/// Normalised tokens, as hashes.
fn normal(glsl: &str) -> Vec<u64> {
    let mut out = Vec::new();
    let mut own = false;
    let mut member = false;
    for token in tokens(glsl) {
        if token.kind == Kind::Directive {
            let line = token.text.strip_prefix("#line").and_then(|rest| rest.trim().parse::<u32>().ok());
            own = line.map_or(own, |line| line >= OURS);
            continue;
        }
        if own {
            continue;
        }
        out.push(hash_of(&token, member));
        member = token.is(".");
    }
    out
}

fn hash_of(token: &Token, member: bool) -> u64 {
    let text = match token.kind {
        Kind::Number => "0",
        Kind::Word if member || KNOWN.contains(&format!(" {} ", token.text)) => token.text.as_str(),
        Kind::Word => "x",
        _ => token.text.as_str(),
    };
    text.bytes().fold(0x9e37_79b9_7f4a_7c15, |h, b| mix(h ^ u64::from(b)))
}

fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    x ^ (x >> 29)
}

/// For each set of shingles the index of the first set of its group.
#[must_use]
pub fn groups(sets: &[Vec<u64>]) -> Vec<usize> {
    let mut frequency: HashMap<u64, u32> = HashMap::new();
    sets.iter().flatten().for_each(|s| *frequency.entry(*s).or_default() += 1);
    let mut order: Vec<usize> = (0..sets.len()).collect();
    order.sort_by_key(|&at| (sets[at].len(), at));
    let mut parent: Vec<usize> = (0..sets.len()).collect();
    let mut holders: HashMap<u64, Vec<usize>> = HashMap::new();
    for &at in &order {
        let set = &sets[at];
        let mut rare = set.clone();
        rare.sort_by_key(|s| (frequency[s], *s));
        // Sets that share none of these many share too few.
        let prefix = set.len() - ((set.len() as f64 * THRESHOLD).ceil() as usize).min(set.len()) + usize::from(!set.is_empty());
        let mut met: Vec<usize> = Vec::new();
        for shingle in &rare[..prefix.min(rare.len())] {
            let list = holders.entry(*shingle).or_default();
            met.extend(list.iter().copied());
            list.push(at);
        }
        met.sort_unstable();
        met.dedup();
        for other in met {
            let short = (sets[other].len() as f64) < THRESHOLD * set.len() as f64;
            if !short && root(&mut parent, other) != root(&mut parent, at) && jaccard(set, &sets[other]) >= THRESHOLD {
                let (a, b) = (root(&mut parent, other), root(&mut parent, at));
                parent[a.max(b)] = a.min(b);
            }
        }
    }
    (0..sets.len()).map(|at| root(&mut parent, at)).collect()
}

fn root(parent: &mut [usize], mut at: usize) -> usize {
    while parent[at] != at {
        parent[at] = parent[parent[at]];
        at = parent[at];
    }
    at
}

/// Common members over all members of two sets in ascending order; 1 for two empty ones.
#[must_use]
pub fn jaccard(a: &[u64], b: &[u64]) -> f64 {
    let (mut i, mut j, mut common) = (0, 0, 0usize);
    while i < a.len() && j < b.len() {
        match a[i].cmp(&b[j]) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                common += 1;
                i += 1;
                j += 1;
            }
        }
    }
    let all = a.len() + b.len() - common;
    if all == 0 { 1.0 } else { common as f64 / all as f64 }
}
