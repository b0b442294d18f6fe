//! What changes in lists that there are: edges to new rows, and those to dead nodes.
//!
//! ```text
//! sweep    all lists at once, when many died: neighbours of the dead take their places
//! local    a search for each dead node: of what it finds, who names it gets the three nearest, and
//!          the three nearest of each neighbour of the dead node get an edge to that
//! replace  a pass over all lists: who names a dead node gets the nearest neighbour of that
//! ```
//! A pass over all lists also finds living nodes that no living node names: the nearest neighbour
//! of each gets an edge to it.

use std::collections::{BTreeSet, HashMap};

use pageway_types::NodeId;

use super::super::link::{BaseSearch, found_per_row};
use super::SegmentPatch;
use super::edges::{EdgeBack, EdgesBack};
use super::rows::NodeRows;
use crate::cache::ListRead;
use crate::error::Result;
use crate::execution::{DeadSet, Parts};
use crate::layout::RecordCodec;
use crate::resolve;
use crate::spec::RepairSpec;

/// Nodes that may take the place of a dead one, and how many do: k and c of IP-DiskANN.
const CANDIDATES: usize = 50;
const EDGES: usize = 3;
/// Nodes whose lists are read together.
const BATCH: u32 = 2048;
/// Place of an edge that is not that of a new row to its nearest.
const LATER: u32 = 1;

/// What changes in the lists of a segment.
pub(super) struct ListChanges {
    edges: EdgesBack,
    /// Nodes whose lists lose a dead one, ascending.
    losing: Vec<u32>,
    /// Dead nodes that leave lists.
    gone: Option<DeadSet>,
    /// Whether all dead ones leave all lists.
    sweeps: bool,
}

impl ListChanges {
    /// Nodes whose lists change, some of them several times.
    pub(super) fn nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        let losing = self.losing.iter().map(|node| NodeId(*node));
        self.edges.nodes().chain(losing)
    }

    /// Edges that nodes are asked for.
    pub(super) fn edges(&self) -> usize {
        self.edges.len()
    }

    /// Nodes whose lists lose a dead one.
    pub(super) fn losing(&self) -> usize {
        self.losing.len()
    }

    /// Edges that a node is asked for.
    pub(super) fn to(&self, node: NodeId) -> &[EdgeBack] {
        self.edges.to(node)
    }

    /// Whether a dead node leaves a list that names it.
    pub(super) fn is_gone(&self, node: NodeId) -> bool {
        self.gone.as_ref().is_some_and(|gone| gone.contains(node))
    }

    /// Takes the dead ones that leave out of a list. The last takes the place of each, so that few
    /// bytes of its page change.
    pub(super) fn leave(&self, list: &mut Vec<NodeId>) {
        let mut at = 0;
        while let Some(node) = list.get(at).copied() {
            if self.is_gone(node) {
                list.swap_remove(at);
            } else {
                at += 1;
            }
        }
    }

    /// Whether all dead nodes leave all lists.
    pub(super) const fn sweeps(&self) -> bool {
        self.sweeps
    }
}

/// Edges that a repair asks for, and who loses one.
#[derive(Default)]
struct Mended {
    edges: Vec<EdgeBack>,
    losing: BTreeSet<u32>,
}

impl Mended {
    fn ask(&mut self, node: NodeId, rank: u32, to: NodeId) {
        let node = node.0;
        self.edges.push(EdgeBack { node, rank, to });
    }
}

