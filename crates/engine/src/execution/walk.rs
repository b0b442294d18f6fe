//! A traversal whatever the codec of its segment: a test per page, and none below it.

use pageway_quant::Scorer;

use super::bounds::{Bounds, Limits};
use super::candidates::CandidateList;
use super::key::{key_distance, key_node};
use super::traversal::{Preparation, Stage};
use super::{AnyParts, Origin, PageRequest, Query, QuerySizes, QueryStats, Scratch, Traversal};
use crate::layout::{PageError, PageNodeCodec, RecordCodec};

/// One query in one segment.
pub(crate) enum Walk<'t> {
    Record(Traversal<'t, RecordCodec>),
    PageNode(Traversal<'t, PageNodeCodec>),
}

/// The same expression of the traversal of either codec.
macro_rules! each {
    ($walk:expr, $traversal:ident => $expression:expr) => {
        match $walk {
            Walk::Record($traversal) => $expression,
            Walk::PageNode($traversal) => $expression,
        }
    };
}

impl<'t> Walk<'t> {
    /// As [`Traversal::new`].
    pub(super) fn new(
        parts: &'t AnyParts,
        query: Query<'t>,
        place: (usize, &'t mut Scratch),
        preparation: Preparation<'_>,
    ) -> Self {
        match parts {
            AnyParts::Record(parts) => {
                Self::Record(Traversal::new(parts, query, place, preparation))
            }
            AnyParts::PageNode(parts) => {
                Self::PageNode(Traversal::new(parts, query, place, preparation))
            }
        }
    }

    /// What scores codes of its query.
    pub(super) fn scorer(&self) -> &Scorer {
        each!(self, walk => walk.scorer())
    }

    #[inline]
    pub(super) fn want(&mut self) -> Result<Option<PageRequest>, PageError> {
        each!(self, walk => walk.want())
    }

    #[inline]
    pub(super) fn supply(
        &mut self,
        request: PageRequest,
        payload: &[u8],
        origin: Origin,
    ) -> Result<(), PageError> {
        each!(self, walk => walk.supply(request, payload, origin))
    }

    pub(super) fn read_early(&mut self) {
        each!(self, walk => walk.read_early());
    }

    pub(super) fn has_early(&self) -> bool {
        each!(self, walk => walk.early.chosen)
    }

    pub(super) fn next_early(&mut self) -> Option<PageRequest> {
        each!(self, walk => walk.next_early())
    }

    pub(super) fn has_work(&self) -> bool {
        each!(self, walk => walk.has_work())
    }

    pub(super) fn work(&mut self) -> Result<bool, PageError> {
        each!(self, walk => walk.work())
    }

    /// Number of its segment.
    pub(super) fn segment(&self) -> usize {
        usize::from(each!(self, walk => walk.segment))
    }

    /// Nodes of its segment.
    pub(super) fn node_count(&self) -> usize {
        each!(self, walk => walk.scratch.shape.index.nodes)
    }

    pub(super) fn in_flight(&self) -> usize {
        each!(self, walk => walk.in_flight())
    }

    pub(super) fn promises_more(&self, nearer: u32) -> bool {
        each!(self, walk => walk.promises_more(nearer))
    }

    pub(super) fn ends_beside(&self) -> bool {
        each!(self, walk => walk.ends_beside())
    }

    pub(super) fn end_at(&mut self, end: u32) {
        each!(self, walk => walk.end_at(end));
    }

    pub(super) fn falls_short(&self) -> bool {
        each!(self, walk => walk.falls_short())
    }

    pub(super) fn widen(&mut self, nearer: u32) {
        each!(self, walk => walk.widen(nearer));
    }

    pub(super) fn settle(&mut self, sizes: QuerySizes) {
        each!(self, walk => walk.settle(sizes));
    }

    pub(super) fn climb(&mut self) -> bool {
        each!(self, walk => walk.climb())
    }

    /// Distances of living candidates, proportional to squared ones under any metric.
    pub(super) fn nearest(&self) -> impl Iterator<Item = f32> {
        let (candidates, admission, lift) =
            each!(self, walk => (walk.candidates(), walk.query.admission, walk.query.lift));
        let admitted = move |key: &&u64| admission.admits(key_node(**key));
        candidates
            .keys()
            .iter()
            .filter(admitted)
            .map(move |key| key_distance(*key) + lift)
    }

    pub(super) fn found(&self) -> usize {
        each!(self, walk => walk.found())
    }

    pub(super) fn answers_lie_deep(&self) -> bool {
        each!(self, walk => walk.answers_lie_deep())
    }

    pub(super) fn deepen(&mut self) -> bool {
        each!(self, walk => walk.deepen())
    }

    pub(super) fn prepare(&mut self, stage: Stage) {
        each!(self, walk => walk.prepare(stage));
    }

    pub(super) fn enter(&mut self, stage: Stage, limits: Limits) {
        each!(self, walk => walk.enter(stage, limits));
    }

    pub(super) fn candidates(&self) -> &CandidateList {
        each!(self, walk => walk.candidates())
    }

    pub(super) fn bounds(&self) -> &Bounds {
        each!(self, walk => walk.bounds())
    }

    pub(super) fn bounds_mut(&mut self) -> &mut Bounds {
        each!(self, walk => walk.bounds_mut())
    }

    pub(super) fn finish(self) -> (&'t mut Scratch, QueryStats) {
        each!(self, walk => walk.finish())
    }
}
