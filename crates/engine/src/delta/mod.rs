//! Rows that are in no segment yet: in memory, in the order in which they came. All of them are
//! compared with a query, or those that nodes of the segment lead to.
//!
//! ```text
//! chunks   | rows, rounded rows, ids, attributes, deaths | ..   each full, or merged with the next
//! view     the chunks of a moment: rows up to `visible`, less those that had died by then
//! overlay  edges from nodes of the segment to rows, where inserts search for neighbours
//! ```
//!
//! One thread at a time appends and kills; any number take views. A row that replaces another is
//! appended before the other is killed, and a death has the moment at which it came: a view shows
//! one of both, never none and never two. Deltas form a chain: one that was closed knows the one
//! that follows, so that who holds an old one finds what replaces its rows.

mod chunk;
mod overlay;
mod rounded;
mod scan;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use chunk::Chunk;
pub(crate) use chunk::{NewRows, RowDocument};
use overlay::Overlay;
pub(crate) use overlay::{KnownList, LinkRoom, Numbering, RowLinks};
use pageway_kernels::{DistanceManyFn, KernelSet};
use pageway_types::{Metric, NodeId, VectorShape};
use rounded::Rounding;
pub(crate) use scan::{DeltaQuery, Hit};

/// Bytes that a row takes beside its vector and its attributes: id, death, where its attributes
/// are, the share of a chunk's bookkeeping, and what finds it by its id.
pub(crate) const ROW_BYTES: u64 = 8 + 8 + 16 + 4 + 48;

/// Bytes that attributes take beside their own.
pub(crate) const DOCUMENT_BYTES: u64 = 48;

/// Bytes that the attributes of some rows take.
pub(crate) fn document_bytes(documents: &[RowDocument]) -> u64 {
    let each = |document: &Arc<[u8]>| document.len() as u64 + DOCUMENT_BYTES;
    documents.iter().flatten().map(each).sum()
}

/// What rows of a delta are, and how they are compared.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowForm {
    row_bytes: usize,
    distances: DistanceManyFn,
    rounding: Option<Rounding>,
    links: Option<LinkRoom>,
}

impl RowForm {
    /// Rows of this shape, compared by this metric.
    pub(crate) fn new(kernels: &KernelSet, shape: VectorShape, metric: Metric) -> Self {
        Self {
            row_bytes: shape.row_bytes(),
            distances: kernels.distance_many(shape.element, metric),
            rounding: Rounding::of(kernels, shape, metric),
            links: None,
        }
    }

    /// The same with room for edges to rows.
    pub(crate) fn with_links(self, links: Option<LinkRoom>) -> Self {
        Self { links, ..self }
    }

    /// Bytes that a row takes, without its attributes.
    pub(crate) fn bytes(self) -> u64 {
        let rounded = self.rounding.map_or(0, Rounding::row_bytes);
        let links = self.links.map_or(0, LinkRoom::row_bytes);
        (self.row_bytes + rounded) as u64 + ROW_BYTES + links
    }
}

/// Rows since the last flush.
#[derive(Debug)]
pub(crate) struct Delta {
    form: RowForm,
    /// Rows of the deltas before it.
    base: u64,
    chunks: RwLock<Vec<Arc<Chunk>>>,
    /// Rows that died.
    dead: AtomicU32,
    /// The one that took rows after this.
    next: OnceLock<Arc<Self>>,
    /// Edges to its rows.
    overlay: Option<Overlay>,
    /// Held while a change is made visible, here, in deltas before it, and in segments.
    changing: Arc<RwLock<()>>,
}

/// A delta as it is at a moment.
///
/// A moment is how many rows were appended to it, to those before it and to those after it.
#[derive(Debug)]
pub(crate) struct DeltaView {
    chunks: Vec<Arc<Chunk>>,
    /// Its rows.
    visible: u32,
    moment: u64,
    form: RowForm,
}

