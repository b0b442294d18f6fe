//! How much of the log this node has, and whether it may append to it.
//!
//! ```text
//! follows --- the lease is free, and taken; records up to a fence are read ---> leads
//!    ^                                                                            |
//!    '--- fenced, an append that nobody knows of, the lease was not renewed ------'
//! ```
//!
//! It does what it is told when it is told so, and is given the time; [`super::keeper`] tells it.
//! Where records behind what it has are cut, a snapshot of the indexes comes first.
//!
//! Whoever changes the indexes holds the right to change them first and the end of the log second.
//!
//! Invariants: a record is applied once all before it are; nothing is appended while records that
//! were are not applied.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pageway_object::{
    Appended, Lease, LogLead, LogNext, LogSnapshot, NewSnapshot, Objects, Patience, SharedLog,
    SharedRecord, place_of,
};

use super::sign::{ReplicaSign, SharedSign};
use crate::failure::{Failure, Outcome};

/// The object that says what the collection is.
const SETTINGS: &str = "SETTINGS";
/// Parts of a term: the lease is renewed when one has passed, and a request is given up after two.
const TERM_PARTS: u32 = 3;

/// First pauses of requests that are repeated, in a term.
const PAUSES_EACH: u32 = 200;

/// Does in the indexes what a record says.
pub(super) type Redo<'r> = &'r mut dyn FnMut(&[u8]) -> Outcome<()>;

/// How a node has a partition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReplicaOptions {
    /// For how long it leads at a time.
    pub term: Duration,
    /// Records from one snapshot of the indexes to the next, made by who leads.
    pub snapshot_each: u64,
    /// How old a snapshot is before records that it holds are removed.
    pub grace: Duration,
}

/// A partition on a node.
pub(crate) struct Replica {
    objects: Objects,
    name: String,
    node: String,
    options: ReplicaOptions,
    log: Mutex<LogEnd>,
    lease: Mutex<Option<Lease>>,
    /// When the lease ends, in milliseconds since 1970; 0 where there is none.
    until: AtomicU64,
    sign: SharedSign,
}

/// How far the log is known.
#[derive(Default)]
struct LogEnd {
    /// The last record that is in the indexes, and its epoch where that is known.
    applied: u64,
    epoch: Option<u64>,
    /// The end, where this node leads.
    writer: Option<SharedLog>,
}

impl Replica {
    /// A replica of a partition on a node, which has nothing of the log yet and leads for a term
    /// at a time.
    pub(crate) fn new(
        objects: Objects,
        (name, node): (&str, &str),
        options: ReplicaOptions,
    ) -> Self {
        let term = options.term;
        let patience = Patience {
            whole: term / TERM_PARTS * 2,
            attempt: term / TERM_PARTS,
            pause: term / PAUSES_EACH,
        };
        Self {
            objects: objects.with_patience(patience),
            name: name.to_owned(),
            node: node.to_owned(),
            options,
            log: Mutex::default(),
            lease: Mutex::default(),
            until: AtomicU64::new(0),
            sign: SharedSign::new(name),
        }
    }

    /// The name of the partition.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// How this node has it.
    pub(super) fn options(&self) -> ReplicaOptions {
        self.options
    }

    /// How it is.
    pub(crate) fn sign(&self) -> ReplicaSign {
        self.sign.lock().clone()
    }

    /// Notes what is wrong, or that nothing is; whether that is news.
    pub(super) fn note(&self, trouble: Option<String>) -> bool {
        let mut sign = self.sign.lock();
        let is_new = sign.trouble != trouble;
        sign.trouble = trouble;
        is_new
    }

    /// Says that the indexes have the log up to a number, as a position on disk does.
    pub(crate) fn resume(&self, number: u64) {
        *self.log() = LogEnd {
            applied: number,
            ..LogEnd::default()
        };
        self.sign.lock().sequence = number;
    }

    /// What the collection is, where that was written.
    pub(crate) fn settings(&self) -> Outcome<Option<Vec<u8>>> {
        self.objects
            .read(SETTINGS)
            .map_err(|error| self.lost(&error))
    }

