//! Reads rows of an index, by id or in the order of ids.

use std::collections::{BTreeMap, BinaryHeap, HashSet};

use pageway_attributes::{is_name_id, name_id};
use pageway_types::NodeId;

use super::filter::Matched;
use super::names::split_document;
use super::{Index, Version};
use crate::delta::DeltaView;
use crate::error::{Error, ErrorKind, Result};
use crate::execution::Segment;
use crate::filter::Filter;
use crate::resolve::Source;
use crate::segment::IdCursor;

/// How often a read starts again because a merge removed the files.
const ATTEMPTS: usize = 8;
/// Ids that are read at a time if there is no table of ids.
const IDS_AT_ONCE: u32 = 8192;
/// Rows of a page at most.
const MOST_ROWS: usize = 1 << 20;

/// A row as an index holds it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct StoredRow {
    /// Its id.
    pub id: u64,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Its elements, little-endian; empty where they were not wanted.
    pub vector: Vec<u8>,
    /// Its attributes as JSON, if it has any and they were wanted.
    pub attributes: Option<String>,
}

/// Rows in the order of their ids, and where to go on.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct RowPage {
    /// The rows.
    pub rows: Vec<StoredRow>,
    /// The id of the next row, if there is one.
    pub next: Option<u64>,
}

impl From<Vec<StoredRow>> for RowPage {
    fn from(rows: Vec<StoredRow>) -> Self {
        Self { rows, next: None }
    }
}

/// Which parts of rows to read beside their ids.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RowParts {
    /// Their vectors: a read each.
    pub vectors: bool,
    /// Their attributes: two reads each, which those of rows with names cost anyway.
    pub attributes: bool,
}

/// Where a living row is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Spot {
    /// A node of a segment, by the number of the segment.
    Segment(usize, u32),
    /// A row of a view.
    Delta(usize, u32),
}

/// A version, with views of its deltas from one moment.
struct Moment<'v> {
    version: &'v Version,
    deltas: Vec<DeltaView>,
}

impl Index {
    /// The living rows of some ids, in their order, each id once; ids that no row has are left out.
    ///
    /// Costs a few reads for each id where the index was opened to be changed or ids are the
    /// numbers of nodes, else a pass over all ids.
    ///
    /// # Errors
    /// `Corrupt` or `Io` as the pages are.
    pub fn rows(&self, ids: &[u64], parts: RowParts) -> Result<Vec<StoredRow>> {
        let mut order: Vec<u64> = ids.to_vec();
        order.sort_unstable();
        order.dedup();
        let found = self.with_files(|version| {
            let mut spots = BTreeMap::new();
            for number in 0..version.segments.len() {
                self.find_ids((version, number), &order, &mut spots)?;
            }
            let moment = Moment::new(version);
            for (number, view) in moment.deltas.iter().enumerate() {
                view.each_living(|row, id, _| {
                    if order.binary_search(&id).is_ok() {
                        spots.insert(id, Spot::Delta(number, row));
                    }
                });
            }
            moment.read(spots.into_iter().collect(), parts)
        })?;
        let mut by_id: BTreeMap<u64, StoredRow> =
            found.into_iter().map(|row| (row.id, row)).collect();
        Ok(ids.iter().filter_map(|id| by_id.remove(id)).collect())
    }

    /// The living rows of some names, in their order, each name once. Names that no row has are
    /// left out.
    ///
    /// # Errors
    /// As [`Index::rows`].
    pub fn rows_named(&self, names: &[String], parts: RowParts) -> Result<Vec<StoredRow>> {
        let ids: Vec<u64> = names.iter().map(|name| name_id(name)).collect();
        let rows = self.rows(&ids, parts)?;
        let known: HashSet<&str> = names.iter().map(String::as_str).collect();
        let asked = |row: &StoredRow| row.name.as_deref().is_some_and(|own| known.contains(own));
        Ok(rows.into_iter().filter(asked).collect())
    }

