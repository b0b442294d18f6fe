//! What was made for a cut, and a stamp of what it was made from.

use std::path::Path;

use pageway::{Error, Result};
use serde::{Deserialize, Serialize};

use super::Prepared;
use crate::data::cut::Cut;
use crate::data::entry::{DataSet, Whereabouts};
use crate::files;

const NAME: &str = "prepared.json";
/// Changed when the same set and cut give other files than before.
const METHOD: u32 = 1;

#[derive(Serialize, Deserialize)]
struct PreparedRecord {
    stamp: String,
    prepared: Prepared,
}

/// Changes with the entry, the cut, and the bytes of local files. Fetched files are pinned, so
/// their entry stands for them.
pub(super) fn stamp(set: &DataSet, cut: Cut) -> Result<String> {
    let entry = serde_json::to_string(set).map_err(|error| Error::invalid(error.to_string()))?;
    let mut text = format!("{METHOD} {} {entry}", cut.suffix());
    for file in set.files() {
        if let Whereabouts::Paths(paths) = file.whereabouts(&set.home)? {
            for path in paths
                .iter()
                .filter(|path| files::exists(path).unwrap_or(false))
            {
                text.push_str(&files::fingerprint(path)?);
            }
        }
    }
    Ok(files::text_checksum(&text))
}

/// What was made before, when nothing changed and all of it is there.
pub(super) fn read(directory: &Path, stamp: &str) -> Result<Option<Prepared>> {
    let path = directory.join(NAME);
    if !files::exists(&path)? {
        return Ok(None);
    }
    // A record that cannot be read, perhaps of another version, is made again.
    let record = serde_json::from_str::<PreparedRecord>(&files::read_text(&path)?).ok();
    let Some(record) = record.filter(|record| record.stamp == stamp) else {
        return Ok(None);
    };
    let ready = record.prepared;
    let there = files::exists(&ready.base)?
        && files::exists(&ready.queries)?
        && files::exists(&ready.truth)?;
    Ok(there.then_some(ready))
}

/// Says that all is made.
pub(super) fn write(directory: &Path, stamp: &str, prepared: &Prepared) -> Result<()> {
    let record = PreparedRecord {
        stamp: stamp.to_owned(),
        prepared: prepared.clone(),
    };
    let text =
        serde_json::to_string_pretty(&record).map_err(|error| Error::invalid(error.to_string()))?;
    files::write(&directory.join(NAME), text.as_bytes())
}
