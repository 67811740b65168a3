//! Names that nothing has, names in another case, and what a shell and `man` get.

mod common;

use common::{Sandbox, said};

const STAR: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/accesses/star3d-r1-f64.toml");
const NERF: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/dataflow/nerf.json");
const JULIA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/shaders/looping/julia_trap.frag");

#[test]
fn a_slip_is_answered_with_the_name_that_is_meant() {
    let s = Sandbox::new();
    for (args, meant) in [
        (&["predict", STAR, "--device", "h10"][..], "there is no device `h10`; did you mean `h100` or `h100-nvl` or `h100-sxm`?"),
        (&["explore", STAR, "--device", "a101"], "did you mean `a100-40` or `a100-80`?"),
        (&["predict", STAR, "--device", "h100", "--override", "l2_efective=4MB"], "did you mean `memory.l2_effective`?"),
        (&["predict", STAR, "--device", "h100", "--set", "blok=4,4,4"], "did you mean `block`?"),
        (&["pipeline", NERF, "--device", "h100", "--policy", "kitsun"], "`kitsun` is none of best, kitsune; did you mean `kitsune`?"),
        (&["optimize", "--op", "sofmax n=4 c=100"], "did you mean `softmax`?"),
        (&["optimize", "--op", "conv2d n=1 strid=2"], "did you mean `stride` or `strideh` or `stridew`?"),
        (&["optimize", "--op", "softmax n=4 c=100", "--dump", "programm"], "did you mean `program`?"),
        (&["optimize", "--op", "softmax n=4 c=100", "--profile", "adreno64"], "did you mean `adreno640`?"),
        (&["battery", "--device", "sim:adreno640", "--out", "x", "--phase", "stencil"], "did you mean `stencils`?"),
        (&["shader", "predict", JULIA, "--dialect", "shadertoi"], "did you mean `shadertoy`?"),
        (&["shader", "predict", JULIA, "--device", "lavapip"], "did you mean `lavapipe`?"),
        (&["shader", "train", "--corpus", "x", "--shots", "y", "--out", "z", "--model", "nls"], "did you mean `nnls`?"),
    ] {
        let text = said(&s.run(args, 2));
        assert!(text.contains(meant), "{args:?}: {text}");
    }
    let strange = said(&s.run(&["predict", STAR, "--device", "nonsense"], 2));
    assert!(!strange.contains("did you mean") && strange.contains("known are host, a100-40"), "{strange}");
    let simulated = said(&s.run(&["optimize", "--op", "softmax n=4 c=100", "--device", "sim:adreno64"], 3));
    assert!(simulated.contains("did you mean `adreno640`?"), "{simulated}");
}

#[test]
fn case_does_not_count() {
    let s = Sandbox::new();
    for (args, plain) in [
        (&["predict", STAR, "--device", "H100", "HOST"][..], &["predict", STAR, "--device", "h100", "host"][..]),
        (
            &["explore", STAR, "--device", "A100-40", "--block-sizes", "256"],
            &["explore", STAR, "--device", "a100-40", "--block-sizes", "256"],
        ),
        (
            &["pipeline", NERF, "--device", "A100-40", "--policy", "Kitsune"],
            &["pipeline", NERF, "--device", "a100-40", "--policy", "kitsune"],
        ),
        (
            &["optimize", "--op", "Softmax n=4 c=100", "--device", "SIM:Adreno640", "--dump", "Tile"],
            &["optimize", "--op", "softmax n=4 c=100", "--dump", "tile"],
        ),
        (&["shader", "predict", JULIA, "--device", "LavaPipe"], &["shader", "predict", JULIA, "--device", "lavapipe"]),
    ] {
        assert_eq!(said(&s.run(args, 0)), said(&s.run(plain, 0)), "{args:?}");
    }
}

#[test]
fn shells_and_man_are_served() {
    let s = Sandbox::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell", "Bash"] {
        let script = said(&s.run(&["completions", shell], 0));
        assert!(["optimize", "calibrate", "kitsune", "wide"].iter().all(|word| script.contains(word)), "{shell}");
    }
    assert!(said(&s.run(&["completions", "bsh"], 2)).contains("bash"));
    assert!(said(&s.run(&["man"], 0)).contains(".TH warpsight 1"));
    let dir = s.text("man1");
    let told = said(&s.run(&["man", &dir], 0));
    let pages = std::fs::read_dir(&dir).expect("the folder").count();
    assert!(told.starts_with(&format!("{pages} pages in")) && pages >= 20, "{told}");
    let page = std::fs::read_to_string(s.path("man1/warpsight-shader-predict.1")).expect("a page");
    assert!(page.contains("mandelbulb.frag") && page.contains(".SH OPTIONS"), "{page}");
}
