//! Model cards: the shipped one, and every way in which one may be wrong.

use warpsight_graph::{CardError, ChannelOrder, Fit, Layout, ModelCard};

const MODEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/text-orientation.onnx");

#[test]
fn the_shipped_models_card() {
    let card = ModelCard::beside(MODEL.as_ref()).unwrap().unwrap();
    assert_eq!(card.shapes(), ["x=1,3,48,192".parse().unwrap()]);
    let picture = card.input[0].picture.as_ref().unwrap();
    assert_eq!((picture.width, picture.height), (192, 48));
    assert_eq!((picture.layout, picture.channels, picture.fit), (Layout::Nchw, ChannelOrder::Bgr, Fit::PadRight));
    let value = |pixel: f64| (pixel * picture.scale - picture.mean[0]) / picture.std[0];
    assert!((value(0.0) + 1.0).abs() < 1e-12 && (value(255.0) - 1.0).abs() < 1e-12);
}

#[test]
fn no_card_and_no_file() {
    assert!(ModelCard::beside("no/such/model.onnx".as_ref()).unwrap().is_none());
    // A folder where the card should be.
    let folder = std::env::temp_dir().join(format!("warpsight-card-{}.toml", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let result = ModelCard::beside(&folder.with_extension("onnx"));
    std::fs::remove_dir(&folder).unwrap();
    assert!(matches!(result, Err(CardError::Read(_))), "{result:?}");
}

#[test]
fn wrong_cards() {
    let picture = |change: &str, to: &str| {
        let text = r#"
            [[input]]
            name = "x"
            shape = [1, 3, 4, 6]
            [input.picture]
            width = 6
            height = 4
            layout = "nchw"
            channels = "rgb"
            scale = 0.5
            mean = [0.0, 0.0, 0.0]
            std = [1.0, 1.0, 1.0]
        "#;
        assert!(text.contains(change));
        ModelCard::parse(&text.replace(change, to))
    };
    assert_eq!(picture("0.5", "0.5").unwrap().input[0].picture.as_ref().unwrap().fit, Fit::Stretch);
    let message = |change: &str, to: &str| picture(change, to).unwrap_err().to_string();
    assert_eq!(message("width = 6", "width = 5"), "model card, input `x`: a picture makes shape [1, 3, 4, 5], not [1, 3, 4, 6]");
    assert_eq!(message("nchw", "nhwc"), "model card, input `x`: a picture makes shape [1, 4, 6, 3], not [1, 3, 4, 6]");
    assert_eq!(message("[0.0, 0.0, 0.0]", "[0.0]"), "model card, input `x`: 1 means and 3 deviations for 3 channels");
    assert_eq!(message("1.0, 1.0]", "0.0, 1.0]"), "model card, input `x`: scale and std must be numbers other than 0, mean a number");
    assert_eq!(message("0.5", "inf"), "model card, input `x`: scale and std must be numbers other than 0, mean a number");
    assert_eq!(message("[1, 3, 4, 6]", "[0, 3]"), "model card, input `x`: shape [0, 3] has an extent below 1");
    assert!(matches!(picture("scale", "scal"), Err(CardError::Syntax(_))));
    assert!(matches!(picture("\"rgb\"", "\"cmyk\""), Err(CardError::Syntax(_))));
    assert!(matches!(ModelCard::parse("[[input"), Err(CardError::Syntax(_))));
    let twice = "[[input]]\nname = 'x'\nshape = [1]\n[[input]]\nname = 'x'\nshape = [1]\n";
    assert_eq!(ModelCard::parse(twice).unwrap_err().to_string(), "model card, input `x`: it is listed twice");
}
