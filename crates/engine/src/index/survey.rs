//! Statistics of the graph of an index, for pictures.

use std::path::Path;

use pageway_store::OsVfs;
use pageway_types::Progress;

use crate::error::Result;
use crate::manifest::Manifest;
use crate::resolve::Source;
use crate::segment::{GraphSurvey, survey_lists};

/// Counts the lists of the index in `dir`, those of dead rows included.
///
/// Costs one sequential pass over the pages that hold lists; holds about 1 MiB.
///
/// # Errors
/// `NotFound`, `Incompatible`, `Corrupt` or `Io` as manifest and pages are; `Cancelled`.
pub fn survey(dir: &Path, progress: &dyn Progress) -> Result<GraphSurvey> {
    let vfs = &OsVfs;
    let manifest = Manifest::read(vfs, dir)?;
    let mut survey = GraphSurvey::default();
    for segment in &manifest.segments {
        survey_lists(Source { vfs, dir, segment }, &mut survey, progress)?;
    }
    Ok(survey)
}
