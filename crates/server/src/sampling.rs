//! Recall as it is: one search in many is answered again exactly, when nobody waits.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use pageway::server::clock;

use crate::collection::SampledSearch;
use crate::room::AnswerRoom;
use crate::service::Service;

/// Queries of which one is taken, the first of all among them.
const EVERY: u64 = 10_000;
/// Time that an exact answer may take.
const MOST_TIME: Duration = Duration::from_secs(10);

/// Which queries are taken.
#[derive(Default)]
pub(crate) struct RecallSamples(AtomicU64);

impl RecallSamples {
    /// Whether the next query is one.
    pub(crate) fn is_due(&self) -> bool {
        self.0.fetch_add(1, Ordering::Relaxed).is_multiple_of(EVERY)
    }
}

/// Answers a search of a collection again, where that is still open, and notes its recall.
pub(crate) fn measure(service: &Service, name: &str, sample: &SampledSearch) {
    let deadline = clock::now() + MOST_TIME;
    let Ok((name, entry)) = service.entry(name) else {
        return;
    };
    if service.shelf.bytes_of(entry.number).is_none() {
        return;
    }
    let open = service.open_entry(&name, &entry);
    let room = AnswerRoom::new(&service.requests);
    // What cannot be measured is no fault of anybody.
    if let Ok(Some(recall)) = open.and_then(|open| open.recall_of(sample, (deadline, &room))) {
        service.metrics.note_recall(&name, recall);
    }
}
