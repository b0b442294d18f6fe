//! The living rows of some segments, one after the other: what a merge builds from.

use std::io;
use std::ops::Range;

use pageway_types::{NodeId, VectorRead, VectorShape};

use super::taken::FromSegments;
use crate::build::{DocumentsById, KeptRows};
use crate::error::{Error, Result};
use crate::execution::{CodePart, DeadSet, Segment};
use crate::source::IdRead;

/// Nodes that are read together at most, dead ones included.
const WINDOW: u32 = 1024;

/// Rows of segments that lived at a moment.
pub(super) struct LivingRows {
    shape: VectorShape,
    parts: Vec<LivingPart>,
    count: u64,
}

/// Those of one segment.
pub(super) struct LivingPart {
    segment: Segment,
    dead: DeadSet,
    /// Rows before it.
    first: u64,
    /// Living nodes before each window.
    before: Vec<u32>,
}

/// Consecutive rows in one window of nodes.
struct Stretch<'p> {
    part: &'p LivingPart,
    /// Nodes from the first row to the last.
    nodes: Range<u32>,
    /// Their places among the rows that are read.
    rows: Range<usize>,
}

impl LivingRows {
    /// The rows of `segments` that live now, in the element type that all of them store; if they
    /// differ, in that of the index, `given`.
    pub(super) fn new(segments: &[Segment], given: VectorShape) -> Self {
        let mut shape = given;
        if let Some(first) = segments.first().map(|segment| segment.stored().element)
            && segments.iter().all(|one| one.stored().element == first)
        {
            shape.element = first;
        }
        let mut count = 0;
        let part = |segment: &Segment| {
            let part = LivingPart::new(segment, count);
            count += u64::from(part.living());
            part
        };
        let parts = segments.iter().map(part).collect();
        Self {
            shape,
            parts,
            count,
        }
    }

    /// The dead of the first segment.
    pub(super) fn first_dead(&self) -> Option<&DeadSet> {
        self.parts.first().map(|part| &part.dead)
    }

    /// Rows of the first segment.
    pub(super) fn first_rows(&self) -> u64 {
        self.parts.first().map_or(0, |part| part.living().into())
    }

    /// Where they were taken from, once they are read.
    pub(super) fn into_taken(self) -> FromSegments {
        FromSegments(self.parts)
    }

    /// Calls `read` for the rows from `first` on, window by window.
    fn each(
        &self,
        first: u64,
        count: usize,
        read: &mut dyn FnMut(&Stretch<'_>) -> Result<()>,
    ) -> Result<()> {
        let end = first.checked_add(count as u64);
        if end.is_none_or(|end| end > self.count) {
            return Err(out_of_range());
        }
        let mut done = 0;
        while done < count {
            let row = first + done as u64;
            let at = self.parts.partition_point(|part| part.first <= row);
            let part = at.checked_sub(1).and_then(|at| self.parts.get(at));
            let stretch =
                part.and_then(|part| part.stretch((row - part.first) as u32, count - done));
            let Some((part, nodes, rows)) = part
                .zip(stretch)
                .map(|(part, (nodes, rows))| (part, nodes, rows))
            else {
                return Err(out_of_range());
            };
            let rows = done..done + rows;
            done = rows.end;
            read(&Stretch { part, nodes, rows })?;
        }
        Ok(())
    }
}

impl LivingPart {
    fn new(segment: &Segment, first: u64) -> Self {
        let nodes = segment.node_count();
        let dead = match &segment.dead {
            Some(dead) => DeadSet::of_words(nodes, dead.words()),
            None => DeadSet::new(nodes),
        };
        let mut before = vec![0];
        let mut living = 0;
        for start in (0..nodes).step_by(WINDOW as usize) {
            let window = start..nodes.min(start.saturating_add(WINDOW));
            living += window.filter(|node| !dead.contains(NodeId(*node))).count() as u32;
            before.push(living);
        }
        Self {
            segment: segment.clone(),
            dead,
            first,
            before,
        }
    }

