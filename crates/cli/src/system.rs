//! The doors to the operating system that the engine opens for us: its clock, its files.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use pageway::lab::OpenMode;
use pageway::source::{IdRead, Selection, TextLines, TextRead};
use pageway::truth::{
    ExactOptions, ExactQuestion, RangeQuestion, RangeTruth, RangeTruthFile, Truth, TruthFile,
};
use pageway::{
    ElementType, Error, OsVfs, Progress, Result, Schema, VectorRead, Vfs, source, truth,
};
use pageway_formats::{AttributesWish, Opened, Vectors, Wish};

/// The present moment.
pub(crate) fn now() -> Instant {
    pageway::lab::clock::now()
}

/// The file system of the host.
pub(crate) fn vfs() -> Arc<dyn Vfs> {
    Arc::new(OsVfs)
}

/// Opens a file of vectors of any format; what cannot be read in any order is read now, and kept in
/// memory or in the directory for temporary files.
pub(crate) fn open_vectors(path: &Path, wish: &Wish, progress: &dyn Progress) -> Result<Vectors> {
    Ok(open_table(path, wish, progress)?.vectors)
}

/// A table without ids, whose vectors are the only lists.
pub(crate) fn plain(element: Option<ElementType>) -> Wish {
    Wish {
        element,
        column: None,
        id_column: None,
        scratch: std::env::temp_dir(),
    }
}

/// Opens a file of vectors that go with others of type `among`.
pub(crate) fn open_vectors_among(
    among: ElementType,
    path: &Path,
    wish: &Wish,
    progress: &dyn Progress,
) -> Result<Vectors> {
    Ok(open_table_among(among, path, wish, progress)?.vectors)
}

/// Opens a file of vectors that go with others of type `among`, and of ids where it has them:
/// floats are rounded to that type, and where it is bits numbers are taken as such.
pub(crate) fn open_table_among(
    among: ElementType,
    path: &Path,
    wish: &Wish,
    progress: &dyn Progress,
) -> Result<Opened> {
    let bits = (among == ElementType::Bit).then_some(among);
    let wish = Wish {
        element: wish.element.or(bits),
        ..wish.clone()
    };
    let mut opened = open_table(path, &wish, progress)?;
    let own = opened.vectors.shape().element;
    if own != among && own.is_float() && among.is_float() {
        opened.vectors = opened.vectors.rounded_to(among)?;
    }
    Ok(opened)
}

/// Opens a file of vectors, and of ids where it has a column of them.
pub(crate) fn open_table(path: &Path, wish: &Wish, progress: &dyn Progress) -> Result<Opened> {
    pageway_formats::open(&vfs(), path, wish, progress)
}

/// Opens a file of user ids.
pub(crate) fn open_ids(path: &Path) -> Result<Box<dyn IdRead>> {
    source::open_ids(&vfs(), path)
}

/// Opens a file of attributes by its extension; where the vectors are from the same file,
/// their columns are no attributes. What is translated waits where rows of the vectors do.
pub(crate) fn open_attributes(
    path: &Path,
    (vectors, wish): (&Path, &Wish),
    schema: Option<&Schema>,
    progress: &dyn Progress,
) -> Result<Box<dyn TextRead>> {
    let wish = AttributesWish {
        scratch: wish.scratch.clone(),
        beside: (path == vectors).then(|| wish.clone()),
        schema: schema.cloned(),
    };
    pageway_formats::open_attributes(&vfs(), path, &wish, progress)
}

/// Reads a schema of attributes, a JSON file.
pub(crate) fn read_schema(path: &Path) -> Result<Schema> {
    let schema: Result<Schema> = read_text(path)?.parse().map_err(Error::from);
    schema.map_err(|error| error.within(path.display()))
}

/// Opens a file of names of rows, one per line.
pub(crate) fn open_names(path: &Path) -> Result<TextLines> {
    TextLines::open(&vfs(), path)
}

/// Opens a file of exact neighbours of an index or data set of `base_count` rows.
pub(crate) fn open_truth(path: &Path, base_count: Option<u64>) -> Result<TruthFile> {
    TruthFile::open(&vfs(), path, base_count)
}

/// Computes exact neighbours within `memory_bytes`, on a pool of `threads` (0 for all cores).
pub(crate) fn exact(
    base: &dyn VectorRead,
    question: &ExactQuestion<'_>,
    memory_bytes: u64,
    threads: usize,
    progress: &dyn Progress,
) -> Result<Truth> {
    let pool = pageway::lab::thread_pool(threads)?;
    truth::exact(
        base,
        question,
        &ExactOptions {
            memory_bytes,
            pool: &pool,
        },
        progress,
    )
}

/// Writes exact neighbours.
pub(crate) fn write_truth(path: &Path, found: &Truth) -> Result<()> {
    truth::write_truth(&vfs(), path, found)
}

/// Opens a file of exact results within a radius.
pub(crate) fn open_range_truth(path: &Path) -> Result<RangeTruthFile> {
    RangeTruthFile::open(&vfs(), path)
}

/// Computes exact results within a radius, as `exact` does neighbours.
pub(crate) fn exact_range(
    base: &dyn VectorRead,
    question: &RangeQuestion<'_>,
    memory_bytes: u64,
    threads: usize,
    progress: &dyn Progress,
) -> Result<RangeTruth> {
    let pool = pageway::lab::thread_pool(threads)?;
    let options = ExactOptions {
        memory_bytes,
        pool: &pool,
    };
    truth::exact_range(base, question, &options, progress)
}

/// Writes exact results within a radius.
pub(crate) fn write_range_truth(path: &Path, found: &RangeTruth) -> Result<()> {
    truth::write_range_truth(&vfs(), path, found)
}

/// Copies vectors to a file; gives the number of rows.
pub(crate) fn convert(
    from: &Selection<'_>,
    to: &Path,
    element: Option<ElementType>,
    progress: &dyn Progress,
) -> Result<u64> {
    source::convert(&vfs(), from, to, element, progress)
}

/// Makes a directory and its missing parents.
pub(crate) fn create_directory(path: &Path) -> Result<()> {
    let made = vfs().create_dir_all(path);
    made.map_err(|error| Error::from(error).within(path.display()))
}

/// Reads a text file whole; for texts of known, small size.
pub(crate) fn read_text(path: &Path) -> Result<String> {
    let place = |error: std::io::Error| Error::from(error).within(path.display());
    let file = vfs().open(path, OpenMode::Read).map_err(place)?;
    let mut bytes = vec![0; file.len().map_err(place)? as usize];
    file.read_exact_at(&mut bytes, 0).map_err(place)?;
    String::from_utf8(bytes)
        .map_err(|error| Error::invalid(format!("{}: is not UTF-8: {error}", path.display())))
}

/// Writes a small text file whole; one of that name is replaced.
pub(crate) fn write_text(path: &Path, text: &str) -> Result<()> {
    let place = |error: std::io::Error| Error::from(error).within(path.display());
    let vfs = vfs();
    if vfs.exists(path).map_err(place)? {
        vfs.remove_file(path).map_err(place)?;
    }
    let file = vfs.open(path, OpenMode::CreateNew).map_err(place)?;
    file.write_all_at(text.as_bytes(), 0).map_err(place)
}

/// Removes a file.
pub(crate) fn remove(path: &Path) -> Result<()> {
    let removed = vfs().remove_file(path);
    removed.map_err(|error| Error::from(error).within(path.display()))
}
