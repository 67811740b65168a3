//! Groups leave the dispatcher and begin on cores, their waves meet and end.

use super::Engine;
use crate::alu;
use crate::code::Row;
use crate::silicon::Refill;
use crate::timing::{Time, ticks};
use crate::wave::Wave;
use warpsight_ir::Program;

/// A resident group.
#[derive(Debug, Default)]
pub(super) struct Group {
    pub(super) number: u64,
    pub(super) core: usize,
    pub(super) waves: u32,
    pub(super) started: u32,
    pub(super) done: u32,
    /// Waves at the barrier, and when the last came.
    pub(super) waiting: Vec<usize>,
    pub(super) arrived: Time,
    pub(super) local: Vec<u8>,
}

impl<const W: usize> Engine<'_, W> {
    pub(super) fn coordinates(&self, mut number: u64) -> Vec<u32> {
        let mut along = |extent: &u32| {
            let at = number % u64::from(*extent);
            number /= u64::from(*extent);
            at as u32
        };
        self.code.groups.iter().map(&mut along).collect()
    }

    /// Starts the next group on a core, or more waves of one that has begun; whether there was room.
    pub(super) fn start_group(&mut self, core: usize, now: Time) -> bool {
        let occupancy = &self.demand.occupancy;
        let mut any = false;
        if self.silicon.launch.refill == Refill::OccupancyGroup && !self.cores[core].filling {
            return false;
        }
        if self.cores[core].starting.is_none() {
            let room = self.cores[core].groups < occupancy.groups.max(1) && self.cores[core].waves < occupancy.waves;
            if !room {
                return false;
            }
            let Some(number) = self.next_group() else { return false };
            let at = self.free_groups.pop().unwrap_or_else(|| {
                self.groups.push(Group::default());
                self.groups.len() - 1
            });
            let group = &mut self.groups[at];
            let local = std::mem::take(&mut group.local);
            *group = Group { number, core, waves: self.lane_rows.len() as u32, local, ..Group::default() };
            group.local.clear();
            group.local.resize(self.code.local_bytes, 0);
            self.cores[core].groups += 1;
            self.cores[core].starting = Some(at);
        }
        let Some(at) = self.cores[core].starting else { return false };
        let begin = self.dispatcher.serve(now, ticks(self.silicon.launch.group_interval)) + ticks(self.silicon.launch.wave_start);
        if self.groups[at].started == 0 {
            self.plan.begins(begin);
        }
        while self.groups[at].started < self.groups[at].waves && self.cores[core].waves < occupancy.waves {
            self.start_wave(core, at, begin);
            any = true;
        }
        if self.groups[at].started == self.groups[at].waves {
            self.cores[core].starting = None;
        }
        any
    }

    fn start_wave(&mut self, core: usize, group: usize, begin: Time) {
        let part = self.groups[group].started;
        self.groups[group].started += 1;
        let coordinates = self.coordinates(self.groups[group].number);
        let at = self.free_waves.pop().unwrap_or_else(|| {
            self.waves.push(Wave::default());
            self.waves.len() - 1
        });
        let c = &mut self.cores[core];
        if part.is_multiple_of(self.silicon.core.waves_together) {
            c.next_port = (c.next_port + 1) % c.ports.len();
        }
        let port = c.next_port;
        c.waves += 1;
        let wave = &mut self.waves[at];
        let first = part * self.silicon.core.wave;
        let lanes = (self.demand.group_size - first).min(self.silicon.core.wave);
        wave.rows.resize(self.code.rows, [0; W]);
        wave.ready.clear();
        wave.ready.resize(self.code.rows, 0);
        wave.stack.clear();
        (wave.core, wave.port, wave.group, wave.first) = (core, port, group, first);
        (wave.at, wave.time, wave.pending, wave.owed) = (0, begin, 0, 0);
        wave.mask = alu::which::<W>(|lane| lane < lanes as usize);
        for (&r, value) in self.code.group_axes.iter().zip(coordinates) {
            wave.rows[usize::from(r)] = [value; W];
        }
        for (&r, row) in self.code.lane_axes.iter().zip(&self.lane_rows[part as usize]) {
            wave.rows[usize::from(r)] = *row;
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.begins(at, core, self.groups[group].number, part, begin);
        }
        self.queue.enter(begin, at);
    }

    pub(super) fn meet(&mut self, w: usize) {
        let (at, time) = (self.waves[w].group, self.waves[w].time);
        let group = &mut self.groups[at];
        group.waiting.push(w);
        group.arrived = group.arrived.max(time);
        if group.waiting.len() as u32 == group.waves {
            let release = group.arrived + self.barrier;
            group.arrived = 0;
            for wave in std::mem::take(&mut group.waiting) {
                if let Some(recorder) = &mut self.recorder {
                    recorder.meets(wave, self.waves[wave].time..release);
                }
                self.waves[wave].time = release;
                self.queue.enter(release, wave);
            }
        }
    }

    pub(super) fn finish(&mut self, w: usize) {
        let wave = &self.waves[w];
        let (core, at, now) = (wave.core, wave.group, wave.time);
        self.end = self.end.max(now);
        if let Some(recorder) = &mut self.recorder {
            recorder.ends(w, now);
        }
        self.free_waves.push(w);
        self.cores[core].waves -= 1;
        let group = &mut self.groups[at];
        group.done += 1;
        debug_assert_eq!(group.core, core);
        if group.done == group.waves {
            self.cores[core].groups -= 1;
            self.free_groups.push(at);
        }
        if self.cores[core].waves == 0 {
            self.cores[core].filling = true;
        }
        while self.start_group(core, now) {}
        self.cores[core].filling = false;
    }
}

/// For each wave of a group the rows of the lane axes.
pub(super) fn lane_rows<const W: usize>(program: &Program, wave: u32) -> Vec<Vec<Row<W>>> {
    let size = program.launch.group_size();
    let of_wave = |first: u32| {
        let mut before = 1;
        let row = |extent: u32, before: u32| std::array::from_fn(|lane| (first + lane as u32) / before % extent);
        let rows = program.launch.lanes.iter().map(|axis| {
            let row = row(axis.extent.max(1), before);
            before *= axis.extent.max(1);
            row
        });
        rows.collect()
    };
    (0..size).step_by(wave as usize).map(of_wave).collect()
}
