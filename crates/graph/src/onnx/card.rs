//! What a model file does not say about itself: `model.toml` beside `model.onnx`.

use crate::onnx::given::InputShape;
use serde::Deserialize;
use std::path::Path;
use warpsight_files::FileError;

/// Shapes of a model's inputs, and how a picture becomes one.
///
/// ```
/// let card = warpsight_graph::ModelCard::parse(r#"
///     [[input]]
///     name = "x"
///     shape = [1, 3, 48, 192]
/// "#).unwrap();
/// assert_eq!(card.shapes()[0].shape, [1, 3, 48, 192]);
/// ```
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelCard {
    /// Its inputs; those that the model declares in full may be absent.
    #[serde(default)]
    pub input: Vec<CardInput>,
}

/// One input.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CardInput {
    /// The model's name for it.
    pub name: String,
    /// Its extents.
    pub shape: Vec<i64>,
    /// How a picture becomes this input; without it, a picture is none.
    pub picture: Option<Picture>,
}

/// How a picture of 8 bits per channel becomes an input: an element is `(channel · scale − mean) / std`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Picture {
    /// Pixels in a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Order of the dimensions.
    pub layout: Layout,
    /// Order of the channels.
    pub channels: ChannelOrder,
    /// What happens to pictures of other proportions.
    #[serde(default)]
    pub fit: Fit,
    /// Applied to values from 0 to 255.
    pub scale: f64,
    /// Per channel, in the order of `channels`; one per channel.
    pub mean: Vec<f64>,
    /// Per channel, not 0.
    pub std: Vec<f64>,
}

/// Order of the dimensions of an input made from a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// Batch, channel, row, column.
    Nchw,
    /// Batch, row, column, channel.
    Nhwc,
}

/// Order of the channels of an input made from a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChannelOrder {
    /// Red, green, blue.
    Rgb,
    /// Blue, green, red.
    Bgr,
    /// One channel of luminance.
    Gray,
}

impl ChannelOrder {
    /// How many there are.
    pub fn count(self) -> usize {
        if self == Self::Gray { 1 } else { 3 }
    }
}

/// How a picture of other proportions is fitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fit {
    /// Both sides are scaled to the size.
    #[default]
    Stretch,
    /// Scaled to the height; elements to the right of it are 0 (after mean and std); wider pictures are squeezed.
    PadRight,
}

/// Why a card cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CardError {
    /// The file cannot be read, or is too long.
    #[error("cannot read {}: {_0}", _0.path().display())]
    Read(#[from] FileError),
    /// It is no TOML, or has fields that a card does not have.
    #[error("model card: {0}")]
    Syntax(#[from] toml::de::Error),
    /// Its values contradict each other.
    #[error("model card, input `{input}`: {what}")]
    Value {
        /// The input.
        input: String,
        /// How.
        what: String,
    },
}

impl ModelCard {
    /// The card beside a model file: the same name with `.toml`; `None` where there is none.
    ///
    /// # Errors
    /// Those of [`ModelCard::parse`], and [`CardError::Read`].
    pub fn beside(model: &Path) -> Result<Option<Self>, CardError> {
        let path = model.with_extension("toml");
        match warpsight_files::read_text(&path, warpsight_files::TEXT) {
            Ok(text) => Self::parse(&text).map(Some),
            Err(error) if error.is_absence() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads a card.
    ///
    /// # Errors
    /// [`CardError::Syntax`] and [`CardError::Value`].
    pub fn parse(text: &str) -> Result<Self, CardError> {
        let card: Self = toml::from_str(text)?;
        for (i, input) in card.input.iter().enumerate() {
            let fail = |what: String| CardError::Value { input: input.name.clone(), what };
            if card.input[..i].iter().any(|other| other.name == input.name) {
                return Err(fail("it is listed twice".into()));
            }
            if input.shape.iter().any(|&e| e < 1) {
                return Err(fail(format!("shape {:?} has an extent below 1", input.shape)));
            }
            if let Some(picture) = &input.picture {
                picture.check(&input.shape).map_err(fail)?;
            }
        }
        Ok(card)
    }

    /// The shapes it gives, for [`Model::graph`](crate::Model::graph).
    pub fn shapes(&self) -> Vec<InputShape> {
        self.input.iter().map(|i| InputShape { input: i.name.clone(), shape: i.shape.clone() }).collect()
    }
}

impl Picture {
    fn check(&self, shape: &[i64]) -> Result<(), String> {
        let channels = self.channels.count();
        let (width, height) = (i64::from(self.width), i64::from(self.height));
        let expected = match self.layout {
            Layout::Nchw => [1, channels as i64, height, width],
            Layout::Nhwc => [1, height, width, channels as i64],
        };
        if shape != expected {
            return Err(format!("a picture makes shape {expected:?}, not {shape:?}"));
        }
        if self.mean.len() != channels || self.std.len() != channels {
            return Err(format!("{} means and {} deviations for {channels} channels", self.mean.len(), self.std.len()));
        }
        let finite = [self.scale].iter().chain(&self.mean).chain(&self.std).all(|v| v.is_finite());
        if !finite || self.scale == 0.0 || self.std.contains(&0.0) {
            return Err("scale and std must be numbers other than 0, mean a number".into());
        }
        Ok(())
    }
}
