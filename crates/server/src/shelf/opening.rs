//! Opening a collection in as much memory as it takes, and there is.

use std::sync::Arc;

use pageway::{MemoryLack, format_bytes};

use super::{OpenedPlace, Shelf, ShelfPlace};
use crate::collection::{OpenCollection, OpenMemory, Schema};
use crate::division::{Bounds, Share};
use crate::failure::{Failure, Outcome};
use crate::registry::Registry;
use crate::remote::RemoteShard;
use crate::service::memory_for;

/// Memory of the searches of an index that is tried first, at least.
pub(super) const SEARCH_LEAST: u64 = 4 << 20;
/// Part of the budget that the searches of a collection are given at first, or half of an equal
/// share of it, where there are many collections.
const SEARCH_PART: u64 = 16;
/// Part of the budget that collections are given for their changes, an equal share of it each.
const UPDATE_PART: u64 = 4;
/// What the changes of an index get at least, where that is enough for them and there is room.
const UPDATE_USUAL: u64 = 20 << 20;

/// A collection to open.
pub(crate) struct Wanted<'w> {
    pub(crate) registry: &'w Registry,
    pub(crate) name: &'w str,
    pub(crate) number: u64,
    pub(crate) schema: &'w Schema,
    /// No name leads to it yet.
    pub(crate) is_new: bool,
    /// Where it lies, where that is object storage.
    pub(crate) remote: Option<&'w RemoteShard>,
}

impl Wanted<'_> {
    fn opened(&self, memory: OpenMemory) -> Outcome<OpenCollection> {
        if let Some(remote) = self.remote {
            return OpenCollection::open_fixed(remote.place(), self.schema, memory);
        }
        let dir = self.registry.dir_of(self.number);
        OpenCollection::open(self.registry.vfs(), &dir, self.schema, memory)
    }
}

impl Shelf {
    /// Memory of the searches of an index at most, of so many.
    pub(super) fn most_each(&self, count: u64) -> u64 {
        (self.budget / count / 2).max(SEARCH_LEAST)
    }

    /// Bounds of the memory of an index.
    pub(super) fn bounds(&self, wanted: &Wanted<'_>) -> Bounds {
        let count = index_count(wanted);
        let room = self.budget / count;
        Bounds {
            search: self.most_each(count),
            room,
            fair: room / shared_by(wanted).min(2),
        }
    }

    /// Memory that is tried for an index first, where so much is known to be needed.
    fn first_share(&self, wanted: &Wanted<'_>, known: Share) -> Share {
        let (count, shared) = (index_count(wanted), shared_by(wanted));
        let bounds = self.bounds(wanted);
        let part = SEARCH_PART.max(2 * shared);
        let search = (self.budget / part / count).clamp(SEARCH_LEAST, bounds.search);
        let update = (bounds.room / UPDATE_PART / shared).max(UPDATE_USUAL);
        let share = bounds.clamp(Share {
            search: search.max(known.search),
            update: update.max(known.update),
            ..known
        });
        let update = if wanted.remote.is_some() {
            0
        } else {
            share.update
        };
        Share { update, ..share }
    }

    fn memory_of(&self, share: Share, bounds: Bounds) -> OpenMemory {
        OpenMemory {
            search: share.search,
            update: share.update,
            build: share.build_bytes(),
            threads: self.threads,
            latency_target: self.latency_target,
            can_grow: bounds.more_rows(share).is_some(),
        }
    }

    /// Opens a collection: with so much for the searches of an index, or with what is enough.
    pub(super) fn open(
        &self,
        wanted: &Wanted<'_>,
        place: &ShelfPlace,
        grown: Option<u64>,
    ) -> Outcome<OpenedPlace> {
        let (known, bounds) = (place.known(), self.bounds(wanted));
        let search = grown.unwrap_or(known.search);
        let mut share = self.first_share(wanted, Share { search, ..known });
        loop {
            let needed = share.bytes() * index_count(wanted);
            self.reserve(wanted, needed)?;
            let opened = wanted.opened(self.memory_of(share, bounds));
            let opened = opened.and_then(|collection| self.settled(wanted, collection, needed));
            let failure = match opened {
                Ok((collection, bytes)) => {
                    let is_for_first = collection.has_small_delta() && !collection.is_flushed();
                    if grown.is_none() {
                        place.note(share);
                    }
                    return Ok(OpenedPlace {
                        collection: Arc::new(collection),
                        bytes,
                        share,
                        is_for_first,
                    });
                }
                Err(failure) => failure,
            };
            self.give_back(needed);
            // Too little memory is wrong input to the engine.
            if failure.status != 400 {
                return Err(failure);
            }
            let more = bounds.more(share, &failure);
            share = more.ok_or_else(|| too_little(wanted, &failure))?;
        }
    }

    /// Puts the memory of a collection that is open in place of what was reserved for it.
    fn settled(
        &self,
        wanted: &Wanted<'_>,
        collection: OpenCollection,
        reserved: u64,
    ) -> Outcome<(OpenCollection, u64)> {
        let bytes = collection.memory_bytes();
        let mut taken = self.taken();
        let others = taken.saturating_sub(reserved);
        if others + bytes <= self.budget {
            *taken = others + bytes;
            return Ok((collection, bytes));
        }
        drop(taken);
        collection.close()?;
        Err(self.no_room(wanted, bytes))
    }
}

/// 507 for a collection that does not open in all of the memory, with what would do.
fn too_little(wanted: &Wanted<'_>, failure: &Failure) -> Failure {
    let (name, count) = (wanted.name, index_count(wanted));
    let Some(MemoryLack::Updates(least)) = failure.lack else {
        return Failure::no_memory(format_args!("collection `{name}`: {}", failure.text));
    };
    // What is asked for searches first is a part of all, or the least.
    let each = (least + SEARCH_LEAST).max(least.div_ceil(SEARCH_PART - 1) * SEARCH_PART);
    let memory = memory_for(each.saturating_mul(count));
    Failure::no_memory(format_args!(
        "collection `{name}` takes {} for each of its {count} dense vectors: start the server with \
         --memory {memory} ({})",
        format_bytes(each),
        format_bytes(memory),
    ))
}

/// How many collections share the memory.
fn shared_by(wanted: &Wanted<'_>) -> u64 {
    wanted.registry.names().collections.len().max(1) as u64
}

pub(super) fn index_count(wanted: &Wanted<'_>) -> u64 {
    wanted.schema.dense.len().max(1) as u64
}
