//! Wavefronts of strided loads against measured ones (A100).

use std::path::Path;
use warpsight_predict::volumes::warps::{Axis, distinct, shapes, wavefronts};

#[derive(serde::Deserialize)]
struct Recording {
    rows: Vec<Row>,
}

#[derive(serde::Deserialize)]
struct Row {
    device: String,
    datatype: i64,
    mode: String,
    arg: u32,
    pitch: i64,
    data_pipe_wavefronts: f64,
}

#[test]
fn data_pipe_wavefronts_of_a100_are_exact() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/volumes/measured/gpu_strides.json");
    let Ok(text) = std::fs::read_to_string(&file) else {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{} is missing", file.display());
        eprintln!("skipped: no recordings");
        return;
    };
    let recording: Recording = serde_json::from_str(&text).expect("the recording parses");
    let rows: Vec<&Row> = recording.rows.iter().filter(|row| row.device == "a100").collect();
    assert_eq!(rows.len(), 144);
    for row in rows {
        // One block of 1024 threads. In block mode the kernel uses tidx % 64 and tidy % 32; rows are `pitch` elements apart.
        let axes: Vec<Axis> = if row.mode == "stride" {
            vec![Axis { stride: i64::from(row.arg) * row.datatype, count: 1024 }]
        } else {
            let (x, y) = (row.arg, 1024 / row.arg);
            let wrapped = |count: u32, most: u32, stride: i64| {
                [Axis { stride, count: count.min(most) }, Axis { stride: 0, count: count.div_ceil(most) }]
            };
            wrapped(x, 64, row.datatype).into_iter().chain(wrapped(y, 32, row.pitch * row.datatype)).collect()
        };
        let active: Vec<(u32, u32)> = axes.iter().map(|axis| (0, axis.count)).collect();
        let (mut cycles, mut warps) = (0, 0);
        for shape in shapes(&axes, &active, 32) {
            for &start in &shape.starts {
                cycles += wavefronts(&shape.offsets, row.datatype, start, 32);
                warps += 1;
            }
        }
        assert_eq!(warps, 32);
        let mean = cycles as f64 / 32.0;
        // The recording has two decimals.
        assert!((mean - row.data_pipe_wavefronts).abs() <= 0.011 * mean.max(1.0), "{} {} {}: {mean}", row.mode, row.arg, row.datatype);
    }
}

#[test]
fn distinct_sectors_of_a_warp() {
    let line = |stride: i64, bytes: i64, begin: i64| {
        let offsets: Vec<i64> = (0..32).map(|lane| lane * stride).collect();
        distinct(&offsets, bytes, begin, 32)
    };
    assert_eq!(line(8, 8, 0), 8);
    assert_eq!(line(8, 8, 8), 9, "a warp that begins within a sector");
    assert_eq!(line(-4, 4, 124), 4);
    assert_eq!(line(0, 4, 12), 1, "a broadcast");
    assert_eq!(line(64, 16, 24), 64, "each lane lies across a boundary");
}
