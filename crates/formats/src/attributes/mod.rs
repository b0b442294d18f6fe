//! Attributes of rows from a file by its extension, as JSON texts that can be read in any order.
//!
//! ```text
//! csv       records of a file        spool     texts in a file without a name
//! spmat     sparse rows -> tags
//! column    cells -> values          ../parquet/documents   rows of Parquet -> documents
//! ```
//!
//! JSON lines are read where they lie, unless they hold vectors. What must be translated is, once,
//! into JSON lines in a scratch file, which has lost its name when it is read.

mod column;
mod csv;
mod spmat;
mod spool;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pageway::source::{TextLines, TextRead};
use pageway::{Error, Progress, Result, Schema, Vfs};
use serde_json::{Map, Value};

use crate::json_lines::JsonLines;
use crate::open::{JSON_LINES, Wish};
use crate::parquet::Documents;
use crate::reader::read_buffered;
use spool::Spool;

/// How attributes are to be read.
#[derive(Clone, Debug)]
pub struct AttributesWish {
    /// Directory for documents that are translated.
    pub scratch: PathBuf,
    /// How the vectors were read, where they are from the same file: their column, or field, and
    /// that of the ids are no attributes.
    pub beside: Option<Wish>,
    /// What cells of CSV are read as, where columns are named.
    pub schema: Option<Schema>,
}

/// Opens a file of attributes: `.parquet`, `.csv`, `.tsv`, texts with `.gz` too, `.spmat`, else
/// JSON lines.
/// Costs a pass over the file, two over CSV.
///
/// # Errors
/// `NotFound`; `InvalidInput` with file, row and field for what is no attribute; `NoSpace` when
/// documents do not fit into `scratch`; `Io`; `Cancelled`.
pub fn open_attributes(
    vfs: &Arc<dyn Vfs>,
    path: &Path,
    wish: &AttributesWish,
    progress: &dyn Progress,
) -> Result<Box<dyn TextRead>> {
    let name = path.display().to_string();
    let lower = name.to_ascii_lowercase();
    let ends = |endings: &[&str]| endings.iter().any(|ending| lower.ends_with(ending));
    let spool = || Spool::create(vfs, &wish.scratch, name.clone(), progress);
    if ends(&[".parquet", ".pq"]) {
        let documents = Documents::open(vfs, path, wish.beside.as_ref())?;
        let mut spool = spool()?;
        documents.each(&mut |document| spool.push(&document))?;
        return spool.finish();
    }
    if ends(&[".csv", ".csv.gz", ".tsv", ".tsv.gz"]) {
        let mut spool = spool()?;
        let schema = wish.schema.as_ref();
        csv::each_document(vfs, (path, schema), &mut |document| spool.push(&document))?;
        return spool.finish();
    }
    if ends(&[".spmat"]) {
        let mut spool = spool()?;
        spmat::each_document(vfs, path, &mut |document| spool.push(&document))?;
        return spool.finish();
    }
    if let Some(beside) = wish.beside.as_ref().filter(|_| ends(&JSON_LINES)) {
        let lines = JsonLines::open(vfs, path, beside)?;
        let mut spool = spool()?;
        lines.each_document(&mut |document| spool.push(&document))?;
        return spool.finish();
    }
    if ends(&[".gz"]) {
        let mut spool = spool()?;
        spool.copy(&mut read_buffered(vfs, path)?)?;
        return spool.finish();
    }
    Ok(Box::new(TextLines::open(vfs, path)?))
}

/// What takes documents, one after the other.
pub(crate) type Take<'t> = dyn FnMut(Map<String, Value>) -> Result<()> + 't;

/// A complaint of a value.
pub(crate) fn refused(name: &str, row: u64, field: &str, words: impl std::fmt::Display) -> Error {
    Error::invalid(format!("{name}: row {row}, field {field:?}: {words}"))
}
