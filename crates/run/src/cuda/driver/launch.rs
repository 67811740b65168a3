//! A launch in the driver's terms: its shape and its arguments.

use cudarc::driver::sys::*;
use std::ffi::c_void;

/// Bytes of shared memory that any kernel may have; more is asked for first.
pub(crate) const PLAIN_SHARED: u32 = 48 << 10;

/// A value for a parameter of a kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Arg {
    /// An address, a texture or a surface.
    Word(u64),
    /// An `int`.
    Int(i32),
}

impl Arg {
    /// Where the driver finds the value.
    pub(crate) fn pointer(&self) -> *mut c_void {
        match self {
            Self::Word(value) => std::ptr::from_ref(value).cast_mut().cast(),
            Self::Int(value) => std::ptr::from_ref(value).cast_mut().cast(),
        }
    }
}

/// Memory whose lines the L2 cache is asked to keep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Window {
    /// First byte.
    pub(crate) at: u64,
    /// Bytes.
    pub(crate) bytes: usize,
    /// Bytes of L2 that are set aside.
    pub(crate) set_aside: usize,
    /// The share of the window's lines that are to stay: as many as the set-aside part holds.
    pub(crate) hit_ratio: f32,
}

impl Window {
    /// The window over memory, within what the device allows; `None` where it keeps nothing.
    pub(crate) fn over(at: u64, bytes: usize, most_set_aside: usize, most_window: usize) -> Option<Self> {
        let window = bytes.min(most_window);
        let set_aside = window.min(most_set_aside);
        (set_aside > 0).then(|| Self { at, bytes: window, set_aside, hit_ratio: (set_aside as f64 / window as f64) as f32 })
    }
}

/// The shape of a launch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Shape {
    /// Blocks.
    pub(crate) grid: [u32; 3],
    /// Threads of a block.
    pub(crate) block: [u32; 3],
    /// Bytes of shared memory beside what the kernel declares.
    pub(crate) dynamic_shared: u32,
    /// Blocks of a cluster along x.
    pub(crate) cluster: u32,
    /// Whether all blocks must be resident together.
    pub(crate) cooperative: bool,
    /// Whether it may begin while the launch before ends.
    pub(crate) programmatic: bool,
    /// What the L2 cache is asked to keep.
    pub(crate) window: Option<Window>,
}

impl Shape {
    /// Blocks and threads, and nothing else.
    pub(crate) fn plain(grid: [u32; 3], block: [u32; 3]) -> Self {
        Self { grid, block, dynamic_shared: 0, cluster: 1, cooperative: false, programmatic: false, window: None }
    }

    /// Blocks in all.
    pub(crate) fn blocks(&self) -> u64 {
        self.grid.iter().map(|&n| u64::from(n)).product()
    }

    /// Threads of a block.
    pub(crate) fn threads(&self) -> u32 {
        self.block.iter().fold(1, |n: u32, &extent| n.saturating_mul(extent))
    }

    /// What goes beyond blocks and threads.
    pub(crate) fn attributes(&self) -> Vec<CUlaunchAttribute> {
        use CUlaunchAttributeID::*;
        let mut attributes = Vec::new();
        let mut add = |id, set: &dyn Fn(&mut CUlaunchAttributeValue)| {
            let mut value = CUlaunchAttributeValue { pad: [0; 64] };
            set(&mut value);
            attributes.push(CUlaunchAttribute { id, pad: [0; 4], value });
        };
        if self.cluster > 1 {
            let x = self.cluster;
            add(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &|value| {
                value.clusterDim = CUlaunchAttributeValue_union__bindgen_ty_1 { x, y: 1, z: 1 }
            });
        }
        if self.cooperative {
            add(CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &|value| value.cooperative = 1);
        }
        if self.programmatic {
            add(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, &|value| value.programmaticStreamSerializationAllowed = 1);
        }
        if let Some(window) = self.window {
            add(CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &|value| {
                value.accessPolicyWindow = CUaccessPolicyWindow {
                    base_ptr: window.at as *mut c_void,
                    num_bytes: window.bytes,
                    hitRatio: window.hit_ratio,
                    hitProp: CUaccessProperty::CU_ACCESS_PROPERTY_PERSISTING,
                    missProp: CUaccessProperty::CU_ACCESS_PROPERTY_STREAMING,
                }
            });
        }
        attributes
    }

    /// The driver's form; `attributes` are [`Shape::attributes`] and outlive it.
    pub(crate) fn config(&self, stream: CUstream, attributes: &mut [CUlaunchAttribute]) -> CUlaunchConfig {
        CUlaunchConfig {
            gridDimX: self.grid[0],
            gridDimY: self.grid[1],
            gridDimZ: self.grid[2],
            blockDimX: self.block[0],
            blockDimY: self.block[1],
            blockDimZ: self.block[2],
            sharedMemBytes: self.dynamic_shared,
            hStream: stream,
            attrs: attributes.as_mut_ptr(),
            numAttrs: attributes.len() as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_stay_within_what_the_device_allows() {
        let window = |bytes, aside, window| Window::over(4096, bytes, aside, window).map(|w| (w.bytes, w.set_aside, w.hit_ratio));
        assert_eq!(window(1 << 20, 32 << 20, 128 << 20), Some((1 << 20, 1 << 20, 1.0)));
        assert_eq!(window(64 << 20, 32 << 20, 128 << 20), Some((64 << 20, 32 << 20, 0.5)), "half of the lines stay");
        assert_eq!(window(256 << 20, 32 << 20, 128 << 20), Some((128 << 20, 32 << 20, 0.25)), "the window is cut");
        assert_eq!(window(1 << 20, 0, 128 << 20), None, "nothing can be set aside");
        assert_eq!(window(1 << 20, 1 << 20, 0), None, "no windows");
    }

    #[test]
    fn every_wish_becomes_an_attribute() {
        use CUlaunchAttributeID::*;
        let ids = |shape: Shape| shape.attributes().iter().map(|attribute| attribute.id).collect::<Vec<_>>();
        let plain = Shape::plain([4, 1, 1], [32, 1, 1]);
        assert_eq!(ids(plain), []);
        let window = Window::over(0, 64, 64, 64);
        let all = Shape { cluster: 2, cooperative: true, programmatic: true, window, ..plain };
        assert_eq!(
            ids(all),
            [
                CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
                CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW
            ]
        );
        assert_eq!((plain.blocks(), plain.threads()), (4, 32));
    }
}
