//! A kernel as the model sees it: fields, each on one side, accesses affine in the global thread coordinates.

use super::device::{Device, Rule};
use crate::volumes::kernel::subject::{Field as Buffer, Ranges, Subject, Touch, Var};
use crate::volumes::sets::lines::Geometry;
use crate::volumes::sets::regions::Region;
use warpsight_ir::accesses::text::Written;
use warpsight_ir::{AccessKind, NoEstimate};

/// Bytes of a lane that AMD's compilers ask for at once.
const FUSED: i64 = 16;

/// A field on one side: "loads and stores are separate fields and do not alias".
pub struct Field {
    /// Of the buffer.
    pub geometry: Geometry,
    /// Whether it is stored to.
    pub stores: bool,
    /// Addresses, neighbours fused on AMD; "equal access tuples count once".
    pub accesses: Vec<Access>,
    /// How often loops repeat all of them at the same addresses.
    pub repeats: f64,
}

/// An address, and how many bytes a lane asks for there.
pub struct Access {
    /// Of the first element only: volumes are counted by first bytes.
    pub touch: Touch,
    /// Of a lane.
    pub bytes: i64,
    /// How often loops repeat it at the same address.
    pub repeats: f64,
}

/// A launch.
pub struct Launch {
    subject: Subject,
    /// Its fields.
    pub fields: Vec<Field>,
    /// Threads of a block along each axis.
    pub block: [i64; 3],
    /// Blocks along each axis.
    pub grid: [i64; 3],
    /// Points along each axis.
    pub domain: [i64; 3],
    /// What is left out, in words.
    pub notes: Vec<String>,
}

impl Launch {
    /// Of a kernel.
    ///
    /// # Errors
    /// [`NoEstimate::NotCovered`] of what the model has no words for.
    pub fn of(written: &Written, device: &Device) -> Result<Self, NoEstimate> {
        let lacks = |what: String| NoEstimate::NotCovered(format!("{what}, which the model of paper 002 does not have"));
        let subject = Subject::of(&written.kernel)?;
        let three =
            |list: &[u32]| -> Option<[i64; 3]> { (list.len() <= 3).then(|| [0, 1, 2].map(|i| list.get(i).map_or(1, |&n| i64::from(n)))) };
        let lanes: Vec<u32> = subject.lanes.iter().map(|var| var.count).collect();
        let groups: Vec<u32> = subject.groups.iter().map(|var| var.count).collect();
        let ((block, grid), domain) = three(&lanes)
            .zip(three(&groups))
            .zip(three(&written.domain))
            .ok_or_else(|| lacks("more than three axes of threads".to_owned()))?;
        let mut fields = Vec::new();
        let mut notes = Vec::new();
        for buffer in &subject.fields {
            let own = |what: &str| lacks(format!("`{}`: {what}", buffer.name));
            if buffer.image.is_some() {
                return Err(own("an image"));
            }
            if !buffer.gathers.is_empty() {
                return Err(own("addresses that depend on data"));
            }
            if buffer.touches.iter().any(|touch| touch.kind == AccessKind::Atomic) {
                return Err(own("atomics"));
            }
            if !buffer.touches.iter().all(|touch| by_thread(&subject, touch)) {
                return Err(own(
                    "addresses that are not affine in global thread coordinates, or blocks launched in another order than x, y, z",
                ));
            }
            fields.extend([false, true].into_iter().filter_map(|stores| Field::of(buffer, stores, device.rule != Rule::Nvidia)));
        }
        if !subject.local.is_empty() {
            notes.push("local memory is left out: the model has none".to_owned());
        }
        if !subject.constant.is_empty() {
            notes.push("constant memory is left out: the model has none".to_owned());
        }
        let touches = || subject.fields.iter().flat_map(|field| &field.touches);
        if touches().any(|touch| touch.indirect.is_some_and(|own| own.unknown())) {
            notes.push("typical addresses stand for those that depend on data".to_owned());
        }
        if touches().any(|touch| !touch.guard.is_empty()) {
            notes.push("conditions are left out, but for the end of the domain in waves".to_owned());
        }
        Ok(Self { subject, fields, block, grid, domain, notes })
    }

    /// Bytes from a thread to the next along each axis.
    pub fn strides(&self, field: &Field, touch: &Touch) -> [i64; 3] {
        [0, 1, 2].map(|i| self.subject.lanes.get(i).map_or(0, |lane| touch.stride(&field.geometry, lane.id)))
    }

