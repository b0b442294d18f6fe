//! The journal of a run: appended a line at a time, so that a run that was cut short loses nothing
//! but the cell it was at.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pageway::lab::{LockGuard, OpenMode, VfsFile};
use pageway::{Error, ErrorKind, Result};

use crate::files;
use crate::record::{Machine, Record, Run};

const RECORDS: &str = "records.jsonl";
const LOCK: &str = "lock";
pub(super) const MACHINE: &str = "machine.json";

/// What a run has measured before.
#[derive(Debug, Default)]
pub(crate) struct Done(HashSet<(String, u32)>);

impl Done {
    /// What is done by these records. What failed is tried again.
    pub(crate) fn of(records: &[Record]) -> Self {
        let done = records.iter().filter(|record| record.error.is_none());
        let step = |record: &Record| (record.cell.clone(), record.repeat);
        Self(done.map(step).collect())
    }

    /// Whether a repetition of a cell has succeeded before.
    pub(crate) fn has(&self, cell: &str, repeat: u32) -> bool {
        self.0.contains(&(cell.to_owned(), repeat))
    }
}

/// The journal of one run, open for writing by this process alone.
pub(crate) struct Journal {
    file: Arc<dyn VfsFile>,
    path: PathBuf,
    end: u64,
    done: Done,
    /// Held while this is open.
    _lock: Box<dyn LockGuard>,
}

impl Journal {
    /// Opens the journal in `dir`, or begins it. A last line that was cut off is removed.
    ///
    /// # Errors
    /// `Busy` while another process measures into the same run.
    pub(crate) fn open(dir: &Path) -> Result<Self> {
        let lock = files::lock(&dir.join(LOCK), "measuring into this run")?;
        let path = dir.join(RECORDS);
        if !files::exists(&path)? {
            files::write(&path, &[])?;
        }
        let (records, end) = whole_records(&path)?;
        let file = files::open(&path, OpenMode::ReadWrite)?;
        file.set_len(end).map_err(files::at(&path))?;
        Ok(Self {
            file,
            end,
            done: Done::of(&records),
            path,
            _lock: lock,
        })
    }

    /// Whether a repetition of a cell has succeeded before.
    pub(crate) fn has(&self, cell: &str, repeat: u32) -> bool {
        self.done.has(cell, repeat)
    }

    /// Appends a record, durably.
    pub(crate) fn append(&mut self, record: &Record) -> Result<()> {
        let place = |error: std::io::Error| Error::from(error).within(self.path.display());
        let mut line = to_json(record)?;
        line.push('\n');
        self.file
            .write_all_at(line.as_bytes(), self.end)
            .map_err(place)?;
        self.file.sync_data().map_err(place)?;
        self.end += line.len() as u64;
        if record.error.is_none() {
            self.done.0.insert((record.cell.clone(), record.repeat));
        }
        Ok(())
    }
}

/// What is in the journal in `dir`, if there is one; changes nothing.
pub(crate) fn past(dir: &Path) -> Result<Vec<Record>> {
    let path = dir.join(RECORDS);
    if !files::exists(&path)? {
        return Ok(Vec::new());
    }
    Ok(whole_records(&path)?.0)
}

fn to_json(value: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::new(ErrorKind::Internal, error.to_string()))
}

/// The records of a journal up to its last whole line, and the bytes that they take.
fn whole_records(path: &Path) -> Result<(Vec<Record>, u64)> {
    let written = files::read_text(path)?;
    let whole = written.rfind('\n').map_or(0, |end| end + 1);
    let records = parse(path, written.get(..whole).unwrap_or_default())?;
    Ok((records, whole as u64))
}

fn parse(path: &Path, text: &str) -> Result<Vec<Record>> {
    let line = |(number, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|error| {
            let place = path.display();
            Error::invalid(format!(
                "{place}, line {}: is no record: {error}",
                number + 1
            ))
        })
    };
    text.lines().enumerate().map(line).collect()
}

/// Writes down where a run is made.
pub(crate) fn write_machine(dir: &Path, machine: &Machine) -> Result<()> {
    files::write(&dir.join(MACHINE), to_json(machine)?.as_bytes())
}

/// Where a run was made; none when it has not begun.
pub(crate) fn read_machine(dir: &Path) -> Result<Option<Machine>> {
    let path = dir.join(MACHINE);
    if !files::exists(&path)? {
        return Ok(None);
    }
    let machine = serde_json::from_str(&files::read_text(&path)?);
    machine
        .map(Some)
        .map_err(|error| Error::invalid(format!("{}: {error}", path.display())))
}

impl Run {
    /// Reads a run back. Of a cell that failed and was repeated, only the last is kept.
    ///
    /// # Errors
    /// `NotFound` where there is no run; `InvalidInput` with the line that is no record.
    pub fn read(dir: &Path) -> Result<Self> {
        let Some(machine) = read_machine(dir)? else {
            let words = format!("{}: no run of the lab: {MACHINE} is missing", dir.display());
            return Err(Error::new(ErrorKind::NotFound, words));
        };
        let (mut records, _) = whole_records(&dir.join(RECORDS))?;
        let mut seen = HashSet::new();
        records.reverse();
        records.retain(|record| seen.insert((record.cell.clone(), record.repeat)));
        records.reverse();
        Ok(Self { machine, records })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files;
    use crate::record::{ProcessUse, Task};

    fn record(cell: &str, error: Option<&str>) -> Record {
        Record {
            cell: cell.to_owned(),
            experiments: vec!["recall".to_owned()],
            task: Task::Search,
            data: "demo".to_owned(),
            design: "diskann".to_owned(),
            axes: [("k".to_owned(), 10.into())].into(),
            repeat: 0,
            command: vec!["pageway".to_owned()],
            result: serde_json::json!({"recall": 0.5}),
            error: error.map(str::to_owned),
            process: ProcessUse::default(),
            started_unix: 1,
        }
    }

    #[test]
    fn a_journal_goes_on_where_it_was_cut_off() {
        let dir = tempfile::tempdir().unwrap();
        let mut journal = Journal::open(dir.path()).unwrap();
        journal.append(&record("a", None)).unwrap();
        journal.append(&record("b", Some("no"))).unwrap();
        let end = journal.end;
        journal.file.write_all_at(b"{\"cell\": \"c", end).unwrap();
        drop(journal);

        let mut journal = Journal::open(dir.path()).unwrap();
        assert!(journal.has("a", 0));
        assert!(!journal.has("a", 1), "another repetition");
        assert!(!journal.has("b", 0), "what failed is tried again");
        assert!(!journal.has("c", 0), "cut off");
        journal.append(&record("b", None)).unwrap();
        drop(journal);

        write_machine(dir.path(), &Machine::default()).unwrap();
        let run = Run::read(dir.path()).unwrap();
        assert_eq!(run.records, [record("a", None), record("b", None)]);
    }

    #[test]
    fn what_is_no_record_is_named_by_its_line() {
        let dir = tempfile::tempdir().unwrap();
        let missing = Run::read(dir.path()).unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound);
        write_machine(dir.path(), &Machine::default()).unwrap();
        files::write(&dir.path().join(RECORDS), b"{}\n").unwrap();
        let error = Run::read(dir.path()).unwrap_err().to_string();
        assert!(error.contains("line 1"), "{error}");
    }
}
