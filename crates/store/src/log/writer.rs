//! Appending.

use super::file::{FileHandle, LogFile, Prepared};
use super::group::{GroupBuffer, GroupHead, STEP, most_bytes, padded};
use super::header::{HEADER_BYTES, LogHeader};
use super::tail::settle;
use super::{LogPlace, LogTail, Lsn, MAX_RECORD_BYTES};
use crate::StoreError;

/// What a log begins with where the disk has no room for a whole file: such a part of the reserve.
const RESERVE_PARTS: [u64; 2] = [1, 16];

/// Which part of a file a batch may fill.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Room {
    /// All but the reserve.
    #[default]
    Ordinary,
    /// The reserve too, once the disk is full: for deletes, which make room.
    Reserve,
}

/// The end of a log. Records are collected in a group, which is written when it is full or when
/// that is asked for.
///
/// The first write or sync that fails is final: nobody knows what the file holds. From then on all
/// calls fail as [`StoreError::Poisoned`]; a log that is replayed and continued goes on. Holds one
/// buffer of 256 KiB, or as long as the longest record.
#[derive(Debug)]
pub struct LogWriter {
    place: LogPlace,
    file: LogFile,
    group: GroupBuffer,
    /// Checksum of the last group with records.
    chain: u32,
    /// Number of the next record.
    next: Lsn,
    written: Lsn,
    durable: Lsn,
    /// Whether a group behind the last record says that it is durable.
    covered: bool,
    /// Bytes of groups that this writer wrote.
    bytes: u64,
    failed: Option<String>,
}

/// A sync that is under way.
#[derive(Debug)]
pub(super) struct Syncing {
    /// What is to be synced, if anything is.
    file: Option<FileHandle>,
    /// The last record that is durable afterwards.
    written: Lsn,
}

impl Syncing {
    pub(super) fn run(&self) -> Result<(), StoreError> {
        self.file.as_ref().map_or(Ok(()), FileHandle::sync)
    }
}

impl LogWriter {
    /// Begins a log whose first record has the number after `floor`, in a directory without one.
    ///
    /// Where the disk has no room for a whole file, it begins with one for deletes alone.
    ///
    /// What an earlier attempt left is removed; `Invalid` if that holds records, since they belong
    /// to somebody. Durable when it returns: one file sync and one directory sync.
    pub fn create(place: &LogPlace, floor: Lsn) -> Result<Self, StoreError> {
        super::tail::clear(place)?;
        Self::begin(place, &LogTail::empty(floor, 0))
    }

    /// Goes on behind what was replayed, in a new file.
    ///
    /// What the replay read and nothing told to be durable is written once more and synced first:
    /// after a failed sync the system may show bytes that the device does not have. Files behind a
    /// damage that was to be salvaged are renamed to `*.lost`, and the damaged one is copied there,
    /// if the disk has room for it.
    pub fn continue_after(place: &LogPlace, tail: &LogTail) -> Result<Self, StoreError> {
        settle(place, tail)?;
        let writer = Self::begin(place, tail)?;
        tail.cut(place, writer.file.first());
        Ok(writer)
    }

    fn begin(place: &LogPlace, tail: &LogTail) -> Result<Self, StoreError> {
        let header = LogHeader {
            log: place.log,
            sequence: tail.sequence.wrapping_add(1),
            first: tail.last.next(),
            capacity: capacity(place, 0),
            chain: tail.chain,
        };
        let file = first_file(place, header)?.publish(place)?;
        Ok(Self {
            place: place.clone(),
            file,
            group: GroupBuffer::new(),
            chain: tail.chain,
            next: tail.last.next(),
            written: tail.last,
            durable: tail.last,
            covered: true,
            bytes: 0,
            failed: None,
        })
    }

    /// The last record appended.
    pub fn last(&self) -> Lsn {
        self.next.before()
    }

    /// The last record written, which a kill does not lose.
    pub fn written(&self) -> Lsn {
        self.written
    }

