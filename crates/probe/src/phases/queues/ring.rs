//! Plans queues through the L2 cache.

use super::text::{SPINS, TINY_SPINS, Text, part};
use super::tokens::{Fold, first_word};
use super::{LINE, buffer, capability, check_sums, parameters};
use crate::{Amounts, Context, Measurement, Plan, Scale};
use warpsight_run::{Code, Init, Job, LaunchSpec, TimingSpec};

/// `ld.acquire` and `nanosleep` begin with this compute capability.
const LEAST_CAPABILITY: u32 = 70;

/// Bytes a queue should carry in a launch: a fraction of a millisecond at the 37 GB/s of paper 003.
const VOLUME: u32 = 8 << 20;

/// One measurement's shape.
#[derive(Clone, Copy, PartialEq)]
struct Ring {
    payload: u32,
    depth: u32,
    producers: u32,
    consumers: u32,
    queues: u32,
    pinned: bool,
    synchronised: bool,
}

/// The phase `queues`, the paper's figure first.
pub(super) fn plan(context: &Context) -> Plan {
    if capability(context).is_some_and(|capability| capability < LEAST_CAPABILITY) {
        return Plan::list(std::iter::empty());
    }
    let limits = Limits::of(context);
    let (scale, seed) = (context.scale, context.seed as u32);
    Plan::list(rings(context).into_iter().filter(move |ring| limits.allow(ring)).map(move |ring| ring.measurement(scale, seed)))
}

/// What a device can hold.
struct Limits {
    memory: Option<u64>,
    window: Option<u64>,
    persisting: Option<u64>,
}

impl Limits {
    fn of(context: &Context) -> Self {
        let limits = &context.device.limits;
        Self {
            memory: [limits.memory.map(|bytes| bytes / 2), limits.max_allocation].into_iter().flatten().min(),
            window: context.fact("max_access_policy_window_size"),
            persisting: context.fact("max_persisting_l2_cache_size"),
        }
    }
    fn allow(&self, ring: &Ring) -> bool {
        let fits = self.memory.is_none_or(|memory| ring.bytes() <= memory);
        let pinnable = self.persisting != Some(0) && self.window.is_none_or(|window| ring.bytes() <= window);
        fits && (pinnable || !ring.pinned)
    }
}

fn rings(context: &Context) -> Vec<Ring> {
    let pairs = (context.units() / 2).max(1);
    let one = |payload, queues| Ring { payload, depth: 2, producers: 1, consumers: 1, queues, pinned: false, synchronised: true };
    if context.scale == Scale::Tiny {
        let base = one(1 << 10, pairs.min(2));
        return vec![
            base,
            Ring { synchronised: false, ..base },
            Ring { pinned: true, ..one(4 << 10, 1) },
            Ring { depth: 4, ..base },
            Ring { consumers: 3, queues: 1, ..base },
            Ring { producers: 3, depth: 4, queues: 1, ..base },
        ]
        .into_iter()
        .filter(|ring| ring.blocks() <= context.units().max(2))
        .collect();
    }
    let payloads = || (10..=18).rev().map(|bits| 1_u32 << bits);
    let mut numbers = vec![pairs, 54, 1, 8, 27];
    numbers.retain(|&number| number <= pairs);
    numbers.dedup();
    let mut all = vec![];
    for depth in [2, 4] {
        for (at, &queues) in numbers.iter().enumerate() {
            // The number of the paper and the greatest are wanted in full, the others show how it grows.
            let kinds = if at < 2 {
                &[(false, true), (false, false), (true, true), (true, false)][..]
            } else {
                &[(false, true), (false, false), (true, true)]
            };
            for &(pinned, synchronised) in kinds {
                all.extend(payloads().map(|payload| Ring { depth, pinned, synchronised, ..one(payload, queues) }));
            }
        }
    }
    for many in [2, 4, 8] {
        let queues = context.units() / (1 + many);
        for payload in [4 << 10, 64 << 10] {
            all.extend([1, queues].map(|queues| Ring { consumers: many, ..one(payload, queues) }));
            all.extend([1, queues].map(|queues| Ring { producers: many, depth: 4, ..one(payload, queues) }));
        }
    }
    // A block that waits for one that is not resident waits for ever: at most one block per multiprocessor.
    all.retain(|ring| ring.queues >= 1 && ring.blocks() <= context.units().max(2));
    let mut unique: Vec<Ring> = vec![];
    for ring in all {
        if !unique.contains(&ring) {
            unique.push(ring);
        }
    }
    unique
}

