//! Several Programs that run together, joined by channels.

use crate::kernel::StageClass;
use crate::program::{Name, Program};
use crate::types::Scalar;
use serde::{Deserialize, Serialize};

/// Stages joined by channels. Stages run at the same time; a token sent is received by every consumer, in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pipeline {
    /// Its name.
    pub name: Name,
    /// The stages; names are unique.
    pub stages: Vec<PipelineStage>,
    /// The channels; names are unique.
    pub channels: Vec<Channel>,
    /// Tensors a stage writes to device memory besides its tokens (for instance activations saved for a backward pass).
    pub side_outputs: Vec<SideOutput>,
    /// The proof that it cannot deadlock, where one was made.
    pub certificate: Option<Certificate>,
}

/// A stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PipelineStage {
    /// Its name.
    pub name: Name,
    /// The unit it needs.
    pub class: StageClass,
    /// Work-groups (CTAs) it is given; all are resident together.
    pub ctas: u32,
    /// What they do.
    pub body: StageBody,
}

/// What the work-groups of a stage do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum StageBody {
    /// A Program, executed by each. Its channel parameters are matched to the pipeline's channels by name.
    Program(Program),
    /// What a Program would do, as far as time and deadlock depend on it: before it is generated, or because somebody else has it.
    Firings(Firings),
}

impl StageBody {
    /// The Program, where there is one.
    pub fn program(&self) -> Option<&Program> {
        match self {
            Self::Program(program) => Some(program),
            Self::Firings(_) => None,
        }
    }
}

/// The same steps again and again (synchronous dataflow). Firing i is done by work-group i mod `ctas`, which finishes it before it begins
/// its next one; the j-th token that firing i takes from a channel is token i · n + j of it, where n are those of one firing, and so for
/// those that it puts. A put waits for a free slot, a take for its token. Where tokens are dealt, those that work-groups which fire at the
/// same time take go to them in turn ([`Turns`]): who sums many tokens would otherwise keep the others waiting for theirs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Firings {
    /// Firings of one execution, over all work-groups.
    pub count: u64,
    /// Whether the tokens that it takes are dealt to work-groups in turn.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dealt: bool,
    /// Work-items of a work-group.
    pub lanes: u32,
    /// 32-bit registers of a work-item.
    pub registers: u32,
    /// Bytes of local memory of a work-group.
    pub local: u64,
    /// What a firing does, in order.
    pub steps: Vec<Step>,
}

/// A part of a firing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Takes tokens from a channel, one after another; a token's slot is free again as soon as it was taken.
    Take {
        /// The channel.
        channel: Name,
        /// How many; at least 1.
        count: u64,
    },
    /// Computes, reads and writes device memory.
    Work {
        /// Floating-point operations.
        flops: u64,
        /// Bytes read from device memory.
        read: u64,
        /// Bytes written to it.
        written: u64,
    },
    /// Puts tokens into a channel, one after another.
    Put {
        /// The channel.
        channel: Name,
        /// How many; at least 1.
        count: u64,
    },
}

/// Which tokens firings take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turns {
    /// Whether they are dealt.
    pub dealt: bool,
    /// Work-groups; at least 1.
    pub ctas: u64,
    /// Firings.
    pub count: u64,
}

impl Turns {
    /// The first firing of those that the work-groups carry out together with this one, and how many they are.
    fn round(self, firing: u64) -> (u64, u64) {
        let begin = firing / self.ctas * self.ctas;
        (begin, self.ctas.min(self.count.saturating_sub(begin)).max(1))
    }

    /// The token that a firing takes as its `at`-th of `each`.
    pub fn token(self, firing: u64, at: u64, each: u64) -> u64 {
        if !self.dealt {
            return firing * each + at;
        }
        let (begin, together) = self.round(firing);
        begin * each + at * together + firing - begin
    }

    /// The firing that takes a token, and as which of `each`.
    pub fn firing(self, token: u64, each: u64) -> (u64, u64) {
        if !self.dealt {
            return (token / each, token % each);
        }
        let (begin, together) = self.round(token / each);
        let within = token - begin * each;
        (begin + within % together, within / together)
    }
}

impl Firings {
    /// Which tokens its firings take.
    pub fn turns(&self, ctas: u32) -> Turns {
        Turns { dealt: self.dealt, ctas: u64::from(ctas).max(1), count: self.count }
    }

    /// Tokens that one firing takes from a channel.
    pub fn takes(&self, from: &Name) -> u64 {
        self.moved(|step| if let Step::Take { channel, count } = step { (channel == from).then_some(*count) } else { None })
    }

    /// Tokens that one firing puts into a channel.
    pub fn puts(&self, to: &Name) -> u64 {
        self.moved(|step| if let Step::Put { channel, count } = step { (channel == to).then_some(*count) } else { None })
    }

    fn moved(&self, tokens: impl Fn(&Step) -> Option<u64>) -> u64 {
        self.steps.iter().filter_map(tokens).fold(0, u64::saturating_add)
    }
}

/// A bounded queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Channel {
    /// Its name.
    pub name: Name,
    /// Of one element of a token.
    pub element: Scalar,
    /// Extents of a token (a tile).
    pub dims: Vec<u32>,
    /// Tokens that fit.
    pub depth: u32,
    /// The stages that put tokens in; one alone where it has no Program, because the order of several would be nobody's.
    pub producers: Vec<Name>,
    /// The stages that take tokens out; each receives every token.
    pub consumers: Vec<Name>,
}

impl Channel {
    /// Bytes of one token.
    pub fn payload(&self) -> u64 {
        self.dims.iter().map(|&d| u64::from(d)).product::<u64>() * u64::from(self.element.bytes())
    }
}

/// A tensor written besides the tokens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SideOutput {
    /// The stage that writes it.
    pub stage: Name,
    /// The buffer parameter of its Program; where it has none yet, the tensor's name.
    pub param: Name,
}

/// Why a pipeline cannot deadlock: what a checker found, for others to check again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Certificate {
    /// Stages in an order in which every channel leads forward.
    pub order: Vec<Name>,
    /// Tokens that pass each channel in one execution.
    pub tokens: Vec<(Name, u64)>,
    /// Work-groups that must be resident together, and how many the device holds.
    pub resident: (u32, u32),
}

#[cfg(test)]
mod tests {
    use super::Turns;

    /// Every token is taken once, by the firing that says so, whether work-groups and firings come out even or not.
    #[test]
    fn tokens_are_dealt_once_each() {
        for (ctas, count, each) in [(1, 5, 3), (4, 8, 6), (3, 8, 4), (7, 5, 2), (5, 10, 1)] {
            for dealt in [false, true] {
                let turns = Turns { dealt, ctas, count };
                let all = (0..count).flat_map(|firing| (0..each).map(move |at| (turns.token(firing, at, each), firing, at)));
                let mut all: Vec<_> = all.collect();
                all.sort_unstable();
                assert!(all.iter().map(|own| own.0).eq(0..count * each), "{turns:?}: {all:?}");
                assert!(all.iter().all(|&(token, firing, at)| turns.firing(token, each) == (firing, at)), "{turns:?}");
            }
        }
        // 2 work-groups, 3 tokens each: in turn, then the next round.
        let turns = Turns { dealt: true, ctas: 2, count: 4 };
        assert_eq!(
            [0, 1, 2, 3].map(|firing| [0, 1, 2].map(|at| turns.token(firing, at, 3))),
            [[0, 2, 4], [1, 3, 5], [6, 8, 10], [7, 9, 11]]
        );
    }
}
