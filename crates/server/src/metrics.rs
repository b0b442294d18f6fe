//! Counters of requests, as Prometheus reads them.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Upper ends of the classes of durations, in seconds.
const CLASSES: [f64; 10] = [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 10.0];

/// Requests so far.
#[derive(Default)]
pub(crate) struct Metrics(Mutex<Counters>);

#[derive(Default)]
struct Counters {
    requests: BTreeMap<(&'static str, u16), u64>,
    durations: BTreeMap<&'static str, Durations>,
    rejected: BTreeMap<&'static str, u64>,
    waiting: u64,
}

#[derive(Default)]
struct Durations {
    classes: [u64; CLASSES.len()],
    count: u64,
    seconds: f64,
}

/// A number of now.
pub(crate) struct Gauge {
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
    pub(crate) value: u64,
}

impl Metrics {
    /// Counts a request.
    pub(crate) fn count(&self, operation: &'static str, status: u16, took: Duration) {
        let seconds = took.as_secs_f64();
        let mut counters = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *counters.requests.entry((operation, status)).or_default() += 1;
        let own = counters.durations.entry(operation).or_default();
        own.count += 1;
        own.seconds += seconds;
        for (class, most) in own.classes.iter_mut().zip(CLASSES) {
            *class += u64::from(seconds <= most);
        }
    }

    /// Counts a request that was refused for a reason.
    pub(crate) fn reject(&self, why: &'static str) {
        let mut counters = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *counters.rejected.entry(why).or_default() += 1;
    }

    /// Notes how many requests wait.
    pub(crate) fn note_waiting(&self, waiting: u64) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .waiting = waiting;
    }

    /// All of them, and numbers of now.
    pub(crate) fn text(&self, gauges: &[Gauge]) -> String {
        let counters = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = String::new();
        for Gauge { name, help, value } in gauges {
            let _ = writeln!(
                text,
                "# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}"
            );
        }
        let (name, waiting) = ("pageway_queue_length", counters.waiting);
        let _ = writeln!(
            text,
            "# HELP {name} requests that wait\n# TYPE {name} gauge\n{name} {waiting}"
        );
        let name = "pageway_requests_total";
        let _ = writeln!(
            text,
            "# HELP {name} requests by operation and status\n# TYPE {name} counter"
        );
        for ((operation, status), count) in &counters.requests {
            let _ = writeln!(
                text,
                "{name}{{op=\"{operation}\",status=\"{status}\"}} {count}"
            );
        }
        let name = "pageway_rejected_total";
        let _ = writeln!(
            text,
            "# HELP {name} requests refused before work\n# TYPE {name} counter"
        );
        for (why, count) in &counters.rejected {
            let _ = writeln!(text, "{name}{{why=\"{why}\"}} {count}");
        }
        let name = "pageway_request_seconds";
        let _ = writeln!(
            text,
            "# HELP {name} time of requests\n# TYPE {name} histogram"
        );
        for (operation, own) in &counters.durations {
            for (class, most) in own.classes.iter().zip(CLASSES) {
                let _ = writeln!(
                    text,
                    "{name}_bucket{{op=\"{operation}\",le=\"{most}\"}} {class}"
                );
            }
            let count = own.count;
            let _ = writeln!(
                text,
                "{name}_bucket{{op=\"{operation}\",le=\"+Inf\"}} {count}"
            );
            let _ = writeln!(text, "{name}_sum{{op=\"{operation}\"}} {}", own.seconds);
            let _ = writeln!(text, "{name}_count{{op=\"{operation}\"}} {count}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_class() {
        let metrics = Metrics::default();
        metrics.count("query", 200, Duration::from_millis(3));
        metrics.count("query", 200, Duration::from_secs(20));
        metrics.reject("queue");
        let gauge = Gauge {
            name: "pageway_budget_bytes",
            help: "memory",
            value: 7,
        };
        let text = metrics.text(&[gauge]);
        for line in [
            "pageway_budget_bytes 7",
            "pageway_requests_total{op=\"query\",status=\"200\"} 2",
            "pageway_rejected_total{why=\"queue\"} 1",
            "pageway_request_seconds_bucket{op=\"query\",le=\"0.002\"} 0",
            "pageway_request_seconds_bucket{op=\"query\",le=\"0.005\"} 1",
            "pageway_request_seconds_bucket{op=\"query\",le=\"+Inf\"} 2",
        ] {
            assert!(text.lines().any(|own| own == line), "{line} in {text}");
        }
    }
}
