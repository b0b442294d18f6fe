//! Callers and searchers on an index, until so many operations are done.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use pageway::lab::clock;
use pageway::{
    Durability, Error, ErrorKind, NoProgress, Progress, Queries, Result, Rows, SearchOptions,
    VectorShape, Writer,
};

use super::mix::{Mix, Operation};
use super::times::BySecond;

/// Who does what at the same time.
#[derive(Clone, Copy, Debug)]
pub(super) struct MixedLoad<'l> {
    pub(super) rows: &'l [u8],
    pub(super) queries: &'l [u8],
    pub(super) shape: VectorShape,
    /// The row that comes first.
    pub(super) first: u64,
    pub(super) mix: Mix,
    /// Threads that make one change after the other, and those that search for one query after the
    /// other.
    pub(super) threads: (usize, usize),
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
    /// Does these operations, each once, and searches for as long.
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
            let call = move || self.change(writer, (next, end), (stop, progress));
            let callers: Vec<_> = (0..self.threads.0).map(|_| scope.spawn(call)).collect();
            let search = move |first| self.search(writer, options, (first, begun), stop);
            let firsts = (0..self.threads.1).map(|number| number * 31);
            let searchers: Vec<_> = firsts
                .map(|first| scope.spawn(move || search(first)))
                .collect();
            let mut failed = None;
            for caller in callers {
                match ended(caller.join()) {
                    Ok(own) => {
                        for (all, own) in done.times.iter_mut().zip(own) {
                            all.extend(own);
                        }
                    }
                    Err(error) => failed = failed.take().or(Some(error)),
                }
            }
            done.seconds = (clock::now() - begun).as_secs_f64();
            stop.store(true, Ordering::Relaxed);
            for searcher in searchers {
                match ended(searcher.join()) {
                    Ok((by_second, times)) => {
                        done.searches.add(&by_second);
                        done.search_times.extend(times);
                    }
                    Err(error) => failed = failed.take().or(Some(error)),
                }
            }
            failed.map_or(Ok(()), Err)
        })?;
        Ok(done)
    }

    /// Makes one change after the other until none is left.
    fn change(
        &self,
        writer: &Writer,
        (next, end): (&AtomicU64, u64),
        (stop, progress): (&AtomicBool, &dyn Progress),
    ) -> Result<[Vec<u64>; 2]> {
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
        let rows = Rows::new(row(self.rows, self.shape, id), self.shape);
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

    /// Searches for one query after the other until told to stop.
    fn search(
        &self,
        writer: &Writer,
        options: &SearchOptions,
        (first, begun): (usize, Instant),
        stop: &AtomicBool,
    ) -> Result<(BySecond, Vec<u64>)> {
        let (mut by_second, mut times) = (BySecond::default(), Vec::new());
        let count = self.queries.len() / self.shape.row_bytes();
        for number in first.. {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let asked = clock::now();
            let query = row(self.queries, self.shape, (number % count.max(1)) as u64);
            let found = writer
                .index()
                .search(&Queries::new(query, self.shape), options);
            if let Err(error) = found {
                stop.store(true, Ordering::Relaxed);
                return Err(error);
            }
            let now = clock::now();
            by_second.note((now - begun).as_secs());
            times.push((now - asked).as_micros() as u64);
        }
        Ok((by_second, times))
    }
}

/// A row of many.
fn row(rows: &[u8], shape: VectorShape, number: u64) -> &[u8] {
    let bytes = shape.row_bytes();
    let start = number as usize * bytes;
    rows.get(start..start + bytes).unwrap_or_default()
}

fn ended<T>(outcome: thread::Result<Result<T>>) -> Result<T> {
    outcome.unwrap_or_else(|_| Err(Error::new(ErrorKind::Internal, "a thread panicked")))
}
