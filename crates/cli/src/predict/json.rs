//! A prediction as JSON. `null` is unknown; `provenance` says why.

use serde_json::{Map, Value, json};
use warpsight_predict::volumes::report::{FieldVolumes, Report};

/// All of a report. Seconds, bytes per point, wavefronts per execution.
pub fn value(report: &Report) -> Value {
    let limits = report.limits.iter().map(|(limiter, time)| (limiter.name().to_owned(), json!(time.as_ref().ok().map(|time| time.0))));
    let v = &report.volumes;
    let causes: Map<String, Value> = v.by_cause.iter().map(|(cause, bytes)| (cause.clone(), json!(bytes))).collect();
    let fields: Map<String, Value> = v.per_field.iter().map(|field| (field.field.clone(), of_field(field))).collect();
    let instructions: Vec<Value> =
        report.instructions.iter().map(|cost| json!({"field": cost.field, "access": cost.access, "wavefronts": cost.wavefronts})).collect();
    let mut value = json!({
        "seconds": report.seconds.0,
        "points_per_second": report.points_per_second,
        "effective": {"bytes_per_second": report.effective.bytes, "flops_per_second": report.effective.flops},
        "interval": {"seconds": [report.interval.lo.0, report.interval.hi.0], "basis": report.interval.basis},
        "limiter": report.limiter.map(|limiter| limiter.name()),
        "limits_s": limits.collect::<Map<String, Value>>(),
        "l1_cycles_per_point": report.l1_cycles_per_point,
        "volumes": {
            "l1_requested": v.l1_requested,
            "l2_load_compulsory": v.l2_load_compulsory,
            "l2_load": v.l2_load,
            "l2_store": v.l2_store,
            "dram_load_wave": v.dram_load_wave,
            "dram_load": v.dram_load,
            "dram_store": v.dram_store,
            "by_cause": causes,
            "per_field": fields,
        },
        "instructions": instructions,
        "occupancy": {
            "blocks": report.occupancy.groups,
            "warps": report.occupancy.warps,
            "limited_by": report.occupancy.limiter,
        },
        "waves": report.waves,
        "tail_efficiency": report.tail_efficiency,
        "provenance": report.provenance,
    });
    // Only where something was measured: what it replaces.
    if !report.measured.is_empty() {
        let each = report.measured.iter().map(|own| (own.what.to_owned(), json!({"measured": own.measured, "predicted": own.predicted})));
        value["measured"] = Value::Object(each.collect());
    }
    value
}

fn of_field(field: &FieldVolumes) -> Value {
    json!({
        "l1_requested": field.l1_requested,
        "l2_load_compulsory": field.l2_load_compulsory,
        "l2_store": field.l2_store,
        "dram_load": field.dram_load,
        "dram_store": field.dram_store,
    })
}
