//! Rows and dimensions of a file of vectors, as a file that says by its name what it holds.

use std::ops::Range;
use std::path::{Path, PathBuf};

use pageway::source::{Selection, VectorFile, bin_extension, convert};
use pageway::{ElementType, Progress, Result, VectorRead};

use crate::files;

/// A part of a file of vectors.
pub(super) struct FilePart<'a> {
    pub(super) from: &'a Path,
    pub(super) vectors: &'a VectorFile,
    pub(super) rows: Range<u64>,
    /// The first ones.
    pub(super) dimensions: u32,
    /// Element type to have.
    pub(super) element: ElementType,
}

impl FilePart<'_> {
    /// The file itself where it is the part; else a copy of the part in `directory`.
    pub(super) fn write(
        &self,
        directory: &Path,
        stem: &str,
        progress: &dyn Progress,
    ) -> Result<PathBuf> {
        if self.is_whole() {
            return Ok(self.from.to_owned());
        }
        let to = directory.join(format!("{stem}.{}", bin_extension(self.element)));
        let mut selection = Selection::whole(self.vectors, self.vectors.name());
        selection.rows = self.rows.clone();
        selection.dimensions = 0..self.dimensions;
        convert(&files::vfs(), &selection, &to, Some(self.element), progress)?;
        Ok(to)
    }

    fn is_whole(&self) -> bool {
        let shape = self.vectors.shape();
        self.rows == (0..self.vectors.count())
            && self.dimensions == shape.dimension
            && self.element == shape.element
            && !files::has_extension(self.from, "bin")
    }
}
