//! A prediction as one object: the result of `pageway lab predict`, and of a record of the lab.

use std::path::PathBuf;

use clap::Args;
use pageway::{Error, Result};
use serde_json::{Map, Value, json};

use super::device::{Device, THIS_MACHINE};
use super::growth::{Growth, Law, Size};
use super::replay::{Load, replay};
use super::trace::{Trace, read_trace};
use pageway_shell::trace::Header;

/// Recalls that differ by more are not of one series.
const SAME_RECALL: f64 = 0.02;
/// Queries that are replayed at least and at most, unless somebody says how many.
const QUERIES: (u64, u64) = (1_000, 10_000);
/// Queries replayed at least, per query in flight: the end of a run weighs little.
const ROUNDS: u64 = 20;

/// What to predict.
#[derive(Clone, PartialEq, Debug, Args)]
pub struct Ask {
    /// Recorded search, from 'pageway search --trace'
    #[arg(long, value_name = "FILE")]
    pub trace: PathBuf,

    /// Device: a name, FILE.toml:NAME, or FILE.json with the output of 'pageway doctor --json'
    #[arg(long, value_name = "DEVICE")]
    pub device: String,

    #[command(flatten)]
    #[expect(missing_docs, reason = "a comment would be a help text")]
    pub load: Load,

    /// Vectors to extrapolate to, by the growth between traces
    #[arg(long, value_name = "N", requires = "growth")]
    pub rows: Option<u64>,

    /// Trace over another number of vectors, at the same recall; may be repeated
    #[arg(long, value_name = "FILE")]
    pub growth: Vec<PathBuf>,
}

/// Replays a recorded search.
///
/// The object says `predicted: true`, what is predicted, on what and from what; see
/// docs/lab/devices.md. Where the device is this machine as measured, and load and size are those
/// of the recorded search, it also holds what was measured, and the relative error.
///
/// # Errors
/// Those of the files; `InvalidInput` for rows without traces to extrapolate from, or traces of
/// different recall.
pub fn predict(ask: &Ask) -> Result<Value> {
    let recorded = read_trace(&ask.trace)?;
    let device = Device::find(&ask.device)?;
    let load = complete(ask.load, &recorded);
    let rows = ask.rows.unwrap_or(recorded.header.subject.rows);
    if rows == recorded.header.subject.rows {
        let mut object = of(&recorded, &device, &load)?;
        add_measured(&mut object, &recorded, &device, &load);
        return Ok(Value::Object(object));
    }
    let sizes = sizes(&recorded, &ask.growth)?;
    let growth = Growth::fit(Law::Logarithmic, sizes.clone())?;
    let mut object = of(&growth.scale(&recorded, rows)?, &device, &load)?;
    object.insert("extrapolated".to_owned(), true.into());
    object.insert("growth".to_owned(), json!(growth));
    let steeper = Growth::fit(Law::Power, sizes)?;
    let power = match steeper.scale(&recorded, rows) {
        Ok(scaled) => by_power(of(&scaled, &device, &load)?, &steeper),
        // The steeper law may be beyond belief where the other is not.
        Err(_) => Value::Null,
    };
    object.insert("power_law".to_owned(), power);
    Ok(Value::Object(object))
}

/// What the other law gives.
fn by_power(predicted: Map<String, Value>, growth: &Growth) -> Value {
    let keys = ["qps", "latency_us", "pages_per_query", "reads_per_query"];
    let mut power: Map<String, Value> = predicted
        .into_iter()
        .filter(|(key, _)| keys.contains(&key.as_str()))
        .collect();
    power.insert("growth".to_owned(), json!(growth));
    Value::Object(power)
}

