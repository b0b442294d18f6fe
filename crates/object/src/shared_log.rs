//! A log that one writer at a time appends to, and that no writer of before can touch.
//!
//! ```text
//! log/00000000000000000001   epoch u64 | 16 bytes of the append | crc32c u32 | bytes of the record
//! ```
//!
//! Little-endian; the checksum is of all other bytes. A record is an object that is created, and
//! never replaced, at the next number. A writer that begins reads to the end and puts a fence
//! there: an empty record of its epoch. A writer of before is then at a number that is taken, and
//! learns that it is fenced, however long it was paused and whatever its clock says.
//!
//! Its first records may be cut, where a [`LogSnapshot`] holds them. A number that was cut can be
//! created again, by a writer that was paused before it was: what is found at a number counts once
//! the pointer of the snapshot, read after that, says that it is not cut.
//!
//! Invariants: no number is skipped; what was acknowledged at a number is what every reader finds
//! there, or in the snapshot; epochs never go down along the log.

use std::io;

use pageway_store::{OsVfs, Vfs};

use crate::Objects;
use crate::log_snapshot::LogSnapshot;

/// The folder of records.
pub(crate) const LOG: &str = "log";
const HEAD_BYTES: usize = 8 + 16 + 4;
/// Records that are read before the pointer of the snapshot is looked at.
const AT_ONCE: u64 = 8;

/// A record of the log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SharedRecord {
    /// From 1 on.
    pub number: u64,
    /// That of the writer.
    pub epoch: u64,
    /// None of a fence.
    pub bytes: Vec<u8>,
}

/// What is behind a place in a log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LogNext {
    /// The next record.
    Record(SharedRecord),
    /// Nothing yet.
    End,
    /// Records that were cut: this holds them.
    Cut(LogSnapshot),
}

/// What became of the wish to write.
#[derive(Debug)]
pub enum LogLead {
    /// It is the writer.
    Writes(SharedLog),
    /// A writer of that epoch or of a later one has begun.
    Taken,
    /// Records behind the place that was given are cut: this holds them.
    Cut(LogSnapshot),
}

/// What became of an append.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Appended {
    /// It is in the log at this number, for good.
    At(u64),
    /// Another writer has begun: it is not in the log, and nothing of this writer will be.
    Fenced,
}

/// The end of a log, for the one who writes.
#[derive(Debug)]
pub struct SharedLog {
    epoch: u64,
    next: u64,
    state: WriterState,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum WriterState {
    Writes,
    Fenced,
    /// Nobody knows whether the last append is in the log.
    Doubtful,
}

impl SharedLog {
    /// Shows records behind the number `after`, and becomes the writer, with the epoch of a
    /// [`Lease`](crate::Lease).
    ///
    /// # Errors
    /// As the store is, for a record that is damaged, and of `visit`.
    pub fn lead(
        objects: &Objects,
        (epoch, after): (u64, u64),
        visit: &mut dyn FnMut(SharedRecord) -> io::Result<()>,
    ) -> io::Result<LogLead> {
        let mut place = match place_of(objects, after)? {
            Ok(place) => place,
            Err(snapshot) => return Ok(LogLead::Cut(snapshot)),
        };
        loop {
            place = match Self::read_behind(objects, place, visit)? {
                Ok(place) => place,
                Err(snapshot) => return Ok(LogLead::Cut(snapshot)),
            };
            let (last, newest) = place;
            if newest >= epoch {
                return Ok(LogLead::Taken);
            }
            let mut own = Self {
                epoch,
                next: last + 1,
                state: WriterState::Writes,
            };
            if let Appended::At(_) = own.append(objects, &[])? {
                return Ok(LogLead::Writes(own));
            }
            // Somebody has appended since: that is read too.
        }
    }

    /// Shows records behind the number `after`; the number of the last.
    ///
    /// # Errors
    /// As [`Self::lead`], and where they were cut.
    pub fn read(
        objects: &Objects,
        after: u64,
        visit: &mut dyn FnMut(SharedRecord) -> io::Result<()>,
    ) -> io::Result<u64> {
        let cut = |_| io::Error::other(format!("{}/{LOG}: cut behind {after}", objects.url()));
        let place = place_of(objects, after)?.map_err(cut)?;
        let (last, _) = Self::read_behind(objects, place, visit)?.map_err(cut)?;
        Ok(last)
    }

    /// The place of the last record behind one, or the snapshot that holds what was cut.
    fn read_behind(
        objects: &Objects,
        (after, before): (u64, u64),
        visit: &mut dyn FnMut(SharedRecord) -> io::Result<()>,
    ) -> io::Result<Result<(u64, u64), LogSnapshot>> {
        let mut place = (after, before);
        loop {
            let records = match some_behind(objects, place, AT_ONCE)? {
                Ok(records) => records,
                Err(snapshot) => return Ok(Err(snapshot)),
            };
            if records.is_empty() {
                return Ok(Ok(place));
            }
            for record in records {
                place = (record.number, record.epoch);
                visit(record)?;
            }
        }
    }

    /// What is behind a number and its epoch. Two requests.
    ///
    /// # Errors
    /// As [`Self::lead`].
    pub fn next(objects: &Objects, place: (u64, u64)) -> io::Result<LogNext> {
        Ok(match some_behind(objects, place, 1)? {
            Err(snapshot) => LogNext::Cut(snapshot),
            Ok(mut records) => records.pop().map_or(LogNext::End, LogNext::Record),
        })
    }

    /// The epoch of its records.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The number of its last record, or of its fence.
    pub fn last(&self) -> u64 {
        self.next - 1
    }