    /// Writes what the collection is, once; 409 where it is something else already.
    pub(crate) fn settle(&self, settings: &[u8]) -> Outcome<()> {
        let created = self.objects.create(SETTINGS, settings.to_vec());
        let created = created.map_err(|error| self.lost(&error))?;
        if created || self.settings()?.as_deref() == Some(settings) {
            return Ok(());
        }
        let words = format!("{} is in the object store with other settings", self.name);
        Err(Failure::conflict(words))
    }

    /// What is behind what is in the indexes; the end where this node leads.
    pub(super) fn next(&self) -> Outcome<LogNext> {
        // An append may hold the end of the log for long.
        if self.sign.lock().leads {
            return Ok(LogNext::End);
        }
        let (applied, epoch) = {
            let log = self.log();
            (log.applied, log.epoch)
        };
        let next = || -> io::Result<LogNext> {
            // Where a position is that of another log, its record is not there.
            let place = match epoch {
                Some(epoch) => (applied, epoch),
                None => match place_of(&self.objects, applied)? {
                    Ok(place) => place,
                    Err(snapshot) => return Ok(LogNext::Cut(snapshot)),
                },
            };
            let next = SharedLog::next(&self.objects, place)?;
            let mut log = self.log();
            if log.applied == applied {
                log.epoch = Some(place.1);
            }
            Ok(next)
        };
        let next = next().map_err(|error| self.lost(&error))?;
        if next == LogNext::End {
            self.sign.lock().is_ready = true;
        }
        Ok(next)
    }

    /// The snapshot of the indexes, where a leader has made one.
    pub(super) fn snapshot(&self) -> Outcome<Option<LogSnapshot>> {
        LogSnapshot::current(&self.objects).map_err(|error| self.lost(&error))
    }

