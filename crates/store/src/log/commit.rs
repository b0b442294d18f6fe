//! Many callers, one log: while one of them writes and syncs, the others' batches collect, and the
//! next sync covers all of them.
//!
//! No thread and no timer of its own. Who finds nobody leading takes what has collected, leads one
//! turn, and wakes the others; who has waited leads the next. Batches keep the order in which they
//! came.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::turn::{Answer, Core, Wish};
use super::{Acknowledgement, Durability, LogWriter, Lsn, Room, Sequence};
use crate::{StoreError, clock};

/// Bytes of batches that one turn takes, unless the first is longer.
const TURN_BYTES: u64 = 4 << 20;

/// A log that threads share, and the state that its records change.
pub struct GroupCommit<S: Sequence> {
    queue: Mutex<CommitQueue<S>>,
    /// Something was answered, taken from the queue, or nobody leads any more.
    changed: Condvar,
    /// Held through a turn, and by whatever needs that none is under way.
    turn: Mutex<()>,
    /// Held while a turn resolves, writes and publishes, but not while it syncs.
    core: Mutex<Core<S>>,
    queue_bytes: u64,
}

struct CommitQueue<S: Sequence> {
    waiting: VecDeque<Waiting<S>>,
    bytes: u64,
    led: bool,
}

struct Waiting<S: Sequence> {
    batch: S::Batch,
    wish: Wish,
    bytes: u64,
    place: Arc<Place<S>>,
}

/// Where a caller finds its answer.
struct Place<S: Sequence> {
    answer: Mutex<Option<Answer<S>>>,
}

impl<S: Sequence> GroupCommit<S> {
    /// `queue_bytes` bounds the batches that wait; a single longer one is taken when none does.
    pub fn new(sequence: S, writer: LogWriter, queue_bytes: u64) -> Self {
        Self {
            queue: Mutex::new(CommitQueue {
                waiting: VecDeque::new(),
                bytes: 0,
                led: false,
            }),
            changed: Condvar::new(),
            turn: Mutex::new(()),
            core: Mutex::new(Core::new(sequence, writer)),
            queue_bytes,
        }
    }

    /// Puts a batch through the log and returns when it is as durable as asked, and published.
    ///
    /// `bytes` is what it holds in memory. Waits while the queue is full. After an error nothing
    /// of the batch is visible; after a failed write or sync its records may be found when the log
    /// is replayed, or not. Safe from many threads; costs a sync that all who wait share.
    pub fn submit(
        &self,
        batch: S::Batch,
        bytes: u64,
        durability: Durability,
        room: Room,
    ) -> Result<Acknowledgement<S::Outcome>, StoreError> {
        let wish = Wish { durability, room };
        let place = self.enqueue(batch, bytes, wish);
        loop {
            let mut queue = self.queue();
            loop {
                if let Some(answer) = place.take() {
                    return answer;
                }
                if !queue.led {
                    break;
                }
                queue = wait(&self.changed, queue);
            }
            queue.led = true;
            let turn = queue.take_turn();
            drop(queue);
            self.lead(turn);
        }
    }

    /// Runs something between two turns, with the state and the writer at rest: everything
    /// acknowledged is published, and nothing else is under way.
    pub fn exclusive<T>(
        &self,
        run: impl FnOnce(&mut S, &mut LogWriter) -> T,
    ) -> Result<T, StoreError> {
        let _rest = self.rest()?;
        let mut core = self.core()?;
        let Core {
            sequence, writer, ..
        } = &mut *core;
        Ok(run(sequence, writer))
    }

    /// Looks at the state at any time, without waiting for a sync: there may be batches that are
    /// resolved and not yet published.
    pub fn look<T>(&self, look: impl FnOnce(&mut S) -> T) -> Result<T, StoreError> {
        Ok(look(&mut self.core()?.sequence))
    }

    /// Makes durable everything acknowledged, and returns its last record.
    pub fn sync(&self) -> Result<Lsn, StoreError> {
        let _rest = self.rest()?;
        self.core()?.sync()
    }

