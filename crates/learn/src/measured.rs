//! What shaders were measured to take, and how much that is worth.
//!
//! A [`Shot`] is one attempt to measure one shader in one scene on one device. On CPU rasterisers a reference shader was drawn between
//! any two trials. How fast a processor is changes with what its other cores and threads do, by more than the trials of one shader
//! show: all times of a device are stated for the speed that it mostly had, by [`usual_reference`].

use serde::{Deserialize, Serialize};
use warpsight_ir::Seconds;
use warpsight_ir::sample::{Device, median};

/// The way of measuring, to be raised when times would come out otherwise.
pub const PROTOCOL: u32 = 2;
/// What a trial lasts at least: so many draws in a row.
pub const LEAST: Seconds = Seconds(0.05);
/// Trials of a round.
pub const TRIALS: u32 = 5;
/// A round with a larger coefficient of variation is followed by another one.
pub const SPREAD: f64 = 0.03;
/// Rounds at most.
pub const ROUNDS: u32 = 4;
/// No further round begins after this, by the host's clock.
pub const PATIENCE: Seconds = Seconds(30.0);
/// A draw that takes longer is not measured (paper 004, section 6: shaders above 10 s are dropped).
pub const LONGEST: Seconds = Seconds(10.0);

/// One attempt to measure one shader.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shot {
    /// The shader's id in its corpus.
    pub shader: String,
    /// The device. Name and driver contain the versions of Mesa and LLVM and the width of vectors, where it is lavapipe.
    pub device: Device,
    /// Width and height in pixels.
    pub frame: [u32; 2],
    /// The side of textures in texels.
    pub texture: u32,
    /// What else the shader was given: [`fingerprint`].
    pub inputs: String,
    /// The [`PROTOCOL`] of its time.
    pub protocol: u32,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of an attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "status")]
pub enum Outcome {
    /// Measured.
    Done(Timed),
    /// The driver did not answer in time and was ended.
    Hang {
        /// What was seen.
        reason: String,
    },
    /// The driver crashed or lost the device.
    Lost {
        /// What was seen.
        reason: String,
    },
    /// Not drawn, or too slow.
    Refused {
        /// Why.
        reason: String,
    },
}

impl Outcome {
    /// Its name: `done`, `hang`, `lost`, `refused`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Done(_) => "done",
            Self::Hang { .. } => "hang",
            Self::Lost { .. } => "lost",
            Self::Refused { .. } => "refused",
        }
    }

    /// What went wrong.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Done(_) => None,
            Self::Hang { reason } | Self::Lost { reason } | Self::Refused { reason } => Some(reason),
        }
    }
}

/// What trials read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// The device's timestamps.
    Timestamps,
    /// Processor time, on a CPU rasteriser.
    Processor,
}

/// What is remarkable about an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Flag {
    /// All black, whatever its alpha.
    Black,
    /// All white.
    White,
    /// Every pixel is the same.
    Constant,
    /// Not the same after every trial.
    Unstable,
}

impl Flag {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Black => "black",
            Self::White => "white",
            Self::Constant => "constant",
            Self::Unstable => "unstable",
        }
    }
}

/// Some draws in a row.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Its round, from 0.
    pub round: u32,
    /// How many draws.
    pub draws: u32,
    /// Seconds of one draw.
    pub seconds: f64,
    /// Seconds of one draw of the reference shader, around the same time.
    pub reference: f64,
}

/// What was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timed {
    /// What trials read.
    pub clock: Clock,
    /// The first draw, compilation included; in no trial.
    pub first: Seconds,
    /// All trials in order.
    pub trials: Vec<Trial>,
    /// The first 16 hexadecimal digits of the SHA-256 of the image.
    pub image: String,
    /// What is remarkable about the image.
    pub flags: Vec<Flag>,
    /// Core and memory clock in MHz before and after, where the device tells them.
    pub clocks: Vec<[Option<u32>; 2]>,
}

impl Timed {
    /// What a trial is compared with: on a processor its time in references, elsewhere its seconds.
    fn value(&self, trial: &Trial) -> f64 {
        match self.clock {
            Clock::Processor => trial.seconds / trial.reference,
            Clock::Timestamps => trial.seconds,
        }
    }

    /// The values of the round with the smallest coefficient of variation, and that.
    fn best(&self) -> (Vec<Seconds>, f64) {
        let mut rounds: Vec<(Vec<Seconds>, f64)> = Vec::new();
        for part in self.trials.chunk_by(|a, b| a.round == b.round) {
            let values: Vec<Seconds> = part.iter().map(|t| Seconds(self.value(t))).collect();
            let spread = spread(&values);
            rounds.push((values, spread));
        }
        rounds.into_iter().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or_default()
    }

    /// One draw: the median of the calmest round. On a processor for the speed at which the reference shader takes `reference`.
    #[must_use]
    pub fn seconds(&self, reference: Seconds) -> Seconds {
        let middle = median(&self.best().0).unwrap_or(Seconds(f64::NAN));
        match self.clock {
            Clock::Processor => Seconds(middle.0 * reference.0),
            Clock::Timestamps => middle,
        }
    }

    /// The coefficient of variation of the calmest round.
    #[must_use]
    pub fn cv(&self) -> f64 {
        self.best().1
    }

