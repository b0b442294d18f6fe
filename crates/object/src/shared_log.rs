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
//! Invariants: no number is skipped; what was acknowledged at a number is what every reader finds
//! there; epochs never go down along the log.

use std::io;

use pageway_store::{OsVfs, Vfs};

use crate::Objects;

const HEAD_BYTES: usize = 8 + 16 + 4;

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
    /// [`Lease`](crate::Lease). None where a writer of that epoch or of a later one has begun.
    ///
    /// # Errors
    /// As the store is, for a record that is damaged, and of `visit`.
    pub fn lead(
        objects: &Objects,
        (epoch, after): (u64, u64),
        visit: &mut dyn FnMut(SharedRecord) -> io::Result<()>,
    ) -> io::Result<Option<Self>> {
        let mut place = (after, epoch_at(objects, after)?);
        loop {
            place = Self::read_behind(objects, place, visit)?;
            let (last, newest) = place;
            if newest >= epoch {
                return Ok(None);
            }
            let mut own = Self {
                epoch,
                next: last + 1,
                state: WriterState::Writes,
            };
            if let Appended::At(_) = own.append(objects, &[])? {
                return Ok(Some(own));
            }
            // Somebody has appended since: that is read too.
        }
    }

    /// Shows records behind the number `after`; the number of the last.
    ///
    /// # Errors
    /// As [`Self::lead`].
    pub fn read(
        objects: &Objects,
        after: u64,
        visit: &mut dyn FnMut(SharedRecord) -> io::Result<()>,
    ) -> io::Result<u64> {
        let place = (after, epoch_at(objects, after)?);
        let (last, _) = Self::read_behind(objects, place, visit)?;
        Ok(last)
    }

    fn read_behind(
        objects: &Objects,
        (after, before): (u64, u64),
        visit: &mut dyn FnMut(SharedRecord) -> io::Result<()>,
    ) -> io::Result<(u64, u64)> {
        let (mut last, mut epoch) = (after, before);
        while let Some(record) = Self::next(objects, (last, epoch))? {
            (last, epoch) = (record.number, record.epoch);
            visit(record)?;
        }
        Ok((last, epoch))
    }

    /// The record behind that of a number and an epoch, or none yet.
    ///
    /// # Errors
    /// As [`Self::lead`].
    pub fn next(objects: &Objects, (after, epoch): (u64, u64)) -> io::Result<Option<SharedRecord>> {
        let record = record_at(objects, after + 1)?;
        if record.as_ref().is_some_and(|own| own.epoch < epoch) {
            let name = name_of(after + 1);
            let words = format!("{}/{name}: of an older writer", objects.url());
            return Err(io::Error::other(words));
        }
        Ok(record)
    }

    /// The epoch of its records.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The number of its last record, or of its fence.
    pub fn last(&self) -> u64 {
        self.next - 1
    }

    /// Appends a record. It is acknowledged by its number alone.
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
        self.state = WriterState::Writes;
        self.next += 1;
        Ok(Appended::At(self.next - 1))
    }
}

/// The epoch of a record that must be there; 0 before the first.
///
/// # Errors
/// Where it is not there, or is damaged; as the store is.
pub fn epoch_at(objects: &Objects, number: u64) -> io::Result<u64> {
    if number == 0 {
        return Ok(0);
    }
    let absent = || {
        let words = format!("{}/{}: not there", objects.url(), name_of(number));
        io::Error::other(words)
    };
    let record = record_at(objects, number)?.ok_or_else(absent)?;
    Ok(record.epoch)
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
    format!("log/{number:020}")
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
