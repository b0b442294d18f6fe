//! A thread for each partition: it reads on where another node leads, takes the lease where nobody
//! does, renews its own, notes from time to time how much of the log is on the disk for sure, and
//! has snapshots made and taken.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use pageway::server::clock;
use pageway_object::LogNext;
use serde_json::json;

use super::archive::{Archivist, take};
use super::position::write_position;
use super::replica::Replica;
use crate::failure::{Failure, Outcome};
use crate::log::{Level, Log};
use crate::service::Service;

/// Time between two looks at the log.
const PAUSE: Duration = Duration::from_millis(100);
/// Time between two notes of the position.
const NOTE_EACH: Duration = Duration::from_secs(5);
/// Looks for a lease in a term.
const LOOKS_EACH: u32 = 8;

/// Keepers of all partitions of a service, until this is dropped.
pub(crate) struct Keepers {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Keepers {
    /// Begins.
    ///
    /// # Errors
    /// Where a thread cannot be made.
    pub(crate) fn start(service: &Arc<Service>, log: Log) -> std::io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let begin = |replica: &Arc<Replica>| {
            let (replica, stops) = (Arc::clone(replica), Arc::clone(&stop));
            let service = Arc::clone(service);
            let thread = std::thread::Builder::new().name("partition".to_owned());
            thread.spawn(move || {
                let mut keeper = Keeper::new(&service, &replica, log);
                while !stops.load(Ordering::Acquire) {
                    keeper.look();
                    std::thread::park_timeout(PAUSE);
                }
                keeper.end();
            })
        };
        let threads: std::io::Result<_> = service.partitions.values().map(begin).collect();
        Ok(Self {
            threads: threads?,
            stop,
        })
    }
}

impl Drop for Keepers {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        for thread in self.threads.drain(..) {
            thread.thread().unpark();
            // A thread that panicked has told so already.
            let _ = thread.join();
        }
    }
}

/// What looks after a partition.
struct Keeper<'k> {
    service: &'k Arc<Service>,
    replica: &'k Arc<Replica>,
    archivist: Archivist,
    log: Log,
    /// When the lease was looked for.
    looked: Option<Instant>,
    /// When the position was noted, and which.
    noted: (Instant, u64),
    led: bool,
}

impl<'k> Keeper<'k> {
    fn new(service: &'k Arc<Service>, replica: &'k Arc<Replica>, log: Log) -> Self {
        Self {
            archivist: Archivist::new(service, replica),
            service,
            replica,
            log,
            looked: None,
            noted: (clock::now(), replica.sign().sequence),
            led: false,
        }
    }

    /// Does what is due.
    fn look(&mut self) {
        let trouble = self.step().err().map(|failure| failure.text);
        let sign = self.replica.sign();
        if self.led != sign.leads {
            self.led = sign.leads;
            let more = json!({
                "partition": sign.name, "leads": sign.leads, "epoch": sign.epoch,
                "sequence": sign.sequence,
            });
            self.log.tell(Level::Info, "partition", more);
        }
        if self.replica.note(trouble.clone())
            && let Some(trouble) = trouble
        {
            let more = json!({"partition": sign.name, "error": trouble});
            self.log.tell(Level::Error, "partition", more);
        }
    }

    fn step(&mut self) -> Outcome<()> {
        if !self.is_there()? {
            return Ok(());
        }
        self.replica.renew(unix_time()?)?;
        loop {
            match self.replica.next()? {
                LogNext::End => break,
                LogNext::Cut(snapshot) => take(self.service, self.replica, &snapshot)?,
                LogNext::Record(record) => {
                    let open = self.service.collection(self.replica.name())?;
                    open.redo(&record)?;
                }
            }
        }
        let pause = self.replica.options().term / LOOKS_EACH;
        let is_due = self.looked.is_none_or(|last| last.elapsed() >= pause);
        if is_due && !self.replica.sign().leads {
            self.looked = Some(clock::now());
            let open = self.service.collection(self.replica.name())?;
            open.lead(self.replica)?;
        }
        if self.noted.0.elapsed() >= NOTE_EACH {
            self.note_position()?;
        }
        self.archivist.look()
    }

    /// Whether there is a collection: one that the object store knows is made.
    fn is_there(&self) -> Outcome<bool> {
        let name = self.replica.name();
        if self.service.registry.names().resolve(name).is_ok() {
            return Ok(true);
        }
        if let Some(snapshot) = self.replica.snapshot()? {
            take(self.service, self.replica, &snapshot)?;
            return Ok(true);
        }
        let Some(settings) = self.replica.settings()? else {
            return Ok(false);
        };
        let config = serde_json::from_slice(&settings).map_err(Failure::internal)?;
        self.service.make_collection(name, config)?;
        Ok(true)
    }

    fn note_position(&mut self) -> Outcome<()> {
        let number = self.replica.sign().sequence;
        if number > self.noted.1 {
            let name = self.replica.name();
            let (_, entry) = self.service.entry(name)?;
            // All up to the number is in the indexes, and is durable then.
            self.service.collection(name)?.sync_indexes()?;
            let registry = &self.service.registry;
            let dir = registry.dir_of(entry.number);
            write_position(registry.vfs().as_ref(), &dir, number)?;
        }
        self.noted = (clock::now(), number);
        Ok(())
    }

    /// Lets another lead, and notes how far this has come.
    fn end(&mut self) {
        let left = unix_time().and_then(|now| self.replica.leave(now));
        let noted = self.note_position();
        let made = self.archivist.finish();
        if let Err(failure) = left.and(noted).and(made) {
            let more = json!({"partition": self.replica.name(), "error": failure.text});
            self.log.tell(Level::Error, "partition", more);
        }
    }
}

/// The time since 1970, by which leases end.
pub(crate) fn unix_time() -> Outcome<Duration> {
    let none = || Failure::internal("the clock on the wall is before 1970");
    clock::unix_time().ok_or_else(none)
}
