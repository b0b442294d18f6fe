//! A file of vectors, read a run of rows at a time.
//!
//! Rows go straight from the file into the caller's buffer; only the vecs family, whose rows are
//! interleaved with their dimension, and numbers that become others, such as bools, pass through a
//! buffer of at most `COPY_BYTES`.

use std::io;
use std::path::Path;
use std::sync::Arc;

use pageway_store::{OpenMode, Vfs, VfsFile};
use pageway_types::{ElementType, VectorRead, VectorShape};

use super::check::kernels;
use super::element::encode;
use super::error::SourceError;
use super::format::VectorFormat;
use super::layout::{Layout, Number, ROW_PREFIX_BYTES, read_of};
use crate::error::Error;

/// Most bytes of framed rows that are held at once beside the caller's buffer.
const COPY_BYTES: usize = 1 << 20;

/// How to open a file of vectors.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct OpenAs {
    /// Element type; needed for `.bin`, and wins over the extension elsewhere. Numbers of a `.npy`
    /// file become those of that type; as bits numbers of every file do, and bytes are packed ones.
    pub element: Option<ElementType>,
}

/// Vectors in a file. Random access to any run of rows; holds no rows itself.
pub struct VectorFile {
    file: Arc<dyn VfsFile>,
    name: String,
    layout: Layout,
}

impl VectorFile {
    /// Opens `path` and checks its header against its size. Two or three small reads.
    ///
    /// # Errors
    /// `NotFound` and `Io` from the file system; `InvalidInput` with file and field for an unknown
    /// extension, a header that is cut, illegal or disagrees with the file size, and for arrays
    /// that are not little-endian rows of f64, f32, f16, bf16, u8, i8 or bools.
    pub fn open(vfs: &Arc<dyn Vfs>, path: &Path, how: OpenAs) -> Result<Self, Error> {
        let format = VectorFormat::of(path)?;
        let name = path.display().to_string();
        let file = vfs
            .open(path, OpenMode::Read)
            .map_err(|e| Error::from(e).within(&name))?;
        // Beside an extension a type says what the file holds; bits are what becomes of that.
        let held = match (format.element, how.element) {
            (Some(own), Some(ElementType::Bit)) => Some(own),
            (own, asked) => asked.or(own),
        };
        let layout = Layout::read(file.as_ref(), &name, format.family, held)?;
        let layout = match how.element {
            Some(asked) => layout.taken_as(asked, &name)?,
            None => layout,
        };
        Ok(Self { file, name, layout })
    }

    /// The path, for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn check_range(&self, first: u64, out_bytes: usize) -> Result<u64, SourceError> {
        let row_bytes = self.layout.shape.row_bytes();
        check_rows(&self.name, self.layout.rows, row_bytes, first, out_bytes)
    }

    fn read_bytes(&self, out: &mut [u8], row: u64) -> Result<(), Error> {
        let offset = self.layout.offset(row);
        read_of(self.file.as_ref(), &self.name, out, offset)
    }

    /// Reads rows that are not written as they are in memory.
    fn read_framed(&self, first: u64, out: &mut [u8]) -> Result<(), Error> {
        let (stride, row_bytes) = (self.layout.stride(), self.layout.shape.row_bytes());
        let rows_at_once = (COPY_BYTES / stride).max(1);
        let mut copy = vec![0; (out.len() / row_bytes).min(rows_at_once) * stride];
        let mut row = first;
        for run in out.chunks_mut(rows_at_once * row_bytes) {
            let (framed, _) = copy.split_at_mut(run.len() / row_bytes * stride);
            self.read_bytes(framed, row)?;
            for (to, mut from) in run
                .chunks_exact_mut(row_bytes)
                .zip(framed.chunks_exact(stride))
            {
                if let Some(expected) = self.layout.prefix {
                    from = self.strip_prefix((row, expected), from)?;
                }
                match self.layout.numbers {
                    None => to.copy_from_slice(from),
                    Some(number) => self.convert(row, (number, from), to)?,
                }
                row += 1;
            }
        }
        Ok(())
    }

    /// Drops the dimension in front of a row, and checks it.
    fn strip_prefix<'r>(
        &self,
        (row, expected): (u64, u32),
        framed: &'r [u8],
    ) -> Result<&'r [u8], SourceError> {
        let (prefix, vector) = framed
            .split_first_chunk::<ROW_PREFIX_BYTES>()
            .unwrap_or((&[0; 4], &[]));
        let found = i32::from_le_bytes(*prefix);
        if i64::from(found) == i64::from(expected) {
            return Ok(vector);
        }
        Err(SourceError::RowDimension {
            file: self.name.clone(),
            row,
            expected,
            found,
        })
    }

    /// Turns the numbers of a row into those of memory.
    fn convert(
        &self,
        row: u64,
        (number, from): (Number, &[u8]),
        to: &mut [u8],
    ) -> Result<(), Error> {
        let VectorShape { dimension, element } = self.layout.shape;
        let mut values = vec![0.0; dimension as usize];
        match number {
            Number::Of(own) => kernels()?.widen(own)(from, &mut values),
            Number::F64 => {
                let (doubles, _) = from.as_chunks();
                for (component, (value, double)) in values.iter_mut().zip(doubles).enumerate() {
                    let double = f64::from_le_bytes(*double);
                    *value = double as f32;
                    if double.is_finite() && value.is_infinite() {
                        let name = self.name.clone();
                        return Err(SourceError::TooLarge {
                            name,
                            row,
                            component,
                            value: double,
                        }
                        .into());
                    }
                }
            }
        }
        let mut encoded = Vec::with_capacity(to.len());
        encode(element, &values, &mut encoded).map_err(|component| {
            SourceError::NotRepresentable {
                name: self.name.clone(),
                row,
                component,
                value: values.get(component).copied().unwrap_or(f32::NAN),
                element,
            }
        })?;
        to.copy_from_slice(&encoded);
        Ok(())
    }
}

impl VectorRead for VectorFile {
    fn count(&self) -> u64 {
        self.layout.rows
    }

    fn shape(&self) -> VectorShape {
        self.layout.shape
    }

    fn read(&self, first: u64, out: &mut [u8]) -> io::Result<()> {
        self.check_range(first, out.len()).map_err(Error::from)?;
        let done = match (self.layout.prefix, self.layout.numbers) {
            (None, None) => self.read_bytes(out, first),
            _ => self.read_framed(first, out),
        };
        Ok(done?)
    }
}

/// Checks that `out_bytes` are whole rows and that they lie inside the set; gives their number.
pub(crate) fn check_rows(
    name: &str,
    count: u64,
    row_bytes: usize,
    first: u64,
    out_bytes: usize,
) -> Result<u64, SourceError> {
    if !out_bytes.is_multiple_of(row_bytes) {
        return Err(SourceError::PartialRow {
            name: name.to_owned(),
            bytes: out_bytes,
            row_bytes,
        });
    }
    let rows = (out_bytes / row_bytes) as u64;
    let end = first.saturating_add(rows);
    if end > count {
        return Err(SourceError::Range {
            name: name.to_owned(),
            what: "rows",
            first,
            end,
            count,
        });
    }
    Ok(rows)
}