    /// Syncs what was acknowledged as [`Durability::Batched`] if its time has come; at rest, ends
    /// the log with a group that covers the last records. To be called again after the time
    /// returned, or about every second when there is none.
    pub fn keep_up(&self) -> Result<Option<Duration>, StoreError> {
        let _rest = self.rest()?;
        let mut core = self.core()?;
        if core.is_due() {
            core.sync()?;
        } else if core.due.is_none() && core.writer.durable() == core.writer.last() {
            core.writer.cover()?;
        }
        let left = core
            .due
            .map(|due| due.saturating_duration_since(clock::now()));
        Ok(left)
    }

    /// Makes everything durable and ends the log for good. Returns the state and its last record.
    pub fn close(self) -> Result<(S, Lsn), StoreError> {
        let core = self.core.into_inner().map_err(|_| panicked())?;
        let last = core.writer.close()?;
        Ok((core.sequence, last))
    }

    fn enqueue(&self, batch: S::Batch, bytes: u64, wish: Wish) -> Arc<Place<S>> {
        let place = Arc::new(Place {
            answer: Mutex::new(None),
        });
        let mut queue = self.queue();
        while !queue.waiting.is_empty() && queue.bytes.saturating_add(bytes) > self.queue_bytes {
            queue = wait(&self.changed, queue);
        }
        queue.bytes = queue.bytes.saturating_add(bytes);
        queue.waiting.push_back(Waiting {
            batch,
            wish,
            bytes,
            place: Arc::clone(&place),
        });
        place
    }

    /// Serves a turn. Whatever happens, nobody leads afterwards and all of its callers have an
    /// answer.
    fn lead(&self, turn: Vec<Waiting<S>>) {
        let mut ending = TurnEnd {
            commit: self,
            places: Vec::with_capacity(turn.len()),
        };
        let mut batches = Vec::with_capacity(turn.len());
        for Waiting {
            batch, wish, place, ..
        } in turn
        {
            ending.places.push(place);
            batches.push((batch, wish));
        }
        let Ok(answers) = self.serve(batches) else {
            return;
        };
        for (place, answer) in ending.places.iter().zip(answers) {
            place.put(answer);
        }
    }

    fn serve(&self, batches: Vec<(S::Batch, Wish)>) -> Result<Vec<Answer<S>>, StoreError> {
        let _turn = self.rest()?;
        let turn = self.core()?.begin(batches);
        let synced = turn.sync();
        Ok(self.core()?.end(turn, synced))
    }

    /// Waits until no turn is under way, and keeps it so.
    fn rest(&self) -> Result<MutexGuard<'_, ()>, StoreError> {
        self.turn.lock().map_err(|_| panicked())
    }

    fn queue(&self) -> MutexGuard<'_, CommitQueue<S>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn core(&self) -> Result<MutexGuard<'_, Core<S>>, StoreError> {
        self.core.lock().map_err(|_| panicked())
    }
}

impl<S: Sequence> CommitQueue<S> {
    /// The first batches, up to a turn.
    fn take_turn(&mut self) -> Vec<Waiting<S>> {
        let (mut turn, mut bytes) = (Vec::new(), 0u64);
        while let Some(first) = self.waiting.front() {
            if !turn.is_empty() && bytes.saturating_add(first.bytes) > TURN_BYTES {
                break;
            }
            bytes = bytes.saturating_add(first.bytes);
            turn.extend(self.waiting.pop_front());
        }
        self.bytes = self.bytes.saturating_sub(bytes);
        turn
    }
}

impl<S: Sequence> Place<S> {
    fn put(&self, answer: Answer<S>) {
        let mut place = self.answer.lock().unwrap_or_else(PoisonError::into_inner);
        place.get_or_insert(answer);
    }

    fn take(&self) -> Option<Answer<S>> {
        let mut place = self.answer.lock().unwrap_or_else(PoisonError::into_inner);
        place.take()
    }
}

