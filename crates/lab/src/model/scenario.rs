//! Traces made up for tests.

use pageway::lab::ReadTurn;

use super::device::Device;
use super::latency::Quantiles;
use pageway_shell::trace::{Header, Measured, Settings, Subject, Trace};

/// A query of `reads` reads that keeps `width` of them in flight and computes `compute_ns` in each
/// turn.
pub(super) fn beam(reads: u32, width: u32, compute_ns: u64) -> Vec<ReadTurn> {
    let turn = |number: u32| ReadTurn {
        supplied: number.checked_sub(1),
        compute_ns,
        reads: match number {
            0 => width.min(reads),
            _ => u32::from(number - 1 + width < reads),
        },
        work_ns: 0,
    };
    (0..=reads).map(turn).collect()
}

/// A trace of these queries, of an index of 1000 rows.
pub(super) fn trace_of(queries: Vec<Vec<ReadTurn>>) -> Trace {
    let reads: usize = queries.iter().map(|turns| turns.len() - 1).sum();
    let compute = |turn: &ReadTurn| turn.compute_ns + turn.work_ns;
    let compute_ns: u64 = queries.iter().flatten().map(compute).sum();
    let count = queries.len() as f64;
    let subject = Subject {
        index: "made-up.index".to_owned(),
        rows: 1000,
        dimensions: 8,
        memory_bytes: 1 << 20,
        read_bytes: 4096,
        pages_per_read: 1,
    };
    let settings = Settings {
        k: 10,
        list_size: 20,
        beam: 4,
        threads: 1,
        interleave: 1,
        io_backend: "uring".to_owned(),
    };
    let measured = Measured {
        queries: queries.len() as u64,
        qps: 1000.0,
        recall: Some(0.95),
        reads_per_query: reads as f64 / count,
        compute_us: compute_ns as f64 / count / 1e3,
        ..Measured::default()
    };
    Trace {
        header: Header::new(subject, settings, measured),
        queries,
    }
}

/// A device whose reads all take `us`, without limits and without processor time.
pub(crate) fn constant(us: f64) -> Device {
    Device {
        name: "constant".to_owned(),
        words: "for tests".to_owned(),
        latency_us: Quantiles::new(vec![(50.0, us)]).unwrap(),
        parallel: u32::MAX,
        max_iops: None,
        max_mb_per_s: None,
        cpu_us_per_read: 0.0,
        cpu_us_per_batch: 0.0,
        slowdown: Vec::new(),
    }
}
