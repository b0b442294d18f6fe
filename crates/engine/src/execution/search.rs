//! One query over all segments of an index: a traversal each, moved from stage to stage together.
//!
//! ```text
//!  route     where rows are known to lie together: the segments that the query is near
//!  gather    segment 0, 1, ... each to its end
//!            scans, which wait for nothing, one after the other, the largest first: each as far as
//!            it brings what the list of all would hold beside those before it
//!            a segment whose list is full, half of it of candidates that the list of all
//!            would hold, doubles its own and goes on
//!  fine codes, refine
//!            the bounds of all candidates of all segments decide together what is read
//!  answers   merged by distance and id
//! ```
//!
//! What a segment does depends on the others only between stages, and by what they hold, not by
//! when: so answers depend neither on the order in which reads complete nor on the driver. With
//! one segment nothing is shared and nothing waits.

use std::cmp::Reverse;
use std::time::Instant;

use pageway_quant::Scorer;
use pageway_types::NodeId;

use super::bounds::Limits;
use super::driver::Turned;
use super::key::key_node;
use super::ladder::LadderNote;
use super::list_end::list_end;
use super::list_rule::{LOOKED_AT, ListChoice, NearestDistances};
use super::query::Goal;
use super::ranking::Neighbor;
use super::route::Route;
use super::traversal::{Preparation, Stage};
use super::walk::Walk;
use super::{Origin, PageRequest, Query, QuerySizes, QueryStats, Scratch, Segment};
use crate::layout::PageError;

/// One query at a time, over all segments.
pub(crate) struct Search<'t> {
    segments: &'t [Segment],
    /// Of each segment that is not asked.
    idle: Vec<Option<&'t mut Scratch>>,
    /// Of each segment that is asked.
    walks: Vec<Walk<'t>>,
    route: Route,
    query: Option<Query<'t>>,
    stage: Stage,
    /// What is gathered for: the query's sizes, or those of its first list.
    sizes: QuerySizes,
    /// The segment whose turn it is to ask for pages.
    turn: usize,
    /// What the query chose its list by.
    choice: Option<ListChoice>,
    /// Whether its walks ended too early.
    falls_short: bool,
    /// Whether reads may begin before it is known that they are wanted.
    reads_early: bool,
}

/// The end of a query.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Finished {
    /// How many answers it has.
    pub(crate) results: usize,
    /// How many nodes near it were noted.
    pub(crate) near: usize,
    /// What it cost.
    pub(crate) stats: QueryStats,
    /// What its list was chosen by, where it was.
    pub(crate) choice: Option<ListChoice>,
    /// Whether a walk among some nodes ended too early for its answers to be the nearest.
    pub(crate) falls_short: bool,
}

impl<'t> Search<'t> {
    /// A search over `segments`, with a scratch for each.
    pub(crate) fn new(
        segments: &'t [Segment],
        scratches: impl IntoIterator<Item = &'t mut Scratch>,
    ) -> Self {
        Self {
            segments,
            idle: scratches.into_iter().map(Some).collect(),
            walks: Vec::with_capacity(segments.len()),
            route: Route::over(segments),
            query: None,
            stage: Stage::Gather,
            sizes: QuerySizes::NONE,
            turn: 0,
            choice: None,
            falls_short: false,
            reads_early: false,
        }
    }

    /// Whether the queries to come may begin reads before it is known that they are wanted.
    pub(crate) fn read_early(&mut self, reads_early: bool) {
        self.reads_early = reads_early;
    }

    /// Starts a query, which may have been turned for the codes of a segment. The one before is
    /// finished.
    pub(crate) fn begin(&mut self, query: Query<'t>, turned: Option<Turned<'_>>) {
        debug_assert!(self.walks.is_empty(), "one query at a time");
        self.query = Some(query);
        let leads = Route::leads(&query);
        self.route.begin(self.segments, &query);
        for (number, segment) in self.segments.iter().enumerate() {
            if !leads || segment.region.is_none() {
                self.ask(number, turned);
            }
        }
        let first = query.rule.map_or(query.sizes, |rule| {
            query.sizes.with_list(rule.begins_with())
        });
        self.ask_near(first);
        self.sizes = first;
        if self.scans_in_turn() {
            let nodes = |walk: &Walk<'_>| Reverse(walk.node_count());
            self.walks.sort_by_key(nodes);
        }
        self.choice = None;
        self.falls_short = false;
        self.stage = Stage::Gather;
        self.turn = 0;
    }

