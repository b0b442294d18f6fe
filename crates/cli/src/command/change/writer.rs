//! How an index is opened to be changed, and what every change reports.

use std::ops::Deref;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use pageway::{
    Acknowledged, Changes, Durability, ErrorKind, LostRecords, MemoryWish, NoProgress, OpenOptions,
    Progress, Result, UpdateOptions, Work, Writer, format_bytes,
};
use serde::Serialize;

use crate::text::{self, Facts};

/// How often is looked whether the background is done.
const LOOK: Duration = Duration::from_millis(20);

/// The memory that changes may take.
#[derive(Debug, Args)]
pub(super) struct WriterArguments {
    /// Memory of searches, from which that for changes follows [default: that of the index]
    #[arg(long, value_name = "MEMORY")]
    memory: Option<MemoryWish>,

    /// Memory for changes: rows that are not flushed yet, and a flush or merge at a time [default:
    /// an eighth of the memory of searches, or the least that works where that is more, which a
    /// merge may exceed by what it needs]
    #[arg(long, value_name = "MEMORY")]
    update_memory: Option<MemoryWish>,

    /// Part of it that a flush or merge may take [default: half of it]
    #[arg(long, value_name = "MEMORY")]
    build_memory: Option<MemoryWish>,

    /// Threads of flushes and merges, up to 8 per core or 64
    #[arg(long, value_name = "N", default_value_t = 1)]
    threads: usize,

    /// Read a damaged log as far as it is sound, and give up the changes behind the damage
    #[arg(long)]
    salvage: bool,
}

impl WriterArguments {
    /// Opens an index to be changed.
    pub(super) fn open(&self, dir: &Path) -> Result<OpenedWriter> {
        let open = OpenOptions::default().with_memory(self.memory);
        let update = UpdateOptions::default()
            .with_memory(self.update_memory)
            .with_build_memory(self.build_memory)
            .with_threads(self.threads)
            .with_salvage(self.salvage);
        let lost = self.salvage.then(|| pageway::describe_changes(dir));
        let lost = lost.transpose()?.flatten().and_then(|all| all.log?.lost);
        let writer = Writer::open(dir, &open, &update)?;
        Ok(OpenedWriter { writer, lost })
    }
}

/// A writer, and what was given up to have it.
pub(super) struct OpenedWriter {
    writer: Writer,
    lost: Option<LostRecords>,
}

impl Deref for OpenedWriter {
    type Target = Writer;

    fn deref(&self) -> &Writer {
        &self.writer
    }
}

/// What an acknowledgement means, as it is typed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct DurabilityWish(pub(super) Durability);

impl FromStr for DurabilityWish {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let milliseconds = |text: &str| {
            let digits = text.strip_prefix("batched:")?.strip_suffix("ms")?;
            digits.parse().ok().map(Duration::from_millis)
        };
        let durability = match text {
            "synced" => Durability::Synced,
            "deferred" => Durability::Deferred,
            _ => milliseconds(text).map(Durability::Batched).ok_or_else(|| {
                format!("'{text}' is no durability: write synced, batched:10ms or deferred")
            })?,
        };
        Ok(Self(durability))
    }
}

/// What all changes report. The names of the fields are the stable keys of `--json`.
#[derive(Serialize)]
pub(super) struct Done {
    pub(super) seconds: f64,
    /// The last record of the log.
    lsn: u64,
    /// Whether a power cut loses nothing of it any more.
    durable: bool,
    #[serde(flatten)]
    work: Work,
    /// Rows that a search may find.
    rows: u64,
    segments: usize,
    dead: u64,
    delta_rows: u64,
    peak_memory_bytes: Option<u64>,
    #[serde(flatten)]
    undone: Undone,
}

/// What was given up, and what was to be done and was not.
#[derive(Serialize)]
struct Undone {
    /// Records of a damaged log that were given up, as asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    salvaged: Option<LostRecords>,
    /// Why segments were not merged, when they were to be.
    #[serde(skip_serializing_if = "Option::is_none")]
    merge_refused: Option<String>,
    /// Why rows became segments, where pages of the one that is there were to change.
    #[serde(skip_serializing_if = "Option::is_none")]
    patch_refused: Option<String>,
    /// Why changes are in the log alone, where only who changes the index sees them.
    #[serde(skip_serializing_if = "Option::is_none")]
    flush_refused: Option<String>,
}

