//! What is written of shots; measuring itself is tested through the command.

use super::*;
use warpsight_ir::Seconds;
use warpsight_learn::measured::{Clock, Flag, Timed, Trial};

fn shot(shader: &str, outcome: Outcome) -> Shot {
    let device = Device { backend: "vulkan".into(), name: "llvmpipe (LLVM 1, 256 bits)".into(), driver: "llvmpipe Mesa 2".into() };
    Shot { shader: shader.into(), device, frame: [512, 384], texture: 256, inputs: "00ff".into(), protocol: PROTOCOL, outcome }
}

fn timed(seconds: f64, reference: f64, flags: Vec<Flag>) -> Outcome {
    let trials = vec![Trial { round: 0, draws: 4, seconds, reference }; 3];
    Outcome::Done(Timed { clock: Clock::Processor, first: Seconds(0.5), trials, image: "abcd".into(), flags, clocks: vec![] })
}

#[test]
fn csv_has_a_line_a_shot_with_times_for_the_usual_speed() {
    let shots = [
        shot("a", timed(2.0, 1.0, vec![Flag::Black, Flag::Constant])),
        // Measured while all took twice as long: as long as the first.
        shot("b", timed(4.0, 2.0, vec![])),
        shot("c", timed(3.0, 1.0, vec![])),
        shot("d", Outcome::Hang { reason: "did not answer, \"at all\"".into() }),
    ];
    let text = String::from_utf8(report::csv(&shots).unwrap()).unwrap();
    let mut lines = text.lines();
    assert!(lines.next().unwrap().starts_with("id,seconds,cv,flags,reference,status,"));
    assert!(lines.next().unwrap().starts_with("a,2,0,black constant,1,done,0,3,12,0.5,512,384,256,00ff,abcd,2,"));
    assert!(lines.next().unwrap().starts_with("b,2,0,,2,done,"));
    assert!(lines.next().unwrap().starts_with("c,3,0,,1,done,"));
    let hung = lines.next().unwrap();
    assert!(hung.starts_with("d,,,,,hang,,,,,512,384") && hung.ends_with(",measured,\"did not answer, \"\"at all\"\"\""), "{hung}");
}

#[test]
fn widths_of_vectors() {
    assert_eq!(["128", "256", "512"].map(|t| parse_bits(t).unwrap()), [128, 256, 512]);
    assert!(["0", "64", "x"].iter().all(|t| parse_bits(t).is_err()));
}
