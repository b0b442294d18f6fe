//! Placement under a memory budget: nodes change places within windows of their order.
//!
//! ```text
//! rows near each other, in parts -> graph over them, on disk -> window by window: the graph of its
//! nodes among themselves -> placement -> rows and lists, again in the order of nodes
//! ```
//! Placement ignores edges that leave a window; most stay inside, because near rows are together in
//! the order before placement. If hot pages come first, whole pages also move, to any place. Memory
//! holds one window, and a few numbers for each page if pages move.

use std::ops::Range;
use std::sync::Arc;

use pageway_graph::{PlacementSpec, VectorSet, place};
use pageway_types::{Metric, NodeId, Progress, VectorRead};
use serde_json::{Value, json};

use super::graph_file::{GraphFile, neighbors, push_list};
use super::order::placement;
use super::ordered::{OrderedRows, OrderedWriter};
use super::pipeline::Pipeline;
use super::places::{LOOKUP_BYTES, Places, PlacesWriter, TOGETHER};
use super::plan::BuildPlan;
use super::scratch::StageFiles;
use super::spill::SpillWriter;
use super::stages::{BLOCK_BYTES, NORM_BYTES, STAGE_BYTES};
use super::write::ListStream;
use crate::error::{Error, ErrorKind, Result};
use crate::resolve;
use crate::storage::Identities;

/// The least memory is that of a window of so many nodes.
const WINDOW_NODES_MIN: u64 = 16_384;
/// Bytes per node while references to pages are counted, and pages are sorted.
const HEAT_BYTES: u64 = 16;
/// Stages whose files an earlier build may have kept.
const PLACED: [&str; 3] = ["placed-rows", "placed-identities", "placed-graph"];

/// Nodes in their final order: their rows, their lists, and the node that was asked for.
pub(super) struct Placed {
    pub(super) rows: OrderedRows,
    pub(super) graph: GraphFile,
    pub(super) medoid: NodeId,
    /// The note of the stage that made the graph.
    pub(super) note: Value,
}

impl BuildPlan {
    /// Whether the placement of the design looks at edges.
    pub(super) fn places_by_edges(&self) -> bool {
        let layout = self.spec.layout.placement;
        !(layout.is_by_id() || layout.is_clustered()) || self.spec.storage.codes.is_split()
    }

    /// Peak while `nodes` nodes at a time are placed by their edges.
    pub(super) fn window_bytes(&self, nodes: u64) -> u64 {
        let spec = &self.spec;
        let max_degree = spec.graph.max_degree();
        let graph = pageway_graph::Graph::bytes(nodes, max_degree);
        let placing = placement(spec).map_or(0, |own| {
            pageway_graph::placement_bytes(nodes, own, max_degree)
        });
        // A window as it is read, with the bounds of its lists; later, the places of its nodes.
        let own = self.row_bytes() + NORM_BYTES + Identities::stride(spec) as u64 + 24;
        let heat = if spec.storage.codes.is_split() {
            HEAT_BYTES * u64::from(self.node_count).div_ceil(self.nodes_per_page().max(1).into())
        } else {
            0
        };
        STAGE_BYTES + LOOKUP_BYTES + heat + nodes * own + graph + graph.max(placing)
    }

    /// Nodes of a window in the least memory.
    pub(super) fn least_window(&self) -> u64 {
        WINDOW_NODES_MIN.min(self.node_count.into()).max(1)
    }

