//! Removes what no version names any more, after a while in which readers may still use it.

use std::collections::HashSet;
use std::io;
use std::time::Duration;

use object_store::ObjectMeta;
use pageway_store::clock;
use serde::Serialize;

use crate::Objects;
use crate::version::{OBJECTS, Pointer, VERSIONS, Version, object_name, version_name};

/// What was removed. The names of its fields are keys of `--json`.
#[derive(Clone, Copy, PartialEq, Eq, Default, Serialize, Debug)]
pub struct Collected {
    /// Versions and objects.
    pub removed: usize,
    /// Bytes of those.
    pub removed_bytes: u64,
}

/// Removes versions other than the current one, and objects that it does not name, of which all are
/// older than `grace` by the clock of this machine.
///
/// Readers of an older version then get an error, once they ask for what they have not cached. A
/// publish that takes longer than the grace may lose what it sent.
///
/// # Errors
/// Where nothing was published, or the store fails.
pub fn collect(objects: &Objects, grace: Duration) -> io::Result<Collected> {
    let Some((pointer, _)) = Pointer::read(objects)? else {
        return Ok(Collected::default());
    };
    let current = Version::read(objects, &pointer)?;
    let mut named: HashSet<String> = current.names().map(object_name).collect();
    named.insert(version_name(&pointer));
    let mut collected = Collected::default();
    for folder in [VERSIONS, OBJECTS] {
        for meta in objects.list(folder)? {
            let Some(file) = meta.location.filename() else {
                continue;
            };
            let name = format!("{folder}/{file}");
            if !named.contains(&name) && is_older(&meta, grace) {
                objects.remove(&name)?;
                collected.removed += 1;
                collected.removed_bytes += meta.size;
            }
        }
    }
    Ok(collected)
}

/// By the clock of this machine; not where that is unknown.
fn is_older(meta: &ObjectMeta, grace: Duration) -> bool {
    let written = u64::try_from(meta.last_modified.timestamp()).ok();
    let age = clock::unix_seconds()
        .zip(written)
        .and_then(|(now, written)| now.checked_sub(written));
    age.is_some_and(|age| age >= grace.as_secs())
}
