//! Data volumes and times of stencils over all block shapes: what a model of cache traffic is judged by.
//!
//! The kernels are those whose volumes the paper on data volumes (Ernst et al., Warpspeed) predicts, with the same fields, domains
//! and address expressions: a 25-point star of range 4, a 7-point star, a 5-point star in two dimensions, the interface-tracking
//! kernel of a two-phase lattice-Boltzmann method, STREAM, and a 15×15 convolution. [`crate::Amounts::bytes`] is here the compulsory traffic
//! with device memory: every element that is read or written, once.
//!
//! 327 Programs on a large device, about 0.2 s each (compilation 0.15 s, six launches of at most a few ms, filling the arrays). The
//! kernels take turns, each beginning with the shapes that are well known, so that an early end leaves all of them covered.

mod convolution;
mod grid;
mod lbm;
mod shapes;
mod star;
mod stream;

use crate::phases::turns;
use crate::{Context, Measurement, Needs, Parameter, Parameters, Phase, Plan, Scale};
use warpsight_run::TimingSpec;

/// A measurement that is made when its turn comes.
type Later = Box<dyn FnOnce() -> Measurement>;

/// The phases of this module.
pub(super) fn phases() -> Vec<Phase> {
    vec![Phase {
        name: "stencils",
        purpose: "times of stencil kernels over block shapes and thread folding, for models of the data volumes between caches",
        needs: Needs::Programs,
        share: 4.0,
        plan,
    }]
}

fn plan(context: &Context) -> Plan {
    let kernels = [
        star::star25(context),
        lbm::interface(context),
        convolution::convolution(context),
        star::star7(context),
        stream::stream(context),
        star::star5(context),
    ];
    Plan::list(turns(kernels, 1).map(|make| make()))
}

/// Five timed launches, caches as the launch before left them: the traffic of a launch is far larger than the caches.
fn timing(scale: Scale) -> TimingSpec {
    TimingSpec::runs(if scale != Scale::Tiny { 5 } else { 1 })
}

/// Parameters of a launch.
fn parameters(kernel: &str, element: &str, numbers: &[(&str, i64)]) -> Parameters {
    let words = [("kernel", kernel), ("element", element)].map(|(name, word)| (name.to_owned(), Parameter::Word(word.to_owned())));
    words.into_iter().chain(numbers.iter().map(|(name, number)| ((*name).to_owned(), Parameter::Int(*number)))).collect()
}
