//! Which reads go out, and when: rounds, rounds that overlap with work, or a pipeline.

use pageway_types::{NodeId, PageId};

use super::Traversal;
use super::early::Pause;
use super::key::key_node;
use super::scratch::Target;
use super::traversal::PageRequest;
use crate::layout::{PageCodec, PageError, PageView};
use crate::spec::{HarvestSpec, MAX_BEAM, ScheduleSpec};

/// Which candidates are chosen from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Among {
    /// All.
    All,
    /// Those that need no read, and are not farther than the slack allows.
    Resident,
}

impl<C: PageCodec> Traversal<'_, C> {
    /// Puts the next reads of a walk into the frontier, if it is time for any.
    pub(super) fn choose(&mut self) -> Result<(), PageError> {
        let pipelined = matches!(
            self.parts.execution.schedule,
            ScheduleSpec::Pipelined { .. }
        );
        if !pipelined && self.in_flight > 0 {
            return Ok(());
        }
        self.note_replicas()?;
        match self.parts.execution.schedule {
            ScheduleSpec::Pipelined { .. } => self.choose_next(),
            ScheduleSpec::Lockstep { .. } | ScheduleSpec::Overlapped { .. } => self.choose_round(),
            ScheduleSpec::Prefetch { .. } => self.choose_unready(),
        }
    }

    /// The best candidates of a round. Those in the node cache are expanded, the others are its
    /// reads. Under harvest target, what is in memory does not change which nodes are
    /// chosen, so the answer does not depend on the cache: unless a slack prefers what is in
    /// memory, which is then a round of its own.
    fn choose_round(&mut self) -> Result<(), PageError> {
        loop {
            let mut among = Among::Resident;
            self.choose_targets(among)?;
            if self.scratch.pages.targets.is_empty() {
                among = Among::All;
                self.choose_targets(among)?;
            }
            if self.scratch.pages.targets.is_empty() {
                return Ok(());
            }
            self.expand_cached()?;
            if !self.scratch.pages.targets.is_empty() {
                self.request_targets(among);
                return Ok(());
            }
        }
    }

    /// The best candidates, as many as a round reads.
    fn choose_targets(&mut self, among: Among) -> Result<(), PageError> {
        let width = self.round_width();
        while self.scratch.pages.targets.len() < width {
            let Some(target) = self.next_target(among)? else {
                break;
            };
            self.scratch.pages.targets.push(target);
        }
        Ok(())
    }

    /// Reads of the next round: the beam, or where rounds double twice those of the last, up to the
    /// beam. On the way to the query the best candidate alone leads on, and its neighbours push
    /// the others out.
    fn round_width(&self) -> usize {
        let beam = self.query.sizes.beam;
        if !self.parts.execution.schedule.doubles() {
            return beam;
        }
        let doublings = self.stats.rounds.min(u64::from(MAX_BEAM.ilog2()));
        beam.min(1 << doublings)
    }

    /// Gorgeous: expands candidates whose lists are in memory until few are left, then reads the
    /// best of the others; those left are expanded while the reads are in flight.
    fn choose_unready(&mut self) -> Result<(), PageError> {
        let few = self.query.sizes.beam / 2;
        loop {
            let candidates = &self.scratch.candidates;
            if candidates.count(few + 1, |node| self.is_loaded(node)) <= few {
                break;
            }
            if self.turns_early(Pause::Choosing) {
                return Ok(());
            }
            if !self.expand_best_loaded()? {
                break;
            }
        }
        while self.scratch.pages.targets.len() < self.query.sizes.beam {
            let (parts, pages) = (self.parts, &self.scratch.pages);
            let loaded = |node| parts.cache.nodes.contains(node) || pages.holds(parts, node);
            let Some(key) = self.scratch.candidates.take(|node| !loaded(node)) else {
                break;
            };
            let page = parts.codec.map().page_of(key_node(key));
            if !self.is_scored_as_a_whole(page) {
                self.scratch.pages.targets.push(Target { page, key });
            }
        }
        self.request_targets(Among::All);
        Ok(())
    }

    /// `PipeANN`: one read, for the best candidate that needs one, while fewer than a width are
    /// out.
    fn choose_next(&mut self) -> Result<(), PageError> {
        while self.scratch.pages.targets.len() < self.pipeline.width {
            let resident = self.next_target(Among::Resident)?;
            let next = if resident.is_some() {
                resident
            } else {
                self.next_target(Among::All)?
            };
            let Some(target) = next else {
                return Ok(());
            };
            self.pipeline.note_choice(self.scratch.candidates.cursor());
            if self.expand_from_memory(key_node(target.key))? {
                continue;
            }
            let asked = self.scratch.pages.targets.iter();
            let known = asked.clone().any(|other| other.page == target.page);
            let dry = self.scratch.pages.targets.is_empty();
            self.scratch.pages.targets.push(target);
            if !known {
                self.stats.rounds += u64::from(dry);
                self.request(target.page);
                return Ok(());
            }
        }
        Ok(())
    }

    /// The best candidate that is still of use. Those whose page the query keeps are expanded from
    /// it on the way; those whose page was scored as a whole are done.
    fn next_target(&mut self, among: Among) -> Result<Option<Target>, PageError> {
        loop {
            let Some(key) = self.next_key(among) else {
                return Ok(None);
            };
            let node = key_node(key);
            let page = self.parts.codec.map().page_of(node);
            let done = match self.parts.execution.harvest {
                HarvestSpec::Target => false,
                HarvestSpec::Near { .. } | HarvestSpec::All => self.is_scored_as_a_whole(page),
                // A page that was asked for is worked on in its turn, even if it is there already.
                HarvestSpec::Held => {
                    !self.scratch.pages.asks_for(page) && self.expand_held(node)?
                }
            };
            if !done {
                return Ok(Some(Target { page, key }));
            }
        }
    }

    fn next_key(&mut self, among: Among) -> Option<u64> {
        let (parts, pages) = (self.parts, &self.scratch.pages);
        let (slack, map) = (parts.execution.slack, parts.codec.map());
        let keeps = parts.execution.harvest == HarvestSpec::Held;
        let resident = |node| {
            // A page in flight is used in its turn, so that its arrival changes no choice.
            let held = || keeps && !pages.asks_for(map.page_of(node)) && pages.holds(parts, node);
            parts.cache.holds_for_good(node, map) || held()
        };
        let candidates = &mut self.scratch.candidates;
        match among {
            Among::All => candidates.pop_unexpanded(),
            Among::Resident if slack > 0.0 => candidates.take_near(slack, resident),
            Among::Resident => None,
        }
    }

    /// Expands targets that are in the node cache, and takes them off the list.
    fn expand_cached(&mut self) -> Result<(), PageError> {
        let mut targets = std::mem::take(&mut self.scratch.pages.targets);
        let mut outcome = Ok(());
        targets.retain(|target| {
            let expanded = self.expand_from_memory(key_node(target.key));
            let waits = matches!(expanded, Ok(false));
            if outcome.is_ok() {
                outcome = expanded.map(|_| ());
            }
            waits
        });
        self.scratch.pages.targets = targets;
        outcome
    }

    /// One read per page of the targets, best first. A round of what memory holds waits for none.
    pub(super) fn request_targets(&mut self, among: Among) {
        for at in 0..self.scratch.pages.targets.len() {
            let targets = &self.scratch.pages.targets;
            let Some(page) = targets.get(at).map(|target| target.page) else {
                break;
            };
            let before = targets.get(..at).unwrap_or_default();
            if !before.iter().any(|other| other.page == page) {
                self.request(page);
            }
        }
        let chosen = &mut self.scratch.pages.frontier;
        chosen.reverse();
        self.stats.rounds += u64::from(!chosen.is_empty() && among == Among::All);
        self.work_waits = true;
    }

    fn request(&mut self, page: PageId) {
        let execution = &self.parts.execution;
        let pages = &mut self.scratch.pages;
        let slot = if self.pipeline.in_order || execution.keeps_pages() {
            pages.held.assign()
        } else {
            0
        };
        if execution.harvest.scores_pages() {
            self.scratch.seen.pages.insert(page);
        }
        let request = PageRequest::gathering(self.segment, page, slot);
        if self.pipeline.in_order {
            pages.queue.push(request);
        }
        pages.frontier.push(request);
    }

    /// Whether there may be something to do while reads are in flight.
    pub(crate) fn has_work(&self) -> bool {
        self.second_waits()
            || self.work_waits
                && match self.parts.execution.schedule {
                    ScheduleSpec::Overlapped { .. } => !self.scratch.pages.deferred.is_empty(),
                    ScheduleSpec::Prefetch { .. } => true,
                    ScheduleSpec::Lockstep { .. } | ScheduleSpec::Pipelined { .. } => false,
                }
    }

    /// Whether the query is to be handed to the scorer of second codes now.
    fn second_waits(&self) -> bool {
        self.in_flight > 0 && !self.knows_second && self.parts.second.is_some()
    }

    /// Does what was left for the time of the reads in flight; true when it did anything.
    ///
    /// # Errors
    /// When a record in memory makes no sense.
    pub(crate) fn work(&mut self) -> Result<bool, PageError> {
        if self.second_waits() {
            self.prepare_second();
        }
        if !std::mem::replace(&mut self.work_waits, false) {
            return Ok(false);
        }
        match self.parts.execution.schedule {
            ScheduleSpec::Overlapped { .. } => self.harvest_deferred(),
            ScheduleSpec::Prefetch { .. } => {
                let mut worked = self.early.resumes(Pause::Working);
                while !self.turns_early(Pause::Working) && self.expand_best_loaded()? {
                    worked = true;
                }
                Ok(worked || self.early.chosen)
            }
            ScheduleSpec::Lockstep { .. } | ScheduleSpec::Pipelined { .. } => Ok(false),
        }
    }

    /// Expands the best candidate whose list is in memory.
    fn expand_best_loaded(&mut self) -> Result<bool, PageError> {
        let (parts, pages) = (self.parts, &self.scratch.pages);
        let loaded = |node| parts.cache.nodes.contains(node) || pages.holds(parts, node);
        let Some(key) = self.scratch.candidates.take(loaded) else {
            return Ok(false);
        };
        let node = key_node(key);
        Ok(self.expand_from_memory(node)? || self.expand_held(node)?)
    }

    fn is_loaded(&self, node: NodeId) -> bool {
        self.parts.cache.nodes.contains(node) || self.scratch.pages.holds(self.parts, node)
    }

    /// Works on the page whose turn it is where pages are taken in the order they were asked for;
    /// false when it has not arrived.
    ///
    /// Called once nothing more is to be asked for, so that what is asked for does not depend on
    /// which page arrives first, or is in memory.
    pub(super) fn absorb_next(&mut self) -> Result<bool, PageError> {
        let Some(next) = self.scratch.pages.queue.first().copied() else {
            return Ok(false);
        };
        let held = std::mem::take(&mut self.scratch.pages.held);
        let page = held.get(next.slot).filter(|(page, _)| *page == next.page);
        let absorbed = if let Some((_, bytes)) = page {
            self.scratch.pages.queue.remove(0);
            self.absorb(next, bytes).map(|()| true)
        } else {
            Ok(false)
        };
        self.scratch.pages.held = held;
        absorbed
    }

    /// Expands a node from a page that the query keeps; false when none holds its list.
    fn expand_held(&mut self, node: NodeId) -> Result<bool, PageError> {
        let codec = &self.parts.codec;
        let held = std::mem::take(&mut self.scratch.pages.held);
        let own = held.slot_of(codec.map().page_of(node));
        let expanded = if let Some((page, bytes)) = own.and_then(|slot| held.get(slot)) {
            let view = codec.view(page, bytes);
            view.and_then(|view| self.expand(&view.record(node)?))
                .map(|()| true)
        } else {
            self.expand_replica(node, &held)
        };
        self.scratch.pages.held = held;
        expanded
    }
}
