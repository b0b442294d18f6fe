//! What is done for open collections as time passes: rows of a collection that rests become
//! indexed, and memory goes where searches read most.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use pageway::Progress;
use pageway::server::clock;
use serde_json::json;

use crate::collection::{OpenCollection, SearchCounts};
use crate::failure::Outcome;
use crate::log::{Level, Log};
use crate::service::Service;
use crate::shelf::Shelf;

/// Time between two looks.
const PAUSE: Duration = Duration::from_secs(1);
/// Looks between two decisions on memory.
const LOOKS: u64 = 10;
/// Decisions after which a collection that was not used gives its memory to others.
const UNUSED_DECISIONS: usize = 6;
/// Time without a change after which a full delta, or a part of it, is flushed; and at most.
const REST: Duration = Duration::from_secs(5);
const MOST_REST: Duration = Duration::from_secs(600);
const DELTA_PART: u64 = 16;
/// Searches that tell what a search reads, at least.
const LEAST_SEARCHES: u64 = 100;
/// Times the points of a collection that more memory is tried with again.
const OTHER_POINTS: u64 = 2;
/// Part of its reads that twice the memory has to save.
const LEAST_GAIN: f64 = 0.05;

/// A thread that looks after the collections of a service, until this is dropped.
pub(crate) struct Upkeep {
    stop: Arc<Stop>,
    thread: Option<JoinHandle<()>>,
}

/// Whether the thread is to end, also out of a flush.
#[derive(Default)]
struct Stop(AtomicBool);

impl Progress for Stop {
    fn stage(&self, _name: &'static str, _total: u64) {}

    fn advance(&self, _units: u64) {}

    fn cancelled(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Ends a flush too where somebody waits for a collection to be let go.
struct Yielding<'y>(&'y dyn Progress, &'y Shelf);

impl Progress for Yielding<'_> {
    fn stage(&self, _name: &'static str, _total: u64) {}

    fn advance(&self, _units: u64) {}

    fn cancelled(&self) -> bool {
        self.0.cancelled() || self.1.is_waited_for()
    }
}

impl Upkeep {
    /// Begins.
    ///
    /// # Errors
    /// Where the thread cannot be made.
    pub(crate) fn start(service: Arc<Service>, log: Log) -> std::io::Result<Self> {
        let stop = Arc::new(Stop::default());
        let stops = Arc::clone(&stop);
        let thread = std::thread::Builder::new().name("upkeep".to_owned());
        let thread = thread.spawn(move || {
            let mut watch = Watch::default();
            while !stops.cancelled() {
                std::thread::park_timeout(PAUSE);
                watch.look(&service, &*stops, log);
            }
        })?;
        Ok(Self {
            stop,
            thread: Some(thread),
        })
    }
}

impl Drop for Upkeep {
    fn drop(&mut self) {
        self.stop.0.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // A thread that panicked has told so already.
            let _ = thread.join();
        }
    }
}

/// What is known of the collections.
#[derive(Default)]
struct Watch {
    looks: u64,
    seen: HashMap<u64, Seen>,
    /// Where the clock of uses was at the last decisions, the latest last.
    uses: VecDeque<u64>,
}

/// What is known of a collection.
struct Seen {
    changes: u64,
    /// Since when it has not changed, and when its delta is looked at.
    since: Instant,
    due: Instant,
    /// At the last decision.
    counts: SearchCounts,
    /// Pages of a search before memory was added, where that has just been done.
    before: Option<f64>,
    /// Points that there were when more memory saved too little.
    sated_at: Option<u64>,
}

impl Seen {
    fn new(open: &OpenCollection) -> Self {
        let now = clock::now();
        Self {
            changes: open.change_count(),
            since: now,
            due: now + REST,
            counts: open.search_counts(),
            before: None,
            sated_at: None,
        }
    }

    /// Whether more memory would save little of a collection with so many points.
    fn is_sated(&self, points: u64) -> bool {
        let others = |at: u64| points >= OTHER_POINTS * at.max(1);
        self.before.is_some() || self.sated_at.is_some_and(|at| !others(at))
    }
}

/// Reads of a collection between two decisions.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Reads {
    number: u64,
    pages: u64,
    searches: u64,
    is_sated: bool,
}

impl Watch {
    fn look(&mut self, service: &Service, stop: &dyn Progress, log: Log) {
        if stop.cancelled() {
            return;
        }
        self.looks += 1;
        let stop = &Yielding(stop, &service.shelf);
        let numbers = service.shelf.numbers();
        self.seen.retain(|number, _| numbers.contains(number));
        for number in numbers {
            // One at a time: who holds a collection keeps it from being closed.
            match service.shelf.opened_of(number) {
                Some(open) => {
                    let seen = self.seen.entry(number).or_insert_with(|| Seen::new(&open));
                    settle(seen, &open, stop);
                }
                None => _ = self.seen.remove(&number),
            }
            if service.shelf.is_divided_for_first(number) {
                // One that does not open now opens when it is asked for.
                _ = divide_again(service, number);
            }
        }
        if self.looks.is_multiple_of(LOOKS) {
            let wanted = self.decide(&service.shelf.opened());
            let unused = self.unused_since(service.shelf.uses());
            if let Some((number, pages)) = wanted
                && matches!(grow(service, (number, unused), log), Ok(true))
                && let Some(seen) = self.seen.get_mut(&number)
            {
                (seen.before, seen.counts) = (Some(pages), SearchCounts::default());
            }
        }
    }