    /// Elements that threads `lo ≤ t < hi` touch by their first bytes; nothing where there are no threads.
    pub fn regions(&self, field: &Field, threads: [(i64, i64); 3], to: &mut Vec<Region>) {
        if threads.iter().any(|(lo, hi)| lo >= hi) {
            return;
        }
        let ranges = self.threads(threads);
        field.accesses.iter().for_each(|access| access.touch.regions(&ranges, to));
    }

    /// Blocks are no more than threads that follow each other.
    fn threads(&self, threads: [(i64, i64); 3]) -> Ranges {
        let ranges = self.subject.groups.iter().fold(self.subject.launch(), |ranges, group| ranges.with(group.id, 0, 1));
        let lanes = self.subject.lanes.iter().zip(threads);
        lanes.fold(ranges, |ranges, (lane, (lo, hi))| ranges.with(lane.id, lo, (hi - lo).clamp(0, i64::from(u32::MAX)) as u32))
    }

    /// Values of the loops around an access that move its address: bytes a step, and how many.
    pub fn loops<'a>(&self, field: &'a Field, touch: &'a Touch) -> impl Iterator<Item = (i64, u32)> {
        touch.loops.iter().filter(|var| moved(touch, var)).map(|var| (touch.stride(&field.geometry, var.id), var.count))
    }
}

impl Field {
    fn of(buffer: &Buffer, stores: bool, fuses: bool) -> Option<Self> {
        let mut touches: Vec<&Touch> = Vec::new();
        for touch in buffer.touches.iter().filter(|touch| matches!(touch.kind, AccessKind::Store(_)) == stores) {
            if !touches.iter().any(|other| other.coords == touch.coords && other.width == touch.width) {
                touches.push(touch);
            }
        }
        let mut accesses: Vec<Access> = touches.into_iter().flat_map(|touch| elements(touch, buffer.geometry.element)).collect();
        if fuses {
            accesses = fused(accesses, buffer.geometry.element);
        }
        let repeats = accesses.iter().map(|access| access.repeats).reduce(f64::min)?;
        Some(Self { geometry: buffer.geometry, stores, accesses, repeats })
    }
}

/// An access; wide ones are as many instructions of up to 16 bytes.
fn elements(touch: &Touch, element: i64) -> Vec<Access> {
    let repeats = touch.loops.iter().filter(|var| !moved(touch, var)).map(|var| f64::from(var.count)).product();
    let most = (FUSED / element).max(1);
    let parts = (0..touch.width).step_by(most as usize).map(|from| {
        let mut own = touch.clone();
        own.coords[0].constant += from;
        own.width = 1;
        Access { touch: own, bytes: most.min(touch.width - from) * element, repeats }
    });
    parts.collect()
}

/// Neighbours of a lane made one, up to 16 bytes, from the highest on: the original goes through a set, in whatever order its hashes have.
fn fused(mut accesses: Vec<Access>, element: i64) -> Vec<Access> {
    accesses.sort_by_key(|access| std::cmp::Reverse(access.touch.coords[0].constant));
    let mut whole: Vec<Access> = Vec::new();
    for access in accesses {
        let before = whole.iter_mut().find(|other| {
            let (a, b) = (&access.touch, &other.touch);
            (0..3).all(|i| a.coords[i].terms() == b.coords[i].terms())
                && (1..3).all(|i| a.coords[i].constant == b.coords[i].constant)
                && a.loops == b.loops
                && other.bytes + access.bytes <= FUSED
                && a.coords[0].constant + access.bytes / element == b.coords[0].constant
        });
        match before {
            Some(other) => {
                other.touch.coords[0].constant = access.touch.coords[0].constant;
                other.bytes += access.bytes;
            }
            None => whole.push(access),
        }
    }
    whole
}

/// Whether a loop moves an address.
fn moved(touch: &Touch, var: &Var) -> bool {
    touch.coords.iter().any(|form| form.coefficient(var.id) != 0)
}

/// Whether blocks are threads that follow each other: a block moves addresses as all of its lanes do.
fn by_thread(subject: &Subject, touch: &Touch) -> bool {
    let axes = subject.groups.len().max(subject.lanes.len());
    (0..axes).all(|axis| {
        let (group, lane) = (subject.groups.get(axis), subject.lanes.get(axis));
        touch.coords.iter().all(|form| {
            let per = lane.map_or(0, |lane| i64::from(form.coefficient(lane.id)));
            let threads = lane.map_or(1, |lane| i64::from(lane.count));
            group.is_none_or(|group| group.count <= 1 || i64::from(form.coefficient(group.id)) == per * threads)
        })
    })
}
