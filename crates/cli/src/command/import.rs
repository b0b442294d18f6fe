//! `pageway import`: the vectors of another library's index file, in a file of their own.

use std::iter;
use std::path::PathBuf;

use clap::Args;
use pageway::source::{BLOCK_BYTES, IdRead, RowBlocks};
use pageway::{ElementType, Error, Metric, Progress, Result, VectorRead, VectorShape};
use pageway_formats::{Opened, Origin, open_index};
use serde::Serialize;

use crate::distinct::check_distinct;
use crate::output::Outcome;
use crate::results::{Rows, RowsFile, VectorsOut};
use crate::session::Session;
use crate::system;
use crate::text;

const EXAMPLES: &str = "\
Examples:
  pageway import vectors.faiss vectors.npy
  pageway import ivf.faiss vectors.npy --ids ids.npy
  pageway import hnsw.bin vectors.parquet
  pageway import ann_disk.index vectors.u8bin --element u8
  pageway build --data vectors.faiss --out my.index --metric l2

Reads index files of faiss (flat, IVF-flat and HNSW-flat, with and without ID maps), hnswlib, and
DiskANN (NAME_disk.index, and NAME.data of an index in memory), known by their first bytes. Files of
codes hold no vectors and are refused. What is read here can also be built from, or searched with,
as it is: give it to --data or --queries.

Where the file has ids, .parquet and .jsonl get them beside the vectors. Other formats have rows
alone: a vector goes to the row that its id names where ids are the numbers of the rows; else --ids
writes them, one per row, in the order of the file.";

/// Write the vectors of another library's index to a file.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct ImportArguments {
    /// Index file of faiss, hnswlib or DiskANN
    #[arg(value_name = "FROM")]
    from: PathBuf,

    /// File to write: .npy .fbin .u8bin .i8bin .parquet or .jsonl
    #[arg(value_name = "TO")]
    to: PathBuf,

    /// Write the ids, one per row, to this .npy file, and the rows in the order of the index file
    #[arg(long, value_name = "FILE")]
    ids: Option<PathBuf>,

    /// Element type of FROM where it says none: f32, u8 or i8
    #[arg(long, value_name = "TYPE")]
    element: Option<ElementType>,
}

/// What was written.
#[derive(Serialize)]
struct Imported {
    from: String,
    to: String,
    /// Library and kind of index.
    kind: String,
    /// Null where the file does not say.
    metric: Option<Metric>,
    rows: u64,
    deleted: u64,
    dimension: u32,
    element: ElementType,
}

/// What a file of rows has at which place.
enum Order {
    /// Rows as the index file has them.
    AsRead,
    /// Rows where their ids say.
    ById,
}

impl ImportArguments {
    /// Imports.
    pub(crate) fn run(&self, session: &Session) -> Result<Outcome> {
        let ids = self.ids.iter().map(|path| ("--ids", path.as_path()));
        let written: Vec<_> = iter::once(("TO", self.to.as_path())).chain(ids).collect();
        check_distinct(&written, &[("FROM", &self.from)])?;
        let (opened, origin) = open_index(&system::vfs(), &self.from, self.element)?;
        let shape = opened.vectors.shape();
        let rows = opened.vectors.count();
        let mut out = VectorsOut::create(&self.to, rows, shape)?;
        let mut ids_out = self.ids_file(&opened)?;
        let order = self.order(&opened, out.holds_ids())?;
        session.progress.stage("import rows", rows);
        let mut blocks = RowBlocks::new(&opened.vectors, 0..rows, BLOCK_BYTES);
        while let Some(block) = blocks.next_block()? {
            session.progress.check()?;
            let some = some_rows(
                opened.ids.as_deref(),
                (block.first, block.rows),
                shape,
                &order,
            )?;
            out.put(&some)?;
            if let Some(ids) = &mut ids_out {
                ids.put_ids(&some.places, &some.ids)?;
            }
            session.progress.advance(some.ids.len() as u64);
        }
        out.finish()?;
        ids_out.map_or(Ok(()), RowsFile::finish)?;
        self.report(&origin, (rows, shape))
    }

