//! Recall against speed and page reads: at three recall targets, and over a range of list sizes.

use pageway::{Effort, ErrorKind, Index, Progress, Quiet, Result, SearchOptions, VectorRead};
use serde::Serialize;

use crate::session::Session;
use crate::text::{self, Table};
use crate::workload::{Reference, Searched, Workload};
use pageway_shell::trace::LatencyUs;

/// Neighbours per query.
pub(super) const K: u32 = 10;
/// Queries in flight when throughput is measured.
pub(super) const INTERLEAVE: u32 = 8;
/// Longest list that the curve shows, where no target needs a longer one.
pub(super) const CURVE_END: u32 = 100;
const TARGETS: [f32; 3] = [0.90, 0.95, 0.99];
const LIST_SIZES: [u32; 8] = [10, 12, 15, 20, 28, 42, 64, CURVE_END];
/// Rounds over all settings; of each setting the round with the median time counts, so that a busy
/// moment of the machine does not bend the curve.
const ROUNDS: usize = 3;

/// What is searched, and with what.
pub(super) struct Sweep<'s> {
    pub(super) index: &'s Index,
    pub(super) queries: &'s dyn VectorRead,
    pub(super) truth: &'s Reference,
    /// The longest list that there is memory for.
    pub(super) longest: u32,
    pub(super) session: &'s Session,
}

/// Lists that targets within reach need, the longest first; no shorter than the curve shows.
pub(super) fn longest_lists(index: &Index) -> Vec<u32> {
    let needed = TARGETS.iter().rev();
    let needed = needed.filter_map(|target| index.list_size_for(K, *target).ok());
    needed.map(|list_size| list_size.max(CURVE_END)).collect()
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

/// A target within reach, and the list that it needs.
type Reached = (f32, u32);

/// A target out of reach.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Missed {
    pub(super) target: f32,
    pub(super) why: String,
}

/// What a sweep found.
#[derive(Serialize)]
pub(super) struct Readings {
    /// Those that answer the targets.
    pub(super) targets: Vec<Reading>,
    /// Targets that were not searched for.
    pub(super) missed: Vec<Missed>,
    /// All, by ascending list size.
    pub(super) curve: Vec<Reading>,
}

impl Sweep<'_> {
    /// Measures the targets and the whole range.
    pub(super) fn run(&self) -> Result<Readings> {
        let (targets, missed) = self.targets()?;
        let mut sizes: Vec<u32> = targets.iter().map(|(_, list_size)| *list_size).collect();
        sizes.extend(LIST_SIZES);
        sizes.sort_unstable();
        sizes.dedup();
        let curve = self.measure(&sizes)?;
        let reading = |(target, list_size): &(f32, u32)| {
            let found = curve.iter().find(|reading| reading.list_size == *list_size);
            found.map(|reading| Reading {
                target: Some(*target),
                ..reading.clone()
            })
        };
        Ok(Readings {
            targets: targets.iter().filter_map(reading).collect(),
            missed,
            curve,
        })
    }

    /// The targets within reach of the index and its memory, with their list sizes; and the others.
    fn targets(&self) -> Result<(Vec<Reached>, Vec<Missed>)> {
        let (mut targets, mut missed) = (Vec::new(), Vec::new());
        for target in TARGETS {
            match self.index.list_size_for(K, target) {
                Ok(list_size) if list_size <= self.longest => targets.push((target, list_size)),
                Ok(list_size) => missed.push(Missed {
                    target,
                    why: format!("it takes a list of {list_size}: give more --memory"),
                }),
                Err(error) if error.kind() == ErrorKind::Unsupported => missed.push(Missed {
                    target,
                    why: error.context().to_owned(),
                }),
                Err(error) => return Err(error),
            }
        }
        Ok((targets, missed))
    }

    fn measure(&self, sizes: &[u32]) -> Result<Vec<Reading>> {
        let progress = &self.session.progress;
        progress.stage("measure", (ROUNDS * sizes.len()) as u64);
        let mut runs: Vec<Vec<(Searched, Searched)>> = Vec::new();
        runs.resize_with(sizes.len(), Vec::new);
        for _ in 0..ROUNDS {
            for (list_size, runs) in sizes.iter().zip(&mut runs) {
                runs.push((
                    self.search(*list_size, INTERLEAVE)?,
                    self.search(*list_size, 1)?,
                ));
                progress.advance(1);
            }
        }
        let settings = sizes.iter().zip(runs);
        Ok(settings
            .filter_map(|(list_size, runs)| Reading::of(*list_size, runs))
            .collect())
    }

    fn search(&self, list_size: u32, interleave: u32) -> Result<Searched> {
        let effort = Effort::ListSize(list_size);
        let options = SearchOptions::nearest(K)
            .with_effort(effort)
            .with_interleave(interleave)
            .with_threads(1);
        let (index, queries, reference) = (self.index, self.queries, self.truth);
        let workload = Workload {
            index,
            queries,
            reference,
            options,
            recorded: 0,
            filter: None,
            wants_attributes: false,
            wants_names: false,
        };
        workload.run(&Quiet(&self.session.progress), &mut |_, _| Ok(()))
    }
}

impl Reading {
    /// The median of several runs, each with many queries in flight and with one.
    fn of(list_size: u32, runs: Vec<(Searched, Searched)>) -> Option<Self> {
        let (batches, singles) = runs.into_iter().unzip();
        let (batch, single) = (median(batches)?, median(singles)?);
        Some(Self {
            target: None,
            list_size,
            recall: batch.recall?,
            pages_per_query: batch.run.per_query(batch.run.totals.pages),
            qps: batch.run.queries_per_second(),
            latency_us: single.run.latency,
        })
    }
}

fn median(mut runs: Vec<Searched>) -> Option<Searched> {
    runs.sort_by(|a, b| a.run.seconds.total_cmp(&b.run.seconds));
    let middle = runs.len() / 2;
    (middle < runs.len()).then(|| runs.swap_remove(middle))
}

/// The targets as a table, and those that were not reached.
pub(super) fn table(readings: &Readings) -> String {
    let mut table = Table::new(&[
        "asked",
        "recall@10",
        "list size",
        "pages/query",
        "queries/s",
        "mean ms",
        "p99 ms",
    ]);
    for reading in &readings.targets {
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
    let missed = readings
        .missed
        .iter()
        .map(|Missed { target, why }| format!("  {target:.2}  not reached: {why}\n"));
    table.render() + &missed.collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_out_of_reach_is_named_with_its_reason() {
        let missed = Missed {
            target: 0.99,
            why: "it takes a list of 300: give more --memory".to_owned(),
        };
        let text = table(&Readings {
            targets: Vec::new(),
            missed: vec![missed],
            curve: Vec::new(),
        });
        assert!(
            text.contains("0.99  not reached: it takes a list of 300"),
            "{text}"
        );
    }
}
