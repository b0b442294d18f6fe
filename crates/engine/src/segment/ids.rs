//! From an id to its node: by arithmetic, or by a table on pages that is sorted by ids.
//!
//! ```text
//! page   | id u64 | node u32 | id u64 | node u32 | ..       as many entries as fit whole
//! ```
//!
//! Memory holds the first id of each page. A search for an id costs a read, or none where no page
//! can have it. `docs/format/ids.md`.

use pageway_store::{AlignedBuffers, FileEntry, OpenMode, PageFile, PageGeometry};
use pageway_types::NodeId;

use crate::error::{Error, ErrorKind, Result};
use crate::resolve::Source;
use crate::spec::IndexSpec;

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
    /// A table.
    Table(IdTable),
}

/// A table of ids, on pages.
pub(crate) struct IdTable {
    file: PageFile,
    /// First id of each page.
    fences: Vec<u64>,
    last: u64,
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
        let Some(entry) = &segment.files.ids else {
            let what = "no table of ids in the manifest";
            return Err(source.corrupt("ids", what));
        };
        IdTable::open(source, entry).map(Self::Table)
    }

    /// The largest id there is.
    pub(crate) fn last(&self) -> u64 {
        match self {
            Self::Nodes { first, count } => first.saturating_add(u64::from(*count)) - 1,
            Self::Table(table) => table.last,
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
            Self::Table(table) => table.find(id),
        }
    }
}

impl IdTable {
    fn open(source: Source<'_>, entry: &FileEntry) -> Result<Self> {
        let mut fences = Vec::with_capacity(entry.units as usize);
        let mut last = 0;
        let entries = u64::from(source.segment.node_count);
        visit_ids(source, entry, &mut |at, id, _| {
            if at == 0 {
                fences.push(id);
            }
            last = id;
            Ok(())
        })?;
        let file = PageFile::open(source.vfs, source.dir, entry, OpenMode::Read)?;
        Ok(Self {
            file,
            fences,
            last,
            entries,
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

/// Shows every entry of a table in order: its place in its page, id and node.
///
/// # Errors
/// `Corrupt` where ids do not rise, a node is none of the segment, or entries are missing.
pub(crate) fn visit_ids(
    source: Source<'_>,
    entry: &FileEntry,
    visit: &mut dyn FnMut(usize, u64, NodeId) -> Result<()>,
) -> Result<()> {
    let nodes = source.segment.node_count;
    let file = PageFile::open(source.vfs, source.dir, entry, OpenMode::Read)?;
    let geometry = file.geometry();
    let count = u64::from(nodes);
    let pages = count.div_ceil(entries_per_page(geometry).max(1) as u64);
    if file.units() != pages {
        return Err(source.corrupt(&entry.name, "as many ids as nodes were expected"));
    }
    let mut buffers = AlignedBuffers::new(1, geometry.unit_bytes())?;
    let mut before = None;
    for page in 0..pages {
        let payload = file.read_unit(page, &mut buffers)?;
        let own = entries_of(page, count, geometry);
        for (at, (id, node)) in entries(payload, own).enumerate() {
            if before >= Some(id) || node >= nodes {
                let what = format!("id {id} of node {node} is out of place");
                return Err(source.corrupt(&entry.name, what));
            }
            before = Some(id);
            visit(at, id, NodeId(node))?;
        }
    }
    Ok(())
}

/// Checks that a table has each node once.
pub(crate) fn check_ids(source: Source<'_>) -> Result<()> {
    let Some(entry) = &source.segment.files.ids else {
        return Ok(());
    };
    let mut seen = vec![false; source.segment.node_count as usize];
    visit_ids(
        source,
        entry,
        &mut |_, id, node| match seen.get_mut(node.index()) {
            Some(seen) if !*seen => {
                *seen = true;
                Ok(())
            }
            _ => {
                let what = format!("node {} has another id beside {id}", node.0);
                Err(source.corrupt(&entry.name, what))
            }
        },
    )
}

/// The error of ids that cannot be told apart.
pub(crate) fn twice(id: u64) -> Error {
    Error::new(
        ErrorKind::InvalidInput,
        format!("id {id}: two rows have it"),
    )
}
