//! Callers and searchers on an index, until so many operations are done.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use pageway::lab::clock;
use pageway::{
    Durability, Error, ErrorKind, Index, NoProgress, Progress, Queries, Result, Rows,
    SearchOptions, Writer,
};

use super::mix::{Mix, Operation};
use super::times::BySecond;
use crate::in_memory::InMemory;

/// Who does what at the same time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Hands {
    /// Threads that make one change after the other.
    pub callers: usize,
    /// Threads that search for one query after the other meanwhile.
    pub searchers: usize,
    /// Searches that a caller makes behind each of its changes.
    pub reads: f64,
}

impl Hands {
    /// One caller and no searches: what it does can be counted, and takes no time worth telling.
    pub const COUNTING: Self = Self {
        callers: 1,
        searchers: 0,
        reads: 0.0,
    };

    pub(super) fn is_timed(self) -> bool {
        self != Self::COUNTING
    }

    /// Searches behind the change of this number.
    fn reads_behind(self, number: u64) -> u64 {
        let until = |number: u64| (number as f64 * self.reads) as u64;
        until(number + 1) - until(number)
    }
}

/// Changes, and searches beside them.
#[derive(Clone, Copy, Debug)]
pub(super) struct MixedLoad<'l> {
    pub(super) data: InMemory<'l>,
    /// The row that comes first.
    pub(super) first: u64,
    pub(super) mix: Mix,
    pub(super) hands: Hands,
    pub(super) durability: Durability,
    /// Operations after which is flushed by hand; as the writer does where 0.
    pub(super) flush: u64,
}

/// What came of some operations.
#[derive(Default)]
pub(super) struct OperationsDone {
    pub(super) seconds: f64,
    /// Microseconds of each insert, and of each delete.
    pub(super) times: [Vec<u64>; 2],
    pub(super) searches: BySecond,
    /// Microseconds of each search.
    pub(super) search_times: Vec<u64>,
}