/// The load with what it leaves open.
fn complete(load: Load, recorded: &Trace) -> Load {
    let settings = &recorded.header.settings;
    let either = |given: usize, own: usize| if given == 0 { own } else { given };
    let threads = either(load.threads, settings.threads).max(1);
    let interleave = either(load.interleave as usize, settings.interleave as usize).max(1);
    let rounds = (threads * interleave) as u64 * ROUNDS;
    let own = recorded.header.measured.queries.clamp(QUERIES.0, QUERIES.1);
    Load {
        threads,
        interleave: interleave as u32,
        queries: if load.queries == 0 {
            own.max(rounds)
        } else {
            load.queries
        },
        ..load
    }
}

fn of(trace: &Trace, device: &Device, load: &Load) -> Result<Map<String, Value>> {
    let found = replay(trace, device, load)?;
    let cores = if load.cores == 0 {
        load.threads
    } else {
        load.cores
    };
    let fields = [
        ("predicted", json!(true)),
        ("extrapolated", json!(false)),
        ("device", json!(device.name)),
        ("device_words", json!(device.words)),
        ("threads", json!(load.threads)),
        ("interleave", json!(load.interleave)),
        ("cores", json!(cores)),
        ("queries", json!(load.queries)),
        ("seed", json!(load.seed)),
        ("qps", json!(found.qps)),
        ("latency_us", json!(found.latency_us)),
        ("reads_per_second", json!(found.reads_per_second)),
        ("cpu_share", json!(found.cpu_share)),
        ("device_share", json!(found.device_share)),
        ("recorded", json!(trace.queries.len())),
    ];
    let fields = fields.into_iter().chain(subject(&trace.header));
    let named = fields.map(|(name, value)| (name.to_owned(), value));
    Ok(named.collect())
}