impl SegmentPatch<'_> {
    /// What changes in lists: edges back from the lists of new rows, and repairs.
    pub(super) fn changes(
        &self,
        parts: &Parts<RecordCodec>,
        search: &BaseSearch,
        lists: &[Vec<NodeId>],
    ) -> Result<ListChanges> {
        let sweeps = self.is_dying();
        let gone = self.gone()?;
        let mut mended = match (self.base.spec.repair, &gone) {
            (RepairSpec::Local, Some(gone)) => self.local(parts, search, gone)?,
            (RepairSpec::Replace, Some(gone)) => self.replace(parts, gone)?,
            _ if sweeps => self.unnamed(&mut |_, _| {})?,
            _ => Mended::default(),
        };
        let base = self.base.node_count;
        for (row, list) in (base..).map(NodeId).zip(lists) {
            for (rank, node) in (0u32..).zip(list) {
                mended.ask(*node, rank, row);
            }
        }
        Ok(ListChanges {
            edges: EdgesBack::of(mended.edges),
            losing: mended.losing.into_iter().collect(),
            gone,
            sweeps,
        })
    }

    /// Dead nodes whose edges were not repaired yet, where that is not left to a sweep.
    fn gone(&self) -> Result<Option<DeadSet>> {
        if self.base.spec.repair.is_sweep() {
            return Ok(None);
        }
        let known = crate::segment::repaired_set(self.source())?;
        let words = self.dead.words().zip(known.words());
        let gone = DeadSet::of_words(
            self.base.node_count,
            words.map(|(dead, known)| dead & !known),
        );
        Ok((gone.len() > 0).then_some(gone))
    }

    /// Repairs who is found by a search for each dead node.
    fn local(
        &self,
        parts: &Parts<RecordCodec>,
        search: &BaseSearch,
        gone: &DeadSet,
    ) -> Result<Mended> {
        let reader = resolve::list_reader(self.source())?;
        let nodes: Vec<u32> = (0..self.base.node_count)
            .filter(|node| gone.contains(NodeId(*node)))
            .collect();
        let segment = search.segment()?;
        let found_each = found_per_row(&self.base.spec, self.base.node_count);
        let block = self.block_rows(2 * found_each);
        let mut mended = Mended::default();
        self.progress.stage("repair lists", nodes.len() as u64);
        for dead in nodes.chunks(block) {
            self.progress.check()?;
            let rows = NodeRows::read((self, parts), &self.open.pages, dead.iter().copied())?;
            let queries: Vec<&[u8]> = dead.iter().map(|node| rows.row(NodeId(*node))).collect();
            let mut found = search.found(&queries.concat())?;
            for near in &mut found {
                near.retain(|node| self.lives(NodeId(*node)));
            }
            let all = found.iter().flatten().chain(dead).copied();
            let lists = ListsOf::read(reader.as_ref(), all)?;
            let others = dead.iter().flat_map(|node| lists.of(NodeId(*node)));
            let others = others.filter(|node| self.lives(**node)).map(|node| node.0);
            let all = found.iter().flatten().copied().chain(others);
            let known = NodeRows::read((self, parts), &segment.pages, all)?;
            let around = Around {
                lists: &lists,
                rows: &known,
                distance: parts.exact,
            };
            for (dead, near) in dead.iter().zip(&found) {
                self.mend_around(NodeId(*dead), near, &around, &mut mended);
            }
            self.progress.advance(dead.len() as u64);
        }
        Ok(mended)
    }

    /// Repairs who is found by a search for a dead node, and asks for edges to its neighbours.
    fn mend_around(&self, dead: NodeId, near: &[u32], around: &Around<'_>, mended: &mut Mended) {
        let places: Vec<NodeId> = near
            .iter()
            .take(CANDIDATES)
            .map(|one| NodeId(*one))
            .collect();
        for node in near.iter().map(|node| NodeId(*node)) {
            let list = around.lists.of(node);
            if !list.contains(&dead) {
                continue;
            }
            mended.losing.insert(node.0);
            for other in around.nearest(node, &places, list) {
                mended.ask(node, LATER, other);
            }
        }
        let neighbors = around.lists.of(dead).iter().copied();
        for other in neighbors.filter(|node| self.lives(*node)) {
            for node in around.nearest(other, &places, &[]) {
                mended.ask(node, LATER, other);
            }
        }
    }

    /// Repairs whoever names a dead node: the nearest neighbour of that takes its place.
    fn replace(&self, parts: &Parts<RecordCodec>, gone: &DeadSet) -> Result<Mended> {
        let reader = resolve::list_reader(self.source())?;
        let nodes: Vec<u32> = (0..self.base.node_count)
            .filter(|node| gone.contains(NodeId(*node)))
            .collect();
        let mut nearest: HashMap<NodeId, Vec<NodeId>> = HashMap::with_capacity(nodes.len());
        for dead in nodes.chunks(self.block_rows(self.base.spec.graph.max_degree())) {
            let lists = ListsOf::read(reader.as_ref(), dead.iter().copied())?;
            let others = dead.iter().flat_map(|node| lists.of(NodeId(*node)));
            let all = others.map(|node| node.0).chain(dead.iter().copied());
            let rows = NodeRows::read((self, parts), &self.open.pages, all)?;
            for node in dead.iter().map(|node| NodeId(*node)) {
                let mut list = lists.of(node).to_vec();
                list.retain(|other| self.lives(*other));
                let far = |other: &NodeId| (parts.exact)(rows.row(node), rows.row(*other));
                list.sort_by(|one, other| far(one).total_cmp(&far(other)));
                nearest.insert(node, list);
            }
        }
        let mut replaced = Mended::default();
        let mut mended = self.unnamed(&mut |node, list| {
            let mut taken: Vec<NodeId> = Vec::new();
            for dead in list.iter().filter(|other| gone.contains(**other)) {
                replaced.losing.insert(node.0);
                let mut theirs = nearest.get(dead).into_iter().flatten();
                let is_new = |other: &&NodeId| {
                    **other != node && !list.contains(other) && !taken.contains(other)
                };
                if let Some(other) = theirs.find(is_new) {
                    taken.push(*other);
                    replaced.ask(node, LATER, *other);
                }
            }
        })?;
        mended.edges.extend(replaced.edges);
        mended.losing.extend(replaced.losing);
        Ok(mended)
    }

    /// Shows the lists of all living nodes, and asks for an edge to each that none of them names.
    fn unnamed(&self, visit: &mut dyn FnMut(NodeId, &[NodeId])) -> Result<Mended> {
        let reader = resolve::list_reader(self.source())?;
        let count = self.base.node_count;
        let named = DeadSet::new(count);
        self.base.entry.iter().for_each(|node| {
            named.insert(*node);
        });
        self.progress.stage("look at lists", count.into());
        for first in (0..count).step_by(BATCH as usize) {
            self.progress.check()?;
            let nodes = first..count.min(first + BATCH);
            let nodes: Vec<NodeId> = nodes.map(NodeId).filter(|node| self.lives(*node)).collect();
            reader.lists(&nodes, &mut |at, list| {
                if let Some(node) = nodes.get(at) {
                    for other in list {
                        named.insert(*other);
                    }
                    visit(*node, list);
                }
            })?;
            self.progress.advance(BATCH.into());
        }
        let unnamed = (0..count)
            .map(NodeId)
            .filter(|node| self.lives(*node) && !named.contains(*node));
        let lists = ListsOf::read(reader.as_ref(), unnamed.clone().map(|node| node.0))?;
        let mut mended = Mended::default();
        for node in unnamed {
            let mut hosts = lists.of(node).iter();
            if let Some(host) = hosts.find(|host| self.lives(**host)) {
                mended.ask(*host, 0, node);
            }
        }
        Ok(mended)
    }

    /// Where walks start: in place of nodes that died, the nearest that live.
    pub(super) fn entries(
        &self,
        parts: &Parts<RecordCodec>,
        search: &BaseSearch,
    ) -> Result<Vec<NodeId>> {
        let mut entries = self.base.entry.clone();
        for entry in &mut entries {
            if self.lives(*entry) {
                continue;
            }
            let rows = NodeRows::read((self, parts), &self.open.pages, [entry.0])?;
            let found = search.found(rows.row(*entry))?;
            let mut living = found.iter().flatten().map(|node| NodeId(*node));
            *entry = living.find(|node| self.lives(*node)).unwrap_or(*entry);
        }
        let mut known = BTreeSet::new();
        entries.retain(|node| known.insert(*node));
        Ok(entries)
    }
}