    /// The last record synced, which a power cut does not lose.
    pub fn durable(&self) -> Lsn {
        self.durable
    }

    /// Checksum of the last group with records: what a file that begins now continues.
    pub fn chain(&self) -> u32 {
        self.chain
    }

    /// Makes sure that so many records, of so many bytes together, find room, beginning a new file
    /// if need be.
    ///
    /// `NoSpace` where the disk is full, and `Io` where a file cannot be created: then the log is
    /// as it was, and goes on.
    pub fn reserve(&mut self, records: u64, bytes: u64, room: Room) -> Result<(), StoreError> {
        self.check()?;
        let pending = u64::from(self.group.records());
        let payload = self.group.payload_bytes() as u64;
        let needed = most_bytes(
            records.saturating_add(pending),
            bytes.saturating_add(payload),
        );
        // A closing group always fits.
        let left = self.file.room().saturating_sub(STEP);
        if needed <= left.saturating_sub(self.place.reserve_bytes) {
            return Ok(());
        }
        match self.next_file(most_bytes(records, bytes)) {
            Err(StoreError::NoSpace { .. })
                if room == Room::Reserve && needed <= left && self.failed.is_none() =>
            {
                Ok(())
            }
            begun => begun,
        }
    }

    /// Appends a record, given in parts, for which room was reserved. In memory until the group is
    /// written; a group that is full is written first.
    pub fn append(&mut self, parts: &[&[u8]]) -> Result<Lsn, StoreError> {
        self.check()?;
        let length: usize = parts.iter().map(|part| part.len()).sum();
        if length > MAX_RECORD_BYTES {
            return Err(StoreError::invalid(format!(
                "a log record of {length} bytes: the limit is {MAX_RECORD_BYTES}"
            )));
        }
        if !self.group.takes(length) {
            self.write()?;
        }
        let payload = self
            .group
            .payload_bytes()
            .saturating_add(length)
            .saturating_add(4);
        if padded(payload) as u64 + STEP > self.file.room() {
            return Err(StoreError::invalid(
                "a log record for which no room was reserved",
            ));
        }
        self.group.push(parts);
        self.next = self.next.next();
        Ok(self.last())
    }

    /// Hands everything appended to the operating system, and returns the last record written.
    pub fn write(&mut self) -> Result<Lsn, StoreError> {
        self.check()?;
        if self.group.records() > 0 {
            self.put(false)?;
            self.written = self.last();
            self.covered = false;
        }
        Ok(self.written)
    }

    /// Makes everything appended durable, and returns its last record. Costs one sync, or none
    /// where all was durable.
    pub fn sync(&mut self) -> Result<Lsn, StoreError> {
        let syncing = self.begin_sync()?;
        let synced = syncing.run();
        self.end_sync(&syncing, synced)
    }

    /// Writes everything appended, and says what has to be synced. That can be done without the
    /// writer; its end has to be told before anything else is appended.
    pub(super) fn begin_sync(&mut self) -> Result<Syncing, StoreError> {
        self.write()?;
        Ok(Syncing {
            file: (self.durable < self.written).then(|| self.file.handle()),
            written: self.written,
        })
    }

    /// Takes in how a sync went, and returns the last durable record.
    pub(super) fn end_sync(
        &mut self,
        syncing: &Syncing,
        synced: Result<(), StoreError>,
    ) -> Result<Lsn, StoreError> {
        self.poison_by(synced)?;
        self.durable = self.durable.max(syncing.written);
        Ok(self.durable)
    }

    /// Adds a group without records that says how far the log is durable, so that damage of the
    /// last records is told from a write that a crash cut short. For times of rest: two syncs the
    /// first time, nothing after that.
    pub fn cover(&mut self) -> Result<(), StoreError> {
        self.sync()?;
        if self.covered || self.file.room() < 2 * STEP {
            return Ok(());
        }
        self.put(false)?;
        self.flush()?;
        self.covered = true;
        Ok(())
    }