    /// Appends a record. It is acknowledged by its number alone. Two requests.
    ///
    /// # Errors
    /// As the store is: nobody knows then whether the record is in the log, and a writer that wants
    /// to go on takes the lease again and reads.
    pub fn append(&mut self, objects: &Objects, record: &[u8]) -> io::Result<Appended> {
        match self.state {
            WriterState::Writes => {}
            WriterState::Fenced => return Ok(Appended::Fenced),
            WriterState::Doubtful => {
                return Err(io::Error::other(
                    "the last append to the log may be in it or not: lead it again",
                ));
            }
        }
        self.state = WriterState::Doubtful;
        let bytes = encode((self.epoch, OsVfs.unique()?), record);
        let name = name_of(self.next);
        // Where an acknowledgement was lost and the put repeated, what lies there is our own.
        let is_there = objects.create(&name, bytes.clone())?
            || objects.get(&name)?.is_some_and(|(found, _)| found == bytes);
        if !is_there {
            self.state = WriterState::Fenced;
            return Ok(Appended::Fenced);
        }
        // After the put: the number may have been cut while this writer was paused.
        let snapshot = LogSnapshot::current(objects)?;
        if snapshot.is_some_and(|own| own.cut_place().0 >= self.next) {
            return Err(io::Error::other(format!(
                "{}/{name}: the log was cut behind it by another writer",
                objects.url()
            )));
        }
        self.state = WriterState::Writes;
        self.next += 1;
        Ok(Appended::At(self.next - 1))
    }
}

/// Up to so many records behind a number and its epoch, or the snapshot that holds what was cut.
fn some_behind(
    objects: &Objects,
    (after, mut epoch): (u64, u64),
    most: u64,
) -> io::Result<Result<Vec<SharedRecord>, LogSnapshot>> {
    let mut records = Vec::new();
    while (records.len() as u64) < most
        && let Some(record) = record_at(objects, after + 1 + records.len() as u64)?
    {
        records.push(record);
    }
    // After the records: what is found at a number that was cut is no record of the log.
    if let Some(snapshot) = LogSnapshot::current(objects)?
        && snapshot.cut_place().0 > after
    {
        return Ok(Err(snapshot));
    }
    for record in &records {
        if record.epoch < epoch {
            let name = name_of(record.number);
            let words = format!("{}/{name}: of an older writer", objects.url());
            return Err(io::Error::other(words));
        }
        epoch = record.epoch;
    }
    Ok(Ok(records))
}

/// A number with the epoch of its record, which must be there; 0 before the first. Or the snapshot
/// that holds it, where it was cut.
///
/// # Errors
/// Where it is not there, or is damaged; as the store is.
pub fn place_of(objects: &Objects, number: u64) -> io::Result<Result<(u64, u64), LogSnapshot>> {
    let record = match number {
        0 => None,
        number => record_at(objects, number)?,
    };
    if let Some(snapshot) = LogSnapshot::current(objects)? {
        let known = [snapshot.place(), snapshot.cut_place()];
        if let Some(place) = known.into_iter().find(|place| place.0 == number) {
            return Ok(Ok(place));
        }
        if number < snapshot.cut_place().0 {
            return Ok(Err(snapshot));
        }
    }
    if number == 0 {
        return Ok(Ok((0, 0)));
    }
    let absent = || {
        let words = format!("{}/{}: not there", objects.url(), name_of(number));
        io::Error::other(words)
    };
    let record = record.ok_or_else(absent)?;
    Ok(Ok((number, record.epoch)))
}

fn record_at(objects: &Objects, number: u64) -> io::Result<Option<SharedRecord>> {
    let name = name_of(number);
    let Some((bytes, _)) = objects.get(&name)? else {
        return Ok(None);
    };
    let damaged = || io::Error::other(format!("{}/{name}: damaged", objects.url()));
    decode(number, &bytes).ok_or_else(damaged).map(Some)
}

fn name_of(number: u64) -> String {
    format!("{LOG}/{number:020}")
}

/// The number that a name in the folder is of.
pub(crate) fn number_of(name: &str) -> Option<u64> {
    name.parse().ok().filter(|_| name.len() == 20)
}

fn encode((epoch, append): (u64, [u8; 16]), record: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEAD_BYTES + record.len());
    bytes.extend(epoch.to_le_bytes());
    bytes.extend(append);
    let sum = crc32c::crc32c_append(crc32c::crc32c(&bytes), record);
    bytes.extend(sum.to_le_bytes());
    bytes.extend(record);
    bytes
}

fn decode(number: u64, bytes: &[u8]) -> Option<SharedRecord> {
    let (head, record) = bytes.split_at_checked(HEAD_BYTES)?;
    let (own, sum) = head.split_last_chunk()?;
    let expected = crc32c::crc32c_append(crc32c::crc32c(own), record);
    let epoch = u64::from_le_bytes(*own.first_chunk()?);
    (u32::from_le_bytes(*sum) == expected).then(|| SharedRecord {
        number,
        epoch,
        bytes: record.to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back_and_damage_is_seen() {
        let bytes = encode((7, [3; 16]), b"abc");
        let record = decode(4, &bytes).unwrap();
        assert_eq!(
            (record.number, record.epoch, record.bytes.as_slice()),
            (4, 7, &b"abc"[..])
        );
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 16;
            assert_eq!(decode(4, &damaged), None, "{at}");
            assert!(decode(4, bytes.get(..at).unwrap()).is_none(), "{at}");
        }
    }
}