    /// Begins a walk over a segment where somebody lives, unless there is one.
    fn ask(&mut self, number: usize, turned: Option<Turned<'_>>) -> bool {
        let (Some(query), Some(segment)) = (self.query, self.segments.get(number)) else {
            return false;
        };
        if segment.is_dead() {
            return false;
        }
        let Some(scratch) = self.idle.get_mut(number).and_then(Option::take) else {
            return false;
        };
        let own = Query {
            admission: query.admission.of_segment(
                segment.base,
                segment.node_count(),
                segment.dead.as_deref(),
            ),
            ..query
        };
        let turned = turned.filter(|own| own.segment == number);
        let preparation = match (self.scorer_of(segment), turned) {
            (Some(other), _) => Preparation::TakenOver(other),
            (None, Some(turned)) => Preparation::Turned(turned.values),
            (None, None) => Preparation::Whole,
        };
        let mut walk = Walk::new(&segment.parts, own, (number, scratch), preparation);
        if self.reads_early {
            walk.read_early();
        }
        self.walks.push(walk);
        true
    }

    /// What scores codes of the query in a segment whose codes mean the same, where one is asked.
    fn scorer_of(&self, segment: &Segment) -> Option<&Scorer> {
        let same = |walk: &&Walk<'_>| {
            let other = self.segments.get(walk.segment());
            other.is_some_and(|other| segment.parts.shares_codebook(&other.parts))
        };
        self.walks.iter().find(same).map(Walk::scorer)
    }

    /// Begins walks over the segments that a query of `sizes` asks; whether there was another.
    fn ask_near(&mut self, sizes: QuerySizes) -> bool {
        let mut asked = false;
        while let Some(number) = self.route.next(sizes) {
            asked |= self.ask(number, None);
        }
        asked
    }

    /// The next page to read now, if any. The query is answered when nothing is wanted, nothing is
    /// in flight and nothing is to be read early.
    ///
    /// # Errors
    /// When a record in memory makes no sense.
    pub(crate) fn want(&mut self) -> Result<Option<PageRequest>, PageError> {
        loop {
            for _ in 0..self.walks.len() {
                if let Some(walk) = self.walks.get_mut(self.turn)
                    && let Some(request) = walk.want()?
                {
                    return Ok(Some(request));
                }
                if self.walks.get(self.turn).is_some_and(Walk::has_early) {
                    return Ok(None);
                }
                self.pass_turn();
            }
            if self.in_flight() > 0 || !self.advance() {
                return Ok(None);
            }
        }
    }

    /// Whether segments are scanned one after the other.
    fn scans_in_turn(&self) -> bool {
        self.walks.len() > 1 && self.walks.iter().all(Walk::ends_beside)
    }

    /// Gives the turn to the next segment; to gather beside those before it, where scans do.
    fn pass_turn(&mut self) {
        self.turn = (self.turn + 1) % self.walks.len();
        if self.turn > 0 && self.stage == Stage::Gather && self.scans_in_turn() {
            let end = self.list_end();
            if let Some(walk) = self.walks.get_mut(self.turn) {
                walk.end_at(end);
            }
        }
    }

    /// Hands over the payload of a page that was wanted.
    ///
    /// # Errors
    /// When the page makes no sense; the query is over then.
    pub(crate) fn supply(
        &mut self,
        request: PageRequest,
        payload: &[u8],
        origin: Origin,
    ) -> Result<(), PageError> {
        let number = usize::from(request.segment);
        let mut walks = self.walks.iter_mut();
        let walk = walks.find(|walk| walk.segment() == number);
        debug_assert!(walk.is_some(), "a page was supplied that nobody wanted");
        walk.map_or(Ok(()), |walk| walk.supply(request, payload, origin))
    }

    /// The next page to read early, if any: one that is wanted later, almost for certain. The
    /// search goes on once there is none.
    pub(crate) fn next_early(&mut self) -> Option<PageRequest> {
        self.walks.get_mut(self.turn).and_then(Walk::next_early)
    }

    /// Numbers of the segments that were asked so far.
    pub(crate) fn asked(&self) -> impl Iterator<Item = u16> {
        self.walks.iter().map(|walk| walk.segment() as u16)
    }

    /// Whether there may be something to do while reads are in flight.
    pub(crate) fn has_work(&self) -> bool {
        self.walks.iter().any(Walk::has_work)
    }

    /// Does what was left for the time of the reads in flight.
    ///
    /// # Errors
    /// When a record in memory makes no sense.
    pub(crate) fn work(&mut self) -> Result<(), PageError> {
        for walk in &mut self.walks {
            walk.work()?;
        }
        Ok(())
    }

    /// Reads that were handed out and not supplied yet.
    pub(crate) fn in_flight(&self) -> usize {
        self.walks.iter().map(Walk::in_flight).sum()
    }

    /// Whether nobody waits for the answer any more.
    #[inline]
    pub(crate) fn is_late(&self, now: Instant) -> bool {
        let deadline = self.query.and_then(|query| query.deadline);
        deadline.is_some_and(|deadline| now > deadline)
    }

    /// Goes on once every segment has ended its stage; false when the query is answered.
    fn advance(&mut self) -> bool {
        if self.query.is_some_and(|query| query.ladder.is_some()) {
            return self.climb();
        }
        if self.settle() || self.widen() || self.look_further() {
            self.stage = Stage::Gather;
            self.turn = 0;
            return true;
        }
        if self.stage == Stage::Gather {
            self.falls_short = self.walks.iter().any(Walk::falls_short);
        }
        let Some(stage) = self.stage.next().filter(|_| !self.falls_short) else {
            return false;
        };
        for walk in &mut self.walks {
            walk.prepare(stage);
        }
        let limits = self.limits();
        for walk in &mut self.walks {
            walk.enter(stage, limits);
        }
        self.stage = stage;
        true
    }

    /// Goes on to the next list that is noted, which no answer follows; false after the last.
    fn climb(&mut self) -> bool {
        self.walks.iter_mut().any(Walk::climb)
    }

    /// Chooses the list size, where that is left to the query and was not done; whether it was.
    fn settle(&mut self) -> bool {
        let Some(query) = &mut self.query else {
            return false;
        };
        let Some(rule) = query.rule.take() else {
            return false;
        };
        let walks = telling(&self.walks).iter();
        let nearest =
            NearestDistances::of(walks.flat_map(|walk| walk.nearest().take(LOOKED_AT + 1)));
        let choice = rule.choose(nearest.as_slice());
        query.sizes = query.sizes.with_list(choice.list_size);
        let sizes = query.sizes;
        self.sizes = sizes;
        for walk in &mut self.walks {
            walk.settle(sizes);
        }
        self.choice = Some(choice);
        self.ask_near(sizes);
        true
    }

    /// Asks further segments, where those that were asked hold fewer answers than are wanted; false
    /// where that is not so, or none is left.
    fn look_further(&mut self) -> bool {
        let wanted = match self.query {
            Some(query) if Route::leads(&query) && self.stage == Stage::Gather => {
                query.sizes.results
            }
            _ => return false,
        };
        let found: usize = self.walks.iter().map(Walk::found).sum();
        if found >= wanted {
            return false;
        }
        while let Some(number) = self.route.any() {
            if self.ask(number, None) {
                return true;
            }
        }
        false
    }

    /// Lengthens the lists of segments where that promises more; false where none does.
    fn widen(&mut self) -> bool {
        let nearer = self.list_end();
        let mut widened = false;
        for walk in &mut self.walks {
            if walk.promises_more(nearer) {
                walk.widen(nearer);
                widened = true;
            }
        }
        widened || self.deepen()
    }

    /// Takes more of the candidates that lists hold, where fewer were found than are wanted, or
    /// answers lie deep in a list; false where that is not so, or nothing is left to take.
    fn deepen(&mut self) -> bool {
        let wanted = match self.query {
            Some(query) if query.goal == Goal::Nearest && self.stage == Stage::Gather => {
                query.sizes.results
            }
            _ => return false,
        };
        let found: usize = self.walks.iter().map(Walk::found).sum();
        let mut deeper = false;
        for walk in &mut self.walks {
            if found < wanted || walk.answers_lie_deep() {
                deeper |= walk.deepen();
            }
        }
        deeper
    }

    /// The distance, in sortable bits, of the last candidate that a list of all segments would
    /// hold.
    fn list_end(&self) -> u32 {
        if self.walks.len() < 2 {
            return u32::MAX;
        }
        list_end(self.walks.iter().map(Walk::candidates), self.sizes.capacity)
    }

    /// What the bounds of all segments decide together.
    fn limits(&mut self) -> Limits {
        let (Some(query), Some(first)) = (self.query, self.walks.first_mut()) else {
            return Limits::default();
        };
        let mut room = first.bounds_mut().lend_room();
        let bounds = self.walks.iter().map(Walk::bounds);
        let limits = Limits::of(query.goal, query.sizes.results, bounds, &mut room);
        if let Some(first) = self.walks.first_mut() {
            first.bounds_mut().take_back(room);
        }
        limits
    }

    /// What lists of the query that ended would have found, where it noted that.
    pub(crate) fn notes(&self) -> impl Iterator<Item = &LadderNote> {
        let idle = self.idle.iter().flatten();
        idle.flat_map(|scratch| scratch.notes())
    }

    /// The nodes of each segment that are nearest to the query by their codes, `most` at most.
    pub(crate) fn near(&self, most: usize) -> impl Iterator<Item = NodeId> {
        self.walks.iter().flat_map(move |walk| {
            let base = self.segments.get(walk.segment()).map_or(0, |own| own.base);
            let keys = walk.candidates().keys().iter().take(most);
            keys.map(move |key| NodeId(base + key_node(*key).0))
        })
    }

    /// Ends the query: appends its answers to `found`, nearest first, and the nodes that it
    /// expanded to `visits`, where that is recorded.
    ///
    /// # Errors
    /// For an answer that cannot be, and where a query that everything may answer has none.
    pub(crate) fn finish(
        &mut self,
        found: &mut Vec<Neighbor>,
        visits: &mut Vec<NodeId>,
    ) -> Result<Finished, PageError> {
        let query = self.query.take();
        let results = query.map_or(0, |query| query.sizes.results);
        let start = found.len();
        let mut sum = QueryStats::default();
        let several = self.walks.len() > 1;
        for walk in self.walks.drain(..) {
            let number = walk.segment();
            let Some(segment) = self.segments.get(number) else {
                continue;
            };
            let (scratch, stats) = walk.finish();
            let rounds = sum.rounds.max(stats.rounds);
            sum.add(&stats);
            sum.rounds = rounds;
            for own in scratch.ranking().iter() {
                found.push(segment.neighbor(own)?);
            }
            let expanded = scratch.trace().iter();
            visits.extend(expanded.map(|node| NodeId(segment.base + node.0)));
            if let Some(idle) = self.idle.get_mut(number) {
                *idle = Some(scratch);
            }
        }
        if several && let Some(found) = found.get_mut(start..) {
            found.sort_unstable_by_key(Neighbor::order);
        }
        found.truncate(start + results);
        let answers = found.get(start..).unwrap_or_default();
        let no_dead = self.segments.iter().all(|segment| segment.dead.is_none());
        if no_dead && answers.is_empty() && query.is_some_and(|query| query.must_find()) {
            let nodes = self.segments.iter().map(|segment| segment.node_count());
            let node_count = nodes.sum();
            return Err(PageError::NothingFound { node_count });
        }
        sum.estimated = answers.iter().filter(|one| one.error > 0.0).count() as u64;
        Ok(Finished {
            results: answers.len(),
            near: 0,
            stats: sum,
            choice: self.choice,
            falls_short: self.falls_short,
        })
    }
}

/// The walks whose candidates tell a local dimension: that over a segment with most of the nodes
/// alone, as near candidates of another would hide that it has found none yet; else all.
fn telling<'w, 't>(walks: &'w [Walk<'t>]) -> &'w [Walk<'t>] {
    let nodes: usize = walks.iter().map(Walk::node_count).sum();
    let most = |walk: &Walk<'_>| 2 * walk.node_count() > nodes;
    let largest = walks.iter().position(most);
    largest.map_or(walks, |at| walks.get(at..=at).unwrap_or(walks))
}