    /// Makes everything durable, ends the file for good, and gives back its room.
    pub fn close(mut self) -> Result<Lsn, StoreError> {
        let last = self.sync()?;
        self.put(true)?;
        self.flush()?;
        self.file.cut();
        Ok(last)
    }

    /// Makes everything durable and goes on in a new file, and returns the last record before it:
    /// the floor of what is checkpointed from here. `NoSpace` leaves the log as it was.
    pub fn rotate(&mut self) -> Result<Lsn, StoreError> {
        self.sync()?;
        if !self.file.is_empty() {
            self.next_file(0)?;
        }
        Ok(self.last())
    }

    /// Removes files that hold nothing above the floor, oldest first.
    ///
    /// The manifest that says so is durable, its directory synced. A file that a crash brings back
    /// is removed next time.
    pub fn remove_below(&self, floor: Lsn) -> Result<(), StoreError> {
        remove_below(&self.place, floor)
    }

    /// Bytes of groups that this writer has written.
    pub fn written_bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether the log still takes records, or why not.
    pub fn check(&self) -> Result<(), StoreError> {
        match &self.failed {
            None => Ok(()),
            Some(why) => Err(StoreError::Poisoned {
                path: self.file.path().to_path_buf(),
                why: why.clone(),
            }),
        }
    }

