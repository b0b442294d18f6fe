//! A file of vectors by its extension.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pageway::source::{OpenAs, VectorFile, VectorFormat};
use pageway::{ElementType, Error, Progress, Result, Vfs};

use crate::gather::{Opened, Vectors, gather};
use crate::json_lines::JsonLines;
use crate::library::{self, Found, Origin};
use crate::parquet::ParquetRows;

/// Extensions beside those of the engine.
pub const EXTENSIONS: &str = ".parquet .jsonl .ndjson .jsonl.gz .ndjson.gz";

/// Endings of files of JSON lines.
pub(crate) const JSON_LINES: [&str; 4] = [".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz"];

/// What to read, and where rows may wait.
#[derive(Clone, Debug)]
pub struct Wish {
    /// Element type, where the file does not say it or another is wanted.
    pub element: Option<ElementType>,
    /// Column, or field, of the vectors; the only one with lists where absent.
    pub column: Option<String>,
    /// Column, or field, of ids.
    pub id_column: Option<String>,
    /// Directory for rows that outgrow memory.
    pub scratch: PathBuf,
}

/// Opens `path`. Files of the engine's own formats are not read yet; others are read whole, once.
///
/// # Errors
/// `NotFound`; `InvalidInput` with file and row, line or column for what is no set of vectors;
/// `NoSpace` when rows do not fit into `scratch`; `Io`; `Cancelled`.
pub fn open(
    vfs: &Arc<dyn Vfs>,
    path: &Path,
    wish: &Wish,
    progress: &dyn Progress,
) -> Result<Opened> {
    let name = path.display().to_string();
    let lower = name.to_ascii_lowercase();
    let ends = |endings: &[&str]| endings.iter().any(|ending| lower.ends_with(ending));
    if ends(&[".parquet", ".pq"]) {
        let mut rows = ParquetRows::open(vfs, path, wish)?;
        return gather(vfs, &mut rows, name, wish, progress);
    }
    if ends(&JSON_LINES) {
        let mut rows = JsonLines::open(vfs, path, wish)?;
        return gather(vfs, &mut rows, name, wish, progress);
    }
    if wish.column.is_some() || wish.id_column.is_some() {
        return Err(Error::invalid(format!(
            "{name}: has no columns: leave --column and --id-column away"
        )));
    }
    let element = wish.element;
    if let Some(found) = library::find(vfs, path, element)? {
        return some_rows(found);
    }
    VectorFormat::of(path).map_err(|error| error.with_known(EXTENSIONS))?;
    let file = VectorFile::open(vfs, path, OpenAs { element })?;
    Ok(Opened {
        vectors: Vectors::from(file),
        ids: None,
        origin: None,
    })
}

/// Opens an index file of another library, and says which.
///
/// # Errors
/// `InvalidInput` for one without vectors, and for a file of no library that is known, with what
/// it begins with; `NotFound` and `Io`.
pub fn open_index(
    vfs: &Arc<dyn Vfs>,
    path: &Path,
    element: Option<ElementType>,
) -> Result<(Opened, Origin)> {
    if let Some(found) = library::find(vfs, path, element)? {
        let origin = found.origin.clone();
        return Ok((some_rows(found)?, origin));
    }
    let begins = library::begin_of(vfs, path)?;
    Err(Error::invalid(format!(
        "{}: no index file that is known: it {begins}; known are faiss (flat, IVF-flat, \
         HNSW-flat), hnswlib and DiskANN (NAME_disk.index, NAME.data); 'pageway convert' rewrites \
         files of vectors",
        path.display()
    )))
}

/// What was found, unless it has no rows.
fn some_rows(found: Found) -> Result<Opened> {
    if found.rows.count() == 0 {
        return Err(Error::invalid(format!("{}: has no vectors", found.name)));
    }
    Ok(Opened::from(found))
}