/// Lists of some nodes.
struct ListsOf(HashMap<NodeId, Vec<NodeId>>);

impl ListsOf {
    fn read(reader: &dyn ListRead, nodes: impl Iterator<Item = u32>) -> Result<Self> {
        let mut nodes: Vec<NodeId> = nodes.map(NodeId).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let mut lists = HashMap::with_capacity(nodes.len());
        reader.lists(&nodes, &mut |at, list| {
            if let Some(node) = nodes.get(at) {
                lists.insert(*node, list.to_vec());
            }
        })?;
        Ok(Self(lists))
    }

    fn of(&self, node: NodeId) -> &[NodeId] {
        self.0.get(&node).map_or(&[], Vec::as_slice)
    }
}

/// What is known around a dead node.
struct Around<'a> {
    lists: &'a ListsOf,
    rows: &'a NodeRows,
    distance: fn(&[u8], &[u8]) -> f32,
}

impl Around<'_> {
    /// The few of `places` that are nearest to a node and neither it nor in `list`.
    fn nearest(&self, node: NodeId, places: &[NodeId], list: &[NodeId]) -> Vec<NodeId> {
        let row = self.rows.row(node);
        let mut all: Vec<(f32, NodeId)> = places
            .iter()
            .filter(|other| **other != node && !list.contains(other))
            .map(|other| ((self.distance)(row, self.rows.row(*other)), *other))
            .collect();
        all.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
        all.into_iter().take(EDGES).map(|(_, node)| node).collect()
    }
}