/// What was searched, and how well.
fn subject(header: &Header) -> [(&'static str, Value); 9] {
    let reads = header.measured.reads_per_query;
    let pages = reads * f64::from(header.subject.pages_per_read);
    [
        ("recall", json!(header.recall())),
        ("k", json!(header.settings.k)),
        ("list_size", json!(header.settings.list_size)),
        ("beam", json!(header.settings.beam)),
        ("reads_per_query", json!(reads)),
        ("pages_per_query", json!(pages)),
        ("compute_us_per_query", json!(header.measured.compute_us)),
        ("rows", json!(header.subject.rows)),
        ("memory_bytes", json!(header.subject.memory_bytes)),
    ]
}

/// What the recorded search itself measured, where the prediction is of nothing else.
fn add_measured(object: &mut Map<String, Value>, trace: &Trace, device: &Device, load: &Load) {
    let settings = &trace.header.settings;
    let same = load.threads == settings.threads && load.interleave == settings.interleave;
    if device.name != THIS_MACHINE || !same {
        return;
    }
    let measured = &trace.header.measured;
    let latency = &measured.latency_us;
    let error = |path: &str, measured: f64| {
        let predicted = object_number(object, path);
        predicted.map(|predicted| predicted / measured - 1.0)
    };
    let errors = json!({
        "qps": error("qps", measured.qps),
        "latency_mean": error("latency_us/mean", latency.mean),
        "latency_p50": error("latency_us/p50", latency.p50),
        "latency_p99": error("latency_us/p99", latency.p99),
    });
    object.insert("measured_qps".to_owned(), measured.qps.into());
    object.insert("measured_latency_us".to_owned(), json!(latency));
    object.insert("error".to_owned(), errors);
}

fn object_number(object: &Map<String, Value>, path: &str) -> Option<f64> {
    match path.split_once('/') {
        Some((first, rest)) => object.get(first)?.get(rest)?.as_f64(),
        None => object.get(path)?.as_f64(),
    }
}

/// The sizes of this and other traces, which must be of one recall.
fn sizes(recorded: &Trace, others: &[PathBuf]) -> Result<Vec<Size>> {
    let size = |trace: &Trace| Size {
        rows: trace.header.subject.rows,
        reads: trace.header.measured.reads_per_query,
        compute_us: trace.header.measured.compute_us,
    };
    let mut sizes = vec![size(recorded)];
    for path in others {
        let other = read_trace(path)?;
        if let (Some(one), Some(two)) = (recorded.header.recall(), other.header.recall())
            && (one - two).abs() > SAME_RECALL
        {
            let words = format!("recall {two:.3}, but {one:.3} in the trace that is replayed");
            return Err(Error::invalid(words).within(path.display()));
        }
        sizes.push(size(&other));
    }
    Ok(sizes)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use pageway::lab::OpenMode;
    use pageway::{OsVfs, Vfs};

    use super::super::scenario::{beam, trace_of};
    use super::*;

    const DOCTOR: &str = r#"{"disk":[{"queue_depth":1,"reads_per_second":10000,
        "latency_us_mean":100,"latency_us_p50":100,"latency_us_p99":100}]}"#;

    fn write(path: &Path, text: &str) {
        let file = OsVfs.open(path, OpenMode::CreateNew).unwrap();
        file.write_all_at(text.as_bytes(), 0).unwrap();
    }

    fn ask(trace: &Path, device: &str) -> Ask {
        let load = Load {
            threads: 0,
            interleave: 0,
            queries: 0,
            cores: 0,
            seed: 1,
        };
        Ask {
            trace: trace.to_owned(),
            device: device.to_owned(),
            load,
            rows: None,
            growth: Vec::new(),
        }
    }

    #[test]
    fn this_machine_is_compared_with_what_was_measured_and_others_are_not() {
        let root = tempfile::tempdir().unwrap();
        let (trace, here) = (root.path().join("t"), root.path().join("here.json"));
        let mut recorded = trace_of(vec![beam(8, 1, 20_000)]);
        recorded.header.measured.latency_us.mean = 1000.0;
        write(&trace, &recorded.to_text().unwrap());
        write(&here, DOCTOR);
        let found = predict(&ask(&trace, &here.display().to_string())).unwrap();
        assert_eq!(found["predicted"], true);
        assert_eq!(
            (&found["rows"], &found["queries"]),
            (&json!(1000), &json!(1000))
        );
        assert_eq!(found["measured_qps"], 1000.0);
        let mean = found["latency_us"]["mean"].as_f64().unwrap();
        let error = found["error"]["latency_mean"].as_f64().unwrap();
        assert!((error - (mean / 1000.0 - 1.0)).abs() < 1e-9);
        let other = predict(&ask(&trace, "cloud-volume")).unwrap();
        assert!(other.get("measured_qps").is_none() && other.get("error").is_none());
        let mut more = ask(&trace, &here.display().to_string());
        more.load.interleave = 2;
        assert!(predict(&more).unwrap().get("error").is_none());
    }

    #[test]
    fn rows_that_were_not_measured_need_traces_of_one_recall() {
        let root = tempfile::tempdir().unwrap();
        let name = |name: &str| root.path().join(name);
        let mut recorded = trace_of(vec![beam(8, 1, 20_000)]);
        write(&name("a"), &recorded.to_text().unwrap());
        recorded.header.subject.rows = 10_000;
        recorded.header.measured.reads_per_query = 10.0;
        write(&name("b"), &recorded.to_text().unwrap());
        recorded.header.measured.recall = Some(0.8);
        write(&name("c"), &recorded.to_text().unwrap());
        let mut ask = ask(&name("a"), "sata-ssd");
        ask.rows = Some(1_000_000_000);
        assert!(
            predict(&ask)
                .unwrap_err()
                .to_string()
                .contains("at least two")
        );
        ask.growth = vec![name("c")];
        assert!(
            predict(&ask)
                .unwrap_err()
                .to_string()
                .contains("recall 0.8")
        );
        ask.growth = vec![name("b")];
        let found = predict(&ask).unwrap();
        assert_eq!(found["extrapolated"], true);
        let reads = |object: &Value| object["reads_per_query"].as_f64().unwrap();
        assert!((reads(&found) - 20.0).abs() < 1e-6);
        assert!((reads(&found["power_law"]) - 8.0 * 1.25_f64.powi(6)).abs() < 1e-6);
        assert!(found["power_law"]["qps"].as_f64() < found["qps"].as_f64());
    }
}
