//! From a filter to the rows that may be found, and to the way they are searched.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use pageway_attributes::{Field, NodeIds, Path, Predicate, compile_bytes, matching_without};
use pageway_store::PerProcess;
use pageway_types::NodeId;

use super::{Index, Version};
use crate::error::{Error, ErrorKind, Result};
use crate::execution::{NodeSet, Segment};
use crate::filter::{Filter, nearest_name};
use crate::memory::{MemoryPart, format_bytes};

/// Ids that are read at a time.
const IDS_AT_ONCE: usize = 8192;
/// Rows of segments that a filter lets through.
pub(super) struct Matched {
    pub(super) set: NodeSet,
    /// Those of them that live.
    pub(super) living: u64,
    /// Documents that were read to tell.
    pub(super) documents: u64,
}

/// Memory of filters, lent to searches.
#[derive(Default)]
pub(super) struct FilterRoom {
    shared: PerProcess<SharedRoom>,
}

#[derive(Default)]
struct SharedRoom {
    taken: Mutex<u64>,
    freed: Condvar,
}

/// Some of it.
pub(super) struct FilterLease<'r> {
    room: &'r SharedRoom,
    bytes: u64,
}

impl FilterRoom {
    /// Waits for so many bytes of `given`.
    fn take(&self, bytes: u64, given: u64) -> FilterLease<'_> {
        let room = self.shared.get();
        let mut taken = room.lock();
        while *taken > 0 && *taken + bytes > given {
            taken = room
                .freed
                .wait(taken)
                .unwrap_or_else(PoisonError::into_inner);
        }
        *taken += bytes;
        drop(taken);
        FilterLease { room, bytes }
    }
}

impl SharedRoom {
    fn lock(&self) -> MutexGuard<'_, u64> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FilterLease<'_> {
    /// Gives back all but so many bytes.
    fn keep(&mut self, bytes: u64) {
        let more = self.bytes.saturating_sub(bytes);
        *self.room.lock() -= more;
        self.bytes -= more;
        self.room.freed.notify_all();
    }
}

impl Drop for FilterLease<'_> {
    fn drop(&mut self) {
        self.keep(0);
    }
}

impl Index {
    /// How many rows match a filter: exactly, rows that died not counted. Costs what telling them
    /// costs, and no search.
    ///
    /// # Errors
    /// `InvalidInput` for a field that no row has, or a filter that takes more memory than is set
    /// aside; `Corrupt` or `Io` as files are.
    pub fn count(&self, filter: &Filter) -> Result<u64> {
        self.follow()?;
        let version = self.version();
        let (matched, _lease) = self.matching(&version, filter)?;
        let mut bare = 0;
        for delta in version.chain() {
            delta
                .view()
                .each_living(|_, id, _| bare += u64::from(filter.matches_bare(id)));
        }
        Ok(matched.living + bare)
    }

    /// The fields that attributes have: paths, kinds of values, and different values in the segment
    /// that has most. Costs a pass over all terms.
    ///
    /// # Errors
    /// `Corrupt` or `Io` as files are.
    pub fn fields(&self) -> Result<Vec<Field>> {
        self.version().fields()
    }
}

impl Index {
    /// The rows that a filter lets through, and the memory that holds them.
    pub(super) fn matching(
        &self,
        version: &Version,
        filter: &Filter,
    ) -> Result<(Matched, FilterLease<'_>)> {
        let needed = version.check_filter(filter)?;
        let given = version.ledger.reserved_for(&[MemoryPart::Filters]);
        let mut lease = self.filters.take(needed, given);
        let matched = version.matching(filter)?;
        lease.keep(version.set_bytes());
        Ok((matched, lease))
    }
}

impl Version {
    /// The rows that a filter lets through.
    fn matching(&self, filter: &Filter) -> Result<Matched> {
        let mut matched = Matched {
            set: NodeSet::holding(self.node_count()),
            living: 0,
            documents: 0,
        };
        for segment in &self.segments {
            let ids = node_ids(segment, filter.predicate())?;
            let nodes = match &segment.attributes {
                Some(attributes) => {
                    let found = attributes.matching(filter.predicate(), &ids)?;
                    matched.documents += found.documents;
                    found.nodes
                }
                None => matching_without(filter.predicate(), segment.node_count(), &ids),
            };
            for node in nodes {
                let dead = segment.dead.as_ref();
                let lives = dead.is_none_or(|dead| !dead.contains(NodeId(node)));
                matched.living += u64::from(lives);
                matched.set.insert(NodeId(segment.base + node));
            }
        }
        Ok(matched)
    }