impl Delta {
    /// An empty delta of such rows.
    pub(crate) fn new(form: RowForm) -> Self {
        Self {
            form,
            base: 0,
            chunks: RwLock::default(),
            dead: AtomicU32::new(0),
            next: OnceLock::new(),
            overlay: form.links.map(Overlay::new),
            changing: Arc::default(),
        }
    }

    /// An empty delta that takes rows after this, which takes none any more.
    pub(crate) fn following(&self) -> Self {
        Self {
            base: self.moment(),
            changing: Arc::clone(&self.changing),
            ..Self::new(self.form)
        }
    }

    /// Held while a change is made visible, so that nobody counts half of it.
    pub(crate) fn changing(&self) -> RwLockWriteGuard<'_, ()> {
        self.changing
            .write()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// As long as this is held no change is made visible.
    pub(crate) fn at_rest(&self) -> RwLockReadGuard<'_, ()> {
        self.changing.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds edges to the rows that are appended next.
    pub(crate) fn link(&self, links: &RowLinks) {
        if let Some(overlay) = &self.overlay {
            overlay.add(self.len(), links);
        }
    }

    /// Whether nodes of this numbering lead to its rows.
    pub(crate) fn is_linked(&self, numbering: Numbering) -> bool {
        let overlay = self.overlay.as_ref();
        overlay.is_some_and(|overlay| overlay.is_of(numbering))
    }

    /// The first `visible` rows that `nodes` lead to, and those that nothing leads to, ascending;
    /// none where nodes of this numbering lead to no rows.
    pub(crate) fn rows_beside(
        &self,
        (nodes, numbering): (&[NodeId], Numbering),
        visible: u32,
    ) -> Option<Vec<u32>> {
        let overlay = self.overlay.as_ref().filter(|own| own.is_of(numbering))?;
        let mut rows = Vec::new();
        overlay.others(visible, &mut rows);
        for node in nodes {
            overlay.rows_of(*node, &mut rows);
        }
        rows.retain(|row| *row < visible);
        rows.sort_unstable();
        rows.dedup();
        Some(rows)
    }

    /// The nodes that lead to each of some rows, ascending; none of a row whose neighbours were not
    /// looked for among nodes of this numbering.
    pub(crate) fn lists(&self, rows: &[u32], numbering: Numbering) -> Vec<KnownList> {
        let lists = self.overlay.as_ref().map(|own| own.lists(rows, numbering));
        lists.unwrap_or_else(|| vec![KnownList::default(); rows.len()])
    }

    /// What its rows are.
    pub(crate) fn form(&self) -> RowForm {
        self.form
    }

    /// Appends rows.
    pub(crate) fn append(&self, rows: NewRows<'_>) {
        if rows.ids.is_empty() {
            return;
        }
        let mut chunks = self.chunks.write().unwrap_or_else(PoisonError::into_inner);
        let first = chunks.last().map_or(0, |last| last.end());
        let mut chunk = Chunk::new(first, rows, self.form.rounding);
        while let Some(last) = chunks.pop_if(|last| last.merges_with(&chunk)) {
            chunk = last.merged(&chunk);
        }
        chunks.push(Arc::new(chunk));
    }

    /// Appends rows as `append` does, in place of those that `replaced` numbers: whoever sees the
    /// new ones sees the others dead.
    pub(crate) fn replace(&self, replaced: impl IntoIterator<Item = u32>, rows: NewRows<'_>) {
        let moment = self.moment() + rows.ids.len() as u64;
        for row in replaced {
            self.kill_at(row, moment);
        }
        self.append(rows);
    }

    /// Kills a row for who looks from now on; false when it was dead or is not there.
    pub(crate) fn kill(&self, row: u32) -> bool {
        self.kill_at(row, self.now())
    }

    fn kill_at(&self, row: u32, moment: u64) -> bool {
        let chunks = self.chunks.read().unwrap_or_else(PoisonError::into_inner);
        let chunk = chunk_of(&chunks, row);
        let killed = chunk.is_some_and(|chunk| chunk.kill(row, moment));
        drop(chunks);
        self.dead.fetch_add(u32::from(killed), Ordering::AcqRel);
        killed
    }

