//! `warpsight probe` on the stand-in for the CUDA driver: devices that hang, are lost or out of memory cost what they were asked for then.

#[path = "../../run/tests/fake_cuda/mod.rs"]
mod fake_cuda;

mod common;

use common::{Sandbox, outcomes, said};
use serde_json::Value;
use std::path::Path;
use std::process::Output;

/// A probe on a driver with these settings.
fn probe(s: &Sandbox, stand_in: &Path, only: &str, settings: &[(&str, &str)], more: &[&str]) -> Output {
    let out = s.text("out");
    let args = ["probe", "--device", "cuda:0", "--scale", "tiny", "--seed", "7", "--json", "--only", only, "--out", &out];
    let mut command = s.command(&[&args[..], more].concat());
    command.env("LD_LIBRARY_PATH", stand_in).env("WARPSIGHT_CUDA", stand_in).envs(settings.iter().copied());
    command.output().expect("starts")
}

fn reasons(file: &Value) -> String {
    outcomes(file, "failed").iter().map(|record| record["outcome"]["why"].to_string()).collect::<Vec<_>>().join("\n")
}

#[test]
fn what_was_asked_of_a_device_that_hangs_or_is_lost_is_unknown_and_the_rest_goes_on() {
    let Some(stand_in) = fake_cuda::build() else { return };
    for (setting, word) in [("WS_FAKE_LOST_AT", "ILLEGAL_ADDRESS"), ("WS_FAKE_HANG_AT", "did not answer within")] {
        let s = Sandbox::new();
        // Counted in each process anew: the first measurements need fewer launches, all of an aspect together more.
        let output = probe(&s, &stand_in, "warp,local", &[(setting, "150")], &["--timeout", "5"]);
        assert_eq!(output.status.code(), Some(0), "{setting}: {}", said(&output));
        assert!(said(&output).contains("the device is opened again"), "{setting}: {}", said(&output));
        let files = ["warp", "local"].map(|name| s.json(&format!("out/{name}.json")));
        assert!(files.iter().all(|file| !outcomes(file, "verified").is_empty()), "{setting}: {}", said(&output));
        assert!(files.iter().any(|file| reasons(file).contains(word)), "{setting}: {}", said(&output));
        // What became unknown by it has that as its reason.
        let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert!(found["keys"].to_string().contains("did not run"), "{setting}: {found}");

        // The same command tries what failed once more.
        let again = probe(&s, &stand_in, "warp,local", &[], &[]);
        assert_eq!(again.status.code(), Some(0), "{}", said(&again));
        assert_eq!(reasons(&s.json("out/warp.json")), "", "{setting}");
    }
}

#[test]
fn out_of_memory_is_stated() {
    let Some(stand_in) = fake_cuda::build() else { return };
    let s = Sandbox::new();
    let output = probe(&s, &stand_in, "warp,hierarchy", &[("WS_FAKE_OOM_BYTES", "65536")], &[]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let hierarchy = s.json("out/hierarchy.json");
    assert!(reasons(&hierarchy).to_lowercase().contains("memory"), "{}", reasons(&hierarchy));
    assert!(!outcomes(&s.json("out/warp.json"), "verified").is_empty(), "{}", said(&output));
    let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(found["keys"]["buffer.l2.capacity_bytes"]["value"].is_null(), "{found}");
}
