//! Recall against speed and page reads: at three recall targets, and over a range of list sizes.

use pageway::truth::TruthFile;
use pageway::{Effort, ErrorKind, Index, Result, SearchOptions, VectorRead};
use serde::Serialize;

use crate::latency::LatencyUs;
use crate::progress::Uncounted;
use crate::session::Session;
use crate::text::{self, Table};
use crate::workload::{Measurement, Workload};

/// Neighbours per query.
pub(super) const K: u32 = 10;
/// Queries in flight when throughput is measured.
pub(super) const INTERLEAVE: u32 = 8;
/// Largest list size that is tried; memory is set aside for it.
pub(super) const LARGEST_LIST: u32 = 240;
const TARGETS: [f32; 3] = [0.90, 0.95, 0.99];
const LIST_SIZES: [u32; 9] = [10, 14, 20, 30, 44, 64, 100, 150, LARGEST_LIST];
/// Runs per setting; the one with the median speed counts.
const RUNS: usize = 3;

/// What is searched, and with what.
pub(super) struct Sweep<'s> {
    pub(super) index: &'s Index,
    pub(super) queries: &'s dyn VectorRead,
    pub(super) truth: &'s TruthFile,
    pub(super) session: &'s Session,
}

/// One setting and what it gave.
#[derive(Clone, Serialize)]
pub(super) struct Reading {
    /// Recall that was asked for; null where a list size was.
    pub(super) target: Option<f32>,
    pub(super) list_size: u32,
    pub(super) recall: f64,
    pub(super) pages_per_query: f64,
    /// With `INTERLEAVE` queries in flight.
    pub(super) qps: f64,
    /// With one query at a time.
    pub(super) latency_us: LatencyUs,
}

impl Sweep<'_> {
    /// The three targets; those beyond the reach of the index are left out.
    pub(super) fn targets(&self) -> Result<Vec<Reading>> {
        let mut readings = Vec::new();
        for target in TARGETS {
            match self.index.list_size_for(K, target) {
                Ok(list_size) => {
                    let list_size = list_size.min(LARGEST_LIST);
                    readings.push(Reading {
                        target: Some(target),
                        ..self.read(list_size)?
                    });
                }
                Err(error) if error.kind() == ErrorKind::Unsupported => {}
                Err(error) => return Err(error),
            }
        }
        Ok(readings)
    }

    /// The whole range.
    pub(super) fn curve(&self) -> Result<Vec<Reading>> {
        LIST_SIZES
            .into_iter()
            .map(|list_size| self.read(list_size))
            .collect()
    }

    fn read(&self, list_size: u32) -> Result<Reading> {
        let batch = self.median(list_size, INTERLEAVE)?;
        let single = self.median(list_size, 1)?;
        Ok(Reading {
            target: None,
            list_size,
            recall: batch.recall.unwrap_or(0.0),
            pages_per_query: batch.per_query(batch.totals.pages),
            qps: batch.queries_per_second(),
            latency_us: single.latency,
        })
    }

    fn median(&self, list_size: u32, interleave: u32) -> Result<Measurement> {
        let effort = Effort::ListSize(list_size);
        let options = SearchOptions {
            k: K,
            effort,
            interleave,
            threads: 1,
            ..SearchOptions::default()
        };
        let (index, queries, truth) = (self.index, self.queries, Some(self.truth));
        let workload = Workload {
            index,
            queries,
            truth,
            options,
        };
        let progress = Uncounted(&self.session.progress);
        let mut runs = Vec::with_capacity(RUNS);
        for _ in 0..RUNS {
            runs.push(workload.run(&progress, &mut |_, _| Ok(()))?);
        }
        runs.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
        Ok(runs.swap_remove(RUNS / 2))
    }
}

/// The targets as a table.
pub(super) fn table(readings: &[Reading]) -> String {
    let mut table = Table::new(&[
        "asked",
        "recall@10",
        "list size",
        "pages/query",
        "queries/s",
        "mean ms",
        "p99 ms",
    ]);
    for reading in readings {
        let LatencyUs { mean, p99, .. } = reading.latency_us;
        table.row(vec![
            reading
                .target
                .map_or(String::new(), |target| format!("{target:.2}")),
            format!("{:.3}", reading.recall),
            reading.list_size.to_string(),
            text::figure(reading.pages_per_query),
            text::figure(reading.qps),
            format!("{:.2}", mean / 1e3),
            format!("{:.2}", p99 / 1e3),
        ]);
    }
    table.render()
}
