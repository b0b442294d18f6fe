//! What a page gives beside the records it was read for.

use pageway_types::NodeId;

use super::Traversal;
use super::candidates::{key_node, sort_key};
use super::held::HeldPages;
use super::parts::Parts;
use super::scratch::PageState;
use super::traversal::PageRequest;
use crate::layout::{PageCodec, PageError, PageView};
use crate::spec::{CompletionSpec, ExecutionSpec, HarvestSpec, ScheduleSpec};

impl ExecutionSpec {
    /// Whether a query keeps pages that it read.
    pub(crate) fn keeps_pages(&self) -> bool {
        self.harvest == HarvestSpec::Held || self.defers_harvest()
    }

    /// Whether pages are worked on in the order they were asked for.
    pub(crate) fn takes_in_order(&self) -> bool {
        matches!(
            self.schedule,
            ScheduleSpec::Pipelined {
                completion: CompletionSpec::InOrder,
                ..
            }
        )
    }

    /// Whether pages are harvested while the next reads are in flight.
    fn defers_harvest(&self) -> bool {
        matches!(self.schedule, ScheduleSpec::Overlapped { .. })
    }
}

impl PageState {
    /// Whether a page that the query keeps holds the list of `node`.
    pub(super) fn holds<C: PageCodec>(&self, parts: &Parts<C>, node: NodeId) -> bool {
        let own = parts.codec.map().page_of(node);
        self.held.slot_of(own).is_some()
            || self
                .held
                .replica_of(node)
                .is_some_and(|(slot, _)| self.held.get(slot).is_some())
    }
}

impl<C: PageCodec> Traversal<'_, C> {
    /// Harvests a page whose targets were expanded: now, or keeps it for later.
    pub(super) fn harvest(
        &mut self,
        view: &C::View<'_>,
        request: PageRequest,
        payload: &[u8],
    ) -> Result<(), PageError> {
        let execution = &self.parts.execution;
        match execution.harvest {
            HarvestSpec::Target => self.scratch.pages.absorbed.clear(),
            HarvestSpec::Held => {
                self.scratch.pages.absorbed.clear();
                self.keep(view, request, payload)?;
            }
            HarvestSpec::Near { .. } | HarvestSpec::All if execution.defers_harvest() => {
                let pages = &mut self.scratch.pages;
                pages.held.keep(request.slot, request.page, payload);
                pages.deferred.push(request.slot);
            }
            HarvestSpec::Near { share } => self.harvest_share(view, request.page.0, share)?,
            HarvestSpec::All => self.harvest_share(view, request.page.0, 1.0)?,
        }
        Ok(())
    }

    /// Scores every record of a page but the targets exactly, and expands the nearest.
    fn harvest_share(
        &mut self,
        view: &C::View<'_>,
        page: u32,
        share: f32,
    ) -> Result<(), PageError> {
        let mut keys = std::mem::take(&mut self.scratch.keys);
        keys.clear();
        let nodes = self.parts.codec.map().nodes_of(pageway_types::PageId(page));
        for node in nodes.map(NodeId) {
            let absorbed = &self.scratch.pages.absorbed;
            let target = absorbed.iter().any(|target| key_node(target.key) == node);
            if target || Some(node) == self.query.held_out {
                continue;
            }
            let distance = self.score_exactly(node, &view.vector(node)?);
            keys.push(sort_key(distance, node));
        }
        let absorbed = &mut self.scratch.pages.absorbed;
        absorbed.retain(|target| target.page.0 != page);
        if !C::LIST_PER_PAGE {
            let best = (keys.len() as f32 * share).ceil() as usize;
            keys.sort_unstable();
            for key in keys.iter().take(best) {
                let record = view.record(key_node(*key))?;
                self.follow(record.node, record.neighbors)?;
            }
        }
        self.scratch.keys = keys;
        Ok(())
    }

    /// Harvests the pages that were kept for later; true when there were any.
    pub(super) fn harvest_deferred(&mut self) -> Result<bool, PageError> {
        let mut slots = std::mem::take(&mut self.scratch.pages.deferred);
        let held = std::mem::take(&mut self.scratch.pages.held);
        let share = match self.parts.execution.harvest {
            HarvestSpec::Near { share } => share,
            HarvestSpec::Target | HarvestSpec::All | HarvestSpec::Held => 1.0,
        };
        let worked = !slots.is_empty();
        let mut outcome = Ok(worked);
        for slot in slots.drain(..) {
            let Some((page, payload)) = held.get(slot) else {
                continue;
            };
            let view = self.parts.codec.view(page, payload);
            if let Err(error) = view.and_then(|view| self.harvest_share(&view, page.0, share)) {
                outcome = Err(error);
                break;
            }
        }
        self.scratch.pages.held = held;
        self.scratch.pages.deferred = slots;
        outcome
    }

    /// Keeps a page, and notes whose lists are packed into it.
    fn keep(
        &mut self,
        view: &C::View<'_>,
        request: PageRequest,
        payload: &[u8],
    ) -> Result<(), PageError> {
        let held = &mut self.scratch.pages.held;
        held.keep(request.slot, request.page, payload);
        for at in 0..view.replica_count() {
            if let Some(record) = view.replica(at)? {
                held.add_replica(record.node, request.slot, at);
            }
        }
        Ok(())
    }

    /// Expands a node by a list packed into a page that the query keeps.
    pub(super) fn expand_replica(
        &mut self,
        node: NodeId,
        held: &HeldPages,
    ) -> Result<bool, PageError> {
        let Some((slot, at)) = held.replica_of(node) else {
            return Ok(false);
        };
        let Some((page, payload)) = held.get(slot) else {
            return Ok(false);
        };
        let view = self.parts.codec.view(page, payload)?;
        let record = view.replica(at)?.filter(|record| record.node == node);
        match record {
            Some(record) => self.follow(node, record.neighbors).map(|()| true),
            None => Ok(false),
        }
    }
}
