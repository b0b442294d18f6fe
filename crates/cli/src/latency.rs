//! A histogram of latencies in constant memory, whatever the number of queries.
//!
//! Buckets are `PER_OCTAVE` per power of two, so a quantile is off by less than 1 %.

use pageway_shell::trace::LatencyUs;

const PER_OCTAVE_BITS: u32 = 7;
const PER_OCTAVE: u64 = 1 << PER_OCTAVE_BITS;
/// Enough for every `u64`.
const BUCKETS: usize = (u64::BITS - PER_OCTAVE_BITS + 1) as usize * PER_OCTAVE as usize;

/// Counts of latencies in nanoseconds. 58 KiB.
pub(crate) struct Latencies {
    counts: Vec<u64>,
    count: u64,
    sum_ns: u64,
}

impl Latencies {
    pub(crate) fn new() -> Self {
        Self {
            counts: vec![0; BUCKETS],
            count: 0,
            sum_ns: 0,
        }
    }

    pub(crate) fn add(&mut self, latency_ns: u64) {
        if let Some(count) = self.counts.get_mut(bucket(latency_ns)) {
            *count += 1;
        }
        self.count += 1;
        self.sum_ns = self.sum_ns.saturating_add(latency_ns);
    }

    /// Mean and quantiles; zeros when nothing was added.
    pub(crate) fn summary(&self) -> LatencyUs {
        let mean = self.sum_ns as f64 / self.count.max(1) as f64 / 1e3;
        LatencyUs {
            mean,
            p50: self.quantile_us(0.50),
            p99: self.quantile_us(0.99),
        }
    }

    /// The latency that `share` of the queries did not exceed.
    fn quantile_us(&self, share: f64) -> f64 {
        let rank = (self.count as f64 * share).ceil().max(1.0) as u64;
        let mut seen = 0;
        let found = self.counts.iter().position(|count| {
            seen += count;
            seen >= rank
        });
        found.map_or(0.0, |bucket| middle_ns(bucket) / 1e3)
    }
}

/// Values below `PER_OCTAVE` are exact; above, the leading `PER_OCTAVE_BITS + 1` bits count.
fn bucket(value: u64) -> usize {
    let octave = (u64::BITS - value.leading_zeros()).saturating_sub(PER_OCTAVE_BITS + 1);
    (u64::from(octave) * PER_OCTAVE + (value >> octave)) as usize
}

fn middle_ns(bucket: usize) -> f64 {
    let bucket = bucket as u64;
    let octave = (bucket / PER_OCTAVE).saturating_sub(1);
    let lowest = ((bucket - octave * PER_OCTAVE) as f64) * (octave as f64).exp2();
    lowest + ((octave as f64).exp2() - 1.0) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_falls_into_the_bucket_around_it() {
        let shifts = (0..64).map(|shift| 1_u64 << shift);
        for value in shifts
            .flat_map(|v| [v - 1, v, v + 1, v | v >> 1])
            .chain([u64::MAX])
        {
            let bucket = bucket(value);
            assert!(bucket < BUCKETS, "{value}");
            let error = (middle_ns(bucket) - value as f64).abs();
            assert!(
                error <= value as f64 / 200.0 + 0.01,
                "{value}: {}",
                middle_ns(bucket)
            );
        }
    }

    #[test]
    fn quantiles_agree_with_the_sorted_list() {
        let mut latencies = Latencies::new();
        let mut sorted: Vec<u64> = (1..=1000).map(|i| i * i * 1000).collect();
        for &latency in sorted.iter().rev() {
            latencies.add(latency);
        }
        sorted.sort_unstable();
        let summary = latencies.summary();
        let near = |found: f64, exact_ns: u64| {
            (found * 1e3 - exact_ns as f64).abs() < exact_ns as f64 * 0.01
        };
        assert!(near(summary.p50, sorted[499]), "{summary:?}");
        assert!(near(summary.p99, sorted[989]), "{summary:?}");
        assert!(
            near(summary.mean, sorted.iter().sum::<u64>() / 1000),
            "{summary:?}"
        );
    }

    #[test]
    fn no_queries_no_latency() {
        assert_eq!(
            Latencies::new().summary(),
            LatencyUs {
                mean: 0.0,
                p50: 0.0,
                p99: 0.0
            }
        );
    }
}