impl Ring {
    fn blocks(&self) -> u32 {
        self.queues * (self.producers + self.consumers)
    }
    fn vectors(&self) -> u32 {
        self.payload / 16
    }
    /// Enough threads for a vector each, as far as a block with loads in flight gains from more.
    fn threads(&self) -> u32 {
        self.vectors().clamp(32, 512)
    }
    /// Bytes of all rings.
    fn bytes(&self) -> u64 {
        u64::from(self.queues) * u64::from(self.depth) * u64::from(self.payload)
    }
    fn tokens(&self, scale: Scale) -> u32 {
        match scale {
            Scale::Full | Scale::Quick => (VOLUME / self.payload).clamp(32, 1024),
            Scale::Tiny => 3 * self.depth + 1,
        }
    }
    fn name(&self) -> String {
        let Self { payload, depth, producers, consumers, queues, .. } = self;
        let pinned = if self.pinned { " pinned" } else { "" };
        let waiting = if self.synchronised { "" } else { " unsynchronised" };
        format!("{queues} × {producers} to {consumers}, {} KiB, depth {depth}{pinned}{waiting}", payload >> 10)
    }

    fn measurement(self, scale: Scale, seed: u32) -> Measurement {
        let Self { depth, producers, consumers, queues, .. } = self;
        let (tokens, threads) = (self.tokens(scale), self.threads());
        let mut text = Text::new("queue", &[part::TOKENS, part::WATCHDOG, include_str!("queue.cu")])
            .constant("kVectors", self.vectors())
            .constant("kDepth", depth)
            .constant("kProducers", producers)
            .constant("kConsumers", consumers)
            .constant("kTokens", tokens)
            .constant("kSynchronised", u32::from(self.synchronised))
            .constant("kSeed", seed)
            .constant("kSpins", if scale == Scale::Tiny { TINY_SPINS } else { SPINS })
            .launch(self.blocks(), threads);
        text.dynamic_shared = 8 + 4 * threads;
        text.cooperative = true;
        text.pinned = self.pinned.then_some(0);
        let counters = u64::from(queues) * 2 * u64::from(depth);
        // Without waiting, consumers read slots that already hold what producers write again and again: the first launch writes it.
        let launches = if self.synchronised { 1 } else { 2 };
        let job = Job {
            programs: vec![Code::Cuda(text)],
            memory: vec![
                buffer(self.bytes(), Init::Poison),
                buffer((2 + counters) * LINE, Init::Zero),
                buffer(u64::from(queues * consumers) * 4, Init::Poison),
            ],
            launches: vec![LaunchSpec { program: 0, args: vec![0, 1, 2], sizes: vec![] }; launches],
            read: vec![1, 2],
            peek: vec![],
            timing: Some(TimingSpec::runs(if scale == Scale::Tiny { 1 } else { 10 })),
        };
        let expected = move || {
            let fold = Fold::new(threads, self.vectors());
            let content = |token: u32| if self.synchronised { token } else { token % depth };
            (0..queues)
                .flat_map(|queue| {
                    let sum = fold.sum((0..tokens).map(|token| first_word(seed, queue, content(token))));
                    std::iter::repeat_n(sum, consumers as usize)
                })
                .collect()
        };
        Measurement {
            name: self.name(),
            params: parameters(&[
                ("payload", self.payload),
                ("depth", depth),
                ("producers", producers),
                ("consumers", consumers),
                ("queues", queues),
                ("tokens", tokens),
                ("threads", threads),
                ("pinned", self.pinned.into()),
                ("sync", self.synchronised.into()),
            ]),
            job,
            launch: launches - 1,
            amounts: Amounts {
                bytes: f64::from(self.payload) * f64::from(tokens) * f64::from(queues) * f64::from(consumers),
                steps: tokens.into(),
                ..Amounts::default()
            },
            check: check_sums(expected),
        }
    }
}