    /// Writes the group at hand, which may be without records.
    fn put(&mut self, closing: bool) -> Result<(), StoreError> {
        let head = GroupHead {
            first: self.next.before_by(u64::from(self.group.records())),
            durable: self.durable,
            chain: self.chain,
            records: 0,
            closing,
            payload_bytes: 0,
        };
        let group = self.group.seal(self.file.seal, self.file.end, &head);
        let crc = super::group::checksum(group);
        self.bytes += group.len() as u64;
        let written = self.file.write(group);
        let records = self.group.records();
        self.group.clear();
        self.poison_by(written)?;
        if records > 0 {
            self.chain = crc;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        let synced = self.file.handle().sync();
        self.poison_by(synced)
    }

    /// Begins a file with room for so many bytes of groups at least.
    fn next_file(&mut self, bytes: u64) -> Result<(), StoreError> {
        self.sync()?;
        let header = LogHeader {
            log: self.place.log,
            sequence: self.file.header.sequence.wrapping_add(1),
            first: self.next,
            capacity: capacity(&self.place, bytes),
            chain: self.chain,
        };
        let prepared = Prepared::new(&self.place, header)?;
        let published = prepared.publish(&self.place);
        let file = self.poison_by(published)?;
        std::mem::replace(&mut self.file, file).cut();
        Ok(())
    }

    fn poison_by<T>(&mut self, result: Result<T, StoreError>) -> Result<T, StoreError> {
        if let Err(error) = &result {
            self.failed = Some(error.to_string());
        }
        result
    }
}

/// Removes files of which the next one begins at or below the record after the floor.
pub(super) fn remove_below(place: &LogPlace, floor: Lsn) -> Result<(), StoreError> {
    let files = place.files()?;
    for (file, next) in files.iter().zip(files.iter().skip(1)) {
        if *next <= floor.next() {
            place.remove(&place.path(*file))?;
        }
    }
    Ok(())
}

/// The file that a log begins with. Where the disk has no room for it, one that is all reserve, as
/// long as fits: deletes find room there, and other changes ask for a whole file.
fn first_file(place: &LogPlace, header: LogHeader) -> Result<Prepared, StoreError> {
    let mut prepared = Prepared::new(place, header);
    for part in RESERVE_PARTS {
        if !matches!(prepared, Err(StoreError::NoSpace { .. })) {
            break;
        }
        let capacity = (HEADER_BYTES + place.reserve_bytes / part).next_multiple_of(HEADER_BYTES);
        let short = LogHeader { capacity, ..header };
        let shorter = Prepared::new(place, short);
        // Who makes room should make it for a whole file.
        prepared = shorter.or(prepared);
    }
    prepared
}

/// Length of a file that takes so many bytes of groups, its reserve, and a group that closes it.
fn capacity(place: &LogPlace, bytes: u64) -> u64 {
    let least = bytes
        .saturating_add(HEADER_BYTES + 2 * STEP)
        .saturating_add(place.reserve_bytes);
    place.file_bytes.max(least).next_multiple_of(HEADER_BYTES)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{append, found, place, record, replay};
    use super::super::{OnDamage, replay_log};
    use super::*;
    use crate::{OpenMode, OsVfs, Vfs};

    #[test]
    fn what_is_appended_comes_back_and_goes_on() {
        let root = tempfile::tempdir().unwrap();
        let place = place(root.path());
        let mut writer = LogWriter::create(&place, Lsn::NONE).unwrap();
        assert_eq!(append(&mut writer, 3).unwrap(), Lsn(3));
        assert_eq!((writer.written(), writer.durable()), (Lsn(3), Lsn::NONE));
        assert_eq!(append(&mut writer, 400).unwrap(), Lsn(403));
        assert_eq!(writer.sync().unwrap(), Lsn(403));
        drop(writer);
        for round in 1..4 {
            let tail = replay(&place, 0).unwrap().tail;
            assert_eq!(tail.last(), Lsn(402 + round));
            let mut writer = LogWriter::continue_after(&place, &tail).unwrap();
            append(&mut writer, 1).unwrap();
            writer.sync().unwrap();
        }
        assert_eq!(found(&place), 406);
        assert_eq!(replay(&place, 404).unwrap().records, 2);
    }

    #[test]
    fn records_in_memory_are_lost_and_those_written_are_not() {
        let root = tempfile::tempdir().unwrap();
        let place = place(root.path());
        let mut writer = LogWriter::create(&place, Lsn(10)).unwrap();
        writer.reserve(2, 1000, Room::Ordinary).unwrap();
        for lsn in [11, 12] {
            assert_eq!(writer.append(&[&record(Lsn(lsn))]).unwrap(), Lsn(lsn));
            assert_eq!(replay(&place, 10).unwrap().records, lsn - 11);
            writer.write().unwrap();
        }
        assert_eq!(replay(&place, 10).unwrap().records, 2);
    }

    #[test]
    fn a_full_file_is_followed_by_another_and_gives_back_its_room() {
        let root = tempfile::tempdir().unwrap();
        let place = place(root.path());
        let mut writer = LogWriter::create(&place, Lsn::NONE).unwrap();
        for _ in 0..300 {
            append(&mut writer, 2).unwrap();
        }
        let files = place.files().unwrap();
        assert!(files.len() > 3, "{files:?}");
        let length = |first: Lsn| {
            let file = OsVfs.open(&place.path(first), OpenMode::Read).unwrap();
            file.len().unwrap()
        };
        assert!(length(files[0]) < 64 << 10);
        assert_eq!(length(*files.last().unwrap()), 64 << 10);
        assert_eq!(found(&place), 600);
        let floor = Lsn(files[2].0 - 1);
        writer.remove_below(floor).unwrap();
        assert_eq!(place.files().unwrap(), files[2..]);
        assert_eq!(replay(&place, floor.0).unwrap().records, 600 - floor.0);
        writer.remove_below(floor.next()).unwrap();
        assert_eq!(place.files().unwrap(), files[2..]);
        writer.remove_below(writer.last()).unwrap();
        assert_eq!(place.files().unwrap().len(), 1, "the last file stays");
    }

    #[test]
    fn rotating_cuts_at_the_last_record_and_an_empty_file_is_not_followed() {
        let root = tempfile::tempdir().unwrap();
        let place = place(root.path());
        let mut writer = LogWriter::create(&place, Lsn::NONE).unwrap();
        assert_eq!(writer.rotate().unwrap(), Lsn::NONE);
        append(&mut writer, 5).unwrap();
        for _ in 0..2 {
            assert_eq!(writer.rotate().unwrap(), Lsn(5));
            assert_eq!(place.files().unwrap(), [Lsn(1), Lsn(6)]);
        }
        assert_eq!(writer.durable(), Lsn(5));
        writer.remove_below(Lsn(5)).unwrap();
        append(&mut writer, 1).unwrap();
        assert_eq!(replay(&place, 5).unwrap().records, 1);
    }

    #[test]
    fn a_batch_that_is_longer_than_a_file_gets_a_file_of_its_own() {
        let root = tempfile::tempdir().unwrap();
        let place = place(root.path());
        let mut writer = LogWriter::create(&place, Lsn::NONE).unwrap();
        append(&mut writer, 1).unwrap();
        append(&mut writer, 2000).unwrap();
        append(&mut writer, 1).unwrap();
        assert_eq!(place.files().unwrap(), [Lsn(1), Lsn(2)]);
        assert_eq!(found(&place), 2002);
    }

    #[test]
    fn what_was_not_reserved_or_is_too_long_is_refused_and_harms_nothing() {
        let root = tempfile::tempdir().unwrap();
        let place = place(root.path());
        let mut writer = LogWriter::create(&place, Lsn::NONE).unwrap();
        let long = vec![0; MAX_RECORD_BYTES + 1];
        for length in [MAX_RECORD_BYTES + 1, MAX_RECORD_BYTES, 62 << 10] {
            let refused = writer.append(&[&long[..length]]).unwrap_err();
            assert!(matches!(refused, StoreError::Invalid { .. }), "{length}");
        }
        assert_eq!(writer.last(), Lsn::NONE);
        writer
            .reserve(1, MAX_RECORD_BYTES as u64, Room::Ordinary)
            .unwrap();
        writer.append(&[&long[1..]]).unwrap();
        writer.sync().unwrap();
        let tail = replay_log(&place, Lsn::NONE, OnDamage::Refuse, |_, bytes| {
            assert_eq!(bytes.len(), MAX_RECORD_BYTES);
            Ok::<(), StoreError>(())
        });
        assert_eq!(tail.unwrap().records, 1);
    }

    #[test]
    fn a_closed_log_is_short_and_says_so() {
        let root = tempfile::tempdir().unwrap();
        let place = place(root.path());
        let mut writer = LogWriter::create(&place, Lsn::NONE).unwrap();
        append(&mut writer, 3).unwrap();
        assert!(!replay(&place, 0).unwrap().closed);
        assert_eq!(writer.close().unwrap(), Lsn(3));
        let replayed = replay(&place, 0).unwrap();
        assert!(replayed.closed);
        let file = OsVfs.open(&place.path(Lsn(1)), OpenMode::Read).unwrap();
        assert!(file.len().unwrap() < 8 << 10);
        // Opened and closed without a record: one short file more, which replaces itself.
        for _ in 0..3 {
            let tail = replay(&place, 0).unwrap().tail;
            LogWriter::continue_after(&place, &tail)
                .unwrap()
                .close()
                .unwrap();
            assert_eq!(place.files().unwrap(), [Lsn(1), Lsn(4)]);
        }
        assert_eq!(found(&place), 3);
    }

    #[test]
    fn a_log_is_created_over_leftovers_but_not_over_records() {
        let root = tempfile::tempdir().unwrap();
        let place = place(root.path());
        drop(LogWriter::create(&place, Lsn(8)).unwrap());
        let mut writer = LogWriter::create(&place, Lsn::NONE).unwrap();
        assert_eq!(place.files().unwrap(), [Lsn(1)]);
        append(&mut writer, 1).unwrap();
        let refused = LogWriter::create(&place, Lsn::NONE).unwrap_err();
        assert!(refused.to_string().contains("holds records"), "{refused}");
        assert_eq!(found(&place), 1);
    }
}
