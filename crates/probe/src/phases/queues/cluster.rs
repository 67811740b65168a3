//! Plans queues and plain accesses within a thread-block cluster.

use super::text::{SPINS, TINY_SPINS, Text, part};
use super::tokens::{Fold, first_word};
use super::{LINE, always, buffer, capability, check_sums, parameters, same, words};
use crate::{Amounts, Context, Measurement, Plan, Scale};
use warpsight_run::{Code, Init, Job, LaunchSpec, TimingSpec, init};

/// Clusters begin with this compute capability.
const LEAST_CAPABILITY: u32 = 90;

/// Shared memory a block may have where the device does not say: that of compute capability 9.0, in bytes.
const SHARED: u64 = 227 << 10;

/// Bytes a queue should carry in a launch.
const VOLUME: u32 = 8 << 20;

/// The phase `clusters`; empty where the device has none.
pub(super) fn plan(context: &Context) -> Plan {
    if capability(context).is_none_or(|capability| capability < LEAST_CAPABILITY) {
        return Plan::list(std::iter::empty());
    }
    let (scale, seed) = (context.scale, context.seed as u32);
    let queues = pushes(context).into_iter().map(move |push| push.measurement(scale, seed));
    let accesses = reaches(context).into_iter().map(move |reach| reach.measurement(scale, seed));
    Plan::list(queues.chain(accesses))
}

/// Clusters that are resident together: a cluster lies within one GPC, of whose multiprocessors 16 are counted on.
fn clusters(context: &Context, size: u32) -> Vec<u32> {
    if context.scale == Scale::Tiny {
        return vec![1];
    }
    let most = (context.units() / 16 * (16 / size)).max(1);
    if most > 1 { vec![most, 1] } else { vec![1] }
}

fn shared_limit(context: &Context) -> u64 {
    context.fact("max_shared_memory_per_block_optin").unwrap_or(SHARED)
}

/// A queue whose ring is the shared memory of its consumers.
#[derive(Clone, Copy)]
struct Push {
    payload: u32,
    depth: u32,
    consumers: u32,
    cluster: u32,
    clusters: u32,
}

fn pushes(context: &Context) -> Vec<Push> {
    let tiny = context.scale == Scale::Tiny;
    let (sizes, depths): (&[u32], &[u32]) = if tiny { (&[2, 4], &[2]) } else { (&[2, 4, 8], &[2, 4]) };
    let payloads: &[u32] = if tiny { &[1 << 10] } else { &[64 << 10, 32 << 10, 16 << 10, 4 << 10, 1 << 10] };
    let mut all = vec![];
    for &cluster in sizes {
        // Pairs, and the first block to all others.
        let mut patterns = vec![1, cluster - 1];
        patterns.dedup();
        for consumers in patterns {
            for &depth in depths {
                for &payload in payloads {
                    all.extend(clusters(context, cluster).into_iter().map(|clusters| Push {
                        payload,
                        depth,
                        consumers,
                        cluster,
                        clusters,
                    }));
                }
            }
        }
    }
    all.retain(|push| u64::from(push.shared()) <= shared_limit(context));
    all
}

impl Push {
    fn vectors(&self) -> u32 {
        self.payload / 16
    }
    fn threads(&self) -> u32 {
        self.vectors().clamp(32, 512)
    }
    /// Where the ring begins: after two mbarriers a slot, a word and a word per thread.
    fn ring(&self) -> u32 {
        (16 * self.depth + 8 + 4 * self.threads()).next_multiple_of(128)
    }
    fn shared(&self) -> u32 {
        self.ring() + self.depth * self.payload
    }

    fn measurement(self, scale: Scale, seed: u32) -> Measurement {
        let Self { payload, depth, consumers, cluster, clusters } = self;
        let (blocks, threads) = (cluster * clusters, self.threads());
        let queues = blocks / (1 + consumers);
        let tokens = if scale == Scale::Tiny { 3 * depth + 1 } else { (VOLUME / payload).clamp(32, 2048) };
        let mut text = Text::new("cluster_queue", &[part::TOKENS, part::WATCHDOG, include_str!("cluster_queue.cu")])
            .constant("kVectors", self.vectors())
            .constant("kDepth", depth)
            .constant("kConsumers", consumers)
            .constant("kTokens", tokens)
            .constant("kRing", self.ring())
            .constant("kSeed", seed)
            .constant("kSpins", if scale == Scale::Tiny { TINY_SPINS } else { SPINS })
            .launch(blocks, threads);
        text.dynamic_shared = self.shared();
        text.cluster = cluster;
        let job = Job {
            programs: vec![Code::Cuda(text)],
            memory: vec![buffer(2 * LINE, Init::Zero), buffer(u64::from(queues * consumers) * 4, Init::Poison)],
            launches: vec![LaunchSpec { program: 0, args: vec![0, 1], sizes: vec![] }],
            read: vec![0, 1],
            peek: vec![],
            timing: Some(TimingSpec::runs(if scale == Scale::Tiny { 1 } else { 10 })),
        };
        let expected = move || {
            let fold = Fold::new(threads, self.vectors());
            let sum = |queue| fold.sum((0..tokens).map(|token| first_word(seed, queue, token)));
            (0..queues).flat_map(|queue| std::iter::repeat_n(sum(queue), consumers as usize)).collect()
        };
        Measurement {
            name: format!("{clusters} clusters of {cluster}, queues 1 to {consumers}, {} KiB, depth {depth}", payload >> 10),
            params: parameters(&[
                ("payload", payload),
                ("depth", depth),
                ("consumers", consumers),
                ("cluster", cluster),
                ("queues", queues),
                ("tokens", tokens),
                ("threads", threads),
            ]),
            job,
            launch: 0,
            amounts: Amounts {
                bytes: f64::from(payload) * f64::from(tokens) * f64::from(queues) * f64::from(consumers),
                steps: tokens.into(),
                ..Amounts::default()
            },
            check: check_sums(expected),
        }
    }
}

