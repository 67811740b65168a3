//! Texture units and their caches.

use crate::code::Mask;
use crate::divisor::Divisor;
use crate::memory::cache::{Cache, Chooser, Found, Victim};
use crate::memory::caches::Caches;
use crate::memory::data::L1;
use crate::memory::lines::Lines;
use crate::silicon::{ImagePath, Silicon};
use crate::timing::{Server, Time, evenly, ticks};
use warpsight_ir::ImageKind;

/// Kinds of images, in the order of [`TextureUnit`]'s paths.
const KINDS: [ImageKind; 4] = [ImageKind::Image2d, ImageKind::Image1d, ImageKind::Image1dBuffer, ImageKind::Image2dFromBuffer];

/// A texture unit.
#[derive(Debug)]
pub struct TextureUnit {
    /// Its address and filter pipeline.
    pub pipe: Server,
    fill: Server,
    /// When lines arrive.
    cache: Cache<Time>,
    /// By kind of image ([`KINDS`]): what chooses the set, ticks of a step.
    paths: [(Chooser, Time); 4],
    line: Divisor,
    lanes_per_step: u32,
    /// Steps that the lanes of the last fetch took.
    steps: (Mask, Time),
    overhead: Time,
    latency: Time,
    miss: Time,
    filling: Time,
    wide: u32,
    /// Results leave in the order of their instructions.
    last: Time,
}

impl TextureUnit {
    /// An idle unit with an empty cache.
    pub fn new(silicon: &Silicon) -> Self {
        let t = &silicon.texture;
        let path = |path: &ImagePath| (Chooser::new(path.set_hash.as_ref(), t.cache.sets), ticks(t.step * path.steps));
        Self {
            pipe: Server::default(),
            fill: Server::default(),
            cache: Cache::new(&t.cache, Victim::LeastRecent),
            paths: KINDS.map(|kind| path(t.path(kind))),
            line: Divisor::new(t.cache.line.into()),
            lanes_per_step: t.lanes_per_step,
            steps: (0, 0),
            overhead: ticks(t.wave_overhead),
            latency: ticks(t.latency),
            miss: ticks(t.miss_latency),
            filling: ticks(f64::from(t.cache.line) / t.fill),
            wide: t.wide_texel_bytes,
            last: 0,
        }
    }

    /// Bytes of a line.
    pub fn line(&self) -> u64 {
        self.line.get()
    }

    /// A fetch by the lanes of `mask` from an image of this kind with texels of so many bytes, through the cache of buffers where that is
    /// `unified`; gives when the registers hold the texels.
    pub fn fetch(
        &mut self,
        at: Time,
        mask: Mask,
        lines: &Lines,
        image: (ImageKind, u32),
        unified: Option<&mut L1>,
        caches: &mut Caches,
    ) -> Time {
        let (kind, texel_bytes) = image;
        if self.steps.0 != mask {
            let each = self.lanes_per_step.min(128);
            let group = if each == 128 { Mask::MAX } else { (1 << each) - 1 };
            self.steps = (mask, (0..128 / each).filter(|s| mask >> (s * each) & group != 0).count() as Time);
        }
        let path = KINDS.iter().position(|own| *own == kind).unwrap_or(0);
        let (chooser, step) = &self.paths[path];
        let work = self.steps.1 * step * if texel_bytes > self.wide { 2 } else { 1 };
        let start = self.pipe.serve(at, work + self.overhead);
        let mut ready = start + work;
        if let Some(l1) = unified {
            for (touched, looked) in lines.list.iter().zip(evenly(start, work, lines.list.len())) {
                ready = ready.max(l1.read(looked, touched, self.miss, caches));
            }
            self.last = self.last.max(ready);
            return self.last + self.latency;
        }
        for (touched, looked) in lines.list.iter().zip(evenly(start, work, lines.list.len())) {
            let number = self.line.of(touched.line);
            let set = chooser.of(touched.line, number);
            let (arrives, found) = self.cache.access(set, number);
            match found {
                Found::Hit => caches.traffic.texture_hits += 1,
                Found::Miss(_) => {
                    caches.traffic.texture_misses += 1;
                    let arrived = caches.read_span(looked, touched.line, self.line.get());
                    *arrives = self.fill.serve(arrived, self.filling) + self.filling + self.miss;
                }
            }
            ready = ready.max(*arrives);
        }
        self.last = self.last.max(ready);
        self.last + self.latency
    }
}
