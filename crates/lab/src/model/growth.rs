//! What a search would read and compute over more vectors than were measured: an extrapolation.
//!
//! Reads and computing per query, at one recall, are fitted over the logarithm of the number of
//! vectors by least squares, once as `a + b ln N` and once as a power of N; the truth of a graph
//! search lies between them as a rule, nearer to the first. A trace is stretched to the fitted
//! values: its turns are repeated evenly, so that the reads in flight along a query keep their
//! profile.

use pageway::lab::ReadTurn;
use pageway::{Error, Result};
use serde::Serialize;

use super::trace::Trace;

/// How a quantity grows with N.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Law {
    /// `a + b ln N`.
    Logarithmic,
    /// `a N^b`.
    Power,
}

/// A measured size.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Size {
    /// Vectors (N).
    pub rows: u64,
    /// Reads per query.
    pub reads: f64,
    /// Microseconds of computing per query.
    pub compute_us: f64,
}

/// A law fitted to one quantity.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Fit {
    /// Which.
    pub law: Law,
    /// a, or its logarithm under the power law.
    pub intercept: f64,
    /// b.
    pub slope: f64,
    /// Root mean square of the relative errors at the measured sizes.
    pub residual: f64,
}

/// Reads and computing, fitted.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Growth {
    /// Reads per query.
    pub reads: Fit,
    /// Computing per query.
    pub compute: Fit,
    /// What they were fitted to.
    pub sizes: Vec<Size>,
}

impl Fit {
    /// Fits `law` to values by N, of which two differ at least.
    pub(crate) fn of(law: Law, values: &[(u64, f64)]) -> Self {
        let scale = |value: f64| match law {
            Law::Logarithmic => value,
            Law::Power => value.ln(),
        };
        let points = values
            .iter()
            .map(|&(rows, value)| ((rows as f64).ln(), scale(value)));
        let count = values.len() as f64;
        let (sum_x, sum_y) = points
            .clone()
            .fold((0.0, 0.0), |(x, y), p| (x + p.0, y + p.1));
        let (mean_x, mean_y) = (sum_x / count, sum_y / count);
        let (xy, xx) = points.fold((0.0, 0.0), |(xy, xx), (x, y)| {
            let x = x - mean_x;
            (xy + x * (y - mean_y), xx + x * x)
        });
        let slope = xy / xx;
        let mut fit = Self {
            law,
            slope,
            intercept: mean_y - slope * mean_x,
            residual: 0.0,
        };
        let errors = values
            .iter()
            .map(|&(rows, value)| fit.at(rows) / value - 1.0);
        fit.residual = (errors.map(|error| error * error).sum::<f64>() / count).sqrt();
        fit
    }

    /// The value at N = `rows`.
    pub fn at(&self, rows: u64) -> f64 {
        let value = self.intercept + self.slope * (rows as f64).ln();
        match self.law {
            Law::Logarithmic => value,
            Law::Power => value.exp(),
        }
    }
}

/// Most that costs may grow by in an extrapolation.
const MOST_GROWTH: f64 = 30.0;

impl Growth {
    /// Fits `law` to measured sizes.
    ///
    /// # Errors
    /// `InvalidInput` without two sizes that differ, or where a value is not positive.
    pub fn fit(law: Law, mut sizes: Vec<Size>) -> Result<Self> {
        sizes.sort_by_key(|size| size.rows);
        let differ = sizes.first().map(|size| size.rows) != sizes.last().map(|size| size.rows);
        let sane = |size: &Size| size.rows > 0 && size.reads > 0.0 && size.compute_us > 0.0;
        if !differ || !sizes.iter().all(sane) {
            let words = "growth needs traces of at least two numbers of rows, with reads in each";
            return Err(Error::invalid(words));
        }
        let of = |value: &dyn Fn(&Size) -> f64| -> Vec<(u64, f64)> {
            sizes.iter().map(|size| (size.rows, value(size))).collect()
        };
        Ok(Self {
            reads: Fit::of(law, &of(&|size| size.reads)),
            compute: Fit::of(law, &of(&|size| size.compute_us)),
            sizes,
        })
    }

    /// `trace` as it might be over `rows` vectors; its memory grows in proportion.
    ///
    /// # Errors
    /// `InvalidInput` where the fit gives no positive value, or one that no fit of a few sizes can
    /// vouch for.
    pub fn scale(&self, trace: &Trace, rows: u64) -> Result<Trace> {
        let measured = &trace.header.measured;
        let factor = |fit: &Fit, own: f64| fit.at(rows) / own;
        let reads = factor(&self.reads, measured.reads_per_query);
        let compute = factor(&self.compute, measured.compute_us);
        if !(reads > 0.0 && compute > 0.0 && reads.is_finite() && compute.is_finite()) {
            let words = format!("the fit gives no reads or no computing for {rows} rows");
            return Err(Error::invalid(words));
        }
        let most = reads.max(compute);
        if most > MOST_GROWTH {
            return Err(Error::invalid(format!(
                "the fit gives {most:.0} times the cost for {rows} rows: too much to believe of so \
                 few sizes; record larger ones, at one recall"
            )));
        }
        let mut scaled = trace.clone();
        for turns in &mut scaled.queries {
            *turns = stretch(turns, reads, compute);
        }
        let header = &mut scaled.header;
        let memory = header.subject.memory_bytes as f64 * rows as f64;
        header.subject.memory_bytes = (memory / header.subject.rows.max(1) as f64) as u64;
        header.subject.rows = rows;
        header.measured.reads_per_query *= reads;
        header.measured.compute_us *= compute;
        Ok(scaled)
    }
}

