//! What the command line makes of texts, and what it says of those that it cannot read.

use super::*;

fn axes(text: &str) -> String {
    let operator = parse_operator(text).unwrap();
    check(&operator);
    let step = operator.steps.last().unwrap();
    let list = |a: &[Axis]| a.iter().map(|a| format!("{}{}", a.name, a.extent)).collect::<Vec<_>>().join(" ");
    format!("{} {} | {}", operator.kind, list(&step.axes), list(&step.reduce))
}

#[test]
fn axes_of_the_command_lines_operators() {
    assert_eq!(axes("conv2d n=2 c=4 h=6 w=7 k=3 r=3 s=2 stride=2 pad=1"), "conv2d n2 k3 y3 x4 | c4 r3 s2");
    assert_eq!(axes("conv2d n=1 c=4 h=6 w=6 k=3 r=1 s=1"), "conv2d k3 y6 x6 | c4");
    assert_eq!(axes("conv2d n=1 c=4 h=6 w=6 k=3 r=1 s=5 padw=2"), "conv2d k3 y6 x6 | c4 s5");
    assert_eq!(axes("conv2d n=1 c=4 h=6 w=6 k=3 r=3 s=5 pad=1 padw=0"), "conv2d k3 y6 x2 | c4 r3 s5");
    assert_eq!(axes("conv2d n=1 c=4 h=6 w=6 k=6 r=3 s=3 groups=2 dilation=2"), "conv2d g2 k3 y2 x2 | c2 r3 s3");
    assert_eq!(axes("dwconv2d n=1 c=4 h=6 w=6 r=3 s=3 pad=1"), "dwconv2d c4 y6 x6 | r3 s3");
    assert_eq!(axes("dwconv2d n=1 c=4 h=6 w=6 r=3 s=3 multiplier=2"), "dwconv2d c4 k2 y4 x4 | r3 s3");
    assert_eq!(axes("conv3d n=1 c=2 d=4 h=5 w=6 k=3 t=2 r=3 s=3"), "conv3d k3 z3 y3 x4 | c2 t2 r3 s3");
    assert_eq!(axes("deconv2d n=1 c=2 h=4 w=4 k=3 r=3 s=3 pad=1"), "deconv2d k3 y4 x4 | c2 r3 s3");
    assert_eq!(axes("deconv2d n=1 c=2 h=4 w=4 k=3 r=3 s=3 stride=2 pad=1"), "deconv2d k3 y4 x4 py2 px2 | c2 r2 s2");
    assert_eq!(axes("deconv3d n=1 c=2 d=3 h=4 w=4 k=3 t=3 r=3 s=3 stride=2 pad=1"), "deconv3d k3 z3 y4 x4 pz2 py2 px2 | c2 t2 r2 s2");
    assert_eq!(axes("matmul m=3 n=4 k=5"), "matmul m3 n4 | k5");
    assert_eq!(axes("matmul m=3 n=4 k=5 batch=2"), "matmul b2 m3 n4 | k5");
    assert_eq!(axes("fc n=1 k=8 m=10"), "fc n10 | k8");
    assert_eq!(axes("softmax n=3 c=5"), "softmax n3 c5 | ");
    assert_eq!(axes("layernorm n=3 c=5 dtype=f32"), "layernorm n3 c5 | ");
    assert_eq!(axes("avgpool n=2 c=3 h=8 w=8 r=3 s=3 stride=2 pad=1"), "avgpool n2 c3 y4 x4 | r3 s3");
    assert_eq!(axes("add n=3 c=5 rows=1"), "add n3 c5 | ");
    assert_eq!(axes("concat n=3 c=5 parts=4"), "concat n3 c20 | ");
    assert_eq!(axes("split n=3 c=20 parts=4"), "split n3 c5 | ");
    assert_eq!(axes("gather rows=9 c=5 n=4"), "gather n4 c5 | ");
    assert_eq!(axes("scatter_add rows=9 c=5 n=4"), "scatter_add n9 c5 | e4");
    assert_eq!(axes("scatter_max rows=9 c=5 n=4"), "scatter_max n9 c5 | e4");
    assert_eq!(axes("scatter rows=9 c=5 n=4"), "scatter n9 c5 | ");
    assert_eq!(axes("resize_nearest n=1 c=3 h=4 w=5 oh=8 ow=15"), "resize_nearest c3 y4 x5 y_copy2 x_copy3 | ");
    assert_eq!(axes("resize_nearest n=1 c=3 h=4 w=5 oh=7 ow=5"), "resize_nearest c3 y7 x5 | ");
    assert_eq!(axes("resize_linear n=1 c=3 h=4 w=5 oh=8 ow=5"), "resize_linear c3 y8 x5 | t22 t32");
    // Of one dimension alone.
    assert_eq!(axes("dwconv2d n=1 c=4 h=9 w=8 r=7 s=1 padh=3 stridew=2"), "dwconv2d c4 y9 x4 | r7");
    assert_eq!(axes("conv2d n=1 c=4 h=9 w=9 k=3 r=3 s=3 pad=1 padh=0 dilationw=2 stride=2 strideh=1"), "conv2d k3 y7 x4 | c4 r3 s3");
    assert_eq!(axes("conv3d n=1 c=2 d=4 h=5 w=6 k=3 t=2 r=3 s=3 strided=2 padd=1"), "conv3d k3 z3 y3 x4 | c2 t2 r3 s3");
    assert_eq!(axes("maxpool n=2 c=3 h=8 w=8 r=3 s=1 stridew=3 padh=1"), "maxpool n2 c3 y8 x3 | r3");
    let shape = |text: &str| parse_operator(text).unwrap().steps.last().unwrap().output.shape.clone();
    assert_eq!(shape("deconv2d n=1 c=2 h=4 w=4 k=3 r=3 s=3 stride=2 pad=1 output_padding=1"), [1, 3, 8, 8]);
    assert_eq!(shape("deconv2d n=1 c=2 h=4 w=4 k=3 r=3 s=3 stride=2 pad=1 output_paddingw=1 padh=0"), [1, 3, 9, 8]);
    assert_eq!(axes("softmax n=3 c=5 h=2 w=7 axis=3"), "softmax n3 c5 y2 x7 | ");
    assert_eq!(axes("reduce_max n=3 c=5 axis=0"), "reduce_max c5 | r03");
    assert_eq!(axes("sub n=3 c=5 right_c=1"), "sub n3 c5 | ");
    assert_eq!(axes("sigmoid n=3 c=5"), "sigmoid n3 c5 | ");
    assert_eq!(axes("gather_elements rows=9 c=5 n=4"), "gather_elements n4 c5 | ");
    assert_eq!(shape("slice n=9 c=8 start_n=1 step_n=3 size_c=2"), [3, 2]);
    assert_eq!(shape("pad_reflect n=1 c=3 h=4 w=5 before_h=2 after_w=4"), [1, 3, 6, 9]);
    assert_eq!(shape("update rows=9 c=5 n=4 start=2"), [9, 5]);
    // Pictures of one row and column are pictures, where these are given.
    assert_eq!(axes("softmax n=2 c=3 h=1 w=1 axis=2"), "softmax n2 c3 | ");
    assert_eq!(axes("reduce_sum n=2 c=3 h=1 axis=3"), "reduce_sum n2 c3 | ");
    assert_eq!(axes("layernorm n=2 c=3 h=1 w=1"), axes("layernorm n=2 c=3"));
    assert_eq!([shape("softmax n=2 c=3"), shape("softmax n=2 c=3 w=1")], [vec![2, 3], vec![2, 3, 1, 1]]);
    assert_eq!(shape("pad n=1 c=3 h=1 w=1 before_h=1"), [1, 3, 2, 1]);
    assert_eq!(shape("slice n=4 c=8 w=1 start_c=1 size_h=1"), [4, 7, 1, 1]);
    assert_eq!(shape("slice n=4 c=8 start_h=0 step_h=1 size_w=1"), [4, 8]);
    // Behind the end of one that is dilated as far as the dilation is no larger input's.
    assert_eq!(shape("deconv2d n=1 c=2 h=4 w=4 k=3 r=3 s=3 dilation=3 output_padding=2"), [1, 3, 12, 12]);
    // With nothing to spread over, one axis stays.
    assert_eq!(axes("conv2d n=1 c=4 h=3 w=3 k=1 r=3 s=3"), "conv2d x1 | c4 r3 s3");
    let half = parse_operator("matmul m=3 n=4 k=5 dtype=f16s").unwrap();
    assert!(half.steps[0].inputs.iter().chain([&half.steps[0].output]).all(|t| t.element == Scalar::F16));
    let weights: Vec<Role> = half.steps[0].inputs.iter().map(|t| t.role).collect();
    assert_eq!(weights, [Role::Activation, Role::Weight]);
    for text in ["matmul m=3 n=4 k=5 weights=none", "conv2d n=1 c=4 h=3 w=3 k=2 r=3 s=3 weights=none", "layernorm n=3 c=5 weights=none"] {
        let plain = parse_operator(text).unwrap();
        assert!(plain.steps.iter().flat_map(|step| &step.inputs).all(|tensor| tensor.role == Role::Activation), "{text}");
    }
    let flipped = parse_operator("matmul m=3 n=4 k=5 batch=2 transpose_left=1 transpose_right=1").unwrap();
    let shapes: Vec<&[i64]> = flipped.steps[0].inputs.iter().map(|own| own.shape.as_slice()).collect();
    assert_eq!(shapes, [[2, 5, 3], [2, 4, 5]]);
    assert_eq!(parse_operator("fc n=3 k=4 m=5 weights=constant").unwrap(), parse_operator("fc n=3 k=4 m=5").unwrap());
}

