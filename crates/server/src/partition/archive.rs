//! Snapshots of a partition: archives of its collection, made by who leads it, and taken by who has
//! less of the log than it begins with.

use std::io::Write as _;
use std::sync::Arc;
use std::thread::JoinHandle;

use pageway_object::{LogSnapshot, NewSnapshot};

use super::keeper::unix_time;
use super::replica::Replica;
use crate::failure::{Failure, Outcome};
use crate::restore::restore;
use crate::service::Service;

/// Makes snapshots while a partition is led, one at a time, on a thread of its own: the lease has
/// to be renewed meanwhile.
pub(super) struct Archivist {
    service: Arc<Service>,
    replica: Arc<Replica>,
    making: Option<JoinHandle<Outcome<()>>>,
    /// The record that the last one begins with, where that was looked for.
    last: Option<u64>,
}

impl Archivist {
    pub(super) fn new(service: &Arc<Service>, replica: &Arc<Replica>) -> Self {
        Self {
            service: Arc::clone(service),
            replica: Arc::clone(replica),
            making: None,
            last: None,
        }
    }

    /// Begins a snapshot where one is due.
    ///
    /// # Errors
    /// Those of the one before; as stores are.
    pub(super) fn look(&mut self) -> Outcome<()> {
        if self.making.as_ref().is_some_and(JoinHandle::is_finished) {
            self.last = None;
            self.finish()?;
        }
        let sign = self.replica.sign();
        if !sign.leads || self.making.is_some() {
            return Ok(());
        }
        let last = match self.last {
            Some(last) => last,
            None => self.replica.snapshot()?.map_or(0, |own| own.place().0),
        };
        self.last = Some(last);
        if sign.sequence < last + self.replica.options().snapshot_each {
            return Ok(());
        }
        let (service, replica) = (Arc::clone(&self.service), Arc::clone(&self.replica));
        let thread = std::thread::Builder::new().name("snapshot".to_owned());
        let making = thread.spawn(move || make(&service, &replica));
        self.making = Some(making.map_err(Failure::internal)?);
        Ok(())
    }

    /// Waits for the snapshot that is being made.
    pub(super) fn finish(&mut self) -> Outcome<()> {
        let panicked = |_| Failure::internal("a snapshot could not be made");
        let made = self.making.take().map(JoinHandle::join);
        made.map_or(Ok(()), |made| made.map_err(panicked)?)
    }
}

/// Removes what the snapshot before holds, where that is old enough, and makes the next.
fn make(service: &Service, replica: &Replica) -> Outcome<()> {
    // Before the copy: that has all of the log up to here, and maybe more.
    let Some((place, leader)) = replica.snapshot_place() else {
        return Ok(());
    };
    replica.cut(leader, unix_time()?)?;
    let name = replica.name();
    let made = service.archive(name)?;
    let published = service
        .snapshots
        .open_archive(name, &made.name)
        .and_then(|(file, bytes)| {
            let new = NewSnapshot {
                place,
                leader,
                bytes,
                sha256: made.checksum.clone().unwrap_or_default(),
            };
            replica.publish(&new, unix_time()?, &mut |at, length| {
                let mut part = vec![0; length as usize];
                file.read_exact_at(&mut part, at)?;
                Ok(part)
            })
        });
    service.snapshots.delete(name, &made.name)?;
    published.map(|_| ())
}

/// Puts a snapshot in place of what there is of a partition, or makes it.
///
/// # Errors
/// As stores and files are; where its bytes are not those that were sent.
pub(super) fn take(service: &Service, replica: &Replica, snapshot: &LogSnapshot) -> Outcome<()> {
    let (path, mut sink) = service.snapshots.receive()?;
    let fetched = replica.fetch(snapshot, &mut |part| sink.write_all(part));
    let taken = fetched.and_then(|()| {
        let (_, sha256) = sink.finish().map_err(Failure::internal)?;
        if sha256 != snapshot.sha256() {
            let name = replica.name();
            let words = format!("the snapshot of {name} in the object store is damaged");
            return Err(Failure::internal(words));
        }
        replica.begin_again();
        let number = snapshot.place().0;
        restore(service, replica.name(), (&path, Some(number)))?;
        replica.adopt(snapshot);
        Ok(())
    });
    service.snapshots.forget(&path);
    taken
}
