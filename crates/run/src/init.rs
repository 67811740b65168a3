//! First contents of device memory. Large arrays are described by a rule, so that neither pipe nor host memory has to hold them and
//! a reference can compute any element by itself.

use crate::InitError;
use serde::{Deserialize, Serialize};
use warpsight_ir::Scalar;

/// First contents of memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Init {
    /// Every byte 0xFF: a NaN for every float type, so that what a kernel forgets to write shows.
    Poison,
    /// Every byte 0.
    Zero,
    /// These bytes.
    Data(#[serde(with = "serde_bytes")] Vec<u8>),
    /// Element i is [`random`]`(seed, i)`, in [−1, 1): rounded to a float type; times 2²⁰, towards zero, for integers.
    Random {
        /// The type of one element; not `bool`.
        element: Scalar,
        /// Another seed, other values.
        seed: u64,
    },
    /// A single cycle through all slots: `u32` element `i · stride` holds `next · stride`, where `next` is [`successor`]`(i, slots)`;
    /// elements between slots are 0. What a latency chase follows.
    Cycle {
        /// How many slots: a power of two, at least 4.
        slots: u32,
        /// Distance of slots in elements.
        stride: u32,
    },
}

/// A pseudo-random number in [−1, 1) with 24 significant bits, so that `f32` holds it exactly: the top bits of a SplitMix64 step.
pub fn random(seed: u64, index: u64) -> f64 {
    let bits = mix(seed ^ mix(index.wrapping_add(0x9e37_79b9_7f4a_7c15)));
    (bits >> 40) as f64 / f64::from(1 << 23) - 1.0
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Where a chase goes from a slot: a full-period linear congruential step modulo a power of two (Hull and Dobell, 1962).
pub fn successor(slot: u32, slots: u32) -> u32 {
    slot.wrapping_mul(0x915f_77f5).wrapping_add(0x6d2b_79f5) & (slots - 1)
}

impl Init {
    /// The bytes of memory of that size.
    ///
    /// # Errors
    /// [`InitError`], where the rule does not fit the size.
    pub fn contents(&self, bytes: u64) -> Result<Vec<u8>, InitError> {
        self.check(bytes)?;
        let size = usize::try_from(bytes).map_err(|_| InitError::AddressSpace { bytes })?;
        Ok(match self {
            Self::Poison => vec![0xff; size],
            Self::Zero => vec![0; size],
            Self::Data(data) => data.clone(),
            Self::Random { element, seed } => {
                let mut data = Vec::with_capacity(size);
                let mut index = 0;
                while data.len() < size {
                    write_scalar(*element, random(*seed, index), &mut data);
                    index += 1;
                }
                data
            }
            Self::Cycle { slots, stride } => {
                let mut data = vec![0; size];
                for slot in 0..*slots {
                    let at = slot as usize * *stride as usize * 4;
                    data[at..at + 4].copy_from_slice(&(successor(slot, *slots) * stride).to_le_bytes());
                }
                data
            }
        })
    }

    /// Whether the rule fits memory of that size.
    ///
    /// # Errors
    /// [`InitError`], where it does not.
    pub fn check(&self, bytes: u64) -> Result<(), InitError> {
        match self {
            Self::Poison | Self::Zero => Ok(()),
            Self::Data(data) if data.len() as u64 == bytes => Ok(()),
            Self::Data(data) => Err(InitError::Bytes { bytes, given: data.len() as u64 }),
            Self::Random { element: Scalar::Bool, .. } => Err(InitError::Truth),
            Self::Random { element, .. } if bytes.is_multiple_of(element.bytes().into()) => Ok(()),
            Self::Random { element, .. } => Err(InitError::Elements { bytes, element: *element }),
            Self::Cycle { slots, stride } => {
                if !slots.is_power_of_two() || *slots < 4 {
                    return Err(InitError::Slots { slots: *slots });
                }
                match u64::from(*slots) * u64::from(*stride) {
                    0 => Err(InitError::Stride),
                    elements if elements > u64::from(u32::MAX) => Err(InitError::Elements32 { elements }),
                    elements if elements * 4 > bytes => Err(InitError::Cycle { bytes, needed: elements * 4 }),
                    _ => Ok(()),
                }
            }
        }
    }
}

/// Appends a value as an element in memory.
fn write_scalar(element: Scalar, value: f64, to: &mut Vec<u8>) {
    let integer = value * f64::from(1 << 20);
    match element {
        // Values are exact in `f32`; `from_f64` may drop bits that decide a tie.
        Scalar::F16 | Scalar::Half => to.extend(half::f16::from_f32(value as f32).to_le_bytes()),
        Scalar::Bf16 => to.extend(half::bf16::from_f32(value as f32).to_le_bytes()),
        Scalar::F32 => to.extend((value as f32).to_le_bytes()),
        Scalar::F64 => to.extend(value.to_le_bytes()),
        Scalar::I32 => to.extend((integer as i32).to_le_bytes()),
        Scalar::U32 => to.extend((integer as i32 as u32).to_le_bytes()),
        Scalar::I64 => to.extend((integer as i64).to_le_bytes()),
        Scalar::U64 => to.extend((integer as i64 as u64).to_le_bytes()),
        Scalar::Bool => to.push(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_visits_every_slot_once() {
        for (slots, stride) in [(4u32, 1u32), (64, 3), (1 << 14, 32)] {
            let bytes = u64::from(slots) * u64::from(stride) * 4;
            let data = Init::Cycle { slots, stride }.contents(bytes).unwrap();
            let next = |at: u32| u32::from_le_bytes(data[4 * at as usize..][..4].try_into().unwrap());
            let mut at = 0;
            for step in 1..=slots {
                at = next(at);
                assert_eq!(at % stride, 0);
                assert_eq!(at == 0, step == slots, "back after {step} of {slots}");
            }
        }
    }

    #[test]
    fn random_values_are_exact_and_spread() {
        let data = Init::Random { element: Scalar::F32, seed: 7 }.contents(4 * 4096).unwrap();
        let values: Vec<f32> = data.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
        for (i, value) in values.iter().enumerate() {
            assert_eq!(f64::from(*value), random(7, i as u64));
        }
        let mean = values.iter().map(|v| f64::from(*v)).sum::<f64>() / 4096.0;
        let square = values.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>() / 4096.0;
        // Of a uniform variable on [−1, 1): mean 0, variance 1/3; four standard errors.
        assert!(mean.abs() < 0.037 && (square - 1.0 / 3.0).abs() < 0.019, "{mean} {square}");
        assert_ne!(random(7, 0), random(8, 0));
    }

    #[test]
    fn rules_that_do_not_fit_are_refused() {
        let refused = |init: Init, bytes| init.contents(bytes).unwrap_err().to_string();
        assert_eq!(refused(Init::Data(vec![0; 3]), 4), "has 4 bytes, its first contents 3");
        assert_eq!(refused(Init::Random { element: Scalar::F64, seed: 0 }, 12), "has 12 bytes, no multiple of 8");
        assert_eq!(refused(Init::Cycle { slots: 12, stride: 1 }, 48), "a cycle needs a power of two of slots, at least 4, not 12");
        assert_eq!(refused(Init::Cycle { slots: 8, stride: 4 }, 100), "has 100 bytes, its cycle 128");
        assert!(Init::Cycle { slots: 1 << 31, stride: 4 }.contents(1 << 35).is_err());
    }
}
