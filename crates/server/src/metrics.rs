//! Counters of requests, as Prometheus reads them.

use std::collections::BTreeMap;
use std::fmt::{Display, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::collection::SearchTotal;

/// Upper ends of the classes of durations, in seconds.
const CLASSES: [f64; 10] = [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 10.0];
/// Collections that have rows of their own; the others share one, without a name.
pub(crate) const MOST_COLLECTIONS: usize = 100;

/// What has happened so far.
#[derive(Default)]
pub(crate) struct Metrics(Mutex<Counters>);

#[derive(Default)]
struct Counters {
    requests: BTreeMap<(&'static str, u16), u64>,
    durations: BTreeMap<&'static str, Durations>,
    syncs: Durations,
    rejected: BTreeMap<&'static str, u64>,
    searched: SearchTotal,
    recalls: BTreeMap<String, Recalls>,
    waiting: u64,
}

/// Measured recalls of a collection.
#[derive(Clone, Copy, Default)]
struct Recalls {
    count: u64,
    sum: f64,
}

#[derive(Default)]
struct Durations {
    classes: [u64; CLASSES.len()],
    count: u64,
    seconds: f64,
}

impl Durations {
    fn add(&mut self, took: Duration) {
        let seconds = took.as_secs_f64();
        self.count += 1;
        self.seconds += seconds;
        for (class, most) in self.classes.iter_mut().zip(CLASSES) {
            *class += u64::from(seconds <= most);
        }
    }

    fn write(&self, page: &mut MetricsPage, name: &str, label: Option<(&str, &str)>) {
        let own: Vec<(&str, &str)> = label.into_iter().collect();
        let bucket = format!("{name}_bucket");
        for (class, most) in self.classes.iter().zip(CLASSES) {
            let most = most.to_string();
            page.row(
                &bucket,
                &[&own, [("le", most.as_str())].as_slice()].concat(),
                class,
            );
        }
        page.row(
            &bucket,
            &[&own, [("le", "+Inf")].as_slice()].concat(),
            self.count,
        );
        page.row(&format!("{name}_sum"), &own, self.seconds);
        page.row(&format!("{name}_count"), &own, self.count);
    }
}

/// Rows of numbers, in families of one name.
#[derive(Default)]
pub(crate) struct MetricsPage(String);

impl MetricsPage {
    /// Begins a family.
    pub(crate) fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// A number of the family. Labels are escaped by nobody: names of collections hold no quotes.
    pub(crate) fn row(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        let pairs = labels
            .iter()
            .map(|(label, own)| format!("{label}=\"{own}\""));
        let pairs = pairs.collect::<Vec<_>>().join(",");
        let _ = if pairs.is_empty() {
            writeln!(self.0, "{name} {value}")
        } else {
            writeln!(self.0, "{name}{{{pairs}}} {value}")
        };
    }

    /// A number of now that has no labels.
    pub(crate) fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.family(name, "gauge", help);
        self.row(name, &[], value);
    }

    /// The page.
    pub(crate) fn text(self) -> String {
        self.0
    }
}

impl Metrics {
    /// Counts a request, and what its searches cost.
    pub(crate) fn count(
        &self,
        (operation, status): (&'static str, u16),
        took: Duration,
        searched: &SearchTotal,
    ) {
        let mut counters = self.counters();
        *counters.requests.entry((operation, status)).or_default() += 1;
        counters.durations.entry(operation).or_default().add(took);
        counters.searched.searches += searched.searches;
        counters.searched.stats.add(&searched.stats);
    }

    /// Counts a request that was refused for a reason.
    pub(crate) fn reject(&self, why: &'static str) {
        *self.counters().rejected.entry(why).or_default() += 1;
    }

    /// Counts a wait for a disk.
    pub(crate) fn note_sync(&self, took: Duration) {
        self.counters().syncs.add(took);
    }

    /// Notes how many requests wait.
    pub(crate) fn note_waiting(&self, waiting: u64) {
        self.counters().waiting = waiting;
    }

    /// Notes the recall of a search of a collection.
    pub(crate) fn note_recall(&self, collection: &str, recall: f64) {
        let mut counters = self.counters();
        let recalls = &mut counters.recalls;
        let is_known = recalls.len() < MOST_COLLECTIONS || recalls.contains_key(collection);
        let name = if is_known { collection } else { "" };
        let own = recalls.entry(name.to_owned()).or_default();
        own.count += 1;
        own.sum += recall;
    }

    /// Writes all of them.
    pub(crate) fn write(&self, page: &mut MetricsPage) {
        let counters = self.counters();
        page.gauge(
            "pageway_queue_length",
            "requests that wait",
            counters.waiting,
        );
        let name = "pageway_requests_total";
        page.family(name, "counter", "requests by operation and status");
        for ((operation, status), count) in &counters.requests {
            let status = status.to_string();
            page.row(name, &[("op", operation), ("status", &status)], count);
        }
        let name = "pageway_rejected_total";
        page.family(name, "counter", "requests refused before work");
        for (why, count) in &counters.rejected {
            page.row(name, &[("why", why)], count);
        }
        counters.write_searches(page);
        let name = "pageway_log_sync_seconds";
        page.family(name, "histogram", "time until changes were on the disk");
        counters.syncs.write(page, name, None);
        let name = "pageway_request_seconds";
        page.family(name, "histogram", "time of requests");
        for (operation, own) in &counters.durations {
            own.write(page, name, Some(("op", operation)));
        }
    }

    fn counters(&self) -> MutexGuard<'_, Counters> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counters {
    fn write_searches(&self, page: &mut MetricsPage) {
        let SearchTotal { searches, stats } = self.searched;
        for (name, help, value) in [
            ("pageway_searches_total", "searches of an index", searches),
            (
                "pageway_pages_read_total",
                "pages that searches read",
                stats.pages,
            ),
            (
                "pageway_bytes_read_total",
                "bytes that searches read",
                stats.bytes_read,
            ),
        ] {
            page.family(name, "counter", help);
            page.row(name, &[], value);
        }
        let name = "pageway_recall_sampled";
        page.family(
            name,
            "gauge",
            "mean recall of searches that were answered again exactly",
        );
        for (collection, own) in &self.recalls {
            let mean = own.sum / own.count as f64;
            page.row(name, &[("collection", collection)], mean);
        }
        let name = "pageway_recall_samples_total";
        page.family(name, "counter", "searches that were answered again exactly");
        for (collection, own) in &self.recalls {
            page.row(name, &[("collection", collection)], own.count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_class() {
        let (metrics, mut page) = (Metrics::default(), MetricsPage::default());
        let mut searched = SearchTotal {
            searches: 2,
            ..SearchTotal::default()
        };
        searched.stats.pages = 5;
        metrics.count(("query", 200), Duration::from_millis(3), &searched);
        metrics.count(("query", 200), Duration::from_secs(20), &searched);
        metrics.reject("queue");
        metrics.note_sync(Duration::from_millis(4));
        for number in 0..MOST_COLLECTIONS + 2 {
            metrics.note_recall(&format!("c{number}"), 0.5);
        }
        metrics.note_recall("c0", 1.0);
        page.gauge("pageway_budget_bytes", "memory", 7);
        metrics.write(&mut page);
        let text = page.text();
        for line in [
            "pageway_budget_bytes 7",
            "pageway_requests_total{op=\"query\",status=\"200\"} 2",
            "pageway_rejected_total{why=\"queue\"} 1",
            "pageway_request_seconds_bucket{op=\"query\",le=\"0.002\"} 0",
            "pageway_request_seconds_bucket{op=\"query\",le=\"0.005\"} 1",
            "pageway_request_seconds_bucket{op=\"query\",le=\"+Inf\"} 2",
            "pageway_log_sync_seconds_bucket{le=\"0.005\"} 1",
            "pageway_log_sync_seconds_count 1",
            "pageway_searches_total 4",
            "pageway_pages_read_total 10",
            "pageway_recall_sampled{collection=\"c0\"} 0.75",
            "pageway_recall_samples_total{collection=\"\"} 2",
        ] {
            assert!(text.lines().any(|own| own == line), "{line} in {text}");
        }
    }
}
