//! Wavefronts and cycles of strided loads against measured ones (A100, A40), and the fit of the tags' curve.

use warpsight_predict::fit::l1::{Row, error, rows, text};
use warpsight_predict::volumes::first_level::l1::tags;
use warpsight_predict::volumes::first_level::warps::distinct;

mod recordings;

/// The recorded rows; `None` where there are no recordings.
fn recorded() -> Option<Vec<Row>> {
    Some(rows(&recordings::recordings()?).expect("the recording parses"))
}

#[test]
fn data_pipe_wavefronts_of_a100_are_exact() {
    let Some(rows) = recorded() else { return };
    let rows: Vec<&Row> = rows.iter().filter(|row| row.device == "a100").collect();
    assert_eq!(rows.len(), 144);
    for row in rows {
        assert_eq!(row.warps.len(), 32);
        assert!(row.exact(), "{} of {}", row.arg, row.element);
    }
}

#[test]
fn the_committed_fit_is_what_the_recording_gives() {
    let Some(recordings) = recordings::recordings() else { return };
    assert_eq!(text(&recordings).unwrap(), include_str!("../../../data/fits/l1-nvidia.toml"));
}

/// Mean relative errors of the library's curve on rows that it was not fitted to.
#[test]
fn cycles_of_held_out_rows() {
    let Some(rows) = recorded() else { return };
    let odd = |device: &'static str, element: i64| {
        rows.iter().filter(move |row| row.device == device && row.arg % 2 == 1 && !row.full() && (element == 0 || row.element == element))
    };
    let (count, mean, _) = error(odd("a100", 0), tags(), 32.0);
    assert!(count == 24 && mean < 0.04, "A100: {mean} of {count}");
    let (count, mean, _) = error(odd("a40", 4), tags(), 16.0);
    assert!(count == 16 && mean < 0.05, "A40 f32: {mean} of {count}");
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
