//! Rows in the order of nodes, in temporary files, with their numbers in the data and their ids.
//!
//! Later stages read them from first to last; the order of the data would cost a random read for
//! each node.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

use pageway_types::{NodeId, RowId, VectorRead, VectorShape};
use serde_json::Value;

use super::scratch::StageFiles;
use super::spill::{Spill, SpillWriter};
use crate::error::Result;
use crate::options::BuildInput;
use crate::source::IdRead;
use crate::storage::Identities;

/// Identities that are read at a time.
const RUN: usize = 8192;

/// Rows in the order of nodes.
pub(super) struct OrderedRows {
    shape: VectorShape,
    count: u64,
    rows: Spill,
    /// What `Identities` holds, `stride` bytes for each node.
    identities: Spill,
    stride: usize,
}

/// Writes rows in the order of nodes.
pub(super) struct OrderedWriter {
    shape: VectorShape,
    stride: usize,
    count: u64,
    rows: SpillWriter,
    identities: SpillWriter,
}

impl OrderedWriter {
    /// Rows of `shape` to one file, and `stride` bytes of identity for each to another.
    pub(super) fn new(
        (shape, stride): (VectorShape, usize),
        rows: SpillWriter,
        identities: SpillWriter,
    ) -> Self {
        Self {
            shape,
            stride,
            count: 0,
            rows,
            identities,
        }
    }

    /// Number of rows so far.
    pub(super) const fn count(&self) -> u64 {
        self.count
    }

    /// Appends the row of the next node.
    pub(super) fn write(&mut self, row: &[u8], identity: &[u8]) -> Result<()> {
        self.count += 1;
        self.rows.write(row)?;
        self.identities.write(identity)
    }

    /// Goes on with the row of `node`.
    pub(super) fn seek(&mut self, node: u32) -> Result<()> {
        let node = u64::from(node);
        self.rows.seek(node * self.shape.row_bytes() as u64)?;
        self.identities.seek(node * self.stride as u64)
    }

    /// Ends it.
    pub(super) fn finish(self) -> Result<OrderedRows> {
        Ok(OrderedRows {
            shape: self.shape,
            count: self.count,
            rows: self.rows.finish()?,
            identities: self.identities.finish()?,
            stride: self.stride,
        })
    }
}

impl OrderedRows {
    /// The rows that an earlier build kept under the stage names `names`.
    pub(super) fn kept(
        files: StageFiles<'_>,
        [rows, identities]: [&str; 2],
        (shape, stride): (VectorShape, usize),
    ) -> Result<Option<Self>> {
        let (Some((rows, _)), Some((identities, _))) = (files.find(rows)?, files.find(identities)?)
        else {
            return Ok(None);
        };
        Ok(Some(Self {
            shape,
            count: rows.bytes()? / shape.row_bytes() as u64,
            rows,
            identities,
            stride,
        }))
    }

    /// Keeps the rows, if finished stages are kept.
    pub(super) fn keep(&self, files: StageFiles<'_>, names: [&str; 2]) -> Result<()> {
        let [rows, identities] = names;
        files.keep(rows, &self.rows, Value::Null)?;
        files.keep(identities, &self.identities, Value::Null)
    }

    /// Fills `out` with the identities of the nodes from `first` on.
    pub(super) fn read_identities(&self, first: u32, out: &mut [u8]) -> Result<()> {
        self.identities
            .read_at(out, u64::from(first) * self.stride as u64)
    }

    /// Shape of the rows, and bytes of an identity.
    pub(super) const fn format(&self) -> (VectorShape, usize) {
        (self.shape, self.stride)
    }

    /// The rows, as the input of a build.
    pub(super) fn input<'r>(&'r self, whole: &BuildInput<'r>) -> BuildInput<'r> {
        BuildInput {
            vectors: self,
            ids: whole.ids.map(|_| self as &dyn IdRead),
            ..*whole
        }
    }

    /// Writes the numbers that the rows of some nodes had.
    pub(super) fn numbers(&self, nodes: Range<u32>, out: &mut Vec<u32>) -> Result<()> {
        out.clear();
        self.for_each(nodes, |_, row| {
            out.push(row);
            Ok(())
        })
    }

    /// The node of each row.
    pub(super) fn nodes(&self) -> Result<Vec<u32>> {
        let mut nodes = vec![0; self.count as usize];
        self.for_each(0..self.count as u32, |node, row| {
            if let Some(place) = nodes.get_mut(row as usize) {
                *place = node;
            }
            Ok(())
        })?;
        Ok(nodes)
    }

    /// The nodes of some rows. One pass over the numbers.
    pub(super) fn nodes_of(&self, rows: &[RowId]) -> Result<Vec<NodeId>> {
        let mut wanted: BTreeMap<u32, Option<NodeId>> =
            rows.iter().map(|row| (row.0, None)).collect();
        self.for_each(0..self.count as u32, |node, row| {
            if let Some(found) = wanted.get_mut(&row) {
                *found = Some(NodeId(node));
            }
            Ok(())
        })?;
        let node = |row: &RowId| wanted.get(&row.0).copied().flatten();
        Ok(rows.iter().filter_map(node).collect())
    }

    /// Calls `visit` with nodes and the numbers of their rows.
    pub(super) fn for_each(
        &self,
        nodes: Range<u32>,
        mut show: impl FnMut(u32, u32) -> Result<()>,
    ) -> Result<()> {
        self.identities(nodes, |node, (row, _)| show(node, row))
    }

    fn identities(
        &self,
        nodes: Range<u32>,
        mut show: impl FnMut(u32, (u32, u64)) -> Result<()>,
    ) -> Result<()> {
        let mut first = nodes.start;
        while first < nodes.end {
            let count = RUN.min((nodes.end - first) as usize);
            let mut bytes = vec![0; count * self.stride];
            self.identities
                .read_at(&mut bytes, u64::from(first) * self.stride as u64)?;
            let identities = Identities::new(bytes, self.stride);
            for at in 0..count as u32 {
                show(first + at, identities.of(NodeId(at)))?;
            }
            first += count as u32;
        }
        Ok(())
    }
}

impl VectorRead for OrderedRows {
    fn count(&self) -> u64 {
        self.count
    }

    fn shape(&self) -> VectorShape {
        self.shape
    }

    fn read(&self, first: u64, out: &mut [u8]) -> io::Result<()> {
        let offset = first * self.shape.row_bytes() as u64;
        Ok(self.rows.read_at(out, offset)?)
    }
}

impl IdRead for OrderedRows {
    fn name(&self) -> &'static str {
        "ordered rows"
    }

    fn count(&self) -> u64 {
        self.count
    }

    fn read(&self, first: u64, out: &mut [u64]) -> Result<()> {
        let first = first as u32;
        let mut ids = out.iter_mut();
        self.identities(first..first + ids.len() as u32, |_, (_, own)| {
            if let Some(id) = ids.next() {
                *id = own;
            }
            Ok(())
        })
    }
}