impl MixedLoad<'_> {
    /// Does these operations, each once, and searches behind them or for as long.
    ///
    /// # Errors
    /// The first of a change or of a search; `Cancelled`.
    pub(super) fn run(
        &self,
        writer: &Writer,
        options: &SearchOptions,
        operations: Range<u64>,
        progress: &dyn Progress,
    ) -> Result<OperationsDone> {
        let (next, stop) = (AtomicU64::new(operations.start), AtomicBool::new(false));
        let (next, stop, end) = (&next, &stop, operations.end);
        let begun = clock::now();
        let mut done = OperationsDone::default();
        thread::scope(|scope| {
            let hand = SearchHand {
                load: self,
                index: writer.index(),
                options,
                begun,
                stop,
            };
            let call = move |first| {
                let mut made = SearchesMade::starting_at(first);
                let times = self.change(writer, (next, end), (hand, &mut made), progress)?;
                Ok((times, made))
            };
            let firsts = |count: usize| (0..count).map(|number| number * 31);
            let callers = firsts(self.hands.callers);
            let callers: Vec<_> = callers
                .map(|first| scope.spawn(move || call(first)))
                .collect();
            let search = move |first| {
                let mut made = SearchesMade::starting_at(first);
                while !stop.load(Ordering::Relaxed) {
                    hand.ask(&mut made)?;
                }
                Ok(made)
            };
            let searchers = firsts(self.hands.searchers);
            let searchers: Vec<_> = searchers
                .map(|first| scope.spawn(move || search(first)))
                .collect();
            let mut failed = None;
            for caller in callers {
                match ended(caller.join()) {
                    Ok((own, made)) => {
                        for (all, own) in done.times.iter_mut().zip(own) {
                            all.extend(own);
                        }
                        done.take(made);
                    }
                    Err(error) => failed = failed.take().or(Some(error)),
                }
            }
            done.seconds = (clock::now() - begun).as_secs_f64();
            stop.store(true, Ordering::Relaxed);
            for searcher in searchers {
                match ended(searcher.join()) {
                    Ok(made) => done.take(made),
                    Err(error) => failed = failed.take().or(Some(error)),
                }
            }
            failed.map_or(Ok(()), Err)
        })?;
        Ok(done)
    }

    /// Makes one change after the other, and searches behind each, until none is left.
    fn change(
        &self,
        writer: &Writer,
        (next, end): (&AtomicU64, u64),
        (hand, made): (SearchHand<'_>, &mut SearchesMade),
        progress: &dyn Progress,
    ) -> Result<[Vec<u64>; 2]> {
        let stop = hand.stop;
        let mut times = [Vec::new(), Vec::new()];
        let outcome = loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= end || stop.load(Ordering::Relaxed) {
                break Ok(());
            }
            let begun = clock::now();
            let (kind, outcome) = match self.mix.operation(number) {
                Operation::Insert(row) => (0, self.insert(writer, self.first + row)),
                Operation::Delete(id) => (1, self.delete(writer, id)),
            };
            if let Some(times) = times.get_mut(kind) {
                times.push((clock::now() - begun).as_micros() as u64);
            }
            let outcome = outcome.and_then(|()| progress.check().map_err(Error::from));
            let is_due = self.flush > 0 && (number + 1).is_multiple_of(self.flush);
            let outcome = match outcome {
                Ok(()) if is_due => writer.flush(&NoProgress),
                outcome => outcome,
            };
            let reads = self.hands.reads_behind(number);
            let outcome = outcome.and_then(|()| (0..reads).try_for_each(|_| hand.ask(made)));
            if outcome.is_err() {
                break outcome;
            }
            progress.advance(1);
        };
        if outcome.is_err() {
            stop.store(true, Ordering::Relaxed);
        }
        outcome.map(|()| times)
    }

    fn insert(&self, writer: &Writer, id: u64) -> Result<()> {
        let rows = Rows::new(self.data.row(id), self.data.shape);
        let ids = [id];
        let rows = rows.with_ids(&ids[..]).with_durability(self.durability);
        writer.insert(&rows).map(drop)
    }

    fn delete(&self, writer: &Writer, id: u64) -> Result<()> {
        let done = writer.delete(&[id], self.durability)?;
        if done.absent == 0 {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Internal,
            format!("id {id} was not there to be deleted"),
        ))
    }
}

/// What searches are made of.
#[derive(Clone, Copy)]
struct SearchHand<'a> {
    load: &'a MixedLoad<'a>,
    index: &'a Index,
    options: &'a SearchOptions,
    begun: Instant,
    /// Set where one fails: all end then.
    stop: &'a AtomicBool,
}

/// Searches of a thread.
struct SearchesMade {
    /// Number of the query that is next.
    next: usize,
    by_second: BySecond,
    /// Microseconds of each.
    times: Vec<u64>,
}

impl SearchesMade {
    fn starting_at(next: usize) -> Self {
        Self {
            next,
            by_second: BySecond::default(),
            times: Vec::new(),
        }
    }
}

impl SearchHand<'_> {
    /// Searches for the next query.
    fn ask(&self, made: &mut SearchesMade) -> Result<()> {
        let data = &self.load.data;
        let query = data.query((made.next % data.query_count().max(1)) as u64);
        let begun = clock::now();
        let queries = Queries::new(query, data.shape);
        let found = self.index.search(&queries, self.options);
        if let Err(error) = found {
            self.stop.store(true, Ordering::Relaxed);
            return Err(error);
        }
        let now = clock::now();
        made.next += 1;
        made.by_second.note((now - self.begun).as_secs());
        made.times.push((now - begun).as_micros() as u64);
        Ok(())
    }
}

impl OperationsDone {
    fn take(&mut self, made: SearchesMade) {
        self.searches.add(&made.by_second);
        self.search_times.extend(made.times);
    }
}

fn ended<T>(outcome: thread::Result<Result<T>>) -> Result<T> {
    outcome.unwrap_or_else(|_| Err(Error::new(ErrorKind::Internal, "a thread panicked")))
}
