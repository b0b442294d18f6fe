//! Truth to a file: ids and, when they are known, distances.

use std::path::Path;
use std::sync::Arc;

use pageway_store::Vfs;

use super::error::TruthError;
use super::table::Truth;
use crate::error::Error;
use crate::source::{OutputFile, lowercase_extension};

/// Writes `truth` as `.ibin`: `u32 queries, u32 k`, ids (`i32`), then the distances (`f32`) unless
/// they are unknown. The file appears when it is complete.
///
/// # Errors
/// `InvalidInput` for another extension, an empty truth, lists that do not run in step, and ids
/// beyond 31 bits; `NoSpace`; `Io`.
pub fn write_truth(vfs: &Arc<dyn Vfs>, path: &Path, truth: &Truth) -> Result<(), Error> {
    let name = path.display().to_string();
    let queries = check(&name, path, truth)?;
    let needed_bytes = 8 + 4 * (truth.ids.len() as u64 + truth.distances.len() as u64);
    let mut output = OutputFile::create(vfs, path, needed_bytes)?;
    output.append(&queries.to_le_bytes())?;
    output.append(&(truth.k as u32).to_le_bytes())?;
    for id in &truth.ids {
        output.append(&id.to_le_bytes())?;
    }
    for distance in &truth.distances {
        output.append(&distance.to_le_bytes())?;
    }
    output.publish()
}

/// Checks what the format can hold; gives the number of queries.
fn check(name: &str, path: &Path, truth: &Truth) -> Result<u32, TruthError> {
    let file = || name.to_owned();
    if lowercase_extension(path) != "ibin" {
        return Err(TruthError::UnknownExtension { file: file() });
    }
    let (queries, found) = (truth.query_count(), truth.ids.len());
    if queries == 0 {
        let (queries, k) = (queries as u64, truth.k as i64);
        return Err(TruthError::Empty {
            file: file(),
            queries,
            k,
        });
    }
    if found != queries * truth.k {
        return Err(TruthError::Length {
            what: "ids",
            found,
            expected: queries * truth.k,
        });
    }
    if !truth.distances.is_empty() && truth.distances.len() != found {
        let (what, expected) = ("distances", found);
        return Err(TruthError::Length {
            what,
            found: truth.distances.len(),
            expected,
        });
    }
    if let Some(&id) = truth.ids.iter().find(|id| i32::try_from(**id).is_err()) {
        return Err(TruthError::IdTooLarge { file: file(), id });
    }
    let too_many = |_| TruthError::Length {
        what: "queries",
        found: queries,
        expected: u32::MAX as usize,
    };
    u32::try_from(queries).map_err(too_many)
}
