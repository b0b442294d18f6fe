//! Writing vectors, a run of rows at a time.

use std::path::Path;
use std::sync::Arc;

use pageway_store::Vfs;
use pageway_types::VectorShape;

use super::error::SourceError;
use super::format::{FormatFamily, VectorFormat};
use super::layout::{BIN_HEADER_BYTES, ROW_PREFIX_BYTES};
use super::npy::render_header;
use super::output::OutputFile;
use super::shape::legal_shape;
use crate::error::Error;

/// Writes a file of vectors. The file gets its name, and its header the true row count, in
/// [`VectorFileWriter::finish`]; dropped before, it leaves nothing behind.
pub struct VectorFileWriter {
    output: OutputFile,
    name: String,
    family: FormatFamily,
    shape: VectorShape,
    rows: u64,
}

impl VectorFileWriter {
    /// Begins `path` in the format of its extension. `expected_rows` sizes the look at the free
    /// disk space; the number of rows written may differ. A file of that name is replaced by
    /// `finish`, not before.
    ///
    /// # Errors
    /// `InvalidInput` for an unknown extension, for one that stands for another element type, for
    /// an illegal dimension and more rows than the format counts; `NoSpace`; `Io`.
    pub fn create(
        vfs: &Arc<dyn Vfs>,
        path: &Path,
        shape: VectorShape,
        expected_rows: u64,
    ) -> Result<Self, Error> {
        let format = VectorFormat::of(path)?;
        let name = path.display().to_string();
        check_shape(&name, format, shape)?;
        check_rows(&name, format.family, expected_rows)?;
        let prefix_bytes = if format.family == FormatFamily::Vecs {
            ROW_PREFIX_BYTES
        } else {
            0
        };
        let header = header(format.family, expected_rows, shape);
        let needed_bytes = ((prefix_bytes + shape.row_bytes()) as u64)
            .saturating_mul(expected_rows)
            .saturating_add(header.len() as u64);
        let mut output = OutputFile::create(vfs, path, needed_bytes)?;
        output.append(&header)?;
        Ok(Self {
            output,
            name,
            family: format.family,
            shape,
            rows: 0,
        })
    }

    /// Adds whole rows.
    ///
    /// # Errors
    /// `InvalidInput` when `rows` is not a whole number of rows; `NoSpace`; `Io`.
    pub fn write(&mut self, rows: &[u8]) -> Result<(), Error> {
        let row_bytes = self.shape.row_bytes();
        if !rows.len().is_multiple_of(row_bytes) {
            let (name, bytes) = (self.name.clone(), rows.len());
            return Err(SourceError::PartialRow {
                name,
                bytes,
                row_bytes,
            }
            .into());
        }
        if self.family == FormatFamily::Vecs {
            for row in rows.chunks_exact(row_bytes) {
                self.output.append(&self.shape.dimension.to_le_bytes())?;
                self.output.append(row)?;
            }
        } else {
            self.output.append(rows)?;
        }
        self.rows += (rows.len() / row_bytes) as u64;
        Ok(())
    }

    /// Writes the true row count, makes the file durable and gives it its name. Returns the rows.
    ///
    /// # Errors
    /// `InvalidInput` when no row was written or more than the format counts; `NoSpace`; `Io`.
    pub fn finish(mut self) -> Result<u64, Error> {
        if self.rows == 0 {
            return Err(SourceError::Empty { file: self.name }.into());
        }
        check_rows(&self.name, self.family, self.rows)?;
        let header = header(self.family, self.rows, self.shape);
        if !header.is_empty() {
            self.output.patch(0, &header)?;
        }
        self.output.publish()?;
        Ok(self.rows)
    }
}

/// Header for a row count; its length does not depend on the count.
fn header(family: FormatFamily, rows: u64, shape: VectorShape) -> Vec<u8> {
    match family {
        FormatFamily::Bin => {
            let mut header = Vec::with_capacity(BIN_HEADER_BYTES as usize);
            header.extend((rows as u32).to_le_bytes());
            header.extend(shape.dimension.to_le_bytes());
            header
        }
        FormatFamily::Vecs => Vec::new(),
        FormatFamily::Npy => render_header(rows, shape),
    }
}

fn check_shape(name: &str, format: VectorFormat, shape: VectorShape) -> Result<(), SourceError> {
    legal_shape(name, shape.dimension.into(), shape.element)?;
    match format.element {
        Some(stated) if stated != shape.element => Err(SourceError::ExtensionMismatch {
            file: name.to_owned(),
            stated,
            asked: shape.element,
        }),
        _ => Ok(()),
    }
}

fn check_rows(name: &str, family: FormatFamily, rows: u64) -> Result<(), SourceError> {
    if family == FormatFamily::Bin && rows > u32::MAX.into() {
        return Err(SourceError::TooManyRows {
            file: name.to_owned(),
            rows,
        });
    }
    Ok(())
}
