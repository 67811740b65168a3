//! Which multiprocessor holds which work-groups (paper 003, section 4.2 and figure 8d).

use serde::Serialize;
use warpsight_ir::StageClass;

/// What one multiprocessor holds: at most one work-group of each class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Pair {
    /// The work-group on its matrix units.
    pub tensor: Option<Cta>,
    /// The one on its vector units.
    pub simt: Option<Cta>,
}

/// A work-group of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Cta {
    /// Position of the stage.
    pub stage: usize,
    /// Which of the stage's work-groups.
    pub index: u32,
}

/// What every multiprocessor holds. One arbiter for each class goes round the multiprocessors, as the paper's grid scheduler does: the
/// n-th work-group of a class, stages in order, comes to the n-th multiprocessor, so that work-groups of the two classes are paired.
/// `None` where a class has more work-groups than there are multiprocessors.
pub fn assign(stages: &[(StageClass, u32)], multiprocessors: u32) -> Option<Vec<Pair>> {
    let mut pairs = vec![Pair::default(); multiprocessors as usize];
    let all = stages.iter().enumerate().flat_map(|(stage, &(class, ctas))| (0..ctas).map(move |index| (class, Cta { stage, index })));
    let (mut tensor, mut simt) = (0, 0);
    for (class, cta) in all {
        let (slot, next) = match class {
            StageClass::Tensor => (&mut pairs.get_mut(tensor)?.tensor, &mut tensor),
            StageClass::Simt => (&mut pairs.get_mut(simt)?.simt, &mut simt),
        };
        *slot = Some(cta);
        *next += 1;
    }
    Some(pairs)
}
