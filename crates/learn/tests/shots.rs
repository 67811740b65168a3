//! Measured shaders in the store.

use warpsight_ir::Seconds;
use warpsight_ir::sample::Device;
use warpsight_learn::measured::{Clock, Flag, Outcome, PROTOCOL, Shot, Timed, Trial};
use warpsight_learn::{RunInfo, Store, StoreError};

fn shots() -> Vec<Shot> {
    let device = |name: &str| Device { backend: "vulkan".into(), name: name.into(), driver: "Mesa 22.3.6".into() };
    let shot = |shader: &str, device: Device, outcome| {
        let (inputs, texture) = ("00ff00ff00ff00ff".into(), 256);
        Shot { shader: shader.into(), device, frame: [512, 384], texture, inputs, protocol: PROTOCOL, outcome }
    };
    let trial = |round: u32| Trial { round, draws: 7, seconds: 1.0 / 3.0, reference: 0.1 + 0.2 };
    let timed = Timed {
        clock: Clock::Processor,
        first: Seconds(0.7),
        trials: vec![trial(0), trial(1)],
        image: "0123456789abcdef".into(),
        flags: vec![Flag::Black, Flag::Unstable],
        clocks: vec![[Some(1980), None], [None, Some(2619)]],
    };
    let stamped = Timed { clock: Clock::Timestamps, flags: vec![], clocks: vec![], ..timed.clone() };
    vec![
        shot("a", device("llvmpipe"), Outcome::Done(timed)),
        shot("b", device("a GPU"), Outcome::Done(stamped)),
        shot("c", device("llvmpipe"), Outcome::Hang { reason: "no answer\nin \"60\" s".into() }),
        shot("a", device("llvmpipe"), Outcome::Lost { reason: "signal 11".into() }),
        shot("d", device("llvmpipe"), Outcome::Refused { reason: String::new() }),
    ]
}

#[test]
fn shots_come_back_as_they_were() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let mut store = Store::open(&path).unwrap();
    let run = store.begin_run(&RunInfo::here(["test"], None)).unwrap();
    shots().iter().for_each(|shot| store.append_shot(run, shot).unwrap());
    drop(store);
    let store = Store::open(&path).unwrap();
    assert_eq!(store.shots(None).unwrap(), shots());
    let own: Vec<Shot> = shots().into_iter().filter(|s| s.device.name == "llvmpipe").collect();
    assert_eq!((own.len(), store.shots(Some(&own[0].device)).unwrap()), (4, own));
}

#[test]
fn what_is_no_time_is_refused_and_nothing_is_changed_later() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let mut store = Store::open(&path).unwrap();
    let run = store.begin_run(&RunInfo::here(["test"], None)).unwrap();
    for bad in [f64::NAN, f64::INFINITY, -1.0] {
        let mut shot = shots().swap_remove(0);
        let Outcome::Done(timed) = &mut shot.outcome else { panic!() };
        timed.trials[1].seconds = bad;
        assert!(matches!(store.append_shot(run, &shot), Err(StoreError::BadSample(_))), "{bad}");
    }
    assert_eq!(store.shots(None).unwrap(), []);
    store.append_shot(run, &shots()[0]).unwrap();
    let other = rusqlite::Connection::open(&path).unwrap();
    for change in ["UPDATE shot SET image = ''", "DELETE FROM shot"] {
        let error = other.execute(change, []).unwrap_err();
        assert!(error.to_string().contains("the store is append-only"), "{error}");
    }
}
