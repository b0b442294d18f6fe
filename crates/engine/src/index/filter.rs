//! From a filter to the rows that may be found, and to the way they are searched.

use std::ops::Range;
use std::sync::Arc;

use pageway_attributes::{Document, Field, NodeIds, Predicate, fields_of, matching_without};
use pageway_types::{IdSet, NodeId};

use super::filter_room::{HeldMatches, MatchesKey};
use super::{Index, Version};
use crate::error::{Error, ErrorKind, Result};
use crate::execution::{NodeSet, Segment};
use crate::filter::Filter;
use crate::options::SearchOptions;

/// Up to so many matching rows are all compared if no list reaches the recall.
const COMPARED: u64 = 10_000;
/// Ids that are read at a time.
const IDS_AT_ONCE: usize = 8192;

/// Rows of segments that match a filter.
pub(super) struct Matched {
    pub(super) set: NodeSet,
    /// Living rows among them.
    pub(super) living: u64,
    /// Documents that were read to find them.
    pub(super) documents: u64,
}

impl Index {
    /// The exact number of living rows that match a filter. Costs evaluating the filter, but no
    /// search.
    ///
    /// # Errors
    /// `InvalidInput` for a field that no row has, or a filter that takes more memory than is set
    /// aside; `Corrupt` or `Io` as files are.
    pub fn count(&self, filter: &Filter) -> Result<u64> {
        self.follow()?;
        let (mut rows, views) = loop {
            let version = self.version();
            let matched = self.matching(&version, filter)?;
            let counted = version.living_of(&matched.set);
            // Once a segment is replaced, deaths are noted in its replacement only: count anew.
            if self.version().number == version.number {
                break counted;
            }
        };
        for view in views {
            view.each_living(|row, id, _| {
                rows += u64::from(filter.matches_row(id, view.document(row)));
            });
        }
        Ok(rows)
    }

    /// Calls `visit` with the ids of the rows that match a filter now, some thousands at a time.
    /// Ids of rows that change meanwhile may come more than once, and ids of dead rows may come
    /// too. Holds a bit for each row.
    ///
    /// # Errors
    /// As [`Index::count`]; what `visit` gives.
    pub(crate) fn visit_matching(
        &self,
        filter: &Filter,
        visit: &mut dyn FnMut(&[u64]) -> Result<()>,
    ) -> Result<()> {
        let version = self.version();
        let matched = self.matching(&version, filter)?;
        let mut ids = Vec::new();
        for view in version.views() {
            view.each_living(|row, id, _| {
                ids.extend(filter.matches_row(id, view.document(row)).then_some(id));
            });
        }
        ids.sort_unstable();
        ids.dedup();
        // Those that a change puts in anew are not to be seen again.
        visit(&ids)?;
        for segment in &version.segments {
            for first in (0..segment.node_count()).step_by(IDS_AT_ONCE) {
                let end = first.saturating_add(IDS_AT_ONCE as u32);
                let end = end.min(segment.node_count());
                matched.ids_of(segment, first..end, &mut ids)?;
                visit(&ids)?;
            }
        }
        Ok(())
    }

    /// The fields of attributes: paths, kinds of values, and the number of different values in the
    /// segment that has most of them. Costs a pass over all terms.
    ///
    /// # Errors
    /// `Corrupt` or `Io` as files are.
    pub fn fields(&self) -> Result<Vec<Field>> {
        self.version().fields()
    }
}

impl Index {
    /// The rows that match a filter, with the memory that holds them. Matches of earlier filters
    /// are kept as far as the memory of filters goes.
    pub(super) fn matching(&self, version: &Version, filter: &Filter) -> Result<Arc<HeldMatches>> {
        let room = self.filters.get();
        let key = MatchesKey::of(version, filter);
        if let Some(known) = key.as_ref().and_then(|key| room.find(key)) {
            return Ok(known);
        }
        let needed = version.check_filter(filter)?;
        let given = version.filter_room();
        let mut lease = room.take(needed, given);
        let matched = version.matching(filter)?;
        lease.keep(version.set_bytes());
        let held = Arc::new(HeldMatches::new(matched, lease));
        if let Some(key) = key.filter(|_| version.set_bytes() <= given) {
            room.put(key, &held);
        }
        Ok(held)
    }
}

impl Matched {
    /// List size and options of a search among the matching rows: if no list reaches the recall and
    /// they are few, all are compared.
    ///
    /// # Errors
    /// That of the list size, where they are more.
    pub(super) fn promised(
        &self,
        list_size: Result<u32>,
        options: &SearchOptions,
    ) -> Result<(u32, SearchOptions)> {
        match list_size {
            Err(error)
                if error.kind() == ErrorKind::Unsupported
                    && self.living <= COMPARED
                    && (options.strategy, options.radius) == (None, None) =>
            {
                Ok((options.k, options.with_exact(true)))
            }
            own => Ok((own?, *options)),
        }
    }

    /// The ids of matching nodes of a segment, dead ones included, because the row that replaced
    /// one may be in a delta that was visited before. Reads all pages from the first to the last of
    /// them.
    fn ids_of(&self, segment: &Segment, nodes: Range<u32>, ids: &mut Vec<u64>) -> Result<()> {
        let is_own = |node: &u32| self.set.contains(NodeId(segment.base + node));
        let own: Vec<u32> = nodes.filter(is_own).collect();
        ids.clear();
        let (Some(first), Some(last)) = (own.first(), own.last()) else {
            return Ok(());
        };
        let mut all = vec![0; (last - first + 1) as usize];
        segment.read_ids((*first).into(), &mut all)?;
        let id_of = |node: &u32| all.get((node - first) as usize).copied();
        ids.extend(own.iter().filter_map(id_of));
        Ok(())
    }
}

