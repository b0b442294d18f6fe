//! What data sets there are, and which of them are here.

use pageway::{Metric, Result};
use serde::Serialize;

use super::cut::Cut;
use super::entry::{DataSet, SetFile, Whereabouts};
use super::header::header;
use super::obtain::whole_path;
use super::place::Place;
use super::registry::Registry;
use crate::files;

/// A line about a data set.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Listed {
    /// Name.
    pub name: String,
    /// What it is.
    pub about: String,
    /// Rows, where known.
    pub rows: Option<u64>,
    /// Dimension, where known.
    pub dimension: Option<u32>,
    /// Distance.
    pub metric: Metric,
    /// Bytes of the raw vectors, where known.
    pub bytes: Option<u64>,
    /// All files of the whole set are here, so that nothing has to be fetched.
    pub here: bool,
    /// It is declared by a user, with files of this machine.
    pub local: bool,
}

/// All sets of a registry, by name. Asks the file system once per file, and reads headers of files
/// that are declared without their size.
///
/// # Errors
/// `Io`.
pub fn list(registry: &Registry, place: &Place) -> Result<Vec<Listed>> {
    registry.sets().map(|set| line(set, place)).collect()
}

fn line(set: &DataSet, place: &Place) -> Result<Listed> {
    let mut here = true;
    for file in set.files() {
        here = here && is_here(set, file, place)?;
    }
    // A file that is damaged is told by who uses it.
    let found = if here {
        header(set, Cut::default()).ok().flatten()
    } else {
        None
    };
    let bytes = found.map(|found| found.rows * found.shape.row_bytes() as u64);
    Ok(Listed {
        name: set.name.clone(),
        about: set.about.clone(),
        rows: set.rows.or(found.map(|found| found.rows)),
        dimension: set.dimension.or(found.map(|found| found.shape.dimension)),
        metric: set.metric,
        bytes: set.raw_bytes().or(bytes),
        here,
        local: set.is_local() && !set.base.from.starts_with("builtin:"),
    })
}

fn is_here(set: &DataSet, file: &SetFile, place: &Place) -> Result<bool> {
    // A path with a variable that is not set is a file that is not here.
    let paths = match file.whereabouts(&set.home) {
        Err(_) => return Ok(false),
        Ok(Whereabouts::Builtin(_)) => return Ok(true),
        Ok(Whereabouts::Paths(paths)) => paths,
        Ok(Whereabouts::Addresses(addresses)) => {
            let kept = |address: &String| whole_path(place, set, file, address);
            addresses.iter().map(kept).collect()
        }
    };
    for path in paths {
        if !files::exists(&path)? {
            return Ok(false);
        }
    }
    Ok(true)
}
