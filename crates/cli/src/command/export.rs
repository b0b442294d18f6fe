//! `pageway export`: the vectors of an index, with their ids, in a file again.

use std::iter;
use std::path::PathBuf;

use clap::Args;
use pageway::{ElementType, Index, OpenOptions, Progress, Result};
use serde::Serialize;

use crate::distinct::check_distinct;
use crate::output::Outcome;
use crate::results::{Rows, RowsFile, VectorsOut};
use crate::session::Session;
use crate::text;

const EXAMPLES: &str = "\
Examples:
  pageway export my.index vectors.parquet
  pageway export my.index vectors.npy --ids ids.npy
  pageway export my.index vectors.jsonl

The format follows from the extension. .npy .fbin .f16bin .bf16bin .u8bin .i8bin .bitbin: the rows
in the order of the data that the index was built from, in its element type; --ids writes an id per
row. .parquet and .jsonl: an id and a list of numbers per row, in the order they lie on disk.";

/// Vectors read at a time.
const BATCH_BYTES: usize = 8 << 20;

/// Write the vectors of an index to a file.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct ExportArguments {
    /// Directory of the index
    #[arg(value_name = "INDEX")]
    index: PathBuf,

    /// File to write: .npy .fbin .f16bin .bf16bin .u8bin .i8bin .bitbin .parquet or .jsonl
    #[arg(value_name = "TO")]
    to: PathBuf,

    /// Write the ids, one per row, to this .npy file
    #[arg(long, value_name = "FILE")]
    ids: Option<PathBuf>,
}

/// What was written.
#[derive(Serialize)]
struct Exported {
    index: String,
    to: String,
    rows: u64,
    dimension: u32,
    element: ElementType,
}

impl ExportArguments {
    /// Exports.
    pub(crate) fn run(&self, session: &Session) -> Result<Outcome> {
        let ids = self.ids.iter().map(|path| ("--ids", path.as_path()));
        let written: Vec<_> = iter::once(("TO", self.to.as_path())).chain(ids).collect();
        check_distinct(&written, &[])?;
        let index = Index::open(&self.index, &OpenOptions::default())?;
        let shape = index.shape();
        let mut target = VectorsOut::create(&self.to, index.len(), shape)?;
        let mut ids = self.ids_file(&index)?;
        let progress = &session.progress;
        let step = (BATCH_BYTES / shape.row_bytes()).max(1) as u64;
        progress.stage("export rows", index.len());
        let mut first = 0;
        while first < index.len() {
            progress.check()?;
            let end = (first + step).min(index.len());
            let mut batch = Rows::default();
            index.visit_stored(first..end, &mut |stored| {
                batch.places.push(stored.row);
                batch.ids.push(stored.id);
                batch.bytes.extend_from_slice(stored.bytes);
                Ok(())
            })?;
            target.put(&batch)?;
            if let Some(ids) = &mut ids {
                ids.put_ids(&batch.places, &batch.ids)?;
            }
            progress.advance(end - first);
            first = end;
        }
        target.finish()?;
        ids.map_or(Ok(()), RowsFile::finish)?;
        let (rows, to) = (text::count(index.len()), self.to.display());
        let report = Exported {
            index: self.index.display().to_string(),
            to: self.to.display().to_string(),
            rows: index.len(),
            dimension: shape.dimension,
            element: shape.element,
        };
        Outcome::new(format!("Wrote {rows} rows of {shape} to {to}."), &report)
    }

    fn ids_file(&self, index: &Index) -> Result<Option<RowsFile>> {
        let path = self.ids.as_deref();
        path.map(|path| RowsFile::ids(path, index.len()))
            .transpose()
    }
}