/// Turns with `reads` times as many reads and `compute` times as much computing in all. Turn `j`
/// repeats turn `j` scaled back, and leaves as many reads in flight.
fn stretch(turns: &[ReadTurn], reads: f64, compute: f64) -> Vec<ReadTurn> {
    let old = turns.len().saturating_sub(1);
    let least = usize::from(old > 0);
    let new = ((old as f64 * reads).round() as usize).max(least);
    let each = compute * (old + 1) as f64 / (new + 1) as f64;
    let in_flight: Vec<usize> = turns
        .iter()
        .enumerate()
        .scan(0_usize, |sent, (number, turn)| {
            *sent += turn.reads as usize;
            Some(sent.saturating_sub(number))
        })
        .collect();
    let mut sent = 0;
    (0..=new)
        .map(|number| {
            let source = if number == new {
                old
            } else {
                number * old / new.max(1)
            };
            let turn = turns.get(source).copied().unwrap_or_default();
            let wanted = number + in_flight.get(source).copied().unwrap_or(0);
            let target = wanted.clamp(sent, new);
            let reads = (target - sent) as u32;
            sent = target;
            ReadTurn {
                supplied: number.checked_sub(1).map(|read| read as u32),
                compute_ns: (turn.compute_ns as f64 * each) as u64,
                reads,
                work_ns: (turn.work_ns as f64 * each) as u64,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::scenario::{beam, trace_of};
    use super::*;

    fn sizes(value: &dyn Fn(f64) -> f64) -> Vec<Size> {
        [10_000, 100_000, 1_000_000]
            .map(|rows| Size {
                rows,
                reads: value(rows as f64),
                compute_us: 3.0 * value(rows as f64),
            })
            .to_vec()
    }

    #[test]
    fn what_follows_a_law_is_found() {
        let growth = Growth::fit(Law::Logarithmic, sizes(&|n| 4.0 + 2.5 * n.ln())).unwrap();
        assert!((growth.reads.slope - 2.5).abs() < 1e-9 && growth.reads.residual < 1e-9);
        let expected = 3.0 * (4.0 + 2.5 * 1e9_f64.ln());
        assert!((growth.compute.at(1_000_000_000) - expected).abs() < 1e-6);
        let growth = Growth::fit(Law::Power, sizes(&|n| 7.0 * n.powf(0.11))).unwrap();
        assert!((growth.reads.slope - 0.11).abs() < 1e-9 && growth.reads.residual < 1e-9);
        assert!((growth.reads.at(1_000_000_000) / (7.0 * 1e9_f64.powf(0.11)) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn what_follows_another_law_leaves_a_residual() {
        let growth = Growth::fit(Law::Logarithmic, sizes(&|n| n.sqrt())).unwrap();
        assert!(growth.reads.residual > 0.1);
    }

    #[test]
    fn one_size_is_not_growth() {
        let all = sizes(&|n| n.ln());
        assert!(Growth::fit(Law::Power, all[..1].to_vec()).is_err());
        assert!(Growth::fit(Law::Power, vec![all[0], all[0]]).is_err());
        assert!(Growth::fit(Law::Power, sizes(&|n| n.ln() - 10.0)).is_err());
    }

    #[test]
    fn stretched_turns_keep_their_sums_and_their_reads_in_flight() {
        for (reads, width) in [(20, 4), (7, 1), (1, 1), (30, 8)] {
            let turns = beam(reads, width, 1_000_000);
            for factor in [0.5, 1.0, 1.3, 2.0, 5.2] {
                let wider = stretch(&turns, factor, 2.0);
                let expected = (f64::from(reads) * factor).round().max(1.0);
                assert_eq!(wider.len() as f64, expected + 1.0);
                let sent: u32 = wider.iter().map(|turn| turn.reads).sum();
                assert_eq!(f64::from(sent), expected);
                let compute: u64 = wider.iter().map(|turn| turn.compute_ns).sum();
                let whole = 2e6 * f64::from(reads + 1);
                assert!(
                    (compute as f64 / whole - 1.0).abs() < 1e-4,
                    "{compute} {whole}"
                );
                let text = trace_of(vec![wider]).to_text().unwrap();
                assert!(Trace::parse(&text).is_ok(), "{reads} {width} {factor}");
            }
            assert_eq!(stretch(&turns, 1.0, 1.0), turns);
        }
    }

    #[test]
    fn a_trace_grows_to_the_fitted_values_and_its_memory_in_proportion() {
        let trace = trace_of(vec![beam(20, 4, 10_000), beam(10, 4, 10_000)]);
        let all = sizes(&|n| 15.0 * (n / 1000.0).powf(0.1));
        let growth = Growth::fit(Law::Power, all).unwrap();
        let grown = growth.scale(&trace, 1_000_000).unwrap();
        let reads: usize = grown.queries.iter().map(|turns| turns.len() - 1).sum();
        let expected = 30.0 * 1000.0_f64.powf(0.1);
        assert!((reads as f64 - expected).abs() <= 1.0, "{reads} {expected}");
        assert_eq!(grown.header.subject.memory_bytes, (1 << 20) * 1000);
        assert_eq!(grown.header.subject.rows, 1_000_000);
        assert!((grown.header.measured.reads_per_query - expected / 2.0).abs() < 1e-6);
        assert!(growth.scale(&trace, 0).is_err());
    }
}