impl Done {
    /// What a writer has done, which ends here: everything acknowledged is durable then, and in
    /// files that every search sees, as far as memory and disk hold another segment, and segments
    /// are as few as they should be.
    pub(super) fn close(
        opened: OpenedWriter,
        seconds: f64,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let OpenedWriter { writer, lost } = opened;
        let flushed = settle(&writer, progress);
        let Changes {
            rows,
            segments,
            delta_rows,
            dead,
            work,
            merge_refused,
            patch_refused,
            ..
        } = writer.changes()?;
        let lsn = writer.close()?;
        Ok(Self {
            seconds,
            lsn,
            durable: true,
            work,
            rows,
            segments,
            dead,
            delta_rows,
            peak_memory_bytes: pageway::lab::peak_memory_bytes(),
            undone: Undone {
                salvaged: lost,
                merge_refused,
                patch_refused,
                flush_refused: flushed.err().map(|error| error.to_string()),
            },
        })
    }

    /// Adds it for people.
    pub(super) fn add_to(&self, facts: Facts) -> Facts {
        let rows = format!(
            "{} in {} segments, {} not flushed, {} dead",
            text::count(self.rows),
            self.segments,
            text::count(self.delta_rows),
            text::count(self.dead)
        );
        let work = format!(
            "{} flushes, {} merges; {} written, {} of it to the log",
            self.work.flushes,
            self.work.merges,
            format_bytes(self.work.bytes_written),
            format_bytes(self.work.log_bytes)
        );
        let peak = self.peak_memory_bytes;
        let peak = peak.map(|peak| format!("peak {}", format_bytes(peak)));
        facts
            .fact("rows", rows)
            .fact("work", work)
            .fact("log", format!("record {}, durable", text::count(self.lsn)))
            .known("memory", peak)
            .known("given up", self.undone.salvaged.as_ref().map(describe_loss))
            .known("not flushed", self.undone.flush_refused.as_deref())
            .known("not merged", self.undone.merge_refused.as_deref())
            .known("not in place", self.undone.patch_refused.as_deref())
    }
}

fn describe_loss(lost: &LostRecords) -> String {
    format!(
        "{} of the log, {} to {}, from byte {} of {} on; kept in *.lost if the disk had room",
        text::counted(lost.last - lost.first + 1, "record"),
        lost.first,
        lost.last,
        text::count(lost.offset),
        lost.file
    )
}

/// Flushes, and merges what is to be merged unless that is cancelled.
fn settle(writer: &Writer, progress: &dyn Progress) -> Result<()> {
    // What is under way in the background knows nothing of Ctrl-C.
    while !writer.changes()?.background.is_empty() && !progress.cancelled() {
        std::thread::sleep(LOOK);
    }
    if progress.cancelled() {
        writer.cancel();
        return writer.flush(&NoProgress);
    }
    match writer.settle(progress) {
        Err(error) if error.kind() == ErrorKind::Cancelled => writer.flush(&NoProgress),
        settled => settled,
    }
}

/// Adds what a further call did.
pub(super) fn add(sum: &mut Acknowledged, one: Acknowledged) {
    sum.inserted += one.inserted;
    sum.replaced += one.replaced;
    sum.deleted += one.deleted;
    sum.changed += one.changed;
    sum.absent += one.absent;
    sum.first_id = sum.first_id.or(one.first_id);
    (sum.lsn, sum.durable) = (one.lsn, one.durable);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durabilities_parse() {
        let parse = |text: &str| text.parse::<DurabilityWish>().map(|wish| wish.0);
        assert_eq!(parse("synced"), Ok(Durability::Synced));
        assert_eq!(parse("deferred"), Ok(Durability::Deferred));
        let ten = Durability::Batched(Duration::from_millis(10));
        assert_eq!(parse("batched:10ms"), Ok(ten));
        for text in [
            "",
            "batched",
            "batched:10",
            "batched:ms",
            "batched:-1ms",
            "Synced",
        ] {
            assert!(
                parse(text).unwrap_err().contains("synced, batched"),
                "{text}"
            );
        }
    }
}
