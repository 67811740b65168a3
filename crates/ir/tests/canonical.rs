//! One form of accesses against what threads do, one by one; conditions and edges against every thread.

use fastrand::Rng;
use std::collections::{BTreeMap, BTreeSet};
use warpsight_ir::accesses::Order;
use warpsight_ir::accesses::text::parse;
use warpsight_ir::{AccessRef, Accesses, AffineBound, Nest, TensorPlace, VarId};

/// A small kernel: a few accesses, conditions, and loops of some trips or of one.
fn random(rng: &mut Rng) -> Accesses {
    let form = |rng: &mut Rng| {
        let names = ["tx", "ty", "i", "j", "lx", "bx"];
        let terms: Vec<String> = (0..rng.usize(1..3)).map(|_| format!("{}*{}", rng.i32(1..4), names[rng.usize(..names.len())])).collect();
        format!("{} - {}", terms.join(" + "), rng.i32(0..5))
    };
    let mut text = String::from("name = \"k\"\nblock = [4, 2]\ndomain = [7, 3]\nregisters = 8\n");
    for name in ["i", "j"] {
        text += &format!("[[loop]]\nname = \"{name}\"\ntrips = {}\n", rng.u32(1..4));
    }
    for field in ["A", "B"] {
        text += &format!("[[field]]\nname = \"{field}\"\nelement = \"f32\"\ndims = [{}, 6]\n", rng.u32(4..16));
        for side in ["load", "store"] {
            let accesses: Vec<String> = (0..rng.usize(1..4))
                .map(|_| {
                    let guard: Vec<String> = (0..rng.usize(..4))
                        .map(|_| format!("\"{} {} {}\"", form(rng), ["<", ">=", ">", "<="][rng.usize(..4)], rng.i32(-2..12)))
                        .collect();
                    format!("{{ at = [\"{}\", \"ty\"], guard = [{}] }}", form(rng), guard.join(", "))
                })
                .collect();
            text += &format!("{side} = [{}]\n", accesses.join(", "));
        }
    }
    parse(&text, &[]).unwrap_or_else(|error| panic!("{error:?}\n{text}")).kernel.accesses
}

/// Values of all variables.
fn threads(accesses: &Accesses) -> Vec<Vec<i64>> {
    accesses.vars.iter().fold(vec![vec![]], |all, var| {
        let trips = i64::from(var.trips.expect("known"));
        all.iter().flat_map(|own| (0..trips).map(move |value| own.iter().copied().chain([value]).collect())).collect()
    })
}

fn holds(guard: &[AffineBound], values: &[i64]) -> bool {
    guard.iter().all(|bound| (0..bound.extent).contains(&bound.value.eval(|var: VarId| values[usize::from(var.0)]).expect("small")))
}

fn each(nest: &[Nest], to: &mut impl FnMut(&AccessRef)) {
    for node in nest {
        match node {
            Nest::Loop { body, .. } => each(body, to),
            Nest::Access(access) => to(access),
            Nest::Barrier => {}
        }
    }
}

/// What each thread touches: tensor by name, what it does, where.
fn touched(accesses: &Accesses) -> BTreeSet<(Vec<i64>, String, String, Vec<i64>)> {
    let all = threads(accesses);
    let mut found = BTreeSet::new();
    each(&accesses.nest, &mut |access| {
        for values in all.iter().filter(|values| holds(&access.guard, values)) {
            let at = access.coords.iter().map(|form| form.eval(|var| values[usize::from(var.0)]).expect("small")).collect();
            let name = accesses.tensors[usize::from(access.tensor)].name.to_string();
            found.insert((values.clone(), name, format!("{:?}", access.kind), at));
        }
    });
    found
}

#[test]
fn the_form_does_what_the_accesses_do() {
    let mut rng = Rng::with_seed(1);
    let (mut never, mut fewer) = (0, 0);
    for _ in 0..400 {
        let accesses = random(&mut rng);
        for order in [Order::Free, Order::Kept] {
            let found = accesses.canonical(order);
            assert_eq!(touched(&found.accesses), touched(&accesses), "{accesses:?}\n{found:?}");
            // Once more changes nothing.
            let again = found.accesses.canonical(order);
            assert_eq!(again.accesses, found.accesses);
            assert!(again.never.is_empty());
            never += found.never.len();
            let (mut before, mut after) = (0, 0);
            each(&accesses.nest, &mut |_| before += 1);
            each(&found.accesses.nest, &mut |_| after += 1);
            fewer += usize::from(after + found.never.len() < before);
            assert_eq!(found.positions.len(), after);
            assert!(order == Order::Free || after + found.never.len() == before);
        }
    }
    assert!(never > 50 && fewer > 0, "{never} {fewer}");
}

#[test]
fn what_lies_beside_a_field_is_what_threads_touch() {
    let mut rng = Rng::with_seed(2);
    let (mut exact, mut all) = (0, 0);
    for _ in 0..400 {
        let accesses = random(&mut rng);
        let threads = threads(&accesses);
        let mut far: BTreeMap<(String, usize), i64> = BTreeMap::new();
        each(&accesses.nest, &mut |access| {
            let tensor = &accesses.tensors[usize::from(access.tensor)];
            let TensorPlace::Buffer { dims, .. } = &tensor.place else { panic!("a buffer") };
            for values in threads.iter().filter(|values| holds(&access.guard, values)) {
                for (axis, (form, extent)) in access.coords.iter().zip(dims).rev().enumerate() {
                    let at = form.eval(|var| values[usize::from(var.0)]).expect("small");
                    let beyond = (-at).max(at + 1 - extent);
                    if beyond > 0 {
                        let most = far.entry((tensor.name.to_string(), axis)).or_default();
                        *most = beyond.max(*most);
                    }
                }
            }
        });
        let found: BTreeMap<(String, usize), i64> =
            accesses.outside().into_iter().map(|own| ((own.field.to_string(), own.axis), own.elements as i64)).collect();
        // Conditions that judge what a coordinate has only a part of may leave it less than is known.
        for (key, elements) in &far {
            assert!(found.get(key).is_some_and(|own| own >= elements), "{key:?}: {elements} {found:?}\n{accesses:?}");
        }
        all += found.len();
        exact += found.iter().filter(|(key, elements)| far.get(*key) == Some(elements)).count();
    }
    assert!(all > 500 && exact as f64 > 0.85 * all as f64, "{exact} of {all}");
}

/// Each condition tells of the next variable, a billion times as much: three of them are beyond 128 bits.
#[test]
fn conditions_of_large_numbers_overflow_nothing() {
    let mut text = String::from("name = \"k\"\nblock = [4]\ndomain = [4]\nregisters = 8\nflops = 1\n");
    for name in ["x", "y", "z", "w"] {
        text += &format!("[[loop]]\nname = \"{name}\"\ntrips = 1000000\n");
    }
    let guard = ["x + 1073741824*y", "y + 1073741824*z", "z + 1073741824*w"].map(|form| format!("\"{form} < 5\"")).join(", ");
    text += &format!(
        "[[field]]\nname = \"A\"\nelement = \"f32\"\ndims = [64]\nload = [{{ at = [\"1073741824*x\"], guard = [{guard}] }}, {{ at = [\"tx\"] }}]\n"
    );
    let accesses = parse(&text, &[]).unwrap_or_else(|error| panic!("{error:?}")).kernel.accesses;
    // x is at most 4.
    assert_eq!(accesses.outside()[0].elements, 4 * (1 << 30) - 63);
    assert!(accesses.canonical(Order::Free).never.is_empty());
}
