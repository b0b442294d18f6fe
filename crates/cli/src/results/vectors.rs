//! Vectors with ids, by extension: rows at places of their own, or a row of a table each.

use std::path::Path;

use pageway::{ElementType, Result, VectorShape};
use pageway_formats::{VectorsFile, widen};

use super::lines::LinesOut;
use super::rows::RowsFile;
use crate::system;

/// Some vectors.
#[derive(Default)]
pub(crate) struct Rows {
    /// Their places in a file of rows.
    pub(crate) places: Vec<u64>,
    /// Their ids.
    pub(crate) ids: Vec<u64>,
    /// Elements, one vector after the other.
    pub(crate) bytes: Vec<u8>,
}

/// A file of vectors in the making.
pub(crate) struct VectorsOut {
    element: ElementType,
    format: Format,
}

enum Format {
    Rows(RowsFile),
    Columns(Box<VectorsFile>),
    Lines(LinesOut),
}

impl VectorsOut {
    /// Begins a file for `rows` vectors.
    ///
    /// # Errors
    /// `InvalidInput` for an unknown extension or one of another element type; `Io`.
    pub(crate) fn create(path: &Path, rows: u64, shape: VectorShape) -> Result<Self> {
        let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
        let format = match extension.to_str().unwrap_or_default() {
            "parquet" => Format::Columns(Box::new(VectorsFile::create(&system::vfs(), path)?)),
            "jsonl" => Format::Lines(LinesOut::create(path, "jsonl")?),
            _ => Format::Rows(RowsFile::vectors(path, rows, shape)?),
        };
        let element = shape.element;
        Ok(Self { element, format })
    }

    /// Whether ids stand beside the vectors, and not the vectors at their places.
    pub(crate) fn holds_ids(&self) -> bool {
        !matches!(self.format, Format::Rows(_))
    }

    /// Adds vectors.
    ///
    /// # Errors
    /// `NoSpace`; `Io`.
    pub(crate) fn put(&mut self, some: &Rows) -> Result<()> {
        match &mut self.format {
            Format::Rows(file) => file.put(&some.places, &some.bytes),
            Format::Columns(file) => file.put(&some.ids, &widen(&some.bytes, self.element)),
            Format::Lines(file) => {
                let components = widen(&some.bytes, self.element);
                let dimension = components.len() / some.ids.len().max(1);
                let mut text = String::new();
                for (id, vector) in some.ids.iter().zip(components.chunks(dimension.max(1))) {
                    text.push_str(&format!("{{\"id\": {id}, \"vector\": {vector:?}}}\n"));
                }
                file.append(text.as_bytes())
            }
        }
    }

    /// Makes the file durable and gives it its name.
    ///
    /// # Errors
    /// `NoSpace`; `Io`.
    pub(crate) fn finish(self) -> Result<()> {
        match self.format {
            Format::Rows(file) => file.finish(),
            Format::Columns(file) => file.finish(),
            Format::Lines(file) => file.finish(),
        }
    }
}
