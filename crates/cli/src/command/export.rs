//! `pageway export`: the vectors of an index, with their ids, in a file again.

use std::path::PathBuf;

use clap::Args;
use pageway::{ElementType, Index, OpenOptions, Progress, Result};
use pageway_formats::{VectorsFile, widen};
use serde::Serialize;

use crate::output::Outcome;
use crate::results::{LinesOut, RowsFile};
use crate::session::Session;
use crate::system;
use crate::text;

const EXAMPLES: &str = "\
Examples:
  pageway export my.index vectors.parquet
  pageway export my.index vectors.npy --ids ids.npy
  pageway export my.index vectors.jsonl

The format follows from the extension. .npy .fbin .f16bin .u8bin .i8bin: the rows in the order of
the data that the index was built from, in its element type; --ids writes an id per row. .parquet
and .jsonl: an id and a list of numbers per row, in the order they lie on disk.";

/// Vectors read at a time.
const BATCH_BYTES: usize = 8 << 20;

/// Write the vectors of an index to a file.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct ExportArguments {
    /// Directory of the index
    #[arg(value_name = "INDEX")]
    index: PathBuf,

    /// File to write: .npy .fbin .f16bin .u8bin .i8bin .parquet or .jsonl
    #[arg(value_name = "TO")]
    to: PathBuf,

    /// Write the ids, one per row, to this .npy file
    #[arg(long, value_name = "FILE")]
    ids: Option<PathBuf>,
}

/// What was written.
#[derive(Serialize)]
struct Exported {
    index: PathBuf,
    to: PathBuf,
    rows: u64,
    dimension: u32,
    element: ElementType,
}

/// Where rows go.
enum Target {
    Rows(RowsFile),
    Columns(Box<VectorsFile>),
    Lines(LinesOut),
}

/// Some vectors of an index.
#[derive(Default)]
struct Batch {
    rows: Vec<u64>,
    ids: Vec<u64>,
    bytes: Vec<u8>,
}

impl ExportArguments {
    /// Exports.
    pub(crate) fn run(&self, session: &Session) -> Result<Outcome> {
        let index = Index::open(&self.index, &OpenOptions::default())?;
        let shape = index.shape();
        let mut target = self.target(&index)?;
        let mut ids = self.ids_file(&index)?;
        let progress = &session.progress;
        let step = (BATCH_BYTES / shape.row_bytes()).max(1) as u64;
        progress.stage("export rows", index.len());
        let mut first = 0;
        while first < index.len() {
            progress.check()?;
            let end = (first + step).min(index.len());
            let mut batch = Batch::default();
            index.visit_stored(first..end, &mut |stored| {
                batch.rows.push(stored.row);
                batch.ids.push(stored.id);
                batch.bytes.extend_from_slice(stored.bytes);
                Ok(())
            })?;
            target.put(&batch, shape.element)?;
            if let Some(ids) = &mut ids {
                let bytes: Vec<u8> = batch.ids.iter().flat_map(|id| id.to_le_bytes()).collect();
                ids.put(&batch.rows, &bytes)?;
            }
            progress.advance(end - first);
            first = end;
        }
        target.finish()?;
        ids.map_or(Ok(()), RowsFile::finish)?;
        let (rows, to) = (text::count(index.len()), self.to.display());
        let report = Exported {
            index: self.index.clone(),
            to: self.to.clone(),
            rows: index.len(),
            dimension: shape.dimension,
            element: shape.element,
        };
        Outcome::new(format!("Wrote {rows} rows of {shape} to {to}."), &report)
    }

    fn target(&self, index: &Index) -> Result<Target> {
        let extension = self.to.extension().unwrap_or_default().to_ascii_lowercase();
        Ok(match extension.to_str().unwrap_or_default() {
            "parquet" => Target::Columns(Box::new(VectorsFile::create(&system::vfs(), &self.to)?)),
            "jsonl" => Target::Lines(LinesOut::create(&self.to, "jsonl")?),
            _ => Target::Rows(RowsFile::vectors(&self.to, index.len(), index.shape())?),
        })
    }

    fn ids_file(&self, index: &Index) -> Result<Option<RowsFile>> {
        let path = self.ids.as_deref();
        path.map(|path| RowsFile::ids(path, index.len()))
            .transpose()
    }
}

impl Target {
    fn put(&mut self, batch: &Batch, element: ElementType) -> Result<()> {
        match self {
            Self::Rows(file) => file.put(&batch.rows, &batch.bytes),
            Self::Columns(file) => file.put(&batch.ids, &widen(&batch.bytes, element)),
            Self::Lines(file) => {
                let components = widen(&batch.bytes, element);
                let dimension = components.len() / batch.ids.len().max(1);
                let mut text = String::new();
                for (id, vector) in batch.ids.iter().zip(components.chunks(dimension.max(1))) {
                    text.push_str(&format!("{{\"id\": {id}, \"vector\": {vector:?}}}\n"));
                }
                file.append(text.as_bytes())
            }
        }
    }

    fn finish(self) -> Result<()> {
        match self {
            Self::Rows(file) => file.finish(),
            Self::Columns(file) => file.finish(),
            Self::Lines(file) => file.finish(),
        }
    }
}
