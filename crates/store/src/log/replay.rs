//! Reading a log from its floor to its end.
//!
//! | found | then |
//! |---|---|
//! | a bad group in the last file, none behind it that says it was durable | a crash cut it short |
//! | the same, with one behind it that says so | damage |
//! | records missing between two files, above the floor, or up to it | damage |
//! | a last file shorter than created, without a closing group at its end | damage |
//! | a file whose records are all at or below the floor | not read |
//! | a file behind the floor that does not continue the group before it | damage |
//! | a file of another log | refused, also when damage may be salvaged |
//!
//! A file ends where the next one begins: what a crash cut short in it stays there and is not read.
//! Writes nothing, so a reader may do it too.

use super::file_end::FileEnd;
use super::group::GroupHead;
use super::scan::Scan;
use super::{LogDamage, LogFloor, LogPlace, LogTail, Lsn};
use crate::StoreError;

/// What to do about damage.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum OnDamage {
    /// Fail. The files stay as they are.
    #[default]
    Refuse,
    /// Keep what stands before it, and say what is lost: the decision of a person.
    Salvage,
}

/// What a replay found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Replayed {
    /// Where to go on.
    pub tail: LogTail,
    /// Records above the floor.
    pub records: u64,
    /// Their bytes.
    pub record_bytes: u64,
    /// Files that were read.
    pub files: u64,
    /// Whether the log was closed: its writer neither crashed nor still runs.
    pub closed: bool,
    /// What was given up, where that was allowed.
    pub damage: Option<LogDamage>,
}

/// Calls `visit` for each record above the floor, in order.
///
/// `Corrupt` at damage, and where there is no file: then what was visited is of no use. Holds one
/// group, 1 MiB at most; reads every byte from the floor on once.
pub fn replay_log<E: From<StoreError>>(
    place: &LogPlace,
    floor: impl Into<LogFloor>,
    on_damage: OnDamage,
    mut visit: impl FnMut(Lsn, &[u8]) -> Result<(), E>,
) -> Result<Replayed, E> {
    let files = place.files()?;
    let mut replay = Replay::new(place, floor.into());
    let stopped = replay.run(&files, &mut visit)?;
    if let Some(damage) = stopped {
        if on_damage == OnDamage::Refuse {
            return Err(damage.error().into());
        }
        replay.give_up(&files, damage);
    }
    Ok(replay.done)
}

struct Replay<'p> {
    place: &'p LogPlace,
    floor: Lsn,
    /// Checksum that a file has to continue which begins behind the floor.
    chain: Option<u32>,
    /// Number of the next record.
    next: Lsn,
    done: Replayed,
}

/// Whether a file continues those before it, or why it is damage.
type Verdict = Result<(), LogDamage>;

impl<'p> Replay<'p> {
    fn new(place: &'p LogPlace, floor: LogFloor) -> Self {
        let LogFloor { lsn: floor, chain } = floor;
        Self {
            place,
            floor,
            chain,
            next: floor.next(),
            done: Replayed {
                tail: LogTail::empty(floor, chain.unwrap_or(0)),
                records: 0,
                record_bytes: 0,
                files: 0,
                closed: false,
                damage: None,
            },
        }
    }

    /// Reads all files that hold something above the floor; the damage at which it stopped.
    fn run<E: From<StoreError>>(
        &mut self,
        files: &[Lsn],
        visit: &mut impl FnMut(Lsn, &[u8]) -> Result<(), E>,
    ) -> Result<Option<LogDamage>, E> {
        let Some(&oldest) = files.first() else {
            return Ok(Some(self.missing(self.floor.next())));
        };
        let old = files.iter().filter(|first| **first <= self.floor.next());
        let Some(begin) = old.count().checked_sub(1) else {
            return Ok(Some(self.missing(oldest)));
        };
        for (number, &first) in files.iter().enumerate().skip(begin) {
            let next_file = files.get(number + 1).copied();
            let mut scan = match self.open(first)? {
                Ok(scan) => scan,
                Err(damage) => return Ok(Some(damage)),
            };
            if let Err(damage) = self.continues(&scan, number > begin) {
                return Ok(Some(damage));
            }
            self.read(&mut scan, next_file, visit)?;
            if let Err(damage) = self.ends(&mut scan, next_file)? {
                return Ok(Some(damage));
            }
        }
        Ok(None)
    }