    /// The most nodes of a window that the budget holds, in whole pages. Needs a budget that holds
    /// `least_window`.
    pub(super) fn window_capacity(&self) -> u32 {
        let (mut low, mut high) = (self.least_window(), u64::from(self.node_count));
        while low < high {
            let middle = (low + high).div_ceil(2);
            if self.window_bytes(middle) <= self.budget_bytes {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        let per_page = self.nodes_per_page().max(1);
        (low as u32 / per_page * per_page).max(per_page)
    }

    /// Nodes that a placement puts together: those whose vectors share a page where it puts near
    /// vectors together, else those whose lists do. 1 for a spec that has no pages.
    pub(super) fn nodes_per_page(&self) -> u32 {
        let Ok(codec) = resolve::codec(&self.spec, self.node_count) else {
            return 1;
        };
        let map = codec.map();
        if self.spec.layout.placement.is_by_vectors() && map.vectors_per_page > 0 {
            map.vectors_per_page
        } else {
            map.nodes_per_page
        }
    }
}

impl Pipeline<'_> {
    /// Nodes that were placed before, by a build that was stopped.
    pub(super) fn placed_before(
        &self,
        files: StageFiles<'_>,
        format: (pageway_types::VectorShape, usize),
    ) -> Result<Option<Placed>> {
        let [rows, identities, graph] = PLACED;
        let Some(rows) = OrderedRows::kept(files, [rows, identities], format)? else {
            return Ok(None);
        };
        let Some((spill, note)) = files.find(graph)? else {
            return Ok(None);
        };
        let max_degree = self.plan.spec.graph.max_degree();
        let medoid = note.get("medoid").and_then(Value::as_u64).unwrap_or(0);
        Ok(Some(Placed {
            rows,
            graph: GraphFile::of(spill, self.plan.node_count, max_degree),
            medoid: NodeId(medoid as u32),
            note,
        }))
    }

    /// Places the nodes of a graph on disk, `capacity` at a time.
    pub(super) fn place_in_windows(
        &self,
        (rows, graph, capacity): (&Arc<OrderedRows>, GraphFile, u32),
        (medoid, max_norm): (NodeId, f32),
        (files, mut note): (StageFiles<'_>, Value),
    ) -> Result<Placed> {
        let windows = Windows {
            pipeline: self,
            rows,
            graph: &graph,
            capacity,
            per_page: self.plan.nodes_per_page(),
            max_norm: (self.options.metric == Metric::InnerProduct).then_some(max_norm),
        };
        let mut places = windows.places(files)?;
        if self.plan.spec.storage.codes.is_split() {
            let moved = windows.hot_pages_first(&places)?;
            places.move_pages(moved);
        }
        let medoid = places.of(medoid)?;
        let (placed, lists) = windows.write(&places, files)?;
        if let Some(note) = note.as_object_mut() {
            note.insert("medoid".to_owned(), json!(medoid.0));
        }
        let [rows, identities, name] = PLACED;
        placed.keep(files, [rows, identities])?;
        files.keep(name, lists.spill(), note.clone())?;
        files.forget(&["graph"])?;
        Ok(Placed {
            rows: placed,
            graph: lists,
            medoid,
            note,
        })
    }
}

/// The nodes that are placed.
struct Windows<'w> {
    pipeline: &'w Pipeline<'w>,
    rows: &'w OrderedRows,
    graph: &'w GraphFile,
    /// Nodes of a window: whole pages.
    capacity: u32,
    per_page: u32,
    max_norm: Option<f32>,
}

impl Windows<'_> {
    fn all(&self) -> impl Iterator<Item = Range<u32>> + use<'_> {
        let count = self.graph.count();
        let starts = (0..count).step_by(self.capacity as usize);
        starts.map(move |start| start..count.min(start.saturating_add(self.capacity)))
    }

    /// The place of each node within its window.
    fn places(&self, files: StageFiles<'_>) -> Result<Places> {
        let Pipeline {
            plan,
            pool,
            progress,
            ..
        } = *self.pipeline;
        let Some(placement) =
            placement(&plan.spec).filter(|_| !plan.spec.layout.placement.is_clustered())
        else {
            return Ok(Places::same(self.per_page));
        };
        let wanted = PlacementSpec {
            placement,
            nodes_per_page: self.per_page,
            seed: plan.spec.seed,
        };
        let (shape, _) = self.rows.format();
        let metric = plan.spec.shape.metric.guide();
        let mut out = PlacesWriter::new(files.writer("places")?);
        let (mut bytes, mut places) = (Vec::new(), Vec::new());
        for window in self.all() {
            progress.check()?;
            progress.portion(window.len() as f64 / f64::from(self.graph.count()));
            bytes.resize(window.len() * shape.row_bytes(), 0);
            VectorRead::read(self.rows, window.start.into(), &mut bytes)?;
            let set = VectorSet::new(&bytes, shape, metric, resolve::kernels()?, self.max_norm)?;
            let graph = self.graph.window(window.clone(), NodeId(0))?;
            let order = place(&graph, &set, (&wanted, &[]), pool, progress)?;
            places.clear();
            places.extend(window.clone());
            for (new, old) in window.clone().zip(order) {
                *places.get_mut(old.index()).ok_or_else(torn)? = new;
            }
            out.write(&places)?;
        }
        out.finish(self.per_page)
    }

    /// The places of pages if those with the most incoming edges come first; a last page that is
    /// not full stays last.
    fn hot_pages_first(&self, places: &Places) -> Result<Vec<u32>> {
        let full = self.graph.count() / self.per_page;
        let mut heat = vec![0u64; full as usize];
        let mut lists = self.graph.lists(0..self.graph.count());
        let (mut list, mut named) = (Vec::new(), Vec::new());
        for node in 0..self.graph.count() {
            lists.next_list(&mut list)?;
            named.append(&mut list);
            let is_last = node + 1 == self.graph.count();
            if named.len() + self.graph.max_degree() as usize <= TOGETHER && !is_last {
                continue;
            }
            places.look_up(&mut named)?;
            for place in named.drain(..) {
                if let Some(heat) = heat.get_mut((place.0 / self.per_page) as usize) {
                    *heat += 1;
                }
            }
        }
        let mut pages: Vec<u32> = (0..full).collect();
        pages.sort_by_key(|page| std::cmp::Reverse(heat.get(*page as usize)));
        let mut moved = vec![0u32; full as usize];
        for (new, old) in (0u32..).zip(&pages) {
            *moved.get_mut(*old as usize).ok_or_else(torn)? = new;
        }
        Ok(moved)
    }

    /// Writes rows and lists to their places.
    fn write(&self, places: &Places, files: StageFiles<'_>) -> Result<(OrderedRows, GraphFile)> {
        let [rows, identities, lists] = PLACED;
        let count = self.graph.count();
        self.pipeline.progress.stage("move nodes", count.into());
        let mut out = OrderedWriter::new(
            self.rows.format(),
            files.writer(rows)?,
            files.writer(identities)?,
        );
        for window in self.all() {
            self.pipeline.progress.check()?;
            self.write_rows(window, places, &mut out)?;
        }
        let mut moved = files.writer(lists)?;
        for window in self.all() {
            self.pipeline.progress.check()?;
            self.write_lists(window.clone(), places, &mut moved)?;
            self.pipeline.progress.advance(window.len() as u64);
        }
        let max_degree = self.graph.max_degree();
        let lists = GraphFile::of(moved.finish()?, count, max_degree);
        Ok((out.finish()?, lists))
    }

    fn write_rows(
        &self,
        window: Range<u32>,
        places: &Places,
        out: &mut OrderedWriter,
    ) -> Result<()> {
        let (shape, stride) = self.rows.format();
        let mut rows = vec![0; window.len() * shape.row_bytes()];
        VectorRead::read(self.rows, window.start.into(), &mut rows)?;
        let mut identities = vec![0; window.len() * stride];
        self.rows.read_identities(window.start, &mut identities)?;
        for (place, at) in moves(&window, places)? {
            let row = rows.get(at * shape.row_bytes()..(at + 1) * shape.row_bytes());
            let identity = identities.get(at * stride..(at + 1) * stride);
            let (row, identity) = row.zip(identity).ok_or_else(torn)?;
            out.seek(place)?;
            out.write(row, identity)?;
        }
        Ok(())
    }

    fn write_lists(
        &self,
        window: Range<u32>,
        places: &Places,
        out: &mut SpillWriter,
    ) -> Result<()> {
        let bytes = self.graph.list_bytes();
        let mut lists = vec![0; window.len() * bytes];
        let block = (BLOCK_BYTES / bytes).max(1);
        for (start, out) in (window.start..)
            .step_by(block)
            .zip(lists.chunks_mut(block * bytes))
        {
            self.graph.read(start.into(), out)?;
        }
        let max_degree = self.graph.max_degree();
        let mut named = Vec::new();
        for lists in lists.chunks_mut((TOGETHER / max_degree.max(1) as usize).max(1) * bytes) {
            named.clear();
            named.extend(lists.chunks_exact(bytes).flat_map(neighbors));
            places.look_up(&mut named)?;
            let mut named = named.as_slice();
            for list in lists.chunks_exact_mut(bytes) {
                let (own, rest) = named
                    .split_at_checked(neighbors(list).count())
                    .ok_or_else(torn)?;
                let mut moved = Vec::with_capacity(bytes);
                push_list(own, max_degree, &mut moved)?;
                list.copy_from_slice(&moved);
                named = rest;
            }
        }
        for (new, at) in moves(&window, places)? {
            out.seek(u64::from(new) * bytes as u64)?;
            out.write(lists.get(at * bytes..(at + 1) * bytes).unwrap_or_default())?;
        }
        Ok(())
    }
}

/// The new places of the nodes of a window, sorted, each with its place in the window.
fn moves(window: &Range<u32>, places: &Places) -> Result<Vec<(u32, usize)>> {
    let mut own: Vec<NodeId> = window.clone().map(NodeId).collect();
    places.look_up(&mut own)?;
    let mut moves: Vec<(u32, usize)> = own
        .iter()
        .zip(0..)
        .map(|(place, at)| (place.0, at))
        .collect();
    moves.sort_unstable();
    Ok(moves)
}

fn torn() -> Error {
    Error::new(ErrorKind::Internal, "a placement that is no permutation")
}