/// Ends a turn, also one in which a thread panicked.
struct TurnEnd<'c, S: Sequence> {
    commit: &'c GroupCommit<S>,
    places: Vec<Arc<Place<S>>>,
}

impl<S: Sequence> Drop for TurnEnd<'_, S> {
    fn drop(&mut self) {
        let mut queue = self.commit.queue();
        for place in &self.places {
            place.put(Err(panicked()));
        }
        queue.led = false;
        drop(queue);
        self.commit.changed.notify_all();
    }
}

fn wait<'g, T>(changed: &Condvar, guard: MutexGuard<'g, T>) -> MutexGuard<'g, T> {
    changed.wait(guard).unwrap_or_else(PoisonError::into_inner)
}

fn panicked() -> StoreError {
    StoreError::Poisoned {
        path: "the log".into(),
        why: "a thread panicked while it was being written".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::super::fixture::place;
    use super::super::{LogPlace, OnDamage, Records, replay_log};
    use super::*;

    /// A register for each key; a record sets one. Refuses a batch that sets a key twice.
    #[derive(Default)]
    struct Registers {
        published: BTreeMap<u8, u64>,
        resolved: u64,
        last: Lsn,
    }

    struct Batch {
        sets: Vec<(u8, u64)>,
        refused: bool,
    }

    impl Batch {
        fn new(sets: &[(u8, u64)]) -> Self {
            let sets = sets.to_vec();
            Self {
                sets,
                refused: false,
            }
        }
    }

    impl Sequence for Registers {
        type Batch = Batch;
        type Outcome = Result<usize, ()>;

        fn resolve(
            &mut self,
            batch: &mut Batch,
            records: &mut Records<'_>,
        ) -> Result<(), StoreError> {
            assert!(!batch.sets.contains(&(255, 255)), "a defect");
            let keys: std::collections::BTreeSet<u8> =
                batch.sets.iter().map(|(key, _)| *key).collect();
            batch.refused = keys.len() < batch.sets.len();
            if batch.refused {
                return Ok(());
            }
            records.reserve(batch.sets.len() as u64, 9 * batch.sets.len() as u64)?;
            for (key, value) in &batch.sets {
                records.push_parts(&[&[*key], &value.to_le_bytes()])?;
            }
            self.resolved += 1;
            Ok(())
        }

        fn publish(&mut self, batch: Batch, last: Lsn) -> Self::Outcome {
            assert!(last >= self.last, "batches are published in order");
            if batch.refused {
                return Err(());
            }
            assert_eq!(last.0, self.last.0 + batch.sets.len() as u64);
            self.last = last;
            let sets = batch.sets.iter().copied();
            self.published.extend(sets);
            Ok(batch.sets.len())
        }

        fn abandon(&mut self, _batch: Batch) {}
    }

    fn begin(place: &LogPlace) -> GroupCommit<Registers> {
        let writer = LogWriter::create(place, Lsn::NONE).unwrap();
        GroupCommit::new(Registers::default(), writer, 1000)
    }

    fn recovered(place: &LogPlace) -> BTreeMap<u8, u64> {
        let mut registers = BTreeMap::new();
        replay_log(place, Lsn::NONE, OnDamage::Refuse, |_, record| {
            let value = u64::from_le_bytes(record[1..].try_into().unwrap());
            registers.insert(record[0], value);
            Ok::<(), StoreError>(())
        })
        .unwrap();
        registers
    }

    fn submit(
        log: &GroupCommit<Registers>,
        sets: &[(u8, u64)],
        durability: Durability,
    ) -> Acknowledgement<Result<usize, ()>> {
        log.submit(Batch::new(sets), 100, durability, Room::Ordinary)
            .unwrap()
    }

    #[test]
    fn an_acknowledgement_says_how_far_the_log_is_durable() {
        let root = tempfile::tempdir().unwrap();
        let place = place(root.path());
        let log = begin(&place);
        let deferred = submit(&log, &[(1, 1), (2, 2)], Durability::Deferred);
        assert_eq!((deferred.lsn, deferred.durable), (Lsn(2), false));
        assert!(recovered(&place).is_empty());
        let within = Durability::Batched(Duration::from_secs(3600));
        let batched = submit(&log, &[(1, 3)], within);
        assert_eq!((batched.lsn, batched.durable), (Lsn(3), false));
        assert_eq!(recovered(&place), BTreeMap::from([(1, 3), (2, 2)]));
        assert!(log.keep_up().unwrap().unwrap() > Duration::from_secs(3000));
        let synced = submit(&log, &[(3, 4)], Durability::Synced);
        assert_eq!((synced.lsn, synced.durable), (Lsn(4), true));
        assert_eq!(synced.outcome, Ok(1));
        assert_eq!(log.keep_up().unwrap(), None);
        let (registers, last) = log.close().unwrap();
        assert_eq!((registers.published, last), (recovered(&place), Lsn(4)));
    }

    #[test]
    fn a_refused_batch_takes_no_number_and_what_is_due_is_synced() {
        let root = tempfile::tempdir().unwrap();
        let log = begin(&place(root.path()));
        submit(&log, &[(1, 1)], Durability::Batched(Duration::ZERO));
        let refused = submit(&log, &[(2, 1), (2, 2)], Durability::Synced);
        assert_eq!((refused.outcome, refused.lsn), (Err(()), Lsn(1)));
        assert!(refused.durable);
        submit(&log, &[(1, 2)], Durability::Batched(Duration::ZERO));
        log.keep_up().unwrap();
        let durable = log.exclusive(|_, writer| writer.durable()).unwrap();
        assert_eq!(durable, Lsn(2));
        assert_eq!(log.sync().unwrap(), Lsn(2));
    }

    #[test]
    fn many_callers_share_syncs_and_keep_one_order() {
        let root = tempfile::tempdir().unwrap();
        let place = place(root.path());
        let log = begin(&place);
        let greatest = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for thread in 0..8u8 {
                let (log, greatest) = (&log, &greatest);
                scope.spawn(move || {
                    let mut before = Lsn::NONE;
                    for value in 0..60u64 {
                        let durability = match value % 3 {
                            0 => Durability::Synced,
                            1 => Durability::Batched(Duration::from_millis(1)),
                            _ => Durability::Deferred,
                        };
                        let done = submit(log, &[(thread, value), (100, value)], durability);
                        assert!(done.lsn > before);
                        before = done.lsn;
                        greatest.fetch_max(done.lsn.0, Ordering::Relaxed);
                    }
                });
            }
            scope.spawn(|| {
                for _ in 0..20 {
                    let (seen, last) = log
                        .exclusive(|registers, writer| {
                            writer.rotate().unwrap();
                            (registers.last, writer.durable())
                        })
                        .unwrap();
                    assert_eq!(seen, last, "at rest, all that is published is durable");
                }
            });
        });
        let (registers, last) = log.close().unwrap();
        assert_eq!(last, Lsn(8 * 60 * 2));
        assert_eq!(greatest.into_inner(), last.0);
        assert_eq!(registers.resolved, 8 * 60);
        assert_eq!(registers.published, recovered(&place));
    }

    #[test]
    fn a_panic_in_a_turn_ends_the_log_and_leaves_nobody_waiting() {
        let root = tempfile::tempdir().unwrap();
        let place = place(root.path());
        let log = begin(&place);
        submit(&log, &[(1, 1)], Durability::Synced);
        std::thread::scope(|scope| {
            let broken = scope.spawn(|| submit(&log, &[(255, 255)], Durability::Synced));
            assert!(broken.join().is_err());
        });
        for _ in 0..2 {
            let batch = Batch::new(&[(2, 2)]);
            let refused = log.submit(batch, 1, Durability::Synced, Room::Ordinary);
            assert!(matches!(refused, Err(StoreError::Poisoned { .. })));
        }
        assert!(matches!(log.sync(), Err(StoreError::Poisoned { .. })));
        assert_eq!(recovered(&place), BTreeMap::from([(1, 1)]));
    }
}
