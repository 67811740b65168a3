//! Accesses of waves to memory: their lines, and the units that serve them.

use super::Engine;
use crate::code::{Action, Target};
use crate::fault::LaneFault;
use crate::memory::lines::Lines;
use crate::timing::Time;
use crate::wave::{Footprint, Memory};
use warpsight_ir::ImageKind;

impl<const W: usize> Engine<'_, W> {
    #[inline(always)]
    pub(super) fn access(&mut self, w: usize, at: u32) -> Result<(), LaneFault> {
        let code = self.code;
        let access = &code.accesses[at as usize];
        let wave = &mut self.waves[w];
        let core = &mut self.cores[wave.core];
        let constant = matches!(access.target, Target::Buffer(at) if self.tensors[at].constant);
        let mut memory = Memory {
            tensors: self.tensors,
            local: &mut self.groups[wave.group].local,
            shared: &self.shared,
            results: code.results,
            pattern: &mut self.patterns[at as usize],
            texture_line: core.units.texture_line(),
            line: if access.action == Action::Load { core.units.load_line(self.caches, constant) } else { self.caches.line() },
        };
        let mut foot = Footprint { lines: &mut self.lines, local: &mut self.addresses, bytes: 0, mask: 0 };
        wave.access(access, &mut memory, &mut foot)?;
        let (bytes, mask) = (foot.bytes, foot.mask);
        let (now, units, caches) = (wave.time, &mut core.units, &mut *self.caches);
        if mask == 0 {
            return Ok(());
        }
        let ready = match (access.target, access.action) {
            (Target::Private(_), _) => {
                wave.time += self.instruction * Time::from(access.width);
                now
            }
            (Target::Image(image), Action::Load) => {
                let kind = self.tensors[image].image.as_ref().map_or(ImageKind::Image2d, |image| image.kind);
                caches.traffic.texture_bytes += bytes;
                let texel = access.format.map_or(16, |f| f.bytes());
                let begin = units.fetch_begins(now, bytes);
                let (texture, unified) = units.texture(wave.port);
                texture.fetch(begin, mask, &self.lines, (kind, texel), unified, caches)
            }
            (Target::Local(_), action) => {
                caches.traffic.local_bytes += bytes;
                let len = u32::from(access.width) * access.element.bytes();
                let done = units.local(now, &self.addresses, len, matches!(action, Action::Atomic(_)));
                if action == Action::Store { now } else { done }
            }
            (_, Action::Load) => {
                caches.traffic.buffer_bytes += bytes;
                match units.constants() {
                    Some(constants) if constant => constants.load(now, &self.lines, caches),
                    _ => units.load(now, &self.lines, bytes, caches),
                }
            }
            (target, Action::Store) => {
                match target {
                    Target::Image(_) => caches.traffic.image_write_bytes += bytes,
                    _ => caches.traffic.buffer_bytes += bytes,
                }
                let (go, taken) = units.store(now, &self.lines, bytes, caches);
                wave.time = go;
                self.end = self.end.max(taken);
                now
            }
            (_, Action::Atomic(_)) => {
                caches.traffic.buffer_bytes += bytes;
                units.atomic(now, &self.lines, bytes, caches)
            }
        };
        if access.action != Action::Store {
            for &v in &access.values {
                wave.ready[usize::from(v)] = ready;
            }
            wave.pending = wave.pending.max(ready);
        }
        self.end = self.end.max(ready);
        if let Some(recorder) = &mut self.recorder {
            match (access.target, access.action) {
                // Private arrays are registers.
                (Target::Private(_), _) => {}
                (_, Action::Store) => recorder.stores(w, &access.name, now..wave.time, &caches.traffic),
                _ => recorder.asks(w, &access.name, now, ready, &caches.traffic),
            }
        }
        Ok(())
    }

    /// Values beyond the registers live in memory: of so many instructions the share that names one stores and loads it.
    pub(super) fn spill(&mut self, w: usize, instructions: u32) {
        let (registers, excess) = (u64::from(self.demand.registers), u64::from(self.demand.spilled));
        let wave = &mut self.waves[w];
        wave.owed += u64::from(instructions) * excess;
        while wave.owed >= registers {
            wave.owed -= registers;
            let bytes = 4 * W as u64;
            let row = self.spill_base + (w as u64 * excess + wave.owed % excess) * bytes;
            let units = &mut self.cores[wave.core].units;
            let touch = |lines: &mut Lines, line: u64| {
                lines.clear();
                (0..W as u64).for_each(|lane| lines.add(row + lane * 4, 4, line));
            };
            touch(&mut self.lines, self.caches.line());
            let (go, _) = units.store(wave.time, &self.lines, bytes, self.caches);
            touch(&mut self.lines, units.load_line(self.caches, false));
            let since = std::mem::replace(&mut wave.time, units.load(go, &self.lines, bytes, self.caches));
            if let Some(recorder) = &mut self.recorder {
                recorder.spills(w, since..wave.time, &self.caches.traffic);
            }
        }
    }
}
