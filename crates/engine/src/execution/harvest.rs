//! What a page gives beside the records it was read for.

use pageway_types::{NodeId, PageId};

use super::Traversal;
use super::held::HeldPages;
use super::key::{key_node, sort_key};
use super::parts::Parts;
use super::scratch::{Deferred, PageState};
use super::traversal::PageRequest;
use crate::layout::{PageCodec, PageError, PageView};
use crate::spec::HarvestSpec;

/// Records beside the target that are expanded at once, where the others wait for the next reads to
/// be in flight: the nearest one is too good to be ignored when those reads are chosen.
const HARVESTED_AT_ONCE: usize = 1;

impl PageState {
    /// Whether a page was asked for, and not used yet.
    pub(super) fn asks_for(&self, page: PageId) -> bool {
        self.targets.iter().any(|target| target.page == page)
    }

    /// Whether a page that the query keeps holds the list of `node`.
    pub(super) fn holds<C: PageCodec>(&self, parts: &Parts<C>, node: NodeId) -> bool {
        let own = parts.codec.map().page_of(node);
        let replica = || self.held.page_with(self.replicas.find(node)?);
        self.held.slot_of(own).is_some() || replica().is_some()
    }
}

impl<C: PageCodec> Traversal<'_, C> {
    /// Harvests a page whose targets were expanded: now, or keeps some of it for later.
    pub(super) fn harvest(
        &mut self,
        view: &C::View<'_>,
        request: PageRequest,
        payload: &[u8],
    ) -> Result<(), PageError> {
        let execution = &self.parts.execution;
        match execution.harvest {
            HarvestSpec::Target => {}
            HarvestSpec::Held => self.keep(request, payload),
            HarvestSpec::Near { .. } | HarvestSpec::All => {
                if !execution.defers_harvest() {
                    self.harvest_now(view, request, usize::MAX)?;
                } else if C::LIST_PER_PAGE {
                    self.scratch
                        .pages
                        .deferred
                        .push(Deferred::Page(request.slot));
                } else {
                    self.harvest_now(view, request, HARVESTED_AT_ONCE)?;
                }
                if execution.defers_harvest() {
                    let held = &mut self.scratch.pages.held;
                    held.keep(request.slot, request.page, payload);
                }
            }
        }
        self.scratch.pages.absorbed.clear();
        Ok(())
    }

    /// Scores every record of a page but the targets exactly, expands the nearest `at_once` of the
    /// share that is to be expanded, and leaves the others for later.
    fn harvest_now(
        &mut self,
        view: &C::View<'_>,
        request: PageRequest,
        at_once: usize,
    ) -> Result<(), PageError> {
        let mut keys = std::mem::take(&mut self.scratch.keys);
        keys.clear();
        for node in self.parts.codec.map().nodes_of(request.page).map(NodeId) {
            let absorbed = &self.scratch.pages.absorbed;
            let target = absorbed.iter().any(|target| key_node(target.key) == node);
            if target || self.query.admission.hides(node) {
                continue;
            }
            let distance = self.rank_on_page(view, node)?;
            keys.push(sort_key(distance, node));
        }
        if !C::LIST_PER_PAGE {
            let share = match self.parts.execution.harvest {
                HarvestSpec::Near { share } => share,
                HarvestSpec::Target | HarvestSpec::All | HarvestSpec::Held => 1.0,
            };
            let best = (keys.len() as f32 * share).ceil() as usize;
            keys.sort_unstable();
            for (place, key) in keys.iter().take(best).enumerate() {
                let node = key_node(*key);
                if place < at_once {
                    self.follow(node, view.record(node)?.list)?;
                } else {
                    let later = Deferred::Node(request.slot, node);
                    self.scratch.pages.deferred.push(later);
                }
            }
        }
        self.scratch.keys = keys;
        Ok(())
    }

    /// Harvests what was left for later; true when there was anything.
    pub(super) fn harvest_deferred(&mut self) -> Result<bool, PageError> {
        let mut deferred = std::mem::take(&mut self.scratch.pages.deferred);
        let held = std::mem::take(&mut self.scratch.pages.held);
        let mut outcome = Ok(!deferred.is_empty());
        for later in deferred.drain(..) {
            if let Err(error) = self.harvest_later(later, &held) {
                outcome = Err(error);
                break;
            }
        }
        self.scratch.pages.held = held;
        self.scratch.pages.deferred = deferred;
        outcome
    }

    fn harvest_later(&mut self, later: Deferred, held: &HeldPages) -> Result<(), PageError> {
        let (Deferred::Page(slot) | Deferred::Node(slot, _)) = later;
        let Some((page, payload)) = held.get(slot) else {
            return Ok(());
        };
        let view = self.parts.codec.view(page, payload)?;
        if let Deferred::Node(_, node) = later {
            return self.follow(node, view.record(node)?.list);
        }
        for node in self.parts.codec.map().nodes_of(page).map(NodeId) {
            let done = self.scratch.seen.exact.contains(node);
            if !done && self.query.admission.admits(node) {
                self.rank_on_page(&view, node)?;
            }
        }
        Ok(())
    }

    /// Keeps a page for as long as there is room.
    fn keep(&mut self, request: PageRequest, payload: &[u8]) {
        let pages = &mut self.scratch.pages;
        pages.held.keep(request.slot, request.page, payload);
        pages.arrived.push(request.slot);
    }

    /// Notes whose lists are packed into the pages that came, in the order in which those were
    /// asked for: which copy of a list is found later must not depend on which read was faster.
    pub(super) fn note_replicas(&mut self) -> Result<(), PageError> {
        let mut arrived = std::mem::take(&mut self.scratch.pages.arrived);
        let held = std::mem::take(&mut self.scratch.pages.held);
        arrived.sort_unstable_by_key(|slot| held.turn_of(*slot));
        let mut outcome = Ok(());
        for slot in arrived.drain(..) {
            outcome = outcome.and_then(|()| self.note_replicas_of(&held, slot));
        }
        self.scratch.pages.held = held;
        self.scratch.pages.arrived = arrived;
        outcome
    }

    fn note_replicas_of(&mut self, held: &HeldPages, slot: u16) -> Result<(), PageError> {
        let Some((page, payload)) = held.get(slot) else {
            return Ok(());
        };
        let view = self.parts.codec.view(page, payload)?;
        for at in 0..view.replica_count() {
            if let Some(record) = view.replica(at)? {
                let replicas = &mut self.scratch.pages.replicas;
                replicas.add(record.node, (page, slot), at);
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
        let Some(replica) = self.scratch.pages.replicas.find(node) else {
            return Ok(false);
        };
        let Some((page, payload)) = held.page_with(replica) else {
            return Ok(false);
        };
        let view = self.parts.codec.view(page, payload)?;
        let record = view.replica(replica.at.into())?;
        let record = record.filter(|record| record.node == node);
        match record {
            Some(record) => self.follow(node, record.list).map(|()| true),
            None => Ok(false),
        }
    }
}