    /// Where the clock of uses, which is at `now`, was some decisions ago; 0 before there were so
    /// many.
    fn unused_since(&mut self, now: u64) -> u64 {
        self.uses.push_back(now);
        if self.uses.len() <= UNUSED_DECISIONS {
            return 0;
        }
        self.uses.pop_front().unwrap_or(0)
    }

    /// The collection that gets more memory, and the pages of its searches so far.
    fn decide(&mut self, opened: &[(u64, Arc<OpenCollection>)]) -> Option<(u64, f64)> {
        let mut all = Vec::with_capacity(opened.len());
        for (number, open) in opened {
            let Some(seen) = self.seen.get_mut(number) else {
                continue;
            };
            let counts = open.search_counts();
            let pages = counts.pages.saturating_sub(seen.counts.pages);
            let searches = counts.searches.saturating_sub(seen.counts.searches);
            seen.counts = counts;
            if searches >= LEAST_SEARCHES
                && let Some(before) = seen.before.take()
            {
                let each = pages as f64 / searches as f64;
                let is_enough = each > (1.0 - LEAST_GAIN) * before;
                seen.sated_at = is_enough.then(|| open.len());
            }
            all.push(Reads {
                number: *number,
                pages,
                searches,
                is_sated: seen.is_sated(open.len()),
            });
        }
        chosen(&all)
    }
}

/// The one whose searches read most, where more memory may help it.
fn chosen(all: &[Reads]) -> Option<(u64, f64)> {
    let may_gain =
        |own: &&Reads| !own.is_sated && own.searches >= LEAST_SEARCHES && own.pages >= own.searches;
    let most = all.iter().filter(may_gain).max_by_key(|own| own.pages)?;
    Some((most.number, most.pages as f64 / most.searches as f64))
}

/// Opens a collection with twice the memory, where there is so much.
fn grow(service: &Service, (number, unused): (u64, u64), log: Log) -> Outcome<bool> {
    let Some(name) = service.registry.names().name_of(number) else {
        return Ok(false);
    };
    let (name, entry) = service.entry(&name)?;
    let has_grown = service.grow(&name, &entry, unused)?;
    if has_grown {
        let bytes = service.shelf.bytes_of(number);
        let more = json!({"collection": name, "memory_bytes": bytes});
        log.tell(Level::Info, "more memory", more);
    }
    Ok(has_grown)
}

/// Opens a collection again, so that more rows wait in it than before its first flushes.
fn divide_again(service: &Service, number: u64) -> Outcome<bool> {
    let Some(name) = service.registry.names().name_of(number) else {
        return Ok(false);
    };
    let (name, entry) = service.entry(&name)?;
    service.divide_again(&name, &entry)
}

/// Flushes the rows of a collection that has rested long enough for so many.
fn settle(seen: &mut Seen, open: &OpenCollection, stop: &dyn Progress) {
    let (now, changes) = (clock::now(), open.change_count());
    if changes != seen.changes {
        (seen.changes, seen.since, seen.due) = (changes, now, now + REST);
    }
    if now < seen.due {
        return;
    }
    let rested = now.saturating_duration_since(seen.since);
    // What goes wrong in flushes is told by the collection.
    seen.due = match open.settle(&|delta| rested >= rest_of(delta), stop) {
        Ok(Some(delta)) => seen.since + rest_of(delta),
        Ok(None) => now + MOST_REST,
        Err(_) => now + REST,
    };
}

/// Rows that are not in a segment yet, and how many there can be.
pub(crate) type DeltaRows = (u64, u64);

/// The time without a change after which so many rows are worth a segment.
fn rest_of((rows, capacity): DeltaRows) -> Duration {
    let few = capacity as f64 / (DELTA_PART * rows.max(1)) as f64;
    REST.mul_f64(few.max(1.0)).min(MOST_REST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_rows_wait_longer() {
        assert_eq!(rest_of((1000, 8000)), REST);
        assert_eq!(rest_of((100, 8000)), REST * 5);
        assert_eq!(rest_of((1, 8000)), MOST_REST);
    }

    #[test]
    fn what_was_not_used_for_six_decisions_is_known() {
        let mut watch = Watch::default();
        let since: Vec<u64> = (1..=9).map(|now| watch.unused_since(10 * now)).collect();
        assert_eq!(since, [0, 0, 0, 0, 0, 0, 10, 20, 30]);
        assert_eq!(watch.uses.len(), UNUSED_DECISIONS);
    }

    #[test]
    fn memory_goes_where_most_is_read() {
        let reads = |number, pages, searches, is_sated| Reads {
            number,
            pages,
            searches,
            is_sated,
        };
        assert_eq!(chosen(&[]), None);
        let few = reads(1, 9000, LEAST_SEARCHES - 1, false);
        let held = reads(2, 10, 1000, false);
        let sated = reads(3, 9000, 1000, true);
        assert_eq!(chosen(&[few, held, sated]), None);
        let (less, more) = (reads(4, 2000, 1000, false), reads(5, 8000, 1000, false));
        assert_eq!(chosen(&[less, more, sated]), Some((5, 8.0)));
    }
}
