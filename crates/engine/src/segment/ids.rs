//! From an id to its node: by arithmetic, or by a table on pages that is sorted by ids.
//!
//! ```text
//! page   | id u64 | node u32 | id u64 | node u32 | ..       as many entries as fit whole
//! ```
//!
//! Memory holds the first id of each page. A search for an id costs a read, or none where no page
//! can have it. Ids that came since the table was written are in one of their own, which is asked
//! first. `docs/format/ids.md`.

use pageway_attributes::is_name_id;
use pageway_store::{
    AlignedBuffers, FileEntry, OpenMode, PAGE_HEADER_BYTES, PageFile, PageGeometry,
};
use pageway_types::{NodeId, SplitMix64};

use super::dead::dead_set;
use crate::error::{Error, ErrorKind, Result};
use crate::execution::NodeSet;
use crate::resolve::Source;
use crate::spec::IndexSpec;

/// What is wrong where ids lead to nodes by nothing.
const NO_TABLE: &str = "no table of ids in the manifest";

/// Bytes of an entry: an id and its node.
pub(crate) const ID_ENTRY_BYTES: usize = 12;

/// Entries of a page.
pub(crate) fn entries_per_page(geometry: PageGeometry) -> usize {
    geometry.payload_bytes() / ID_ENTRY_BYTES
}

/// Whether ids lead to nodes by arithmetic.
pub(crate) fn ids_are_nodes(spec: &IndexSpec) -> bool {
    !spec.storage.ids.are_given() && spec.nodes_are_rows()
}

/// What finds the nodes of a segment by their ids.
pub(crate) enum IdLookup {
    /// Node `n` has id `first + n`.
    Nodes { first: u64, count: u32 },
    /// A table, and one of ids that came since, which counts before it.
    Tables(IdTable, Option<Box<IdTable>>),
}

/// A table of ids, on pages.
pub(crate) struct IdTable {
    file: PageFile,
    /// First id of each page.
    fences: Vec<u64>,
    last: u64,
    last_number: Option<u64>,
    entries: u64,
}

impl IdLookup {
    /// That of a segment, with its fences read. Costs a pass over the table.
    ///
    /// # Errors
    /// `Corrupt` for a table that is missing or out of order.
    pub(crate) fn open(source: Source<'_>) -> Result<Self> {
        let segment = source.segment;
        if ids_are_nodes(&segment.spec) {
            return Ok(Self::Nodes {
                first: segment.first_id(),
                count: segment.node_count,
            });
        }
        let [Some(entry), added] = segment.files.ids_and_additions() else {
            return Err(source.corrupt("ids", NO_TABLE));
        };
        let added = added.map(|added| IdTable::open(source, added).map(Box::new));
        Ok(Self::Tables(
            IdTable::open(source, entry)?,
            added.transpose()?,
        ))
    }

    /// The largest id there is that is not of a name.
    pub(crate) fn last_number(&self) -> Option<u64> {
        match self {
            Self::Nodes { first, count } => Some(first.saturating_add(u64::from(*count)) - 1),
            Self::Tables(table, added) => {
                let added = added.as_ref().and_then(|added| added.last_number);
                table.last_number.max(added)
            }
        }
    }

    /// The node of an id, if it is one of the segment.
    ///
    /// # Errors
    /// `Io` or `Corrupt` as the page is.
    pub(crate) fn find(&self, id: u64) -> Result<Option<NodeId>> {
        match self {
            Self::Nodes { first, count } => {
                let node = id.checked_sub(*first);
                Ok(node
                    .filter(|node| *node < u64::from(*count))
                    .map(|node| NodeId(node as u32)))
            }
            Self::Tables(table, added) => {
                let added = added.as_ref().map_or(Ok(None), |added| added.find(id));
                added?.map_or_else(|| table.find(id), |node| Ok(Some(node)))
            }
        }
    }
}

