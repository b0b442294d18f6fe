//! What an archive holds, put in place of a collection.

use std::path::Path;

use crate::cluster::ShardContent;
use crate::collection::{OpenCollection, Schema};
use crate::failure::{Failure, Outcome};
use crate::partition::write_position;
use crate::registry::CollectionEntry;
use crate::service::Service;
use crate::shelf::Wanted;
use crate::snapshot::unpack;

/// Puts what an archive holds in place of a collection, or makes it. That of a partition has all of
/// its log up to a `position`.
///
/// # Errors
/// 400 where it is no archive of a collection, or is damaged; as files are.
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
