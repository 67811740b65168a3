use super::*;

fn curves(points: Vec<Mark>) -> Figure {
    let series = vec![Series { name: "a<b".into(), points }];
    let panel = Panel::Curves { x: "n".into(), y: "B/point".into(), joined: true, series };
    Figure { title: "volumes".into(), note: "predicted".into(), panels: vec![panel] }
}

fn mark(x: f64, y: f64) -> Mark {
    Mark { x, y, range: None }
}

/// Corners of lines with that colour.
fn corners(svg: &str, colour: &str) -> Vec<(f64, f64)> {
    let line = svg.lines().find(|line| line.starts_with("<polyline") && line.contains(colour)).expect("a line");
    let points = line.split("points=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("points");
    let number = |text: &str| text.parse::<f64>().expect("a number");
    points.split_whitespace().filter_map(|point| point.split_once(',')).map(|(x, y)| (number(x), number(y))).collect()
}

#[test]
fn curves_lie_where_their_numbers_do() {
    let svg = svg(&curves(vec![mark(100.0, 10.0), mark(200.0, 20.0), mark(400.0, 40.0)])).unwrap();
    let drawn = corners(&svg, "#0072B2");
    assert_eq!(drawn.len(), 3);
    // Twice as far right of the first as the second; as far above it. SVG counts downwards.
    let (dx, dy) = (|i: usize| drawn[i].0 - drawn[0].0, |i: usize| drawn[0].1 - drawn[i].1);
    assert!(dx(1) > 50.0 && (dx(2) - 3.0 * dx(1)).abs() <= 3.0, "{drawn:?}");
    assert!(dy(1) > 30.0 && (dy(2) - 3.0 * dy(1)).abs() <= 3.0, "{drawn:?}");
    for word in ["volumes", "predicted", "B/point", "a&lt;b"] {
        assert!(svg.contains(word), "{word}");
    }
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>") && !svg.contains("href"));
}

#[test]
fn what_is_not_finite_is_left_out() {
    let svg_of = |points| svg(&curves(points));
    let drawn = corners(&svg_of(vec![mark(1.0, 1.0), mark(2.0, f64::NAN), mark(3.0, f64::INFINITY), mark(4.0, 2.0)]).unwrap(), "#0072B2");
    assert_eq!(drawn.len(), 2);
    assert_eq!(svg_of(vec![]), Err(PlotError::Empty));
    assert_eq!(svg_of(vec![mark(f64::NAN, 1.0)]), Err(PlotError::Empty));
    assert!(svg_of(vec![mark(1.0, 0.0)]).is_ok(), "one number, and that 0");
}

#[test]
fn stacked_bars_follow_each_other() {
    let parts = vec![("first".into(), vec![10.0, 0.0]), ("second".into(), vec![30.0, 20.0])];
    let panel = Panel::Bars { x: "B/point".into(), rows: vec!["16x4".into(), "32x2".into()], stacked: true, parts };
    let svg = svg(&Figure { title: "bars".into(), note: String::new(), panels: vec![panel] }).unwrap();
    let attribute = |line: &str, name: &str| -> f64 {
        let rest = line.split(&format!(" {name}=\"")).nth(1).expect("an attribute");
        rest.split('"').next().and_then(|number| number.parse().ok()).expect("a number")
    };
    let bars = |colour: &str| -> Vec<(f64, f64)> {
        // The swatch of the legend is 18 wide.
        let own = svg.lines().filter(|line| line.starts_with("<rect") && line.contains(colour));
        own.map(|line| (attribute(line, "x"), attribute(line, "width"))).filter(|bar| bar.1 > 19.0).collect()
    };
    let (first, second) = (bars("#0072B2"), bars("#D55E00"));
    assert_eq!((first.len(), second.len()), (1, 2), "nothing is drawn of 0");
    assert!((second[0].1 - 3.0 * first[0].1).abs() <= 3.0 && (second[0].1 - 1.5 * second[1].1).abs() <= 3.0, "{first:?} {second:?}");
    assert!((second[0].0 - first[0].0 - first[0].1).abs() <= 2.0, "the second begins where the first ends");
    assert!((second[1].0 - first[0].0).abs() <= 1.0, "and at 0 where there is no first");
}

#[test]
fn spans_lie_on_one_axis() {
    let span = |row, from: f64, to: f64| Span { row, from, to, label: "7".into() };
    let parts =
        vec![("a".into(), vec![span(0, 10.0, 30.0), span(1, 0.0, 40.0)]), ("b".into(), vec![span(0, 30.0, 40.0), span(0, 1.0, f64::NAN)])];
    let panel = Panel::Spans { x: "µs".into(), rows: vec!["x&y".into(), "z\u{8}".into()], parts };
    let svg = svg(&Figure { title: "t".into(), note: String::new(), panels: vec![panel] }).unwrap();
    let attribute = |line: &str, name: &str| -> f64 {
        let rest = line.split(&format!(" {name}=\"")).nth(1).expect("an attribute");
        rest.split('"').next().and_then(|number| number.parse().ok()).expect("a number")
    };
    let bars = |colour: &str| -> Vec<(f64, f64)> {
        let own = svg.lines().filter(|line| line.starts_with("<rect") && line.contains(&format!("fill=\"{colour}\"")));
        own.map(|line| (attribute(line, "x"), attribute(line, "width"))).filter(|bar| bar.1 > 19.0).collect()
    };
    let (first, second) = (bars("#0072B2"), bars("#D55E00"));
    assert_eq!((first.len(), second.len()), (2, 1), "{svg}");
    let (origin, unit) = (first[1].0, first[1].1 / 40.0);
    assert!((first[0].0 - origin - 10.0 * unit).abs() <= 2.0 && (first[0].1 - 20.0 * unit).abs() <= 2.0, "{first:?}");
    assert!((second[0].0 - origin - 30.0 * unit).abs() <= 2.0 && (second[0].1 - 10.0 * unit).abs() <= 2.0, "{second:?}");
    assert!(svg.contains("x&amp;y") && !svg.contains('\u{8}') && svg.contains('\u{fffd}'), "names as XML has them");
}

#[test]
fn boxes_lie_where_they_are_put() {
    let block = |at, colour| Block { at, size: (100, 40), lines: vec!["a<b".into(), "second".into()], colour };
    let arrow = Arrow { way: vec![(60, 50), (60, 90)], label: Some(((68, 70), "4 & 5".into())) };
    let drawing = Diagram { size: (200, 150), blocks: vec![block((10, 10), 0), block((10, 90), 1)], arrows: vec![arrow] };
    let svg = diagram(&drawing).unwrap();
    assert!(svg.starts_with("<svg width=\"200\" height=\"150\""), "{svg}");
    for word in ["a&lt;b", "second", "4 &amp; 5", "points=\"60,50 60,90", "<rect x=\"10\" y=\"10\" width=\"100\" height=\"40\"", "y=\"90\""]
    {
        assert!(svg.contains(word), "{word}: {svg}");
    }
    assert_eq!(diagram(&Diagram { blocks: vec![], ..drawing }), Err(PlotError::Empty));
}
