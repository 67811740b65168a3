//! What verbs write goes where its path leads: through to pipes, devices and the standard output, and through links, which stay.
#![cfg(target_os = "linux")]

mod common;

use common::Sandbox;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

/// Verbs that write one file each, which comes last.
fn verbs() -> Vec<Vec<String>> {
    let example = |name: &str| format!("{}/../../examples/{name}", env!("CARGO_MANIFEST_DIR"));
    let stencil = example("accesses/star2d5-f64.toml");
    let graph = example("dataflow/nerf.json");
    let explore = ["explore", &stencil, "--device", "a100-40", "--block-sizes", "64x2,16x4"];
    let sweep = ["--sweep", "n=64..128:32"];
    let pipeline = ["pipeline", "--device", "a100-40", &graph];
    let own = |words: &[&[&str]]| words.concat().iter().map(|word| (*word).to_owned()).collect();
    vec![
        own(&[&explore, &sweep, &["--csv"]]),
        own(&[&explore, &["--breakdown"]]),
        own(&[&pipeline, &["--html"]]),
        own(&[&pipeline, &["--simulate", "--trace"]]),
    ]
}

fn run(s: &Sandbox, verb: &[String], to: &str) {
    let args: Vec<&str> = verb.iter().map(String::as_str).chain([to]).collect();
    s.run(&args, 0);
}

#[test]
fn verbs_write_through_to_what_is_no_regular_file() {
    let s = Sandbox::new();
    let pipe = s.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("starts").success());
    fs::write(s.path("old"), "before").expect("writes");
    fs::set_permissions(s.path("old"), fs::Permissions::from_mode(0o640)).expect("permissions");
    symlink("old", s.path("link")).expect("a link");
    let null = || Path::new("/dev/null").metadata().map(|m| (m.ino(), m.rdev(), m.mode())).expect("a device");
    for verb in verbs() {
        run(&s, &verb, &s.text("plain"));
        let plain = fs::read(s.path("plain")).expect("written");
        assert!(plain.len() > 200, "{verb:?}");

        run(&s, &verb, &s.text("link"));
        assert_eq!(fs::read_link(s.path("link")).expect("still a link"), Path::new("old"), "{verb:?}");
        assert_eq!(fs::read(s.path("old")).expect("written"), plain, "{verb:?}");
        assert_eq!(s.path("old").metadata().expect("there").mode() & 0o777, 0o640, "{verb:?}");

        symlink("new", s.path("dangling")).expect("a link");
        run(&s, &verb, &s.text("dangling"));
        assert!(s.path("dangling").is_symlink(), "{verb:?}");
        assert_eq!(fs::read(s.path("new")).expect("written"), plain, "{verb:?}");
        fs::remove_file(s.path("dangling")).and_then(|()| fs::remove_file(s.path("new"))).expect("removed");

        let from = pipe.clone();
        let reader = std::thread::spawn(move || {
            let mut read = vec![];
            File::open(from).and_then(|mut file| file.read_to_end(&mut read)).expect("read");
            read
        });
        run(&s, &verb, &s.text("pipe"));
        // The reader of a pipe that was replaced would wait for ever.
        assert!(pipe.metadata().expect("there").file_type().is_fifo(), "{verb:?}");
        assert_eq!(reader.join().expect("read"), plain, "{verb:?}");

        let args: Vec<&str> = verb.iter().map(String::as_str).chain(["/dev/stdout"]).collect();
        let piped = s.run(&args, 0).stdout;
        assert!(piped.windows(plain.len()).any(|part| part == plain), "{verb:?}");
        // To a file, that is added to.
        let log = s.path("log");
        fs::write(&log, "first\n").expect("writes");
        let to = File::options().append(true).open(&log).expect("opens");
        assert!(s.command(&args).stdout(to).stderr(Stdio::null()).status().expect("starts").success());
        assert_eq!(fs::read(&log).expect("written"), [b"first\n", &piped[..]].concat(), "{verb:?}");

        let before = null();
        // As root, a device could be replaced: a private one shows that it is not.
        let device = s.path("null");
        let made = Command::new("mknod").args([&s.text("null"), "c", "1", "3"]).stderr(Stdio::null()).status().expect("starts").success();
        if made && File::options().write(true).open(&device).is_ok() {
            run(&s, &verb, &s.text("null"));
            assert!(device.metadata().expect("there").file_type().is_char_device(), "{verb:?}");
            run(&s, &verb, "/dev/null");
        }
        let _ = fs::remove_file(&device);
        assert_eq!(null(), before, "{verb:?}");
    }
    let mut left: Vec<String> =
        fs::read_dir(s.path("")).expect("a folder").map(|entry| entry.expect("a name").file_name().into_string().expect("text")).collect();
    left.retain(|name| !["data", "cache"].contains(&name.as_str()));
    left.sort();
    assert_eq!(left, ["link", "log", "old", "pipe", "plain"], "no temporary file is left");
}
