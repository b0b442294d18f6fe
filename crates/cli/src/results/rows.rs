//! Rows of one length in a file, in any order: `.npy` arrays and the `.bin` family.

use std::path::Path;

use pageway::source::bin_extension;
use pageway::{ElementType, Error, Result, VectorShape};

use super::arrays::header;
use super::partial::PartialFile;

/// Rows on their way to their places.
pub(crate) struct RowsFile {
    file: PartialFile,
    header_bytes: u64,
    row_bytes: u64,
}

impl RowsFile {
    /// A file of `rows` vectors in the format of its extension.
    ///
    /// # Errors
    /// `InvalidInput` for an unknown extension, one that stands for another element type, and more
    /// rows than the format counts; `Io`.
    pub(crate) fn vectors(path: &Path, rows: u64, shape: VectorShape) -> Result<Self> {
        let row_bytes = shape.row_bytes() as u64;
        let own = bin_extension(shape.element);
        let (descr, columns) = match shape.element {
            ElementType::F32 => ("<f4", shape.dimension),
            ElementType::F16 => ("<f2", shape.dimension),
            ElementType::Bf16 => ("<V2", shape.dimension),
            ElementType::I8 => ("|i1", shape.dimension),
            ElementType::U8 | ElementType::Bit => ("|u1", row_bytes as u32),
        };
        let named = |extension: &str| {
            let found = path.extension();
            found.is_some_and(|found| found.eq_ignore_ascii_case(extension))
        };
        if named("npy") {
            return Self::create(path, "npy", &header(descr, rows, &[columns]), row_bytes);
        }
        let counted = u32::try_from(rows).ok().filter(|_| named(own));
        let Some(count) = counted else {
            return Err(Error::invalid(format!(
                "{}: vectors of {} are written as .npy .{own} .parquet .jsonl files",
                path.display(),
                shape.element
            )));
        };
        let head = [count.to_le_bytes(), shape.dimension.to_le_bytes()].concat();
        Self::create(path, own, &head, row_bytes)
    }

    /// A `.npy` file of `rows` ids.
    ///
    /// # Errors
    /// `InvalidInput` for another extension; `Io`.
    pub(crate) fn ids(path: &Path, rows: u64) -> Result<Self> {
        Self::create(path, "npy", &header("<u8", rows, &[]), 8)
    }

    fn create(path: &Path, extension: &str, head: &[u8], row_bytes: u64) -> Result<Self> {
        let file = PartialFile::create(path, extension)?;
        file.write(head, 0)?;
        Ok(Self {
            file,
            header_bytes: head.len() as u64,
            row_bytes,
        })
    }

    /// Puts rows, one after the other in `bytes`, to their places; runs in one write.
    ///
    /// # Errors
    /// `NoSpace`; `Io`.
    pub(crate) fn put(&mut self, places: &[u64], bytes: &[u8]) -> Result<()> {
        let mut rest = bytes;
        for run in places.chunk_by(|row, next| row + 1 == *next) {
            let (own, others) = rest.split_at(run.len() * self.row_bytes as usize);
            let first = run.first().copied().unwrap_or(0);
            self.file
                .write(own, self.header_bytes + first * self.row_bytes)?;
            rest = others;
        }
        Ok(())
    }

    /// Puts ids to their places.
    ///
    /// # Errors
    /// `NoSpace`; `Io`.
    pub(crate) fn put_ids(&mut self, places: &[u64], ids: &[u64]) -> Result<()> {
        let bytes: Vec<u8> = ids.iter().flat_map(|id| id.to_le_bytes()).collect();
        self.put(places, &bytes)
    }

    /// Makes the file durable and gives it its name.
    ///
    /// # Errors
    /// `NoSpace`; `Io`.
    pub(crate) fn finish(self) -> Result<()> {
        self.file.finish()
    }
}