impl IdTable {
    fn open(source: Source<'_>, entry: &FileEntry) -> Result<Self> {
        let mut fences = Vec::with_capacity(entry.units as usize);
        let (mut last, mut last_number) = (0, None);
        let mut cursor = TableCursor::open(source, entry)?;
        while let Some((at, id, _)) = cursor.next(source)? {
            if at == 0 {
                fences.push(id);
            }
            last = id;
            last_number = Some(id).filter(|id| !is_name_id(*id)).or(last_number);
        }
        let file = PageFile::open(source.vfs, source.dir, entry, OpenMode::Read)?;
        Ok(Self {
            file,
            fences,
            last,
            last_number,
            entries: entries_in(entry),
        })
    }

    fn find(&self, id: u64) -> Result<Option<NodeId>> {
        let behind = self.fences.partition_point(|first| *first <= id);
        let Some(page) = behind.checked_sub(1).filter(|_| id <= self.last) else {
            return Ok(None);
        };
        let geometry = self.file.geometry();
        let mut buffers = AlignedBuffers::new(1, geometry.unit_bytes())?;
        let payload = self.file.read_unit(page as u64, &mut buffers)?;
        let count = entries_of(page as u64, self.entries, geometry);
        let found = entries(payload, count).find(|(own, _)| *own == id);
        Ok(found.map(|(_, node)| NodeId(node)))
    }
}

/// How many entries a table has.
const fn entries_in(entry: &FileEntry) -> u64 {
    entry.payload_bytes / ID_ENTRY_BYTES as u64
}

/// How many entries a page holds of so many.
fn entries_of(page: u64, entries: u64, geometry: PageGeometry) -> usize {
    let each = entries_per_page(geometry) as u64;
    let left = entries.saturating_sub(page.saturating_mul(each));
    left.min(each) as usize
}

fn entries(payload: &[u8], count: usize) -> impl Iterator<Item = (u64, u32)> + '_ {
    let (all, _) = payload.as_chunks::<ID_ENTRY_BYTES>();
    all.iter().take(count).map(|entry| {
        let (id, node) = entry.split_at(8);
        let id = id.first_chunk().map_or(0, |id| u64::from_le_bytes(*id));
        let node = node
            .first_chunk()
            .map_or(0, |node| u32::from_le_bytes(*node));
        (id, node)
    })
}

/// Ids of a segment in ascending order, with their nodes. Holds a page.
pub(crate) enum IdCursor {
    /// Of nodes whose ids follow by arithmetic: the next, and behind the last.
    Nodes { first: u64, next: u32, count: u32 },
    /// Of a table, and of one that counts before it.
    Tables(NextEntry, Option<Box<NextEntry>>),
}

/// A cursor that has looked at its next entry.
pub(crate) struct NextEntry {
    cursor: TableCursor,
    /// Whether `next` is known.
    has_looked: bool,
    next: Option<(u64, NodeId)>,
}

impl NextEntry {
    fn open(source: Source<'_>, entry: &FileEntry) -> Result<Self> {
        let cursor = TableCursor::open(source, entry)?;
        Ok(Self {
            cursor,
            has_looked: false,
            next: None,
        })
    }

    fn seek(&mut self, source: Source<'_>, id: u64) -> Result<()> {
        self.has_looked = false;
        self.cursor.seek(source, id)
    }

    fn look(&mut self, source: Source<'_>) -> Result<Option<(u64, NodeId)>> {
        if !self.has_looked {
            self.next = self.cursor.next(source)?.map(|(_, id, node)| (id, node));
            self.has_looked = true;
        }
        Ok(self.next)
    }

    fn take(&mut self, source: Source<'_>) -> Result<Option<(u64, NodeId)>> {
        let next = self.look(source)?;
        self.has_looked = false;
        Ok(next)
    }
}