    /// Calls `tell` with the id of each row that died since the last call. Rows cannot be read
    /// afterwards.
    pub(super) fn each_death(&self, tell: &mut dyn FnMut(u64) -> Result<()>) -> Result<()> {
        let Some(dead) = &self.segment.dead else {
            return Ok(());
        };
        for node in dead.nodes_beyond(&self.dead) {
            self.dead.insert(node);
            let mut id = [0];
            self.segment.read_ids(node.0.into(), &mut id)?;
            id.into_iter().try_for_each(&mut *tell)?;
        }
        Ok(())
    }

    /// How many living nodes precede a node, if it lives.
    fn rank(&self, node: NodeId) -> Option<u32> {
        if node.0 >= self.segment.node_count() || self.dead.contains(node) {
            return None;
        }
        let window = node.0 / WINDOW;
        let start = window * WINDOW;
        let before = self.before.get(window as usize)?;
        let dead = (start..node.0).step_by(32).map(|first| {
            let own = (node.0 - first).min(32);
            let behind = u32::MAX.checked_shl(own).unwrap_or(0);
            (self.dead.mask(first) & !behind).count_ones()
        });
        Some(before + (node.0 - start) - dead.sum::<u32>())
    }

    /// The node of a living row of the part.
    fn node_of(&self, row: u32) -> Option<NodeId> {
        let at = self.before.partition_point(|before| *before <= row);
        let window = at.checked_sub(1)?;
        let mut skipped = row - self.before.get(window)?;
        let start = u32::try_from(window).ok()?.checked_mul(WINDOW)?;
        for first in (start..self.segment.node_count()).step_by(32) {
            let living = !self.dead.mask(first);
            let count = living.count_ones();
            if skipped < count {
                let bits = (0..32).filter(|bit| living >> bit & 1 == 1);
                let bit = bits.into_iter().nth(skipped as usize)?;
                return Some(NodeId(first + bit));
            }
            skipped -= count;
        }
        None
    }

    fn living(&self) -> u32 {
        self.before.last().copied().unwrap_or(0)
    }

    /// The nodes of up to `most` living rows from `row` on, as far as they lie in one window, and
    /// how many rows those are.
    fn stretch(&self, row: u32, most: usize) -> Option<(Range<u32>, usize)> {
        let behind = self.before.partition_point(|before| *before <= row);
        let rows = most.min((self.before.get(behind)? - row) as usize);
        let last = row + u32::try_from(rows).ok()?.checked_sub(1)?;
        Some((self.node_of(row)?.0..self.node_of(last)?.0 + 1, rows))
    }

    /// The places of living nodes in a range of nodes.
    fn places(&self, nodes: &Range<u32>) -> impl Iterator<Item = usize> + '_ {
        let first = nodes.start;
        let living = nodes
            .clone()
            .filter(|node| !self.dead.contains(NodeId(*node)));
        living.map(move |node| (node - first) as usize)
    }
}

impl KeptRows for LivingRows {
    fn row_of(&self, segment: usize, node: NodeId) -> Option<u32> {
        let part = self.parts.get(segment)?;
        Some(part.first as u32 + part.rank(node)?)
    }

    fn gather(&self, rows: &[u32], out: &mut [u8]) -> Result<()> {
        let row_bytes = self.shape.row_bytes();
        let mut left = (rows, out);
        for part in &self.parts {
            let end = part.first + u64::from(part.living());
            let own = left.0.partition_point(|row| u64::from(*row) < end);
            let (own, rest) = left.0.split_at(own);
            let slots = left.1.split_at_mut_checked(own.len() * row_bytes);
            let (slots, behind) = slots.ok_or_else(out_of_range)?;
            let node = |row: &u32| part.node_of(row.checked_sub(part.first as u32)?);
            let nodes: Option<Vec<NodeId>> = own.iter().map(node).collect();
            let nodes = nodes.ok_or_else(out_of_range)?;
            if !nodes.is_empty() {
                part.segment.gather(self.shape, (&nodes, slots))?;
            }
            left = (rest, behind);
        }
        if left.0.is_empty() {
            return Ok(());
        }
        Err(out_of_range())
    }

