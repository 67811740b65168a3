//! The second witness of volumes: what the simulator finds by executing a kernel's touches, beside what is predicted.

use super::input::{Device, Input};
use crate::failure::Failure;
use crate::report::Column::{Keep, Spare};
use crate::report::{Table, dash, table};
use serde_json::{Map, Value, json};
use warpsight_predict::volumes::report::PointVolumes;
use warpsight_sim::trace::{Levels, Options, Traced, Volumes, trace};

/// A traced launch.
pub struct Witness {
    levels: Levels,
    options: Options,
    traced: Traced,
    points: f64,
}

/// Executes the kernel on the silicon of the profile's name.
///
/// # Errors
/// There is none, or the kernel cannot be traced there.
pub fn of(input: &Input, device: &Device) -> Result<Witness, Failure> {
    let name = &device.profile.name;
    let levels = Levels::named(name).map_err(|known| {
        let there_are = format!("those with caches to execute on: {}", known.join(", "));
        Failure::input(format!("{}: there is no witness for this device", device.name)).at("--witness").help(there_are)
    })?;
    let options = Options::default();
    let traced = trace(&input.written.kernel, &levels, &options)
        .map_err(|fault| Failure::input(format!("{}: no witness: {fault}", device.name)).at(&input.name))?;
    Ok(Witness { levels, options, traced, points: input.written.points as f64 })
}

impl Witness {
    /// Both beside each other.
    pub fn table(&self, predicted: &PointVolumes) -> Table<'static> {
        let v = &self.traced.volumes;
        let rows = [
            ("L1 requested, B/point", predicted.l1_requested, v.l1_requested),
            ("L2 load, B/point", predicted.l2_load, v.l2_load),
            ("L2 store, B/point", predicted.l2_store, v.l2_store),
            ("DRAM load, B/point", predicted.dram_load, v.dram_load),
            ("DRAM store, B/point", predicted.dram_store, v.dram_store),
        ];
        let number = |value: Option<f64>| dash(value.map(|bytes| format!("{bytes:.2}")));
        let mut sides = table(&[Keep("witness"), Keep("predicted"), Keep("simulated"), Spare(1, "predicted / simulated")]);
        for (name, predicted, simulated) in rows {
            let simulated = simulated / self.points;
            let ratio = predicted.filter(|_| simulated > 0.0).map(|predicted| format!("{:.3}", predicted / simulated));
            sides.add_row([name.to_owned(), number(predicted), number(Some(simulated)), dash(ratio)]);
        }
        sides
    }

    /// What the simulated numbers are made of.
    pub fn notes(&self) -> impl Iterator<Item = String> {
        let keys = self.levels.assumed.join(", ");
        let assumed = (!keys.is_empty()).then(|| format!("simulated: assumed of sim/devices/{}.toml: {keys}", self.levels.name));
        let turn = format!("simulated: assumed: a warp makes up to {} loads before the next one's turn", self.options.turn);
        std::iter::once(format!("simulated: {}", self.executed())).chain(assumed).chain([turn])
    }

    /// How much of the launch was executed, in words.
    fn executed(&self) -> String {
        let part = &self.traced.part;
        let on = &self.levels.name;
        match part.stands {
            None => format!("all {} accesses of warps, executed through the caches of {on}", part.of),
            Some((from, until)) => {
                let late = if part.short() { "; these are less than two waves: what comes late in a block may be missing" } else { "" };
                format!(
                    "{} of {} accesses of warps ({:.2} %), executed through the caches of {on}; those from {from} to {until} stand for all that follow{late}",
                    part.executed,
                    part.of,
                    100.0 * part.share()
                )
            }
        }
    }

    /// Bytes per point, as in the report.
    pub fn json(&self) -> Value {
        let Traced { volumes, per_tensor, part, .. } = &self.traced;
        let fields: Map<String, Value> = per_tensor.iter().map(|(name, own)| (name.to_string(), self.volumes(own))).collect();
        let mut all = self.volumes(volumes);
        all["per_field"] = Value::Object(fields);
        json!({
            "source": "simulated",
            "silicon": self.levels.name,
            "assumed": self.levels.assumed,
            "loads_in_a_turn": self.options.turn,
            "volumes": all,
            "part": {
                "executed": part.executed,
                "of": part.of,
                "share": part.share(),
                "lanes": part.lanes,
                "waves": part.waves,
                "stands_for_the_rest": part.stands.map(|(from, until)| [from, until]),
            },
        })
    }

    fn volumes(&self, own: &Volumes) -> Value {
        json!({
            "l1_requested": own.l1_requested / self.points,
            "l1_hits": own.l1_hits / self.points,
            "l2_load": own.l2_load / self.points,
            "l2_hits": own.l2_hits / self.points,
            "l2_store": own.l2_store / self.points,
            "dram_load": own.dram_load / self.points,
            "dram_read_back": own.read_back / self.points,
            "dram_store": own.dram_store / self.points,
        })
    }
}