impl Version {
    /// The rows that match a filter.
    fn matching(&self, filter: &Filter) -> Result<Matched> {
        let mut matched = Matched {
            set: NodeSet::holding(self.node_count()),
            living: 0,
            documents: 0,
        };
        for segment in &self.segments {
            let ids = node_ids(segment, filter.predicate())?;
            let admitted = filter.id_set().map(|ids| nodes_of(segment, ids));
            let admitted = admitted.transpose()?;
            let nodes = match &segment.attributes {
                Some(attributes) => {
                    let found = attributes.matching(filter.predicate(), &ids)?;
                    matched.documents += found.documents;
                    found.nodes
                }
                None => matching_without(filter.predicate(), segment.node_count(), &ids),
            };
            let is_admitted = |node: &u32| {
                let admitted = admitted.as_ref();
                admitted.is_none_or(|nodes| nodes.contains(NodeId(*node)))
            };
            for node in nodes.into_iter().filter(is_admitted) {
                let dead = segment.dead.as_ref();
                let lives = dead.is_none_or(|dead| !dead.contains(NodeId(node)));
                matched.living += u64::from(lives);
                matched.set.insert(NodeId(segment.base + node));
            }
        }
        Ok(matched)
    }

    /// Adds the documents of nodes of segments, as JSON, names included.
    ///
    /// # Errors
    /// `OutOfMemory` for more bytes than `most`.
    pub(super) fn documents_of(
        &self,
        (nodes, most): (&[u32], u64),
        found: &mut Vec<Option<String>>,
    ) -> Result<()> {
        found.resize(nodes.len(), None);
        let sum: usize = found.iter().flatten().map(String::len).sum();
        let left = most.checked_sub(sum as u64);
        let mut left = left.ok_or_else(|| too_long(most))?;
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
                attributes.documents().parse(json)?;
                // An empty document stands for none.
                if let Some(slot) = slot.filter(|_| json != b"{}") {
                    let bytes = json.len() as u64;
                    left = left.checked_sub(bytes).ok_or_else(|| too_long(most))?;
                    *slot = Some(String::from_utf8_lossy(json).into_owned());
                }
                Ok::<_, Error>(())
            })?;
        }
        Ok(())
    }

    pub(super) fn fields(&self) -> Result<Vec<Field>> {
        let mut all: Vec<Field> = Vec::new();
        for segment in &self.segments {
            let Some(attributes) = &segment.attributes else {
                continue;
            };
            for field in attributes.fields()? {
                add_field(&mut all, field);
            }
        }
        self.any_document(|document| {
            let fields = fields_of(document).unwrap_or_default();
            for own in fields {
                add_field(&mut all, own);
            }
            false
        });
        all.sort_by(|one, next| one.path.cmp(&next.path));
        Ok(all)
    }

    /// Calls `show` with the attributes of living rows of deltas until it returns true; whether it
    /// did.
    pub(super) fn any_document(&self, mut show: impl FnMut(&Document) -> bool) -> bool {
        self.views().iter().any(|view| {
            let document = |row| serde_json::from_slice(view.document(row)?).ok();
            view.living()
                .filter_map(document)
                .any(|document| show(&document))
        })
    }

    /// Bytes of a bit for each row.
    pub(super) fn set_bytes(&self) -> u64 {
        u64::from(self.node_count()).div_ceil(64) * 8
    }
}

/// Merges a field into those of other segments.
fn add_field(all: &mut Vec<Field>, field: Field) {
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

/// The nodes of a segment whose ids a predicate names. Costs a pass over its ids, where it names
/// any.
fn node_ids(segment: &Segment, predicate: &Predicate) -> Result<NodeIds> {
    let mut found = NodeIds::new();
    if !predicate.asks_for_ids() {
        return Ok(found);
    }
    let named = predicate.ids();
    each_id(segment, |node, id| {
        if named.contains(&id) {
            found.insert(node, id);
        }
    })?;
    Ok(found)
}

/// The nodes of a segment whose ids are in a set. Costs a pass over its ids.
fn nodes_of(segment: &Segment, ids: &IdSet) -> Result<NodeSet> {
    let mut nodes = NodeSet::holding(segment.node_count());
    each_id(segment, |node, id| {
        if ids.contains(id) {
            nodes.insert(NodeId(node));
        }
    })?;
    Ok(nodes)
}

/// The error for documents that take more memory than the caller allows.
fn too_long(most: u64) -> Error {
    let words = format!("attributes of the answers take more than {most} bytes: ask for fewer");
    Error::new(ErrorKind::OutOfMemory, words)
}

/// Shows the nodes of a segment with their ids, in order.
fn each_id(segment: &Segment, mut show: impl FnMut(u32, u64)) -> Result<()> {
    let mut ids = vec![0; IDS_AT_ONCE];
    let mut first = 0;
    while first < segment.node_count() {
        let count = IDS_AT_ONCE.min((segment.node_count() - first) as usize);
        let ids = ids.get_mut(..count).unwrap_or_default();
        segment.read_ids(first.into(), ids)?;
        for (node, id) in (first..).zip(ids.iter()) {
            show(node, *id);
        }
        first += count as u32;
    }
    Ok(())
}