    fn codes(&self, segment: usize) -> Option<&CodePart> {
        let part = self.parts.get(segment)?;
        Some(part.segment.parts.codes())
    }
}

impl LivingRows {
    /// Their attributes, if any row has some.
    pub(super) fn documents(&self) -> Option<&dyn DocumentsById> {
        let has_some = |part: &LivingPart| part.segment.attributes.is_some();
        self.parts
            .iter()
            .any(has_some)
            .then_some(self as &dyn DocumentsById)
    }
}

impl DocumentsById for LivingRows {
    fn each(&self, visit: &mut dyn FnMut(u64, &[u8]) -> Result<()>) -> Result<()> {
        let mut ids = Vec::new();
        for part in &self.parts {
            let (segment, count) = (&part.segment, part.segment.node_count());
            let Some(attributes) = &segment.attributes else {
                continue;
            };
            for first in (0..count).step_by(WINDOW as usize) {
                let window = first..count.min(first.saturating_add(WINDOW));
                ids.resize(window.len(), 0);
                segment.read_ids(first.into(), &mut ids)?;
                let living = window.filter(|node| !part.dead.contains(NodeId(*node)));
                attributes.documents().visit(living, &mut |node, json| {
                    let id = ids.get((node - first) as usize).copied();
                    visit(id.unwrap_or(0), json)
                })?;
            }
        }
        Ok(())
    }
}

impl VectorRead for LivingRows {
    fn count(&self) -> u64 {
        self.count
    }

    fn shape(&self) -> VectorShape {
        self.shape
    }

    fn read(&self, first: u64, out: &mut [u8]) -> io::Result<()> {
        let row_bytes = self.shape.row_bytes();
        if !out.len().is_multiple_of(row_bytes) {
            return Err(out_of_range().into());
        }
        let (mut window, count) = (Vec::new(), out.len() / row_bytes);
        let mut read = |stretch: &Stretch<'_>| -> Result<()> {
            let Stretch { part, nodes, rows } = stretch;
            window.resize(nodes.len() * row_bytes, 0);
            let first = nodes.start.into();
            if self.shape == part.segment.stored() {
                part.segment.read_stored(first, &mut window)?;
            } else {
                part.segment.read_vectors(first, &mut window)?;
            }
            let slots = out.chunks_exact_mut(row_bytes).skip(rows.start);
            for (slot, place) in slots.zip(part.places(nodes)) {
                if let Some(row) = window.get(place * row_bytes..(place + 1) * row_bytes) {
                    slot.copy_from_slice(row);
                }
            }
            Ok(())
        };
        Ok(self.each(first, count, &mut read)?)
    }
}

impl IdRead for LivingRows {
    fn name(&self) -> &'static str {
        "living rows"
    }

    fn count(&self) -> u64 {
        self.count
    }

    fn read(&self, first: u64, out: &mut [u64]) -> Result<()> {
        let mut window = Vec::new();
        let count = out.len();
        let mut read = |stretch: &Stretch<'_>| -> Result<()> {
            let Stretch { part, nodes, rows } = stretch;
            window.resize(nodes.len(), 0);
            part.segment.read_ids(nodes.start.into(), &mut window)?;
            let slots = out.iter_mut().skip(rows.start);
            for (slot, place) in slots.zip(part.places(nodes)) {
                *slot = window.get(place).copied().unwrap_or(0);
            }
            Ok(())
        };
        self.each(first, count, &mut read)
    }
}

fn out_of_range() -> Error {
    Error::invalid("rows out of range")
}