    /// The documents of nodes, as JSON: none of those without attributes, and of no nodes.
    pub(super) fn attributes_of(&self, nodes: &[u32]) -> Result<Vec<Option<String>>> {
        let mut found = vec![None; nodes.len()];
        for segment in &self.segments {
            let Some(attributes) = &segment.attributes else {
                continue;
            };
            let own = (0..).zip(nodes).filter_map(|(place, node)| {
                let own = node.checked_sub(segment.base)?;
                (own < segment.node_count()).then_some((own, place))
            });
            let mut own: Vec<(u32, usize)> = own.collect();
            own.sort_unstable();
            let (order, mut places) = (own.iter().map(|(node, _)| *node), own.iter());
            attributes.documents().visit(order, &mut |_, json| {
                let slot = places.next().and_then(|(_, place)| found.get_mut(*place));
                if let Some(slot) = slot {
                    *slot = Some(String::from_utf8_lossy(json).into_owned());
                }
                Ok::<_, Error>(())
            })?;
        }
        Ok(found)
    }

    fn fields(&self) -> Result<Vec<Field>> {
        let mut all: Vec<Field> = Vec::new();
        for segment in &self.segments {
            let Some(attributes) = &segment.attributes else {
                continue;
            };
            for field in attributes.fields()? {
                match all.iter_mut().find(|own| own.path == field.path) {
                    None => all.push(field),
                    Some(own) => {
                        own.values = own.values.max(field.values);
                        own.kinds.extend(field.kinds);
                        own.kinds.sort_unstable();
                        own.kinds.dedup();
                    }
                }
            }
        }
        all.sort_by(|one, next| one.path.cmp(&next.path));
        Ok(all)
    }

    /// Bytes of a bit for each row.
    fn set_bytes(&self) -> u64 {
        u64::from(self.node_count()).div_ceil(64) * 8
    }

    /// Bytes that a filter takes; refuses one on fields that there are not, and one that takes too
    /// much memory.
    fn check_filter(&self, filter: &Filter) -> Result<u64> {
        let attributes = || {
            self.segments
                .iter()
                .filter_map(|one| one.attributes.as_ref())
        };
        if attributes().next().is_none() && !filter.predicate().paths().is_empty() {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "this index has no attributes to filter by: build it with attributes",
            ));
        }
        for path in filter.predicate().paths() {
            let known = attributes().try_fold(false, |known, own| {
                Ok::<_, Error>(known || own.knows(&path)?)
            })?;
            if filter.knows_fields() && !known {
                return Err(self.unknown(&path)?);
            }
        }
        let longest = self.segments.iter().map(|one| one.node_count()).max();
        let needed = self.set_bytes() + compile_bytes(filter.predicate(), longest.unwrap_or(0));
        let given = self.ledger.reserved_for(&[MemoryPart::Filters]);
        if needed <= given || attributes().next().is_none() {
            return Ok(needed);
        }
        Err(Error::invalid(format!(
            "this filter takes {} ({needed} B) of memory, and {} are set aside for filters: write \
             it with fewer levels",
            format_bytes(needed),
            format_bytes(given)
        )))
    }

    fn unknown(&self, path: &Path) -> Result<Error> {
        let fields = self.fields()?;
        let name = path.to_string();
        let hint = nearest_name(&name, fields.iter().map(|field| field.path.as_str()));
        let hint = hint.map_or_else(String::new, |near| format!("; did you mean {near}?"));
        Ok(Error::invalid(format!(
            "filter: no row has a field {name}{hint}"
        )))
    }
}

/// The nodes of a segment whose ids a predicate names. Costs a pass over its ids, where it names
/// any.
fn node_ids(segment: &Segment, predicate: &Predicate) -> Result<NodeIds> {
    let mut found = NodeIds::new();
    if !predicate.asks_for_ids() {
        return Ok(found);
    }
    let named = predicate.ids();
    let mut ids = vec![0; IDS_AT_ONCE];
    let mut first = 0;
    while first < segment.node_count() {
        let count = IDS_AT_ONCE.min((segment.node_count() - first) as usize);
        let ids = ids.get_mut(..count).unwrap_or_default();
        segment.read_ids(first.into(), ids)?;
        let named = (first..)
            .zip(ids.iter())
            .filter(|(_, id)| named.contains(id));
        found.extend(named.map(|(node, id)| (node, *id)));
        first += count as u32;
    }
    Ok(found)
}
