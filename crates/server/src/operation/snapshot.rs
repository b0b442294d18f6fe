//! Collections as archives.

use std::path::Path;

use pageway::server::OpenMode;
use serde::Deserialize;

use super::call::{Call, Reply};
use crate::failure::{Failure, Outcome};
use crate::registry::check_name;
use crate::restore::restore;
use crate::snapshot::sha256_of;

/// An archive to take a collection from. Its priority is without effect: there is one server.
#[derive(Deserialize)]
struct Recover {
    location: String,
    #[serde(default)]
    checksum: Option<String>,
}

/// Those of a collection.
pub(super) fn list(call: &Call<'_>) -> Outcome<Reply> {
    let (name, _) = call.service.entry(call.name("collection"))?;
    Reply::of(&call.service.snapshots.list(&name)?)
}

/// Makes one.
pub(super) fn create(call: &Call<'_>) -> Outcome<Reply> {
    Reply::of(&call.service.archive(call.name("collection"))?)
}

/// Sends one.
pub(super) fn download(call: &Call<'_>) -> Outcome<Reply> {
    let (name, _) = call.service.entry(call.name("collection"))?;
    let archive = call.name("snapshot");
    let (file, length) = call.service.snapshots.open_archive(&name, archive)?;
    Ok(Reply::File(file, length))
}

/// Removes one.
pub(super) fn delete(call: &Call<'_>) -> Outcome<Reply> {
    let (name, _) = call.service.entry(call.name("collection"))?;
    call.service
        .snapshots
        .delete(&name, call.name("snapshot"))?;
    Reply::of(&true)
}

/// Takes a collection from an archive of the folder.
pub(super) fn recover(call: &Call<'_>) -> Outcome<Reply> {
    check_name(call.name("collection"))?;
    let Recover { location, checksum } = call.read()?;
    let archive = call.service.snapshots.located(&location)?;
    taken(call, (&archive, checksum.as_deref()))
}

/// Takes a collection from an archive that was sent.
pub(super) fn upload(call: &Call<'_>) -> Outcome<Reply> {
    let missing = || Failure::format("missing field `snapshot` of the form");
    let archive = call.upload.ok_or_else(missing)?;
    taken(call, (archive, call.query.get("checksum")))
}

/// Puts what an archive holds in place of a collection, or makes it.
fn taken(call: &Call<'_>, (archive, checksum): (&Path, Option<&str>)) -> Outcome<Reply> {
    let name = call.name("collection");
    check_name(name)?;
    call.service.check_history(name)?;
    if let Some(checksum) = checksum {
        check(call, archive, checksum)?;
    }
    restore(call.service, name, (archive, None))?;
    Reply::of(&true)
}

fn check(call: &Call<'_>, archive: &Path, expected: &str) -> Outcome<()> {
    let file = call.service.registry.vfs().open(archive, OpenMode::ReadOwn);
    let found = file.and_then(|file| sha256_of(&file));
    let found = found.map_err(|error| Failure::from(pageway::Error::from(error)))?;
    if found.eq_ignore_ascii_case(expected) {
        return Ok(());
    }
    Err(Failure::bad_request(format_args!(
        "Snapshot checksum mismatch: expected {expected}, got {found}"
    )))
}