    /// Shows the bytes of a snapshot, part by part.
    pub(super) fn fetch(
        &self,
        snapshot: &LogSnapshot,
        write: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Outcome<()> {
        let fetched = snapshot.fetch(&self.objects, write);
        fetched.map_err(|error| self.lost(&error))
    }

    /// Answers for nothing until it has read to the end of the log again: a snapshot is about to
    /// take the place of the indexes, which may have more than it says.
    pub(super) fn begin_again(&self) {
        self.sign.lock().is_ready = false;
    }

    /// The indexes are those of a snapshot from now on.
    pub(super) fn adopt(&self, snapshot: &LogSnapshot) {
        let (number, epoch) = snapshot.place();
        *self.log() = LogEnd {
            applied: number,
            epoch: Some(epoch),
            writer: None,
        };
        self.sign.lock().sequence = number;
    }

    /// Where a snapshot that is made from now on begins: the last record that is in the indexes,
    /// its epoch, and that of the writer. None where this node does not lead.
    pub(super) fn snapshot_place(&self) -> Option<((u64, u64), u64)> {
        let log = self.log();
        let writer = log.writer.as_ref()?;
        Some(((log.applied, log.epoch?), writer.epoch()))
    }

    /// Makes what `read` gives the snapshot, at `now`; whether it is.
    pub(super) fn publish(
        &self,
        new: &NewSnapshot,
        now: Duration,
        read: &mut dyn FnMut(u64, u64) -> io::Result<Vec<u8>>,
    ) -> Outcome<bool> {
        let published = LogSnapshot::publish(&self.objects, new, now, read);
        published.map_err(|error| self.lost(&error))
    }

    /// Removes records that a snapshot holds which is old enough at `now`, for the writer of an
    /// epoch; how many.
    pub(super) fn cut(&self, leader: u64, now: Duration) -> Outcome<usize> {
        let cut = LogSnapshot::cut(&self.objects, leader, (now, self.options.grace));
        cut.map_err(|error| self.lost(&error))
    }

    /// Does what a record says, where it is the next one still.
    pub(crate) fn take(&self, record: &SharedRecord, redo: Redo<'_>) -> Outcome<()> {
        let mut log = self.log();
        if log.writer.is_some() || record.number != log.applied + 1 {
            return Ok(());
        }
        self.apply(&mut log, record, redo)
    }

    fn apply(&self, log: &mut LogEnd, record: &SharedRecord, redo: Redo<'_>) -> Outcome<()> {
        // A fence says nothing of points.
        if !record.bytes.is_empty() {
            redo(&record.bytes)?;
        }
        (log.applied, log.epoch) = (record.number, Some(record.epoch));
        self.sign.lock().sequence = record.number;
        Ok(())
    }

    /// Does what the log says behind what is in the indexes.
    fn apply_behind(&self, log: &mut LogEnd, redo: Redo<'_>) -> Outcome<()> {
        let (applied, mut failed) = (log.applied, None);
        let mut visit = self.visit(log, redo, &mut failed);
        let read = SharedLog::read(&self.objects, applied, &mut visit);
        drop(visit);
        self.ended(read, failed).map(|_| ())
    }

    /// Applies each record that it is shown, and keeps why one failed.
    fn visit<'a>(
        &'a self,
        log: &'a mut LogEnd,
        redo: Redo<'a>,
        failed: &'a mut Option<Failure>,
    ) -> impl FnMut(SharedRecord) -> io::Result<()> + 'a {
        move |record| {
            self.apply(log, &record, redo).map_err(|failure| {
                let words = failure.text.clone();
                *failed = Some(failure);
                io::Error::other(words)
            })
        }
    }

    fn ended<T>(&self, read: io::Result<T>, failed: Option<Failure>) -> Outcome<T> {
        match failed {
            Some(failure) => Err(failure),
            None => read.map_err(|error| self.lost(&error)),
        }
    }

    /// Leads from `now` on where nobody else does, once all that is in the log is in the indexes;
    /// whether it does.
    pub(crate) fn lead(&self, now: Duration, redo: Redo<'_>) -> Outcome<bool> {
        let mut log = self.log();
        if log.writer.is_some() {
            return Ok(true);
        }
        let taken = Lease::take(&self.objects, &self.node, (now, self.options.term));
        let Some(mut lease) = taken.map_err(|error| self.lost(&error))? else {
            self.look(now)?;
            return Ok(false);
        };
        let (place, mut failed) = ((lease.epoch(), log.applied), None);
        let mut visit = self.visit(&mut log, redo, &mut failed);
        let led = SharedLog::lead(&self.objects, place, &mut visit);
        drop(visit);
        let writer = match self.ended(led, failed)? {
            LogLead::Writes(writer) => writer,
            LogLead::Taken => return Ok(false),
            LogLead::Cut(_) => {
                // A snapshot comes first: another may lead meanwhile.
                let left = lease.give_up(&self.objects, now);
                return left.map(|()| false).map_err(|error| self.lost(&error));
            }
        };
        // Its fence is the last record.
        (log.applied, log.epoch) = (writer.last(), Some(writer.epoch()));
        let until = lease.until().as_millis() as u64;
        self.until.store(until, Ordering::Release);
        let mut sign = self.sign.lock();
        sign.sequence = writer.last();
        (sign.leads, sign.is_ready, sign.epoch) = (true, true, writer.epoch());
        sign.leader = Some(self.node.clone());
        log.writer = Some(writer);
        *self.lease() = Some(lease);
        Ok(true)
    }

    /// Looks who leads.
    fn look(&self, now: Duration) -> Outcome<()> {
        let holder = Lease::holder(&self.objects, now).map_err(|error| self.lost(&error))?;
        let mut sign = self.sign.lock();
        match holder {
            Some((node, epoch)) => (sign.leader, sign.epoch) = (Some(node), epoch),
            None => sign.leader = None,
        }
        Ok(())
    }

    /// Has the lease for longer, where a part of its term has passed; follows where it is lost.
    pub(crate) fn renew(&self, now: Duration) -> Outcome<()> {
        let mut own = self.lease();
        let Some(lease) = own.as_mut() else {
            return Ok(());
        };
        if !self.sign.lock().leads {
            *own = None;
            return Ok(());
        }
        if now + self.options.term / TERM_PARTS * (TERM_PARTS - 1) < lease.until() {
            return Ok(());
        }
        let renewed = lease.renew(&self.objects, (now, self.options.term));
        let until = lease.until();
        let is_kept = match &renewed {
            Ok(is_ours) => *is_ours,
            Err(_) => now < until,
        };
        if is_kept {
            self.until
                .store(until.as_millis() as u64, Ordering::Release);
        } else {
            *own = None;
            drop(own);
            self.step_down(&mut self.log());
        }
        renewed.map(|_| ()).map_err(|error| self.lost(&error))
    }

    /// Follows from now on, and lets another lead at once.
    pub(crate) fn leave(&self, now: Duration) -> Outcome<()> {
        // Nothing is appended once this is seen; what is being appended is in the log before that.
        self.until.store(0, Ordering::Release);
        self.step_down(&mut self.log());
        let Some(mut lease) = self.lease().take() else {
            return Ok(());
        };
        let left = lease.give_up(&self.objects, now);
        left.map_err(|error| self.lost(&error))
    }

    fn step_down(&self, log: &mut LogEnd) {
        log.writer = None;
        self.until.store(0, Ordering::Release);
        let mut sign = self.sign.lock();
        (sign.leads, sign.leader) = (false, None);
    }

    /// 412 where it does not lead.
    pub(crate) fn check_leads(&self) -> Outcome<()> {
        let sign = self.sign.lock();
        if sign.leads {
            return Ok(());
        }
        Err(match &sign.leader {
            Some(leader) => Failure::behind(format_args!("{leader} leads {}", self.name)),
            None => Failure::behind(format_args!("{} has no leader", self.name)),
        })
    }

    /// 412 where the indexes do not have the log up to a number, or nobody knows how far it is.
    pub(crate) fn check_read(&self, least: u64) -> Outcome<()> {
        let sign = self.sign.lock();
        let (node, name, own) = (&self.node, &self.name, sign.sequence);
        if !sign.is_ready {
            let words = format!("{node} reads the log of {name}, and has {own} records of it");
            return Err(Failure::behind(words));
        }
        if own < least {
            let words = format!("{node} has {own} records of {name}, and {least} are asked for");
            return Err(Failure::behind(words));
        }
        Ok(())
    }

    /// Before a change: what was appended and did not come into the indexes comes into them. Gives
    /// the number of the next record.
    pub(crate) fn begin(&self, redo: Redo<'_>) -> Outcome<u64> {
        self.check_leads()?;
        let mut log = self.log();
        let last = log.writer.as_ref().map_or(0, SharedLog::last);
        if log.applied < last {
            self.apply_behind(&mut log, redo)?;
        }
        Ok(log.applied + 1)
    }

    /// Puts a record into the log at `now`: when this returns it is there for good, by its number,
    /// and is to be applied, which [`Self::settled`] is told.
    ///
    /// # Errors
    /// 412 where it is not in the log, and another node leads; 503 where nobody knows.
    pub(crate) fn append(&self, record: &[u8], now: Duration) -> Outcome<u64> {
        let mut log = self.log();
        let applied = log.applied;
        let is_held = (now.as_millis() as u64) < self.until.load(Ordering::Acquire);
        let Some(writer) = log.writer.as_mut().filter(|_| is_held) else {
            return Err(Failure::behind(format_args!(
                "{} does not lead {}",
                self.node, self.name
            )));
        };
        if writer.last() < applied {
            // Another has appended since.
            self.step_down(&mut log);
            return Err(Failure::behind(format_args!("another leads {}", self.name)));
        }
        if writer.last() > applied {
            let words = "what was changed before is not in the index";
            return Err(Failure::reopening(words));
        }
        match writer.append(&self.objects, record) {
            Ok(Appended::At(number)) => Ok(number),
            Ok(Appended::Fenced) => {
                self.step_down(&mut log);
                let words = format!("another node leads {}", self.name);
                Err(Failure::behind(words))
            }
            Err(error) => {
                // It reads what became of it when it leads again.
                self.step_down(&mut log);
                Err(Failure::in_doubt(error))
            }
        }
    }

    /// The record of a number, which was appended, is in the indexes.
    pub(crate) fn settled(&self, number: u64) {
        let mut log = self.log();
        log.applied = number;
        log.epoch = log.writer.as_ref().map(SharedLog::epoch).or(log.epoch);
        self.sign.lock().sequence = number;
    }

    fn lost(&self, error: &io::Error) -> Failure {
        Failure::incomplete(format_args!("the object store of {}: {error}", self.name))
    }

    fn log(&self) -> MutexGuard<'_, LogEnd> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lease(&self) -> MutexGuard<'_, Option<Lease>> {
        self.lease.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