    /// Opens a file; damage of its header is damage of the log, but not that it is another's.
    fn open(&mut self, first: Lsn) -> Result<Result<Scan, LogDamage>, StoreError> {
        match Scan::open(self.place, first) {
            Ok(scan) => {
                let tail = &mut self.done.tail;
                tail.sequence = tail.sequence.max(scan.header.sequence);
                Ok(Ok(scan))
            }
            Err(StoreError::Corrupt {
                path, offset, what, ..
            }) if what != super::scan::FOREIGN => Ok(Err(LogDamage {
                path,
                offset,
                what,
                first_lost: self.next,
                last_lost: first.max(self.next),
            })),
            Err(error) => Err(error),
        }
    }

    /// Whether a file continues the one before it, or the floor where it begins there.
    fn continues(&self, scan: &Scan, is_behind: bool) -> Verdict {
        let LogTail { last, chain, .. } = self.done.tail;
        let begins_at_floor = scan.header.first == self.floor.next();
        let is_other = self.chain.is_some_and(|chain| chain != scan.header.chain);
        let what = if begins_at_floor && is_other {
            "a log that went another way before the floor"
        } else if !is_behind {
            return Ok(());
        } else if scan.header.first != last.next() {
            "records missing between two files"
        } else if scan.header.chain != chain {
            "a file that continues another log"
        } else {
            return Ok(());
        };
        Err(self.damage(scan, what, scan.header.first.before()))
    }

