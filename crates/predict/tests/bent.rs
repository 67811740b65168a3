//! Kernels that number their rows and columns themselves, and neighbours at edges.

use warpsight_ir::Profile;
use warpsight_ir::accesses::text::{Document, Written};
use warpsight_ir::profile::builtin;
use warpsight_predict::volumes::report::unknowns::report_text;
use warpsight_predict::volumes::report::{Report, Settings};

fn device(name: &str) -> Profile {
    builtin(name).expect("built in").expect("parses")
}

fn read(text: &str) -> (Document, Written) {
    let document = Document::read(text).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    let written = document.written::<&str, &str>(&[]).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    (document, written)
}

fn of(text: &str, on: &str) -> Report {
    let (document, written) = read(text);
    report_text((&document, &[]), &written, &device(on), &Settings::default()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// A transposition by tiles of 32 by 32 in local memory, its launch and its coordinates as given.
fn transpose(launch: &str, [x, y, out_x, out_y]: [&str; 4], [lx, ly]: [&str; 2]) -> String {
    format!(
        "name = \"transpose\"\n{launch}\nregisters = 32\n[[loop]]\nname = \"i\"\ntrips = 4\norder = \"unrolled\"\n\
         [[field]]\nname = \"A\"\nelement = \"f32\"\ndims = [4096, 4096]\nload = [[\"{x}\", \"{y} + 8*i\"]]\n\
         [[field]]\nname = \"T\"\nelement = \"f32\"\ndims = [33, 32]\nkind = \"local\"\nstore = [[\"{lx}\", \"{ly} + 8*i\"]]\n\
         [[barrier]]\n\
         [[field]]\nname = \"T\"\nload = [[\"{ly} + 8*i\", \"{lx}\"]]\n\
         [[field]]\nname = \"B\"\nelement = \"f32\"\ndims = [4096, 4096]\nstore = [[\"{out_x}\", \"{out_y} + 8*i\"]]\n"
    )
}

#[test]
fn lanes_in_a_row_are_those_of_a_block_in_two_dimensions() {
    let two = transpose("block = [32, 8]\ngrid = [128, 128]", ["32*bx + lx", "32*by + ly", "32*by + lx", "32*bx + ly"], ["lx", "ly"]);
    let one = transpose(
        "block = [256]\ngrid = [16384]",
        ["32*(bx % 128) + lx % 32", "32*(bx / 128) + lx / 32", "32*(bx / 128) + lx % 32", "32*(bx % 128) + lx / 32"],
        ["lx % 32", "lx / 32"],
    );
    for on in ["a100-40", "mi210", "rx6900xt"] {
        let [mut a, mut b] = [of(&two, on), of(&one, on)];
        assert_eq!(a.seconds, b.seconds, "{on}");
        assert_eq!((a.volumes, a.l1_cycles_per_point), (b.volumes, b.l1_cycles_per_point), "{on}");
        (a.provenance, b.provenance) = (vec![], vec![]);
        assert_eq!(a.instructions, b.instructions, "{on}");
    }
}

/// A star of seven points whose neighbour in x is at `next`, in y at `above`.
fn star([next, above]: [&str; 2]) -> String {
    format!(
        "name = \"star\"\nblock = [128, 2, 2]\ndomain = [256, 256, 256]\nregisters = 32\nflops = 8\n\
         [[field]]\nname = \"A\"\nelement = \"f64\"\ndims = [256, 256, 260]\n\
         load = [[\"tx\", \"ty\", \"tz+1\"], [\"{next}\", \"ty\", \"tz+1\"], [\"tx\", \"{above}\", \"tz+1\"], [\"tx\", \"ty\", \"tz\"], [\"tx\", \"ty\", \"tz+2\"]]\n\
         [[field]]\nname = \"B\"\nelement = \"f64\"\ndims = [256, 256, 256]\nstore = [[\"tx\", \"ty\", \"tz\"]]\n"
    )
}

#[test]
fn edges_that_wrap_or_are_clamped_cost_little() {
    for on in ["a100-40", "mi250x"] {
        let plain = of(&star(["tx + 1", "ty + 1"]), on);
        for edges in [["(tx + 1) % 256", "(ty + 1) % 256"], ["min(tx + 1, 255)", "min(ty + 1, 255)"]] {
            let bent = of(&star(edges), on);
            let off = |of: fn(&Report) -> Option<f64>| of(&bent).unwrap() / of(&plain).unwrap() - 1.0;
            assert!(off(|report| report.volumes.dram_load).abs() < 0.03, "{on} {edges:?}");
            assert!(
                (-0.01..0.1).contains(&(bent.seconds.0 / plain.seconds.0 - 1.0)),
                "{on} {edges:?}: {} {}",
                bent.seconds.0,
                plain.seconds.0
            );
            // A clamped neighbour lies in a line that is touched anyway, whenever its condition holds.
            let said = bent.provenance.iter().any(|note| note.contains("no single coordinate is taken to hold behind L2"));
            assert_eq!(said, edges[0].starts_with("min"), "{:?}", bent.provenance);
        }
    }
}