/// Functions and moves of the command line, against numbers written out.
#[test]
fn values_of_the_command_lines_operators() {
    let of = |text: &str, inputs: &[&[f64]]| {
        let operator = parse_operator(text).unwrap();
        check(&operator);
        run(&operator, &inputs.iter().map(|own| own.to_vec()).collect::<Vec<_>>())
    };
    let (a, b) = ([1.0, -2.0, 6.0], [4.0, 8.0, -3.0]);
    assert_eq!(of("sub n=1 c=3", &[&a, &b]), [-3.0, -10.0, 9.0]);
    assert_eq!(of("div n=1 c=3", &[&a, &b]), [0.25, -0.25, -2.0]);
    assert_eq!(of("max n=1 c=3", &[&a, &b]), [4.0, 8.0, 6.0]);
    assert_eq!(of("min n=1 c=3 right_c=1", &[&a, &[0.5]]), [0.5, -2.0, 0.5]);
    let sigmoid = of("sigmoid n=1 c=2", &[&[0.0, 3.0_f64.ln()]]);
    assert!((sigmoid[0] - 0.5).abs() + (sigmoid[1] - 0.75).abs() < 1e-12, "{sigmoid:?}");
    let exp = of("exp n=1 c=2", &[&[0.0, 2.0_f64.ln()]]);
    assert!((exp[0] - 1.0).abs() + (exp[1] - 2.0).abs() < 1e-12, "{exp:?}");
    assert!((of("tanh n=1 c=1", &[&[3.0_f64.ln()]])[0] - 0.8).abs() < 1e-12);
    let six = [0., 1., 2., 3., 4., 5.];
    assert_eq!(of("slice n=2 c=3 start_n=1 step_c=2", &[&six]), [3., 5.]);
    assert_eq!(of("pad n=1 c=3 before_c=1 after_n=1", &[&a]), [0., 1., -2., 6., 0., 0., 0., 0.]);
    assert_eq!(of("pad n=1 c=3 h=1 w=1 after_w=1", &[&a]), [1., 0., -2., 0., 6., 0.]);
    assert_eq!(of("softmax n=1 c=3 h=1 w=1 axis=2", &[&a]), [1., 1., 1.]);
    assert_eq!(of("pad_reflect n=1 c=3 before_c=2", &[&a]), [6., -2., 1., -2., 6.]);
    assert_eq!(of("pad_edge n=1 c=3 after_c=2", &[&a]), [1., -2., 6., 6., 6.]);
    assert_eq!(of("pad_wrap n=1 c=3 before_c=1", &[&a]), [6., 1., -2., 6.]);
    assert_eq!(of("gather_elements rows=2 c=3 n=1", &[&[1., 0., -1.], &six]), [3., 1., 5.]);
    assert_eq!(of("reduce_sum n=2 c=3 axis=0", &[&six]), [3., 5., 7.]);
    let columns = of("softmax n=2 c=2 axis=0", &[&[0.0, 0.0, 3.0_f64.ln(), 0.0]]);
    assert!((columns[0] - 0.25).abs() + (columns[1] - 0.5).abs() + (columns[2] - 0.75).abs() < 1e-12, "{columns:?}");
}