    /// Visits the groups of a file, up to where the next one begins.
    fn read<E: From<StoreError>>(
        &mut self,
        scan: &mut Scan,
        next_file: Option<Lsn>,
        visit: &mut impl FnMut(Lsn, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.done.files += 1;
        self.reach(scan);
        while next_file != Some(scan.next) {
            let Some(head) = scan.next_group()? else {
                break;
            };
            self.visit(scan, &head, visit)?;
            self.reach(scan);
        }
        Ok(())
    }

    fn visit<E: From<StoreError>>(
        &mut self,
        scan: &mut Scan,
        head: &GroupHead,
        visit: &mut impl FnMut(Lsn, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut lsn = head.first;
        for record in scan.records(head)? {
            if lsn > self.floor {
                self.done.records += 1;
                self.done.record_bytes += record.len() as u64;
                visit(lsn, record)?;
            }
            lsn = lsn.next();
        }
        Ok(())
    }

    /// The log goes to where the scan stands.
    fn reach(&mut self, scan: &Scan) {
        let tail = &mut self.done.tail;
        tail.last = scan.next.before();
        tail.chain = scan.chain;
        tail.file = Some(FileEnd::of(scan));
        self.next = scan.next;
        self.done.closed = scan.closed;
    }

    /// Whether a file may end where reading it stopped.
    fn ends(&mut self, scan: &mut Scan, next_file: Option<Lsn>) -> Result<Verdict, StoreError> {
        if let Some(next_file) = next_file {
            if next_file == scan.next {
                return Ok(Ok(()));
            }
            let what = "records that lead to the next file";
            return Ok(Err(self.damage(scan, what, next_file.before())));
        }
        if let Some((told, last)) = scan.claims_behind()? {
            let what = "a group that was durable";
            return Ok(Err(self.damage(scan, what, last.max(told))));
        }
        if scan.next <= self.floor {
            let what = "records up to the floor";
            return Ok(Err(self.damage(scan, what, self.floor)));
        }
        let cut = scan.length() < scan.header.capacity;
        if cut && !(scan.closed && scan.at == scan.length()) {
            return Ok(Err(self.damage(
                scan,
                "length: a file cut short",
                scan.next,
            )));
        }
        Ok(Ok(()))
    }

    fn damage(&self, scan: &Scan, what: &'static str, last_lost: Lsn) -> LogDamage {
        LogDamage {
            path: scan.path.clone(),
            offset: scan.at,
            what,
            first_lost: self.next,
            last_lost: last_lost.max(self.next),
        }
    }

    /// Damage of a log that does not begin where it should.
    fn missing(&self, oldest: Lsn) -> LogDamage {
        LogDamage {
            path: self.place.path(self.next),
            offset: 0,
            what: "the file that holds the first records above the floor",
            first_lost: self.next,
            last_lost: oldest.before().max(self.next),
        }
    }

    /// Ends the log before the damage. Files behind its end are to be set aside, and those between
    /// are to be copied there.
    fn give_up(&mut self, files: &[Lsn], damage: LogDamage) {
        let tail = &mut self.done.tail;
        if tail.last < self.floor {
            tail.last = self.floor;
            tail.chain = self.chain.unwrap_or(tail.chain);
        }
        let (aside, sound) = files.iter().partition(|first| **first > tail.last);
        let is_damaged = |first: &Lsn| self.place.path(*first) >= damage.path;
        tail.aside = aside;
        tail.copied = Vec::into_iter(sound).filter(is_damaged).collect();
        tail.salvaged = true;
        self.done.closed = false;
        self.done.damage = Some(damage);
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{append, damage, found, is_corrupt, place, replay, replay_as};
    use super::super::{LogWriter, inspect_log};
    use super::*;
    use crate::{FileUuid, OpenMode, OsVfs, Vfs};

    /// Where groups begin in the file that begins with `first`, and where the last one ends.
    fn groups(place: &LogPlace, first: u64) -> Vec<u64> {
        let mut scan = Scan::open(place, Lsn(first)).unwrap();
        let mut at = vec![scan.at];
        while scan.next_group().unwrap().is_some() {
            at.push(scan.at);
        }
        at
    }

    /// Three groups of ten records; synced one by one, or not at all.
    fn three_groups(place: &LogPlace, synced: bool) -> LogWriter {
        let mut writer = LogWriter::create(place, Lsn::NONE).unwrap();
        for _ in 0..3 {
            append(&mut writer, 10).unwrap();
            if synced {
                writer.sync().unwrap();
            }
        }
        writer
    }

    #[test]
    fn a_torn_tail_is_cut_and_what_comes_later_stands_in_a_new_file() {
        let root = tempfile::tempdir().unwrap();
        let place = place(root.path());
        drop(three_groups(&place, false));
        damage(&place.path(Lsn(1)), groups(&place, 1)[1] + 600);
        let replayed = replay(&place, 0).unwrap();
        assert_eq!((replayed.records, replayed.damage), (10, None));
        let mut writer = LogWriter::continue_after(&place, &replayed.tail).unwrap();
        assert_eq!(place.files().unwrap(), [Lsn(1), Lsn(11)]);
        append(&mut writer, 4).unwrap();
        assert_eq!(found(&place), 14);
    }

    #[test]
    fn a_group_that_a_later_one_calls_durable_is_damage() {
        let root = tempfile::tempdir().unwrap();
        let place = place(root.path());
        let writer = three_groups(&place, true);
        let path = place.path(Lsn(1));
        let at = groups(&place, 1);
        for group in [at[0], at[1]] {
            damage(&path, group + 700);
            assert!(is_corrupt(replay(&place, 0)), "group at {group}");
            damage(&path, group + 700);
        }
        // Nothing tells the last one from a write that a crash cut short,
        damage(&path, at[2] + 700);
        assert_eq!(found(&place), 20);
        damage(&path, at[2] + 700);
        // but the floor,
        damage(&path, at[2] + 700);
        assert!(is_corrupt(replay(&place, 21)));
        damage(&path, at[2] + 700);
        // a group that covers it,
        let mut writer = writer;
        writer.cover().unwrap();
        writer.cover().unwrap();
        assert_eq!(groups(&place, 1).len(), 5);
        damage(&path, at[2] + 700);
        assert!(is_corrupt(replay(&place, 0)));
        damage(&path, at[2] + 700);
        assert_eq!(found(&place), 30);
    }

    #[test]
    fn a_durable_group_behind_any_number_of_zeros_is_found() {
        let root = tempfile::tempdir().unwrap();
        let place = place(root.path());
        drop(three_groups(&place, true));
        let path = place.path(Lsn(1));
        let at = groups(&place, 1);
        let file = OsVfs.open(&path, OpenMode::ReadWrite).unwrap();
        for end in (at[0] + 512..=at[2]).step_by(512) {
            file.write_all_at(&[0; 512], end - 512).unwrap();
            assert!(is_corrupt(replay(&place, 0)), "zeros up to {end}");
        }
        // The last one says that the others were durable, and goes too.
        for begin in (at[2]..at[3]).step_by(512) {
            file.write_all_at(&[0; 512], begin).unwrap();
        }
        assert_eq!(found(&place), 0);
    }

    #[test]
    fn a_closed_or_followed_file_is_damaged_by_any_flip_and_any_cut() {
        let root = tempfile::tempdir().unwrap();
        let place = place(root.path());
        let mut writer = LogWriter::create(&place, Lsn::NONE).unwrap();
        append(&mut writer, 2).unwrap();
        writer.rotate().unwrap();
        append(&mut writer, 2).unwrap();
        writer.close().unwrap();
        for first in [Lsn(1), Lsn(3)] {
            let path = place.path(first);
            let file = OsVfs.open(&path, OpenMode::ReadWrite).unwrap();
            let length = file.len().unwrap();
            // The closing group is the last one: its loss alone looks like a kill while closing.
            let needed = if first == Lsn(3) {
                length - 512
            } else {
                length
            };
            for at in (0..needed).step_by(61) {
                damage(&path, at);
                assert!(is_corrupt(replay(&place, 0)), "{first}: byte {at}");
                damage(&path, at);
            }
            let mut bytes = vec![0; usize::try_from(length).unwrap()];
            file.read_exact_at(&mut bytes, 0).unwrap();
            for cut in (0..length).step_by(256) {
                file.set_len(cut).unwrap();
                assert!(is_corrupt(replay(&place, 0)), "{first}: cut at {cut}");
            }
            file.write_all_at(&bytes, 0).unwrap();
            assert_eq!(found(&place), 4);
        }
    }

    #[test]
    fn missing_files_are_holes_and_old_ones_are_not_read() {
        let root = tempfile::tempdir().unwrap();
        let place = place(root.path());
        let mut writer = LogWriter::create(&place, Lsn::NONE).unwrap();
        for _ in 0..3 {
            append(&mut writer, 5).unwrap();
            writer.rotate().unwrap();
        }
        assert_eq!(place.files().unwrap().len(), 4);
        OsVfs.remove_file(&place.path(Lsn(6))).unwrap();
        assert!(is_corrupt(replay(&place, 0)));
        assert!(is_corrupt(replay(&place, 9)));
        for floor in [10, 12, 15] {
            assert_eq!(replay(&place, floor).unwrap().records, 15 - floor);
        }
        assert!(
            is_corrupt(replay(&place, 16)),
            "the log ends below its floor"
        );
        OsVfs.remove_file(&place.path(Lsn(1))).unwrap();
        assert!(is_corrupt(replay(&place, 0)));
        for first in place.files().unwrap() {
            OsVfs.remove_file(&place.path(first)).unwrap();
        }
        assert!(is_corrupt(replay(&place, 0)), "no file at all");
    }

    #[test]
    fn a_log_of_another_index_is_refused_even_to_be_salvaged() {
        let root = tempfile::tempdir().unwrap();
        let ours = place(root.path());
        drop(three_groups(&ours, true));
        let other = LogPlace {
            log: FileUuid([8; 16]),
            ..ours
        };
        for on_damage in [OnDamage::Refuse, OnDamage::Salvage] {
            let refused = replay_as(&other, Lsn::NONE, on_damage).unwrap_err();
            assert!(refused.to_string().contains("another index"), "{refused}");
        }
    }

    fn bytes(path: &std::path::Path) -> Vec<u8> {
        let file = OsVfs.open(path, OpenMode::ReadOwn).unwrap();
        let mut bytes = vec![0; usize::try_from(file.len().unwrap()).unwrap()];
        file.read_exact_at(&mut bytes, 0).unwrap();
        bytes
    }

    #[test]
    fn salvage_keeps_what_stands_before_the_damage_and_says_what_is_lost() {
        let root = tempfile::tempdir().unwrap();
        let place = place(root.path());
        let mut writer = three_groups(&place, true);
        writer.rotate().unwrap();
        append(&mut writer, 5).unwrap();
        drop(writer);
        damage(&place.path(Lsn(1)), groups(&place, 1)[1] + 600);
        let damaged = bytes(&place.path(Lsn(1)));
        let salvaged = replay_as(&place, Lsn::NONE, OnDamage::Salvage).unwrap();
        let lost = salvaged.damage.clone().unwrap();
        assert_eq!(salvaged.records, 10);
        assert_eq!((lost.first_lost, lost.last_lost), (Lsn(11), Lsn(30)));
        assert_eq!(inspect_log(&place, Lsn::NONE).unwrap().damage, Some(lost));
        let mut writer = LogWriter::continue_after(&place, &salvaged.tail).unwrap();
        append(&mut writer, 3).unwrap();
        assert_eq!(found(&place), 13);
        let names = OsVfs.list(root.path()).unwrap();
        let expected = [
            "log-0000000000000001.pwl",
            "log-0000000000000001.pwl.lost",
            "log-000000000000000b.pwl",
            "log-000000000000001f.pwl.lost",
        ];
        assert_eq!(names, expected);
        assert_eq!(bytes(&place.aside(Lsn(1))), damaged);
    }

    #[test]
    fn a_report_names_files_records_and_ends() {
        let root = tempfile::tempdir().unwrap();
        let place = place(root.path());
        let mut writer = three_groups(&place, true);
        writer.rotate().unwrap();
        append(&mut writer, 5).unwrap();
        writer.close().unwrap();
        let report = inspect_log(&place, Lsn(3)).unwrap();
        let files: Vec<_> = report
            .files
            .iter()
            .map(|file| (file.first.0, file.records, file.groups, file.closed))
            .collect();
        assert_eq!(files, [(1, 30, 3, false), (31, 5, 2, true)]);
        assert_eq!(
            (report.records, report.last, report.closed),
            (32, Lsn(35), true)
        );
        assert_eq!(report.files[1].used_bytes, report.files[1].file_bytes);
    }

    /// What appending behind a tear would leave: why it is never done, and why groups are chained.
    #[test]
    fn a_group_that_survived_behind_a_tear_continues_nothing() {
        let root = tempfile::tempdir().unwrap();
        let place = place(root.path());
        drop(three_groups(&place, false));
        let at = groups(&place, 1);
        let file = OsVfs
            .open(&place.path(Lsn(1)), OpenMode::ReadWrite)
            .unwrap();
        let mut third = vec![0; (at[3] - at[2]) as usize];
        file.read_exact_at(&mut third, at[2]).unwrap();
        // The second group again, of the same numbers and length, but not the same bytes.
        let mut scan = Scan::open(&place, Lsn(1)).unwrap();
        let first = scan.next_group().unwrap().unwrap();
        let mut again = super::super::group::GroupBuffer::new();
        (11..=20).for_each(|lsn| again.push(&[&super::super::fixture::record(Lsn(lsn))]));
        let head = GroupHead {
            first: Lsn(11),
            durable: Lsn(10),
            chain: scan.chain,
            ..first
        };
        let again = again.seal(scan.header.seal(), at[1], &head);
        assert_eq!(again.len() as u64, at[2] - at[1]);
        file.write_all_at(again, at[1]).unwrap();
        assert_eq!(found(&place), 20, "the third group is intact and not taken");
    }

    #[test]
    fn a_visitor_can_stop() {
        let root = tempfile::tempdir().unwrap();
        let place = place(root.path());
        drop(three_groups(&place, true));
        let stopped = replay_log(&place, Lsn::NONE, OnDamage::Refuse, |lsn, _| {
            if lsn == Lsn(4) {
                return Err(StoreError::invalid("enough"));
            }
            Ok(())
        });
        assert!(matches!(stopped, Err(StoreError::Invalid { .. })));
    }
}