impl IdCursor {
    /// That of a segment.
    ///
    /// # Errors
    /// As [`IdLookup::open`].
    pub(crate) fn open(source: Source<'_>) -> Result<Self> {
        let segment = source.segment;
        if ids_are_nodes(&segment.spec) {
            return Ok(Self::Nodes {
                first: segment.first_id(),
                next: 0,
                count: segment.node_count,
            });
        }
        let [Some(entry), added] = segment.files.ids_and_additions() else {
            return Err(source.corrupt("ids", NO_TABLE));
        };
        let added = added.map(|added| NextEntry::open(source, added).map(Box::new));
        Ok(Self::Tables(
            NextEntry::open(source, entry)?,
            added.transpose()?,
        ))
    }

    /// That of the ids alone that came since the table was written, if any did.
    ///
    /// # Errors
    /// As [`IdLookup::open`].
    pub(crate) fn of_additions(source: Source<'_>) -> Result<Option<Self>> {
        let [_, added] = source.segment.files.ids_and_additions();
        let added = added.map(|added| NextEntry::open(source, added));
        Ok(added.transpose()?.map(|added| Self::Tables(added, None)))
    }

    /// Whether ids lead to nodes: by arithmetic, or by a table.
    pub(crate) fn is_there(source: Source<'_>) -> bool {
        ids_are_nodes(&source.segment.spec) || source.segment.files.ids.is_some()
    }

    /// Goes to the first id that is not below `id`. Costs as many reads as halving the table takes.
    ///
    /// # Errors
    /// As [`IdLookup::open`].
    pub(crate) fn seek(&mut self, source: Source<'_>, id: u64) -> Result<()> {
        match self {
            Self::Nodes { first, next, count } => {
                let behind = id.saturating_sub(*first).min((*count).into());
                *next = behind as u32;
                Ok(())
            }
            Self::Tables(table, added) => {
                table.seek(source, id)?;
                added.as_mut().map_or(Ok(()), |own| own.seek(source, id))
            }
        }
    }

    /// The next id and its node.
    ///
    /// # Errors
    /// As [`IdLookup::open`].
    pub(crate) fn next(&mut self, source: Source<'_>) -> Result<Option<(u64, NodeId)>> {
        match self {
            Self::Nodes { first, next, count } => {
                let node = *next;
                *next = node.saturating_add(1).min(*count);
                let id = first.saturating_add(node.into());
                Ok((node < *count).then_some((id, NodeId(node))))
            }
            Self::Tables(table, None) => table.take(source),
            Self::Tables(table, Some(added)) => match (table.look(source)?, added.look(source)?) {
                (Some(own), Some(other)) if own.0 < other.0 => table.take(source),
                (Some(own), Some(other)) => {
                    // Of an id that both have the node is one that died.
                    if own.0 == other.0 {
                        table.take(source)?;
                    }
                    added.take(source)
                }
                (_, None) => table.take(source),
                (None, _) => added.take(source),
            },
        }
    }
}

/// Entries of a table, page by page.
pub(crate) struct TableCursor {
    file: PageFile,
    buffers: AlignedBuffers,
    /// Page of the next entry, and its place there.
    page: u64,
    at: usize,
    /// Whether the page is in the buffer.
    is_read: bool,
    before: Option<u64>,
    entries: u64,
}

impl TableCursor {
    fn open(source: Source<'_>, entry: &FileEntry) -> Result<Self> {
        let file = PageFile::open(source.vfs, source.dir, entry, OpenMode::Read)?;
        let geometry = file.geometry();
        let (entries, nodes) = (entries_in(entry), source.segment.node_count.into());
        let pages = entries.div_ceil(entries_per_page(geometry).max(1) as u64);
        // A segment that was patched keeps nodes whose rows died, and has no ids of them.
        let is_whole = entries == nodes || (source.segment.patched.is_some() && entries < nodes);
        if file.units() != pages || !is_whole {
            return Err(source.corrupt(&entry.name, "as many ids as nodes were expected"));
        }
        let buffers = AlignedBuffers::new(1, geometry.unit_bytes())?;
        Ok(Self {
            file,
            buffers,
            page: 0,
            at: 0,
            is_read: false,
            before: None,
            entries,
        })
    }