    /// The same of seconds as they were read, reference or not, of the last round.
    #[must_use]
    pub fn raw_cv(&self) -> f64 {
        let last = self.trials.last().map_or(0, |t| t.round);
        spread(&self.trials.iter().filter(|t| t.round == last).map(|t| Seconds(t.seconds)).collect::<Vec<_>>())
    }

    /// The reference shader while this was measured: the median.
    #[must_use]
    pub fn reference(&self) -> Seconds {
        median(&self.trials.iter().map(|t| Seconds(t.reference)).collect::<Vec<_>>()).unwrap_or(Seconds(f64::NAN))
    }
}

/// Standard deviation over mean; 0 for fewer than two values.
fn spread(values: &[Seconds]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().map(|v| v.0).sum::<f64>() / n;
    if values.len() < 2 { 0.0 } else { (values.iter().map(|v| (v.0 - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt() / mean }
}

/// How long the reference shader mostly took on a device: the median over its shots. `None` where nothing was measured.
#[must_use]
pub fn usual_reference<'s>(shots: impl IntoIterator<Item = &'s Shot>, device: &Device) -> Option<Seconds> {
    let timed = shots.into_iter().filter(|s| s.device == *device);
    let references: Vec<Seconds> =
        timed.filter_map(|s| if let Outcome::Done(t) = &s.outcome { Some(t.reference()) } else { None }).collect();
    median(&references)
}

/// The newest shot of every shader in every scene, in the order in which they were first taken.
#[must_use]
pub fn newest(shots: Vec<Shot>) -> Vec<Shot> {
    let mut order: Vec<Shot> = Vec::new();
    let mut at = std::collections::HashMap::new();
    for shot in shots {
        let key = (shot.shader.clone(), shot.device.fingerprint(), shot.frame, shot.texture, shot.inputs.clone(), shot.protocol);
        match at.get(&key) {
            Some(&index) => order[index] = shot,
            None => {
                at.insert(key, order.len());
                order.push(shot);
            }
        }
    }
    order
}

/// Tells apart what a shader is given: the first 16 hexadecimal digits of the SHA-256 of these bytes.
#[must_use]
pub fn fingerprint(bytes: &[u8]) -> String {
    use sha2::{Digest, Sha256};
    Sha256::digest(bytes).iter().take(8).map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timed(clock: Clock, trials: &[(u32, f64, f64)]) -> Timed {
        let trials = trials.iter().map(|&(round, seconds, reference)| Trial { round, draws: 3, seconds, reference }).collect();
        Timed { clock, first: Seconds(1.0), trials, image: "a".into(), flags: vec![], clocks: vec![] }
    }

    fn shot(shader: &str, timed: Timed) -> Shot {
        let device = Device { backend: "vulkan".into(), name: "llvmpipe".into(), driver: "Mesa".into() };
        let (inputs, outcome) = ("0".into(), Outcome::Done(timed));
        Shot { shader: shader.into(), device, frame: [512, 384], texture: 256, inputs, protocol: PROTOCOL, outcome }
    }

    /// A processor that runs at half its speed for a while: seconds double, so does the reference, the time stays.
    #[test]
    fn a_slower_processor_changes_nothing() {
        let slow = timed(Clock::Processor, &[(0, 2.0, 0.2), (0, 4.0, 0.4), (0, 2.0, 0.2)]);
        assert!(slow.cv() < 1e-12 && slow.raw_cv() > 0.4);
        assert!((slow.seconds(Seconds(0.1)).0 - 1.0).abs() < 1e-12);
        let stamped = Timed { clock: Clock::Timestamps, ..slow };
        assert_eq!((stamped.seconds(Seconds(0.1)), stamped.cv() > 0.4), (Seconds(2.0), true));
    }

    #[test]
    fn the_calmest_round_counts() {
        let all = [(0, 1.0, 1.0), (0, 2.0, 1.0), (0, 3.0, 1.0), (1, 5.0, 1.0), (1, 5.0, 1.0), (1, 5.1, 1.0)];
        let t = timed(Clock::Processor, &all);
        assert_eq!(t.seconds(Seconds(1.0)), Seconds(5.0));
        // Mean 15.1 / 3; deviations −1/30, −1/30, 2/30.
        let expected = (6.0f64 / 900.0 / 2.0).sqrt() / (15.1 / 3.0);
        assert!((t.cv() - expected).abs() < 1e-12, "{} {expected}", t.cv());
    }

    #[test]
    fn times_are_for_the_usual_speed() {
        let shots = [0.1, 0.3, 0.2].map(|reference| shot("a", timed(Clock::Processor, &[(0, 1.0, reference)])));
        assert_eq!(usual_reference(&shots, &shots[0].device), Some(Seconds(0.2)));
        let other = Device { driver: "other".into(), ..shots[0].device.clone() };
        assert_eq!(usual_reference(&shots, &other), None);
    }

    #[test]
    fn the_newest_attempt_replaces_an_older_one() {
        let lost = Shot { outcome: Outcome::Lost { reason: "x".into() }, ..shot("a", timed(Clock::Processor, &[])) };
        let other_frame = Shot { frame: [8, 8], ..lost.clone() };
        let done = shot("a", timed(Clock::Processor, &[(0, 1.0, 1.0)]));
        assert_eq!(newest(vec![lost, other_frame.clone(), done.clone()]), [done, other_frame]);
    }
}