    /// The moment of its own last row.
    fn moment(&self) -> u64 {
        self.base + u64::from(self.len())
    }

    /// The moment of the last row of those after it.
    fn now(&self) -> u64 {
        let last =
            std::iter::successors(Some(self), |delta| delta.next().map(AsRef::as_ref)).last();
        last.map_or(0, Self::moment)
    }

    /// Rows that were appended.
    pub(crate) fn len(&self) -> u32 {
        let chunks = self.chunks.read().unwrap_or_else(PoisonError::into_inner);
        chunks.last().map_or(0, |last| last.end())
    }

    /// Rows that have not died.
    pub(crate) fn living(&self) -> u32 {
        self.len().saturating_sub(self.dead.load(Ordering::Acquire))
    }

    /// The rows there are, for who looks at this delta alone.
    pub(crate) fn view(&self) -> DeltaView {
        let mut view = self.rows();
        if let Some(next) = self.next() {
            view.moment = next.now();
        }
        view
    }

    /// The rows of deltas that follow each other, all as they are at the moment of the last row
    /// that is seen. So a row that moves from one to another meanwhile is in one of them, or both.
    pub(crate) fn views(chain: &[Arc<Self>]) -> Vec<DeltaView> {
        let mut views: Vec<DeltaView> = chain.iter().map(|delta| delta.rows()).collect();
        let moment = views.last().map_or(0, |last| last.moment);
        for view in &mut views {
            view.moment = moment;
        }
        views
    }

    /// Its rows at the moment of its own last.
    fn rows(&self) -> DeltaView {
        let chunks = self.chunks.read().unwrap_or_else(PoisonError::into_inner);
        let visible = chunks.last().map_or(0, |last| last.end());
        DeltaView {
            visible,
            moment: self.base + u64::from(visible),
            chunks: chunks.clone(),
            form: self.form,
        }
    }

    /// Says which delta takes the rows from now on.
    pub(crate) fn close(&self, next: Arc<Self>) {
        let _ = self.next.set(next);
    }

    /// The delta that took rows after this, if it was closed.
    pub(crate) fn next(&self) -> Option<&Arc<Self>> {
        self.next.get()
    }
}

fn chunk_of(chunks: &[Arc<Chunk>], row: u32) -> Option<&Chunk> {
    let at = chunks.partition_point(|chunk| chunk.end() <= row);
    chunks.get(at).map(AsRef::as_ref)
}

impl DeltaView {
    /// Rows of the view, dead ones included.
    pub(crate) fn len(&self) -> u32 {
        self.visible
    }

    /// Numbers of the rows that live at its moment, in order.
    pub(crate) fn living(&self) -> impl Iterator<Item = u32> + '_ {
        self.living_rows().map(|(_, row)| row)
    }

    /// The same, each with its chunk.
    fn living_rows(&self) -> impl Iterator<Item = (&Chunk, u32)> + '_ {
        let chunks = self.chunks.iter().map(AsRef::as_ref);
        chunks.flat_map(|chunk: &Chunk| chunk.living(self.moment).map(move |row| (chunk, row)))
    }

    fn chunk_of(&self, row: u32) -> Option<&Chunk> {
        chunk_of(&self.chunks, row)
    }

    /// Vector of a row, dead or not.
    pub(crate) fn vector(&self, row: u32) -> Option<&[u8]> {
        self.chunk_of(row)?.row(row, self.form.row_bytes)
    }

    /// Attributes of a row, dead or not, as JSON.
    pub(crate) fn document(&self, row: u32) -> Option<&[u8]> {
        self.chunk_of(row)?.document(row)
    }

    /// Shows the number, id and vector of every living row, in order.
    pub(crate) fn each_living(&self, mut show: impl FnMut(u32, u64, &[u8])) {
        for (chunk, row) in self.living_rows() {
            if let (Some(id), Some(vector)) = (chunk.id(row), chunk.row(row, self.form.row_bytes)) {
                show(row, id, vector);
            }
        }
    }
}
