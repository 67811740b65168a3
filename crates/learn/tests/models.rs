//! Models of rows: fitting, judging, keeping, correcting for another device.

#[path = "models/calibration.rs"]
mod calibration;
#[path = "models/fits.rs"]
mod fits;
#[path = "models/predictor.rs"]
mod predictor;
