//! `pageway merge`: fewer segments, without the rows that died.

use std::path::PathBuf;

use clap::Args;
use pageway::{MergeReport, Result};
use serde::Serialize;

use super::writer::{Done, WriterArguments};
use crate::output::Outcome;
use crate::session::Session;
use crate::system;
use crate::text::{self, Facts};

const EXAMPLES: &str = "\
Examples:
  pageway merge my.index
  pageway merge my.index --full --update-memory 2GB --threads 0

Flushes what is in memory, then merges where there are four segments of a size, or a quarter of one
is dead; --full makes one segment of all. A merge is a build over the living rows: it takes the
memory that --build-memory says and as much disk again as it merges, both checked before it begins.
Ctrl-C leaves the segments as they are.";

/// Merge segments, and drop dead rows.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct MergeArguments {
    /// Directory of the index
    #[arg(value_name = "INDEX")]
    index: PathBuf,

    /// Merge all segments into one
    #[arg(long)]
    full: bool,

    #[command(flatten)]
    writer: WriterArguments,
}

/// What `--json` shows.
#[derive(Serialize)]
struct MergeOutcome {
    /// Segments that became fewer.
    merged_segments: u64,
    /// Rows of the segments that they became.
    merged_rows: u64,
    /// Dead rows that are gone.
    dropped: u64,
    #[serde(flatten)]
    done: Done,
}

impl MergeArguments {
    /// Merges.
    pub(crate) fn run(&self, session: &Session) -> Result<Outcome> {
        let writer = self.writer.open(&self.index)?;
        let started = system::now();
        let MergeReport {
            merged_segments,
            rows,
            dropped,
            ..
        } = writer.merge(self.full, &session.progress)?;
        let merged = MergeOutcome {
            merged_segments,
            merged_rows: rows,
            dropped,
            done: Done::close(writer, started.elapsed().as_secs_f64(), &session.progress)?,
        };
        Outcome::new(self.describe(&merged), &merged)
    }

    fn describe(&self, merged: &MergeOutcome) -> String {
        let index = self.index.display();
        let facts = Facts::new().fact("dropped", text::counted(merged.dropped, "dead row"));
        let facts = merged.done.add_to(facts).render();
        if merged.merged_segments == 0 {
            return format!("{index}: nothing to merge.\n\n{facts}");
        }
        format!(
            "Merged {} of {index}, {}, in {}.\n\n{facts}",
            text::counted(merged.merged_segments, "segment"),
            text::counted(merged.merged_rows, "row"),
            text::seconds(merged.done.seconds),
        )
    }
}
