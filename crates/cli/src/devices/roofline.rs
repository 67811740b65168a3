//! `devices --roofline`: what a device reaches by how much is computed with each byte, and where operators lie under that.

use crate::failure::Failure;
use crate::plot::{PlotError, Roofline};
use crate::report::Column::Keep;
use crate::report::{micros, out, table};
use serde_json::{Value, json};
use std::path::PathBuf;
use warpsight_generate::operators::parse_operator;
use warpsight_ir::bound::{Bound, bound, peak};
use warpsight_ir::{Demand, Profile};

/// A roofline to draw.
#[derive(clap::Args)]
pub struct Drawing {
    /// Draws the roofline of the profile that is named, as SVG: its peak and the bandwidth of each memory that is known.
    #[arg(long, value_name = "FILE.svg", requires = "printed")]
    roofline: Option<PathBuf>,
    /// An operator under it, as --op of optimize has it: its operations for each byte moved once, and the most it can reach (predicted: the
    /// bound of its kernels); may be repeated.
    #[arg(long, value_name = "OPERATOR", requires = "roofline")]
    op: Vec<String>,
}

impl Drawing {
    /// Whether one is asked for.
    pub fn is_wanted(&self) -> bool {
        self.roofline.is_some()
    }

    /// Draws it.
    pub fn draw(&self, profile: &Profile, json: bool) -> Result<(), Failure> {
        let Some(file) = &self.roofline else { return Ok(()) };
        let unknown = || Failure::input(format!("the peak of f32, or every bandwidth, of `{}` is unknown", profile.name));
        let peak = peak(profile).ok_or_else(unknown)?.0;
        let works: Vec<Work> = self.op.iter().map(|text| Work::of(text, profile)).collect::<Result<_, _>>()?;
        let point = |own: &Work| Some((own.text.clone(), own.intensity()?, own.rate()));
        let drawn = Roofline { peak, roofs: roofs(profile), works: works.iter().filter_map(point).collect() }.svg();
        let svg = drawn.map_err(|error| if error == PlotError::Empty { unknown() } else { Failure::input(error.to_string()) })?;
        warpsight_files::write(file, svg.as_bytes())?;
        if json {
            let roofs: Vec<Value> = roofs(profile).iter().map(|own| json!({"name": own.0, "bytes_per_second": own.1})).collect();
            let works: Vec<Value> = works.iter().map(Work::value).collect();
            return out(json!({"profile": profile.name, "peak_flops": peak, "roofs": roofs, "operators": works, "file": file}));
        }
        let mut rows = table(&[Keep("operator"), Keep("flop/byte"), Keep("GFLOP/s at most"), Keep("bound us"), Keep("limiter")]);
        for own in &works {
            let intensity = own.intensity().map_or("-".to_owned(), |flops| format!("{flops:.2}"));
            let limiter = own.bounds.iter().max_by(|a, b| a.time.0.total_cmp(&b.time.0)).map_or("-", |own| own.limiter.name());
            rows.add_row([own.text.clone(), intensity, format!("{:.1}", own.rate() / 1e9), micros(own.time()), limiter.to_owned()]);
        }
        if !works.is_empty() {
            out(format_args!("{rows}"))?;
        }
        Ok(())
    }
}

/// An operator and the least its kernels take.
struct Work {
    text: String,
    demands: Vec<Demand>,
    bounds: Vec<Bound>,
}

impl Work {
    fn of(text: &str, profile: &Profile) -> Result<Self, Failure> {
        let operator = parse_operator(text).map_err(|error| Failure::input(error.to_string()).at(text))?;
        let demands: Vec<Demand> = operator.kernels().map(|step| step.demand()).collect();
        let least = |own: &Demand| bound(own, profile);
        let bounds = demands.iter().map(least).collect::<Option<_>>();
        let bounds = bounds.ok_or_else(|| Failure::input(format!("the bandwidth of memory of `{}` is unknown", profile.name)))?;
        Ok(Self { text: text.to_owned(), demands, bounds })
    }

    fn flops(&self) -> f64 {
        self.demands.iter().map(|own| own.flops).sum()
    }

    fn time(&self) -> warpsight_ir::Seconds {
        self.bounds.iter().map(|own| own.time).sum()
    }

    fn rate(&self) -> f64 {
        self.flops() / self.time().0
    }

    /// Operations for each byte; none where nothing is computed.
    fn intensity(&self) -> Option<f64> {
        let bytes: f64 = self.demands.iter().map(|own| own.moved.0).sum();
        Some(self.flops() / bytes).filter(|flops| *flops > 0.0)
    }

    fn value(&self) -> Value {
        json!({
            "op": self.text,
            "flops": self.flops(),
            "flops_per_byte": self.intensity(),
            "bound_s": self.time(),
            "limiters": self.bounds.iter().map(|own| own.limiter).collect::<Vec<_>>(),
        })
    }
}

/// The memories whose bandwidth is known, the nearest first.
fn roofs(profile: &Profile) -> Vec<(&'static str, f64)> {
    let memory = &profile.memory;
    let all = [
        ("local memory", &memory.local_bandwidth),
        ("images, L1", &memory.texture_l1.bandwidth),
        ("buffers, L1", &memory.buffer_l1.bandwidth),
        ("L2", &memory.l2.bandwidth),
        ("last level", &memory.llc.bandwidth),
        ("memory", &memory.dram_bandwidth),
    ];
    all.into_iter().filter_map(|(name, fact)| Some((name, fact.get()?.0))).filter(|own| own.1 > 0.0).collect()
}
