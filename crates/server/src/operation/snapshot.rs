//! Collections as archives.

use std::path::Path;

use pageway::server::OpenMode;
use serde::Deserialize;

use super::call::{Call, Reply};
use crate::cluster::ShardContent;
use crate::collection::{OpenCollection, Schema};
use crate::failure::{Failure, Outcome};
use crate::registry::{CollectionEntry, check_name};
use crate::shelf::Wanted;
use crate::snapshot::{SnapshotHead, sha256_of, unpack};

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
    let (name, entry) = call.service.entry(call.name("collection"))?;
    let open = call.service.open_entry(&name, &entry)?;
    let indexes = Schema::of(&entry.config)?.dense.len().max(1);
    let head = SnapshotHead::new(entry.config, entry.payload_schema, indexes);
    let folder = &call.service.snapshots;
    Reply::of(&folder.create((&name, &head), |dir| open.copy_into(dir))?)
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
    restore(call, (&archive, checksum.as_deref()))
}

/// Takes a collection from an archive that was sent.
pub(super) fn upload(call: &Call<'_>) -> Outcome<Reply> {
    let missing = || Failure::format("missing field `snapshot` of the form");
    let archive = call.upload.ok_or_else(missing)?;
    restore(call, (archive, call.query.get("checksum")))
}

/// Puts what an archive holds in place of a collection, or makes it.
fn restore(call: &Call<'_>, (archive, checksum): (&Path, Option<&str>)) -> Outcome<Reply> {
    let service = call.service;
    check_name(call.name("collection"))?;
    service.check_history(call.name("collection"))?;
    if let Some(checksum) = checksum {
        check(call, archive, checksum)?;
    }
    let registry = &service.registry;
    let number = {
        let turn = registry.turn();
        registry.change(&turn, |names| Ok(names.reserve()))?
    };
    let entry = taken_out(call, archive, number);
    let before = entry.and_then(|entry| {
        let turn = registry.turn();
        registry.change(&turn, |names| {
            let name = call.name("collection");
            let name = names.aliases.get(name).cloned().unwrap_or(name.to_owned());
            Ok(names.collections.insert(name, entry))
        })
    });
    let gone = match &before {
        Ok(before) => before.as_ref().map(|entry| entry.number),
        Err(_) => Some(number),
    };
    if let Some(number) = gone {
        service.shelf.forget(number);
        registry.remove_files(number)?;
    }
    before?;
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

/// The collection of an archive, under a number that no name leads to yet.
fn taken_out(call: &Call<'_>, archive: &Path, number: u64) -> Outcome<CollectionEntry> {
    let registry = &call.service.registry;
    let dir = registry.dir_of(number);
    registry.remove_files(number)?;
    let head = unpack(registry.vfs(), archive, &dir)?;
    let schema = Schema::of(&head.config)?;
    if head.indexes != schema.dense.len().max(1) {
        return Err(Failure::wrong(
            "Snapshot: its indexes are not those of its settings",
        ));
    }
    let digest = OpenCollection::digest_of(registry.vfs(), &dir, &schema)?;
    OpenCollection::adopt(registry.vfs(), &dir, &schema)?;
    let open = call.service.shelf.get(&Wanted {
        registry,
        name: call.name("collection"),
        number,
        schema: &schema,
        is_new: true,
        remote: None,
    })?;
    open.check_indexes()?;
    Ok(CollectionEntry {
        number,
        config: head.config,
        payload_schema: head.payload_schema,
        content: Some(ShardContent {
            sequence: open.sequence()?,
            digest,
        }),
        url: None,
    })
}