    fn ids_file(&self, opened: &Opened) -> Result<Option<RowsFile>> {
        let path = self.ids.as_deref();
        let rows = opened.vectors.count();
        path.map(|path| RowsFile::ids(path, rows)).transpose()
    }

    /// Where rows go, as far as ids can be kept.
    fn order(&self, opened: &Opened, beside: bool) -> Result<Order> {
        let Some(ids) = opened
            .ids
            .as_deref()
            .filter(|_| !beside && self.ids.is_none())
        else {
            return Ok(Order::AsRead);
        };
        if are_rows(ids)? {
            return Ok(Order::ById);
        }
        Err(Error::invalid(format!(
            "{}: its ids are not the numbers of its rows, and {} has no place for them: write them \
             with --ids FILE.npy, or write .parquet or .jsonl",
            self.from.display(),
            self.to.display()
        )))
    }

    fn report(&self, origin: &Origin, (rows, shape): (u64, VectorShape)) -> Result<Outcome> {
        let metric = origin.metric.map_or(String::new(), |metric| {
            format!(" It compares by {metric}: build with --metric {metric}.")
        });
        let deleted = match origin.deleted {
            0 => String::new(),
            rows => format!(" Left out: {}.", text::counted(rows, "deleted row")),
        };
        let words = format!(
            "Wrote {} of {shape} from an index of {} to {}.{deleted}{metric}",
            text::counted(rows, "row"),
            origin.kind,
            self.to.display()
        );
        let report = Imported {
            from: self.from.display().to_string(),
            to: self.to.display().to_string(),
            kind: origin.kind.clone(),
            metric: origin.metric,
            rows,
            deleted: origin.deleted,
            dimension: shape.dimension,
            element: shape.element,
        };
        Outcome::new(words, &report)
    }
}

/// A block of rows with ids and places.
fn some_rows(
    ids: Option<&dyn IdRead>,
    (first, bytes): (u64, &[u8]),
    shape: VectorShape,
    order: &Order,
) -> Result<Rows> {
    let count = (bytes.len() / shape.row_bytes()) as u64;
    let rows: Vec<u64> = (first..first + count).collect();
    let mut own = rows.clone();
    if let Some(ids) = ids {
        ids.read(first, &mut own)?;
    }
    let places = match order {
        Order::AsRead => rows,
        Order::ById => own.clone(),
    };
    Ok(Rows {
        places,
        ids: own,
        bytes: bytes.to_vec(),
    })
}

/// Whether ids are the numbers of the rows, in any order. Holds a bit per row.
fn are_rows(ids: &dyn IdRead) -> Result<bool> {
    const STEP: u64 = 1 << 16;
    let count = ids.count();
    let mut seen = vec![0_u64; count.div_ceil(64) as usize];
    let mut first = 0;
    while first < count {
        let mut some = vec![0; STEP.min(count - first) as usize];
        ids.read(first, &mut some)?;
        for id in some {
            let bit = 1_u64 << (id % 64);
            let word = seen.get_mut((id / 64) as usize).filter(|_| id < count);
            match word {
                Some(word) if *word & bit == 0 => *word |= bit,
                _ => return Ok(false),
            }
        }
        first += STEP;
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use pageway::source::IdSlice;

    use super::*;

    #[test]
    fn ids_are_rows_when_each_row_is_named_once() {
        let many: Vec<u64> = (0..200_000).rev().collect();
        for (ids, expected) in [
            (&[2, 0, 1][..], true),
            (&[0, 0, 1], false),
            (&[0, 1, 3], false),
            (&[u64::MAX], false),
            (&many, true),
            (&many[1..], true),
            (&many[..9], false),
        ] {
            assert_eq!(are_rows(&IdSlice(ids)).unwrap(), expected);
        }
    }
}
