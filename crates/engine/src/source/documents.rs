//! Attributes of rows, as they are read to be built in: a document for each row, as JSON.

use std::path::Path;
use std::sync::Arc;

use pageway_attributes::{Document, MAX_DOCUMENT_BYTES, check_keys, terms_of};
use pageway_store::Vfs;

use super::lines::TextLines;
use crate::error::{Error, Result};

/// Documents of rows, one each, in any number of passes.
pub trait DocumentRead: Sync {
    /// Where they come from, for messages.
    fn name(&self) -> &str;

    /// How many there are.
    fn count(&self) -> u64;

    /// Number of the first row, for messages.
    fn first(&self) -> u64 {
        0
    }

    /// Shows the documents of `count` rows from `first` on, in order, each as a JSON object.
    ///
    /// # Errors
    /// As reading is; what `visit` gives.
    fn visit(
        &self,
        first: u64,
        count: u64,
        visit: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()>;
}

impl std::fmt::Debug for dyn DocumentRead + '_ {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} documents of {}", self.count(), self.name())
    }
}

/// The document that a JSON text stands for, if rows can have it.
///
/// # Errors
/// `InvalidInput` for what is no object, and for objects that are too long or too deep or have
/// names that are too long.
pub(crate) fn check_document(json: &[u8]) -> Result<Document> {
    let parsed = serde_json::from_slice(json);
    let document: Document = parsed.map_err(|error| Error::invalid(error.to_string()))?;
    if json.len() > MAX_DOCUMENT_BYTES {
        return Err(Error::invalid("a document of more than 1 MiB"));
    }
    terms_of(&document)?;
    Ok(document)
}

/// Refuses documents with a key that is kept for names. Costs a pass over them.
///
/// # Errors
/// `InvalidInput` naming the row.
pub(crate) fn check_free(attributes: &dyn DocumentRead) -> Result<()> {
    let mut row = attributes.first();
    attributes.visit(0, attributes.count(), &mut |json| {
        let place = || format!("{}, row {row}", attributes.name());
        check_keys(json).map_err(|error| Error::from(error).within(place()))?;
        row += 1;
        Ok(())
    })
}

/// A file of JSON lines. Blank lines are passed over.
///
/// Remembers where every 1024th row begins: 8 bytes each.
pub struct DocumentLines(TextLines);

impl DocumentLines {
    /// Opens a file. Costs a pass over it.
    ///
    /// # Errors
    /// As the file is; `InvalidInput` for a line that is too long.
    pub fn open(vfs: &Arc<dyn Vfs>, path: &Path) -> Result<Self> {
        TextLines::open(vfs, path).map(Self)
    }
}

impl DocumentRead for DocumentLines {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn count(&self) -> u64 {
        self.0.count()
    }

    fn visit(
        &self,
        first: u64,
        count: u64,
        visit: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        self.0.visit(first, count, visit)
    }
}

/// Documents in memory, a JSON text each.
pub struct DocumentSlice<'s>(
    /// Them.
    pub &'s [String],
);

impl DocumentRead for DocumentSlice<'_> {
    fn name(&self) -> &'static str {
        "attributes"
    }

    fn count(&self) -> u64 {
        self.0.len() as u64
    }

    fn visit(
        &self,
        first: u64,
        count: u64,
        visit: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let all = self.0.iter().skip(first as usize).take(count as usize);
        all.map(String::as_bytes).try_for_each(visit)
    }
}

/// Some of the documents of others.
pub struct DocumentPart<'d> {
    of: &'d dyn DocumentRead,
    first: u64,
    count: u64,
}

impl<'d> DocumentPart<'d> {
    /// The documents of `count` rows from `first` on.
    pub fn new(of: &'d dyn DocumentRead, first: u64, count: u64) -> Self {
        let count = count.min(of.count().saturating_sub(first));
        Self { of, first, count }
    }
}

impl DocumentRead for DocumentPart<'_> {
    fn name(&self) -> &str {
        self.of.name()
    }

    fn count(&self) -> u64 {
        self.count
    }

    fn first(&self) -> u64 {
        self.of.first() + self.first
    }

    fn visit(
        &self,
        first: u64,
        count: u64,
        visit: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let count = count.min(self.count.saturating_sub(first));
        self.of.visit(self.first + first, count, visit)
    }
}
