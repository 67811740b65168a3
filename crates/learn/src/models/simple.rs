//! What operations are expected to cost before anything was measured.

/// How many simple vector operations (an addition, a comparison) an operation is expected to take for each scalar, by its name: what
/// LLVM and a driver make of it on a CPU with vectors, in round numbers. Functions are polynomials after a reduction of their argument;
/// what lanes do one by one (division of integers, memory at an address of their own) counts for each lane; a filtered texel is as much
/// as a hundred operations (He et al. 2015; paper 004, equation 1). Measurements overrule all of it.
pub fn simple(name: &str) -> f64 {
    let parts: Vec<&str> = name.split('.').collect();
    match parts[..] {
        ["texture", _, "query"] => 5.0,
        ["texture", _, "fetch"] => 30.0,
        ["texture", "3d" | "cube", _] => 150.0,
        ["texture", ..] => 100.0,
        ["ext", function] => match function {
            "fabs" | "floor" | "ceil" | "trunc" | "round" | "degrees" | "radians" => 1.0,
            "fmin" | "fmax" | "smin" | "smax" | "umin" | "umax" | "step" => 2.0,
            "smoothstep" => 8.0,
            "sqrt" | "normalize" | "refract" => 10.0,
            "inversesqrt" => 20.0,
            "exp2" => 16.0,
            "exp" | "log2" => 20.0,
            "sin" | "cos" | "log" => 25.0,
            "atan" => 30.0,
            "pow" | "asin" | "acos" => 40.0,
            "tan" | "atan2" | "sinh" | "cosh" | "tanh" | "asinh" | "acosh" | "atanh" => 50.0,
            _ => 3.0,
        },
        ["int", "div"] => 300.0,
        ["load" | "store", "local" | "private" | "buffer"] => 24.0,
        ["f32", "div" | "rem"] => 10.0,
        ["load", "uniform"] | ["chain", "dynamic"] => 8.0,
        ["int", "mul"] | ["f64" | "int64", ..] => 4.0,
        ["load", "input"] | ["loop"] | ["kill"] => 4.0,
        ["derivative"] => 3.0,
        ["branch"] | ["switch"] => 2.0,
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::simple;
    use warpsight_shader::features::names;

    #[test]
    fn all_operations_are_expected_to_cost_something() {
        assert!(names().iter().all(|name| (1.0..=300.0).contains(&simple(name))));
        let found = ["f32.add", "f32.mul", "f32.div", "int.mul", "int.div", "ext.sin", "texture.2d.lod", "texture.3d.lod"].map(simple);
        assert_eq!(found, [1.0, 1.0, 10.0, 4.0, 300.0, 25.0, 100.0, 150.0]);
    }
}