    /// Up to `limit` living rows with ids from `first` on, in the order of their ids: those that
    /// match a filter, or all.
    ///
    /// Costs a pass over the table of ids from there on, as far as it takes, where the index was
    /// opened to be changed or ids are the numbers of nodes; else a pass over all ids.
    ///
    /// # Errors
    /// `InvalidInput` for a limit of 0 or more than 1,048,576 rows, and as [`Index::count`];
    /// `Corrupt` or `Io` as the pages are.
    pub fn scroll(
        &self,
        filter: Option<&Filter>,
        (first, limit): (u64, usize),
        parts: RowParts,
    ) -> Result<RowPage> {
        if limit == 0 || limit > MOST_ROWS {
            let words = format!("{limit} rows at a time: give 1 to {MOST_ROWS}");
            return Err(Error::invalid(words));
        }
        self.follow()?;
        self.with_files(|version| {
            let matched = filter.map(|filter| self.matching(version, filter));
            let matched = matched.transpose()?;
            let set = matched.as_deref().map(|held| &**held);
            let mut spots = Vec::new();
            for number in 0..version.segments.len() {
                self.next_ids((version, number), (first, limit + 1), set, &mut spots)?;
            }
            let moment = Moment::new(version);
            moment.next_ids((first, limit + 1), filter, &mut spots);
            // Of two rows with the same id, the newer counts.
            spots.sort_unstable_by_key(|(id, spot)| (*id, std::cmp::Reverse(*spot)));
            spots.dedup_by_key(|(id, _)| *id);
            let next = spots.get(limit).map(|(id, _)| *id);
            spots.truncate(limit);
            let mut rows = moment.read(spots, parts)?;
            rows.sort_unstable_by_key(|row| row.id);
            Ok(RowPage { rows, next })
        })
    }

    /// Calls `act` with the current version, and again if a commit removed its files meanwhile.
    fn with_files<T>(&self, mut act: impl FnMut(&Version) -> Result<T>) -> Result<T> {
        let mut attempt = 1;
        loop {
            let version = self.version();
            match act(&version) {
                Err(error) if error.kind() == ErrorKind::NotFound && attempt < ATTEMPTS => {
                    attempt += 1;
                    if self.version().number == version.number {
                        self.refresh()?;
                    }
                }
                outcome => return outcome,
            }
        }
    }

    /// The table of ids of a segment, if it has one or needs none.
    fn cursor<'v>(
        &'v self,
        (version, number): (&'v Version, usize),
    ) -> Result<Option<(IdCursor, Source<'v>)>> {
        let Some(entry) = version.manifest.segments.get(number) else {
            return Ok(None);
        };
        let source = Source {
            vfs: self.vfs.as_ref(),
            dir: &self.dir,
            segment: entry,
        };
        if !IdCursor::is_there(source) {
            return Ok(None);
        }
        Ok(Some((IdCursor::open(source)?, source)))
    }

    /// Finds the living nodes of a segment that have some ids, which are sorted.
    fn find_ids(
        &self,
        (version, number): (&Version, usize),
        ids: &[u64],
        spots: &mut BTreeMap<u64, Spot>,
    ) -> Result<()> {
        let Some(segment) = version.segments.get(number) else {
            return Ok(());
        };
        let mut take = |id: u64, node: u32| {
            if is_living(segment, node) {
                spots.insert(id, Spot::Segment(number, node));
            }
        };
        let Some((mut cursor, source)) = self.cursor((version, number))? else {
            return each_id(segment, &mut |node, id| {
                if ids.binary_search(&id).is_ok() {
                    take(id, node);
                }
            });
        };
        for id in ids {
            cursor.seek(source, *id)?;
            if let Some((own, node)) = cursor.next(source)?
                && own == *id
            {
                take(own, node.0);
            }
        }
        Ok(())
    }

    /// The first living nodes of a segment in the order of ids, from an id on.
    fn next_ids(
        &self,
        (version, number): (&Version, usize),
        (first, most): (u64, usize),
        matched: Option<&Matched>,
        spots: &mut Vec<(u64, Spot)>,
    ) -> Result<()> {
        let Some(segment) = version.segments.get(number) else {
            return Ok(());
        };
        let wanted = |node: u32| {
            let own = NodeId(segment.base + node);
            is_living(segment, node) && matched.is_none_or(|matched| matched.set.contains(own))
        };
        let mut best = BinaryHeap::new();
        if let Some((mut cursor, source)) = self.cursor((version, number))? {
            cursor.seek(source, first)?;
            while best.len() < most
                && let Some((id, node)) = cursor.next(source)?
            {
                if wanted(node.0) {
                    best.push((id, node.0));
                }
            }
        } else {
            each_id(segment, &mut |node, id| {
                if id >= first && wanted(node) {
                    best.push((id, node));
                    if best.len() > most {
                        best.pop();
                    }
                }
            })?;
        }
        let own = best.into_iter();
        spots.extend(own.map(|(id, node)| (id, Spot::Segment(number, node))));
        Ok(())
    }
}