    fn seek(&mut self, source: Source<'_>, id: u64) -> Result<()> {
        let (mut low, mut high) = (0, self.file.units());
        // The last page that begins at or below the id, or the first.
        while high - low > 1 {
            let middle = u64::midpoint(low, high);
            (self.page, self.at, self.is_read, self.before) = (middle, 0, false, None);
            match self.next(source)? {
                Some((_, first, _)) if first <= id => low = middle,
                _ => high = middle,
            }
        }
        (self.page, self.at, self.is_read, self.before) = (low, 0, false, None);
        loop {
            let place = (self.page, self.at, self.before);
            match self.next(source)? {
                Some((_, own, _)) if own < id => {}
                _ => {
                    self.is_read &= self.page == place.0;
                    (self.page, self.at, self.before) = place;
                    return Ok(());
                }
            }
        }
    }

    fn next(&mut self, source: Source<'_>) -> Result<Option<(usize, u64, NodeId)>> {
        let nodes = source.segment.node_count;
        let geometry = self.file.geometry();
        if self.at == entries_of(self.page, self.entries, geometry) {
            (self.page, self.at, self.is_read) = (self.page + 1, 0, false);
        }
        let own = entries_of(self.page, self.entries, geometry);
        if own == 0 {
            return Ok(None);
        }
        if !self.is_read {
            self.file.read_unit(self.page, &mut self.buffers)?;
            self.is_read = true;
        }
        let payload = self.buffers.get(0).get(PAGE_HEADER_BYTES..);
        let entry = entries(payload.unwrap_or_default(), own).nth(self.at);
        let Some((id, node)) = entry else {
            return Ok(None);
        };
        if self.before >= Some(id) || node >= nodes {
            let what = format!("id {id} of node {node} is out of place");
            let path = self.file.path();
            return Err(Error::new(
                ErrorKind::Corrupt,
                format!("{}: {what}", path.display()),
            ));
        }
        self.before = Some(id);
        self.at += 1;
        Ok(Some((self.at - 1, id, NodeId(node))))
    }
}

/// What the table of ids of a segment says of its nodes.
pub(super) struct ToldIds {
    /// Nodes that have an id: all that live.
    pub(super) nodes: NodeSet,
    /// The sum of its entries by [`mix_id`].
    pub(super) sum: u64,
}

/// Checks that a table has each node once, but for dead ones of a segment that was patched; what
/// it says, where there is a table. Holds two bits for each node.
///
/// # Errors
/// As [`IdLookup::open`].
pub(crate) fn check_ids(source: Source<'_>) -> Result<Option<ToldIds>> {
    let Some(entry) = &source.segment.files.ids else {
        return Ok(None);
    };
    let (mut nodes, mut sum) = (NodeSet::default(), 0u64);
    let mut cursor = IdCursor::open(source)?;
    while let Some((id, node)) = cursor.next(source)? {
        sum = sum.wrapping_add(mix_id(id, node));
        if !nodes.insert(node) {
            let what = format!("node {} has another id beside {id}", node.0);
            return Err(source.corrupt(&entry.name, what));
        }
    }
    let dead = dead_set(source, false)?;
    let is_dead = |node| dead.as_ref().is_some_and(|dead| dead.contains(node));
    let all = (0..source.segment.node_count).map(NodeId);
    let mut missing = all.filter(|node| !nodes.contains(*node) && !is_dead(*node));
    if let Some(node) = missing.next() {
        let what = format!("node {} lives and has no id", node.0);
        return Err(source.corrupt(&entry.name, what));
    }
    Ok(Some(ToldIds { nodes, sum }))
}

/// An id and its node as a number. Sums of such are the same of the same pairs, and of others once
/// in 2^64.
pub(super) fn mix_id(id: u64, node: NodeId) -> u64 {
    SplitMix64::mix(SplitMix64::mix(node.0.into()) ^ id)
}

/// The error of ids that cannot be told apart.
pub(crate) fn twice(id: u64) -> Error {
    Error::new(
        ErrorKind::InvalidInput,
        format!("id {id}: two rows have it"),
    )
}
