//! A base in equal runs of rows, as systems keep it that search segments one by one.

use std::path::PathBuf;

use pageway::source::{Selection, bin_extension, convert};
use pageway::{Error, Progress, Result, VectorRead};

use super::place::Place;
use super::prepare::Prepared;
use crate::files;

/// Writes `count` files with the rows of the base one after the other, none with two rows more
/// than another; from the cache of `place` when they are there.
///
/// # Errors
/// `InvalidInput` for no segments or more than rows; `Io`; `NoSpace`; `Cancelled`.
pub fn prepare_segments(
    prepared: &Prepared,
    count: u32,
    place: &Place,
    progress: &dyn Progress,
) -> Result<Vec<PathBuf>> {
    let base = files::open_vectors(&prepared.base, None)?;
    let (rows, parts) = (base.count(), u64::from(count));
    if parts == 0 || parts > rows {
        return Err(Error::invalid(format!(
            "{}: {rows} rows cannot be {count} segments",
            prepared.base.display()
        )));
    }
    let mark = files::fingerprint(&prepared.base)?;
    let directory = place.made().join(format!("{mark}-{count}"));
    files::create_directory(&directory)?;
    let extension = bin_extension(base.shape().element);
    let mut paths = Vec::new();
    for part in 0..parts {
        let path = directory.join(format!("segment-{part}.{extension}"));
        if !files::exists(&path)? {
            let mut selection = Selection::whole(&base, base.name());
            selection.rows = part * rows / parts..(part + 1) * rows / parts;
            convert(&files::vfs(), &selection, &path, None, progress)?;
        }
        paths.push(path);
    }
    Ok(paths)
}