impl<'v> Moment<'v> {
    fn new(version: &'v Version) -> Self {
        let deltas = version.views();
        Self { version, deltas }
    }

    /// The first living rows of the deltas in the order of ids, from an id on.
    fn next_ids(
        &self,
        (first, most): (u64, usize),
        filter: Option<&Filter>,
        spots: &mut Vec<(u64, Spot)>,
    ) {
        for (number, view) in self.deltas.iter().enumerate() {
            let mut ids = Vec::new();
            view.each_living(|row, id, _| ids.extend((id >= first).then_some((id, row))));
            ids.sort_unstable();
            let matches = |(id, row): &(u64, u32)| {
                filter.is_none_or(|filter| filter.matches_row(*id, view.document(*row)))
            };
            let own = ids.into_iter().filter(matches).take(most);
            spots.extend(own.map(|(id, row)| (id, Spot::Delta(number, row))));
        }
    }

    /// Reads what is wanted of rows.
    fn read(&self, spots: Vec<(u64, Spot)>, parts: RowParts) -> Result<Vec<StoredRow>> {
        let mut rows = Vec::with_capacity(spots.len());
        let mut documents = Vec::with_capacity(spots.len());
        let mut nodes = vec![u32::MAX; spots.len()];
        for ((id, spot), slot) in spots.into_iter().zip(&mut nodes) {
            let mut row = StoredRow {
                id,
                ..StoredRow::default()
            };
            if parts.vectors {
                row.vector = self.vector(spot)?;
            }
            rows.push(row);
            documents.push(match spot {
                Spot::Segment(number, node) => {
                    let segment = self.version.segments.get(number);
                    let wanted = segment.filter(|_| parts.attributes || is_name_id(id));
                    *slot = wanted.map_or(u32::MAX, |segment| segment.base + node);
                    None
                }
                Spot::Delta(number, own) => {
                    let view = self.deltas.get(number);
                    let document = view.and_then(|view| view.document(own));
                    document.map(|json| String::from_utf8_lossy(json).into())
                }
            });
        }
        self.version
            .documents_of((&nodes, u64::MAX), &mut documents)?;
        for (row, document) in rows.iter_mut().zip(documents) {
            let (name, attributes) = split_document(document)?;
            row.name = name;
            row.attributes = attributes.filter(|_| parts.attributes);
        }
        Ok(rows)
    }

    fn vector(&self, spot: Spot) -> Result<Vec<u8>> {
        match spot {
            Spot::Segment(number, node) => {
                let row_bytes = self.version.manifest.spec.shape.vectors().row_bytes();
                let mut vector = vec![0; row_bytes];
                if let Some(segment) = self.version.segments.get(number) {
                    segment.read_vectors(node.into(), &mut vector)?;
                }
                Ok(vector)
            }
            Spot::Delta(number, own) => {
                let view = self.deltas.get(number);
                let vector = view.and_then(|view| view.vector(own));
                Ok(vector.unwrap_or_default().to_vec())
            }
        }
    }
}

fn is_living(segment: &Segment, node: u32) -> bool {
    let dead = segment.dead.as_deref();
    !dead.is_some_and(|dead| dead.contains(NodeId(node)))
}

/// Shows the id of every node of a segment. Costs a pass over its records.
fn each_id(segment: &Segment, show: &mut dyn FnMut(u32, u64)) -> Result<()> {
    let mut ids = Vec::new();
    let nodes = segment.node_count();
    for first in (0..nodes).step_by(IDS_AT_ONCE as usize) {
        ids.resize(IDS_AT_ONCE.min(nodes - first) as usize, 0);
        segment.read_ids(first.into(), &mut ids)?;
        (first..).zip(&ids).for_each(|(node, id)| show(node, *id));
    }
    Ok(())
}