/// What is broadcast has extent 1 along any dimension, on either side.
#[test]
fn operands_of_the_grammar_are_broadcast() {
    let shapes = |text: &str| -> Vec<Vec<i64>> {
        let operator = parse_operator(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let step = &operator.steps[0];
        step.inputs.iter().chain([&step.output]).map(|own| own.shape.clone()).collect()
    };
    assert_eq!(shapes("add n=4 c=9"), [[4, 9], [4, 9], [4, 9]]);
    assert_eq!(shapes("add n=4 c=9 rows=1"), [[4, 9], [1, 9], [4, 9]]);
    assert_eq!(shapes("mul n=4 c=9 left_n=1 right_c=1"), [[1, 9], [4, 1], [4, 9]]);
    assert_eq!(shapes("mul n=1 c=8 h=5 w=6 right_h=1 right_w=1"), [[1, 8, 5, 6], [1, 8, 1, 1], [1, 8, 5, 6]]);
    assert_eq!(shapes("where n=2 c=3 w=5 condition_n=1 left_w=1 right_c=1"), [[1, 3, 1, 5], [2, 3, 1, 1], [2, 1, 1, 5], [2, 3, 1, 5]]);
    assert_eq!(shapes("add n=4 c=9 left_h=1 right_w=1"), [[4, 9], [4, 9], [4, 9]]);
    assert_eq!(shapes("add n=4 c=9 h=1 left_c=1 right_h=1"), [[4, 1, 1, 1], [4, 9, 1, 1], [4, 9, 1, 1]]);
    assert_eq!(shapes("expand n=4 c=9"), [[1, 9], [4, 9]]);
    assert_eq!(shapes("expand n=4 c=9 input_n=4 input_c=1"), [[4, 1], [4, 9]]);
    let outer = parse_operator("mul n=2 c=3 left_n=1 right_c=1").expect("an operator");
    assert_eq!(run(&outer, &[vec![1.0, 2.0, 3.0], vec![10.0, 20.0]]), [10.0, 20.0, 30.0, 20.0, 40.0, 60.0]);
}

#[test]
fn messages_of_the_grammar() {
    let message = |text: &str| parse_operator(text).unwrap_err().to_string();
    let all = "conv2d dwconv2d conv3d deconv2d deconv3d matmul fc softmax layernorm maxpool avgpool reduce_sum reduce_mean reduce_max reduce_min reduce_l1 reduce_l2 reduce_sum_square reduce_prod reduce_log_sum reduce_log_sum_exp copy add sub mul div max min relu gelu gelu_tanh exp sigmoid tanh \
               where expand transpose concat split slice pad pad_reflect pad_edge pad_wrap update gather gather_elements scatter scatter_add scatter_mul scatter_max scatter_min embedding_bag lower_triangle layernorm_gradient resize_nearest resize_linear resize_cubic";
    let conv = "n= c= h= w= k= r= s= [stride=] [pad=] [dilation=] [strideh=] [stridew=] [padh=] [padw=] [dilationh=] [dilationw=] [groups=] [maxpool=] [avgpool=] [poolstride=] [poolpad=] [winograd=] [dtype=] [weights=]";
    assert_eq!(message(" "), format!("no operator given; one of: {all}"));
    assert_eq!(message("conv n=1"), format!("unknown operator `conv`; one of: {all}; did you mean `conv2d` or `conv3d`?"));
    assert_eq!(message("nothing n=1"), format!("unknown operator `nothing`; one of: {all}"));
    let misspelt = message("conv2d n=1 strid=2");
    assert_eq!(misspelt, format!("`conv2d` has no key `strid`; it takes: {conv}; did you mean `stride` or `strideh` or `stridew`?"));
    assert_eq!(parse_operator("MatMul m=3 n=4 k=5").unwrap().kind, parse_operator("matmul m=3 n=4 k=5").unwrap().kind);
    assert_eq!(message("softmax n=1 3"), "`3` is not of the form key=value (operator `softmax`)");
    assert_eq!(message("conv2d n=1 q=3"), format!("`conv2d` has no key `q`; it takes: {conv}"));
    assert_eq!(message("conv2d n=1 c=3 h=4 w=4 k=2 r=3"), format!("`conv2d` needs `s=`; it takes: {conv}"));
    assert_eq!(message("softmax n=1 n=2 c=3"), "`softmax`: `n` is given twice");
    assert_eq!(message("softmax n=1 dtype=f32 dtype=f32 c=3"), "`softmax`: `dtype` is given twice");
    assert_eq!(message("softmax n=1 weights=none weights=none c=3"), "`softmax`: `weights` is given twice");
    assert_eq!(message("matmul m=1 n=1 k=1 weights=no"), "`matmul`: `weights=no` is not one of constant, none");
    assert_eq!(message("softmax n=0 c=3"), "`softmax`: n must be 1 or more, not 0");
    assert_eq!(message("softmax n=a c=3"), "`softmax`: `n=a` is not a whole number");
    assert_eq!(message("softmax n=3000000000 c=3"), "`softmax`: `n=3000000000` is not below 2147483648");
    assert_eq!(message("softmax n=1 c=3 dtype=f64"), "`softmax`: `dtype=f64` is not one of f32, f16s, f16");
    let sized = |rest: &str| message(&format!("conv2d n=1 c=4 h=4 w=4 k=6 r=3 s=3 {rest}"));
    assert_eq!(sized("winograd=1"), "`conv2d`: winograd=1 (--sequences winograd2 takes it) is not supported");
    assert_eq!(sized("winograd=2"), "`conv2d`: `winograd=2` is not 0 or 1");
    assert_eq!(message("matmul m=1 n=1 k=1 transpose_left=2"), "`matmul`: `transpose_left=2` is not 0 or 1");
    assert_eq!(sized("pad=-1"), "`conv2d`: pad must be 0 or more, not -1");
    assert_eq!(sized("padh=-1"), "`conv2d`: padh must be 0 or more, not -1");
    assert_eq!(sized("stridew=0"), "`conv2d`: stridew must be 1 or more, not 0");
    assert_eq!(message("softmax n=3 c=5 axis=2"), "`softmax`: axis 2 of 2 dimensions");
    assert_eq!(message("slice n=3 c=5 start_c=5"), "`slice`: dimension 1 of extent 5 read from 5 to 4");
    assert_eq!(message("slice n=3 c=5 start_c=2 size_c=4"), "`slice`: dimension 1 of extent 5 read from 2 to 5");
    assert_eq!(message("slice n=3 c=5 step_c=0"), "`slice`: step_c must be 1 or more, not 0");
    assert_eq!(message("pad n=3 c=5 after_h=2"), "`pad`: `after_h` is given, and no `h`");
    for text in ["pad n=1 c=3 before_h=1 after_h=1", "pad_edge n=1 c=3 before_h=1", "pad_wrap n=1 c=3 before_h=1 after_w=2"] {
        let name = text.split(' ').next().unwrap();
        assert_eq!(message(text), format!("`{name}`: `before_h` is given, and no `h`"));
    }
    assert_eq!(message("slice n=4 c=8 start_h=1"), "`slice`: `start_h` is given, and no `h`");
    assert_eq!(message("slice n=4 c=8 step_w=2"), "`slice`: `step_w` is given, and no `w`");
    assert_eq!(message("slice n=4 c=8 w=1 start_h=1"), "`slice`: dimension 2 of extent 1 read from 1 to 0");
    assert_eq!(message("softmax n=2 c=3 h=1 w=1 axis=4"), "`softmax`: axis 4 of 4 dimensions");
    assert_eq!(message("softmax n=2 c=3 h=0"), "`softmax`: h must be 1 or more, not 0");
    let transposed = |rest: &str| message(&format!("deconv2d n=1 c=2 h=4 w=4 k=3 r=3 s=3 {rest}"));
    let less = |further: i64, along: &str, stride: i64, dilation: i64| {
        format!(
            "`deconv2d`: output_padding of {further} along `{along}` must be less than the larger of stride {stride} and dilation {dilation}"
        )
    };
    assert_eq!(transposed("output_padding=1"), less(1, "h", 1, 1));
    assert_eq!(transposed("stride=2 output_padding=2"), less(2, "h", 2, 1));
    assert_eq!(transposed("stride=2 dilationw=3 output_padding=1 output_paddingw=3"), less(3, "w", 2, 3));
    assert_eq!(message("pad n=3 c=5 before_c=-1"), "`pad`: before_c must be 0 or more, not -1");
    assert_eq!(message("update rows=4 c=5 n=3 start=2"), "`update`: [3, 5] from 2 on along axis 0 of [4, 5]");
    assert_eq!(sized("stride=0"), "`conv2d`: stride must be 1 or more, not 0");
    assert_eq!(sized("groups=3"), "`conv2d`: c=4 is not a multiple of groups=3");
    assert_eq!(sized("dilation=2"), "`conv2d`: the output is empty: a window spans 5 elements, the padded input has 4");
    assert_eq!(message("add n=4 c=9 right_c=2"), "`elementwise_add`: `right` of shape [4, 2] does not broadcast to [4, 9]");
    assert_eq!(message("mul n=4 c=9 rows=1 right_n=1"), "`mul`: `right_n` beside `rows` is not supported");
    assert_eq!(message("where n=4 c=9 condition_n=0"), "`where`: condition_n must be 1 or more, not 0");
    assert_eq!(message("add n=4 c=9 left_h=2"), "`add`: `left_h` is given, and no `h`");
    assert_eq!(message("split n=2 c=9 parts=2"), "`split`: 9 columns in 2 parts");
    assert_eq!(message("concat n=2 c=9 parts=65"), "`concat`: more than 64 parts is not supported");
    assert_eq!(message("gather rows=0 c=9 n=2"), "`gather`: rows must be 1 or more, not 0");
    assert_eq!(message("add n=4 c=9 rows=3"), "`elementwise_add`: `right` of shape [3, 9] does not broadcast to [4, 9]");
    let large = message("matmul m=100000 n=100000 k=2");
    assert_eq!(large, "`matmul`: tensor `output` of shape [100000, 100000] has more than 2147483647 elements");
    assert!(parse_operator("conv2d n=1 c=4 h=4 w=4 k=6 r=3 s=3 winograd=0").is_ok());
}
