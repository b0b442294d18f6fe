//! Rows where they lie in a file: runs of rows at even distances.
//!
//! ```text
//! |head|row row row|gap|row row row|...|         a run, in blocks of 3 rows
//!       <-> stride
//!       <------------> block_stride
//! ```

use std::io;
use std::sync::Arc;

use pageway::lab::VfsFile;
use pageway::source::IdRead;
use pageway::{Error, Result};

/// How far rows of a run are apart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    /// Bytes of a row that are read.
    pub(super) row_bytes: u64,
    /// Bytes from row to row in a block.
    pub(super) stride: u64,
    /// Rows of a block.
    pub(super) block_rows: u64,
    /// Bytes from block to block.
    pub(super) block_stride: u64,
}

impl Grid {
    /// Rows `stride` bytes apart, without blocks.
    pub(super) const fn even(row_bytes: u64, stride: u64) -> Self {
        Self {
            row_bytes,
            stride,
            block_rows: u64::MAX,
            block_stride: 0,
        }
    }

    /// From the first byte of a run to that of its `row`.
    fn offset(&self, row: u64) -> Option<u64> {
        let blocks = row.checked_div(self.block_rows)?;
        let inside = row.checked_rem(self.block_rows)?.checked_mul(self.stride)?;
        blocks.checked_mul(self.block_stride)?.checked_add(inside)
    }
}

/// Rows one grid apart.
#[derive(Clone, Copy, Debug)]
struct Run {
    first: u64,
    offset: u64,
}

/// All rows of a file, in the order they lie. Holds 16 bytes per run.
#[derive(Debug)]
pub(crate) struct Runs {
    file: Arc<dyn VfsFile>,
    length: u64,
    name: String,
    grid: Grid,
    by_row: Vec<Run>,
    count: u64,
}

impl Runs {
    /// No rows yet.
    pub(super) fn new(fields: &super::fields::Fields, grid: Grid) -> Self {
        Self {
            file: Arc::clone(fields.file()),
            length: fields.length(),
            name: fields.name().to_owned(),
            grid,
            by_row: Vec::new(),
            count: 0,
        }
    }

    /// Adds `rows` that begin at `offset`.
    ///
    /// # Errors
    /// `InvalidInput` where they reach beyond the file.
    pub(super) fn add(&mut self, offset: u64, rows: u64) -> Result<()> {
        let Some(last) = rows.checked_sub(1) else {
            return Ok(());
        };
        let end = self.grid.offset(last);
        let end = end.and_then(|at| at.checked_add(offset)?.checked_add(self.grid.row_bytes));
        let count = self.count.checked_add(rows);
        let (Some(count), true) = (count, end.is_some_and(|end| end <= self.length)) else {
            return Err(Error::invalid(format!(
                "{}: is cut short or damaged: {rows} rows of {} bytes from byte {offset} on in a \
                 file of {}",
                self.name, self.grid.row_bytes, self.length
            )));
        };
        let first = self.count;
        self.by_row.push(Run { first, offset });
        self.count = count;
        Ok(())
    }

    /// Rows in all.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Reads whole rows from `first` on; those beyond the last are `InvalidInput`.
    pub(crate) fn read(&self, first: u64, out: &mut [u8]) -> Result<()> {
        let row_bytes = self.grid.row_bytes as usize;
        let (mut row, mut rest) = (first, out);
        while !rest.is_empty() {
            let (offset, together) = self.place(row)?;
            let rows = together.min((rest.len() / row_bytes) as u64).max(1);
            let bytes = (rows as usize * row_bytes).min(rest.len());
            let (own, others) = rest.split_at_mut(bytes);
            let read = self.file.read_exact_at(own, offset);
            read.map_err(|error| Error::from(error).within(&self.name))?;
            rest = others;
            row += rows;
        }
        Ok(())
    }

    /// Where `row` lies, and how many rows from it on lie one behind the other.
    fn place(&self, row: u64) -> Result<(u64, u64)> {
        let behind = self.by_row.partition_point(|run| run.first <= row);
        let run = behind.checked_sub(1).and_then(|at| self.by_row.get(at));
        let inside = run.filter(|_| row < self.count);
        let place = inside.and_then(|run| {
            let offset = self.grid.offset(row - run.first)?;
            offset.checked_add(run.offset)
        });
        let offset = place
            .ok_or_else(|| Error::invalid(format!("{}: row {row} of {}", self.name, self.count)))?;
        let end = self.by_row.get(behind).map_or(self.count, |run| run.first);
        let packed = self.grid.stride == self.grid.row_bytes && self.grid.block_rows == u64::MAX;
        Ok((offset, if packed { end - row } else { 1 }))
    }

    /// As a source of vectors reads.
    pub(crate) fn read_rows(&self, first: u64, out: &mut [u8]) -> io::Result<()> {
        Ok(self.read(first, out)?)
    }
}

/// An id per row, in the file.
pub(crate) struct RunIds(pub(crate) Runs);

impl IdRead for RunIds {
    fn name(&self) -> &str {
        &self.0.name
    }

    fn count(&self) -> u64 {
        self.0.count
    }

    fn read(&self, first: u64, out: &mut [u64]) -> Result<()> {
        let mut bytes = vec![0; std::mem::size_of_val(out)];
        self.0.read(first, &mut bytes)?;
        let (words, _) = bytes.as_chunks::<8>();
        for ((row, id), word) in (first..).zip(out.iter_mut()).zip(words) {
            *id = u64::from_le_bytes(*word);
            if i64::try_from(*id).is_err() {
                let name = &self.0.name;
                let found = i64::from_le_bytes(*word);
                return Err(Error::invalid(format!(
                    "{name}: row {row} has id {found}: ids are whole numbers from 0 to 2^63 - 1 \
                     there"
                )));
            }
        }
        Ok(())
    }
}
