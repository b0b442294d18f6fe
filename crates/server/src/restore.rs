//! What an archive holds, put in place of a collection.

use std::path::Path;

use crate::cluster::ShardContent;
use crate::collection::{OpenCollection, Schema};
use crate::failure::{Failure, Outcome};
use crate::partition::write_position;
use crate::registry::{CollectionEntry, Names};
use crate::service::Service;
use crate::shelf::Wanted;
use crate::snapshot::unpack;

/// Puts what an archive holds in place of a collection, or makes it. That of a partition has all of
/// its log up to a `position`.
///
/// # Errors
/// 400 where it is no archive of a collection, or of one with other vectors than that which is
/// there, or is damaged; as files are.
pub(crate) fn restore(
    service: &Service,
    name: &str,
    (archive, position): (&Path, Option<u64>),
) -> Outcome<()> {
    let registry = &service.registry;
    let number = {
        let turn = registry.turn();
        registry.change(&turn, |names| Ok(names.reserve()))?
    };
    let entry = taken_out((service, name), (archive, position), number);
    let before = entry.and_then(|entry| {
        let turn = registry.turn();
        registry.change(&turn, |names| {
            if position.is_none() {
                check_vectors(names, name, &Schema::of(&entry.config)?)?;
            }
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
    before.map(|_| ())
}

/// The collection of an archive, under a number that no name leads to yet.
fn taken_out(
    (service, name): (&Service, &str),
    (archive, position): (&Path, Option<u64>),
    number: u64,
) -> Outcome<CollectionEntry> {
    let registry = &service.registry;
    let dir = registry.dir_of(number);
    registry.remove_files(number)?;
    let head = unpack(registry.vfs(), archive, &dir)?;
    let schema = Schema::of(&head.config)?;
    if position.is_none() {
        check_vectors(&registry.names(), name, &schema)?;
    }
    if head.indexes != schema.dense.len().max(1) {
        return Err(Failure::wrong(
            "Snapshot: its indexes are not those of its settings",
        ));
    }
    let digest = OpenCollection::digest_of(registry.vfs(), &dir, &schema)?;
    OpenCollection::adopt(registry.vfs(), &dir, &schema)?;
    if let Some(position) = position {
        write_position(registry.vfs().as_ref(), &dir, position)?;
    }
    let open = service.shelf.get(&Wanted {
        registry,
        name,
        number,
        schema: &schema,
        is_new: true,
        remote: None,
    })?;
    open.check_indexes()?;
    let content = ShardContent {
        sequence: open.sequence()?,
        digest,
    };
    Ok(CollectionEntry {
        number,
        config: head.config,
        payload_schema: head.payload_schema,
        // What a partition holds is told by its log.
        content: position.is_none().then_some(content),
        url: None,
    })
}

/// Refuses to put other vectors in place of those that a collection has.
fn check_vectors(names: &Names, name: &str, given: &Schema) -> Outcome<()> {
    let Ok((name, entry)) = names.resolve(name) else {
        return Ok(());
    };
    let own = Schema::of(&entry.config)?;
    if own.describe() == given.describe() {
        return Ok(());
    }
    Err(Failure::wrong(format!(
        "Snapshot is not compatible with existing collection: {name} has {}, the snapshot {}; \
         delete the collection first, or recover under another name",
        own.describe(),
        given.describe()
    )))
}