/// What a plain access does.
#[derive(Clone, Copy, PartialEq)]
enum Access {
    Load,
    Store,
    Chase,
}

/// Plain accesses to the shared memory of the block `hop` ranks further on.
#[derive(Clone, Copy)]
struct Reach {
    access: Access,
    cluster: u32,
    clusters: u32,
    hop: u32,
    bytes: u32,
    threads: u32,
}

fn reaches(context: &Context) -> Vec<Reach> {
    let tiny = context.scale == Scale::Tiny;
    let sizes: &[u32] = if tiny { &[2] } else { &[2, 4, 8] };
    let bytes = if tiny { 1 << 10 } else { 32 << 10 };
    let threads: &[u32] = if tiny { &[32] } else { &[1024, 256] };
    let mut all = vec![];
    for &cluster in sizes {
        let hops: &[u32] = if cluster == 2 { &[1, 0] } else { &[1] };
        for &hop in hops {
            all.push(Reach { access: Access::Chase, cluster, clusters: 1, hop, bytes, threads: 32 });
            for access in [Access::Load, Access::Store] {
                for clusters in clusters(context, cluster) {
                    all.extend(threads.iter().map(|&threads| Reach { access, cluster, clusters, hop, bytes, threads }));
                }
            }
        }
    }
    all
}

impl Reach {
    fn vectors(&self) -> u32 {
        self.bytes / 16
    }

    fn measurement(self, scale: Scale, seed: u32) -> Measurement {
        let Self { access, cluster, clusters, hop, bytes, threads } = self;
        let blocks = cluster * clusters;
        let rounds: u32 = match (scale, access) {
            (Scale::Tiny, Access::Chase) => 40,
            (Scale::Tiny, _) => 2,
            (Scale::Full | Scale::Quick, Access::Chase) => 2048,
            (Scale::Full | Scale::Quick, _) => 256,
        };
        let (word, code) = match access {
            Access::Load => ("load", 0_u32),
            Access::Store => ("store", 1),
            Access::Chase => ("chase", 2),
        };
        let mut text = Text::new("cluster_memory", &[part::TOKENS, include_str!("cluster_memory.cu")])
            .constant("kVectors", self.vectors())
            .constant("kRounds", rounds)
            .constant("kCluster", cluster)
            .constant("kHop", hop)
            .constant("kLoad", 0_u32)
            .constant("kStore", 1_u32)
            .constant("kAccess", code)
            .constant("kSeed", seed)
            .launch(blocks, threads);
        text.dynamic_shared = bytes + 4 * threads;
        text.cluster = cluster;
        let job = Job {
            programs: vec![Code::Cuda(text)],
            memory: vec![buffer(u64::from(blocks) * 4, Init::Poison)],
            launches: vec![LaunchSpec { program: 0, args: vec![0], sizes: vec![] }],
            read: vec![0],
            peek: vec![],
            timing: Some(TimingSpec::runs(if scale == Scale::Tiny { 1 } else { 10 })),
        };
        let amounts = match access {
            Access::Chase => Amounts { steps: rounds.into(), bytes: 4.0 * f64::from(rounds), ..Amounts::default() },
            _ => Amounts { bytes: f64::from(bytes) * f64::from(rounds) * f64::from(blocks), ..Amounts::default() },
        };
        Measurement {
            name: format!("{clusters} clusters of {cluster}, {word} {hop} on, {threads} threads"),
            params: parameters(&[
                ("cluster", cluster),
                ("clusters", clusters),
                ("hop", hop),
                ("threads", threads),
                ("rounds", rounds),
                ("access", code),
            ]),
            job,
            launch: 0,
            amounts,
            check: always(move |read| same(&words(read, 0)?, &self.expected(rounds, seed))),
        }
    }

    /// What each block reports.
    fn expected(&self, rounds: u32, seed: u32) -> Vec<u32> {
        let (blocks, fold) = (self.cluster * self.clusters, Fold::new(self.threads, self.vectors()));
        let neighbour = |block: u32, hop: u32| block / self.cluster * self.cluster + (block + hop) % self.cluster;
        let report = |block: u32| match self.access {
            // What lies `hop` further on, over and over.
            Access::Load => fold.sum(std::iter::repeat_n(first_word(seed, neighbour(block, self.hop), 0), rounds as usize)),
            // The last of what was written from `hop` before.
            Access::Store => fold.sum(std::iter::once(first_word(seed, neighbour(block, self.cluster - self.hop), rounds - 1))),
            Access::Chase if block.is_multiple_of(self.cluster) => {
                let slots = 4 * self.vectors();
                4 * (0..rounds).fold(0, |at, _| init::successor(at, slots))
            }
            Access::Chase => 0,
        };
        (0..blocks).map(report).collect()
    }
}
