//! Searching an open index: from options to workers, from workers to answers.

use std::ops::Range;
use std::sync::atomic::AtomicUsize;
use std::time::Instant;

use pageway_store::clock;
use pageway_types::{NoProgress, NodeId, Progress};

use super::pool::{Lease, Patience, Wanted};
use super::{Index, Version};
use crate::error::{Error, ErrorKind, Result};
use crate::execution::driver::{Job, Outcomes, WorkerShape};
use crate::execution::{CallLists, Goal, NodeSet, QuerySizes, QueryStats, Segment};
use crate::filter::Filter;
use crate::memory::check_room;
use crate::options::{Answers, Effort, Queries, SearchOptions, SearchSettings};
use crate::plan::{MAX_INTERLEAVE, sizes};
use crate::source::{BLOCK_BYTES, Inspection, VectorSlice, inspect_rows};
use crate::threads::thread_count;

/// Largest candidate list of a search.
pub const MAX_LIST_SIZE: u32 = 100_000;

/// What a call notes beside its answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Notes {
    /// Whether to note which nodes are expanded.
    pub(super) visits: bool,
    /// First queries whose reads are recorded.
    pub(super) recorded: usize,
}

/// One call: what every query of it shares.
pub(super) struct Call<'c> {
    version: &'c Version,
    options: &'c SearchOptions,
    lists: CallLists<'c>,
    notes: Notes,
    progress: &'c dyn Progress,
    deadline: Option<Instant>,
}

impl Index {
    /// Finds the `k` nearest vectors of each query, or all within a radius.
    ///
    /// Costs about `list_size` page reads per query, of which `beam` are in flight at a time; with
    /// a radius about one per result and list place, fewer where pages are shared. A search with
    /// a radius doubles its list while at least half as many results lie within as the list is
    /// long (Starling, SIGMOD 2024, section 5.3).
    ///
    /// # Errors
    /// `InvalidInput` for a k, shape or option that cannot be, or sizes that do not fit the memory
    /// set aside for searches; `Unsupported` for a recall out of reach; `TimedOut` after the
    /// timeout; `Corrupt` or `Io` when pages cannot be read.
    pub fn search(&self, queries: &Queries<'_>, options: &SearchOptions) -> Result<Answers> {
        self.search_with(queries, options, &NoProgress)
    }

    /// As [`Index::search`], with progress per query and cancellation.
    pub fn search_with(
        &self,
        queries: &Queries<'_>,
        options: &SearchOptions,
        progress: &dyn Progress,
    ) -> Result<Answers> {
        let (answers, _) = self.answer(queries, options, (Notes::default(), progress))?;
        Ok(answers)
    }

    /// Searches, and gives what was noted beside the answers.
    pub(super) fn answer(
        &self,
        queries: &Queries<'_>,
        options: &SearchOptions,
        (notes, progress): (Notes, &dyn Progress),
    ) -> Result<(Answers, Vec<Outcomes>)> {
        self.follow()?;
        let version = self.version();
        self.check_queries(queries)?;
        check(&version, options)?;
        let all = options.exact.then(Filter::all);
        let list_size = if options.exact {
            options.k
        } else {
            list_size(&version, options)?
        };
        let plan = version.list_plan(queries, options);
        let found = match queries.filter.or(all.as_ref()) {
            None if let Some(plan) = &plan => {
                self.search_planned((&version, queries), options, plan, (notes, progress))
            }
            None => self.search_list((&version, queries), options, list_size, (notes, progress)),
            Some(filter) => {
                let (matched, _lease) = self.matching(&version, filter)?;
                let among = (list_size, &matched);
                self.search_matching((&version, queries), options, among, (notes, progress))
            }
        };
        let (mut answers, outcomes) = found?;
        answers.filter = answers.filter.filter(|_| queries.filter.is_some());
        if queries.wants_attributes || queries.wants_names {
            version.add_documents(queries, &mut answers)?;
        }
        Ok((answers, outcomes))
    }

    /// The smallest list size that is calibrated to reach `recall`@`k`.
    ///
    /// # Errors
    /// `Unsupported` when none does.
    pub fn list_size_for(&self, k: u32, recall: f32) -> Result<u32> {
        list_size_for(&self.version(), k, recall)
    }

    /// Searches with a list size, which may be below k.
    pub(super) fn search_list(
        &self,
        (version, queries): (&Version, &Queries<'_>),
        options: &SearchOptions,
        list_size: u32,
        (notes, progress): (Notes, &dyn Progress),
    ) -> Result<(Answers, Vec<Outcomes>)> {
        let sizes = version.sizes_for(options, list_size, queries.admitted)?;
        let place = (version, queries);
        let lists = CallLists::fixed(sizes);
        let found = self.search_sized(place, options, lists, (notes, progress))?;
        let (mut answers, outcomes) = found;
        self.add_deltas(version, (queries, options), &mut answers)?;
        if options.radius.is_none() && queries.admitted.is_none() {
            let calibration = &version.manifest.calibration;
            answers.expected_recall = calibration.expected_recall(options.k, list_size);
        }
        Ok((answers, outcomes))
    }

    /// Searches the segments with these lists.
    pub(super) fn search_sized(
        &self,
        (version, queries): (&Version, &Queries<'_>),
        options: &SearchOptions,
        lists: CallLists<'_>,
        (notes, progress): (Notes, &dyn Progress),
    ) -> Result<(Answers, Vec<Outcomes>)> {
        let call = Call {
            version,
            options,
            lists,
            notes,
            progress,
            deadline: options.timeout.map(|timeout| clock::now() + timeout),
        };
        let (mut outcomes, settings) = self.call(queries, &call)?;
        let count = queries.rows.len() / queries.shape.row_bytes();
        let room = ResultPlaces {
            k: if version.changes() {
                options.k as usize
            } else {
                call.lists.sizes.results
            },
            rows: version.node_count() as usize,
            fills: options.radius.is_none(),
        };
        let answers = collect(&mut outcomes, count, room, settings);
        Ok((answers, outcomes))
    }

    /// Searches with a list size that may be below k, as calibration does.
    pub(crate) fn search_below_k(
        &self,
        queries: &Queries<'_>,
        options: &SearchOptions,
        list_size: u32,
        progress: &dyn Progress,
    ) -> Result<Answers> {
        let (version, notes) = (self.version(), (Notes::default(), progress));
        Ok(self
            .search_list((&version, queries), options, list_size, notes)?
            .0)
    }

    /// Nodes that searches for `queries` expand, with repetitions.
    pub(crate) fn visits(
        &self,
        queries: &Queries<'_>,
        list_size: u32,
        progress: &dyn Progress,
    ) -> Result<Vec<NodeId>> {
        let notes = Notes {
            visits: true,
            recorded: 0,
        };
        let options = SearchOptions::default();
        let version = self.version();
        let found =
            self.search_list((&version, queries), &options, list_size, (notes, progress))?;
        Ok(found.1.into_iter().flat_map(|o| o.visits).collect())
    }

    /// Runs queries on as many threads as asked for and memory allows.
    fn call(
        &self,
        queries: &Queries<'_>,
        call: &Call<'_>,
    ) -> Result<(Vec<Outcomes>, SearchSettings)> {
        let (version, options, sizes) = (call.version, call.options, call.lists.sizes);
        let count = queries.rows.len() / queries.shape.row_bytes();
        let threads = if options.threads == 0 {
            self.lanes.0
        } else {
            thread_count(options.threads)
        };
        let threads = threads.clamp(1, count.max(1));
        let wished = if options.interleave == 0 {
            self.lanes.1
        } else {
            options.interleave
        };
        let most = count.div_ceil(threads).max(1);
        let interleave = (wished.min(MAX_INTERLEAVE) as usize).min(most);
        let shape = self.fitting(version, (interleave, sizes), threads);
        let goal = match options.radius {
            None => Goal::Nearest,
            Some(radius) => Goal::Within { radius },
        };
        let job = Job {
            rows: queries.rows,
            row_bytes: queries.shape.row_bytes(),
            held_out: queries.held_out,
            admitted: queries.admitted,
            lists: call.lists,
            goal,
            deadline: call.deadline,
            tolerance: options.tolerance,
            recorded: call.notes.recorded,
            next: AtomicUsize::new(0),
            progress: call.progress,
        };
        let leases = if version.segments.is_empty() {
            Vec::new()
        } else {
            self.leases(shape, threads, call)?
        };
        let threads = leases.len().max(1);
        let settings = SearchSettings {
            list_size: sizes.list_size as u32,
            beam: sizes.beam as u32,
            threads,
            interleave: shape.interleave as u32,
        };
        Ok((run(&version.segments, &job, leases)?, settings))
    }

    /// Whether only what was expanded can be an answer.
    pub(crate) fn expands_answers(&self) -> bool {
        let version = self.version();
        let execution = &version.manifest.spec.execution;
        execution.refine.is_inline() && !execution.harvest.scores_pages()
    }

    /// Whether what a refinement reads brings answers beside those it was read for.
    pub(crate) fn harvests_refined(&self) -> bool {
        self.version().manifest.spec.execution.harvest.is_all()
    }

    /// Whether one query of this list size fits the memory set aside for searches.
    pub(crate) fn has_memory_for(&self, options: &SearchOptions, list_size: u32) -> Result<bool> {
        let version = self.version();
        let shape = WorkerShape::compact(1, version.sizes(options, list_size)?);
        Ok(version.worker_bytes(&shape) <= version.for_searches())
    }

    /// Fewer queries and reads in flight where the memory set aside is short. A call of fewer
    /// queries than were announced leaves the buffers of the others to calls beside it. Memory is
    /// laid out for the capacity class of the sizes, where one query of that class fits.
    fn fitting(
        &self,
        version: &Version,
        (interleave, sizes): (usize, QuerySizes),
        threads: usize,
    ) -> WorkerShape {
        let budget = version.for_searches();
        let most = budget / threads as u64;
        let announced = self.lanes.0 as u64 * u64::from(self.lanes.1);
        let share = budget * interleave as u64 / announced.max(1);
        let bytes = |shape: &WorkerShape| version.worker_bytes(shape);
        let class = sizes.class();
        let is_roomy = bytes(&WorkerShape::compact(interleave, class)) <= most;
        let sizes = if is_roomy { class } else { sizes };
        WorkerShape::fitting((interleave, sizes), (most, share.min(most)), bytes)
    }

    /// Workers for as many threads as there is memory for now: one at least.
    fn leases(
        &self,
        shape: WorkerShape,
        threads: usize,
        call: &Call<'_>,
    ) -> Result<Vec<Lease<'_>>> {
        let wanted = Wanted {
            segments: &call.version.segments,
            shape,
            bytes: call.version.worker_bytes(&shape),
            budget: call.version.for_searches(),
            version: call.version.number,
        };
        check_room(wanted.bytes, "this search")?;
        let mut patience = call.deadline.map_or(Patience::Endless, Patience::Until);
        let mut leases = Vec::with_capacity(threads);
        while leases.len() < threads {
            let Some(mut lease) = self.pool.lease(wanted, patience)? else {
                break;
            };
            if call.notes.visits {
                lease.record_traces();
            }
            leases.push(lease);
            patience = Patience::None;
        }
        Ok(leases)
    }

    fn check_queries(&self, queries: &Queries<'_>) -> Result<()> {
        let shape = self.shape();
        if queries.shape != shape {
            return Err(Error::invalid(format!(
                "the queries are {}, the index holds {shape}: convert the queries",
                queries.shape
            )));
        }
        let row_bytes = shape.row_bytes();
        if !queries.rows.len().is_multiple_of(row_bytes) {
            return Err(Error::invalid(format!(
                "{} bytes of queries are not a whole number of {row_bytes}-byte rows",
                queries.rows.len()
            )));
        }
        let count = queries.rows.len() / row_bytes;
        if queries.held_out.is_some_and(|nodes| nodes.len() != count) {
            return Err(Error::invalid("one held-out row per query is needed"));
        }
        if queries.held_out.is_some() && queries.admitted.is_some() {
            return Err(Error::invalid(
                "held-out rows and a set of admitted nodes do not go together: leave the rows out \
                 of the set",
            ));
        }
        if queries.filter.is_some() && (queries.held_out.is_some() || queries.admitted.is_some()) {
            return Err(Error::invalid(
                "a filter goes neither with held-out rows nor with a set of admitted nodes",
            ));
        }
        if count > 0 {
            let vectors = &VectorSlice::new(queries.rows, shape)?;
            let inspection = Inspection {
                vectors,
                name: "queries",
                metric: self.metric(),
            };
            inspect_rows(inspection, BLOCK_BYTES, &NoProgress)?;
        }
        Ok(())
    }
}

impl Version {
    /// Sizes of a query that begins with a list of this size, of nodes that are `admitted`.
    pub(super) fn sizes_for(
        &self,
        options: &SearchOptions,
        list_size: u32,
        admitted: Option<&NodeSet>,
    ) -> Result<QuerySizes> {
        let dead = self.dead_count();
        match admitted {
            Some(set) => self.sizes_among(options, (list_size, set.len())),
            None if dead > 0 && options.radius.is_none() => {
                let nodes = f64::from(self.node_count());
                let living = (nodes - dead as f64).max(1.0);
                // As many that live as the list would hold, were they dead evenly.
                let longer = (f64::from(list_size) * (nodes / living).min(MOST_GROWTH)).ceil();
                let list_size = (longer as u32).min(MAX_LIST_SIZE);
                self.sizes_among(options, (list_size, (living / MOST_GROWTH) as u64))
            }
            None => self.sizes(options, list_size),
        }
    }

    /// Sizes of a query that begins with a list of this size.
    pub(super) fn sizes(&self, options: &SearchOptions, list_size: u32) -> Result<QuerySizes> {
        let limit = match options.radius {
            None => list_size,
            Some(_) => options.k,
        };
        self.sizes_up_to(options, (list_size, limit))
    }

    /// The same where `admitted` nodes may be found: the list grows until it holds as many of them
    /// as it would otherwise hold nodes, as far as memory goes.
    fn sizes_among(
        &self,
        options: &SearchOptions,
        (list_size, admitted): (u32, u64),
    ) -> Result<QuerySizes> {
        let share = f64::from(self.node_count()) / admitted.max(1) as f64;
        let wished = (f64::from(list_size.max(options.k)) * share * GROWTH_ROOM).ceil();
        let most = (wished as u64).clamp(list_size.into(), MAX_LIST_SIZE.into()) as u32;
        let fits = |limit: u32| {
            let sizes = self.sizes_up_to(options, (list_size, limit));
            sizes.is_ok_and(|sizes| {
                self.worker_bytes(&WorkerShape::compact(1, sizes)) <= self.for_searches()
            })
        };
        let limit = crate::memory::largest(list_size, most, fits);
        self.sizes_up_to(options, (list_size, limit))
    }

    fn sizes_up_to(
        &self,
        options: &SearchOptions,
        (list_size, limit): (u32, u32),
    ) -> Result<QuerySizes> {
        let own = self.manifest.spec.execution.schedule.beam();
        let beam = options.beam.unwrap_or(own);
        let sizes = sizes(self.node_count(), (options.k, list_size, limit), beam)?;
        Ok(match options.radius {
            Some(_) => sizes,
            None => sizes.holding(sizes.results),
        })
    }
}

/// Times that a list may grow for what died near it, beside what died on average.
const MOST_GROWTH: f64 = 4.0;

/// Runs a job on every worker that was lent for it.
fn run(segments: &[Segment], job: &Job<'_>, mut leases: Vec<Lease<'_>>) -> Result<Vec<Outcomes>> {
    let outcomes: Vec<Result<Outcomes>> = std::thread::scope(|scope| {
        let last = leases.pop();
        // Where the system has no thread to give, the others do the work.
        let mut spawned = Vec::with_capacity(leases.len());
        for lease in leases {
            let work = || lease.run(segments, job);
            spawned.extend(std::thread::Builder::new().spawn_scoped(scope, work));
        }
        let mine = last.map(|lease| lease.run(segments, job));
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|_| Err(panicked()))
        };
        spawned.into_iter().map(join).chain(mine).collect()
    });
    outcomes.into_iter().collect()
}

fn list_size_for(version: &Version, k: u32, recall: f32) -> Result<u32> {
    check_k(version, k)?;
    if version.segments.is_empty() {
        return Ok(k);
    }
    version.manifest.calibration.list_size_for(k, recall)
}

fn list_size(version: &Version, options: &SearchOptions) -> Result<u32> {
    match options.effort {
        Effort::Recall(_) if options.radius.is_some() => Err(Error::new(
            ErrorKind::Unsupported,
            "the recall of searches within a radius is not calibrated: give a list size",
        )),
        Effort::Recall(recall) => list_size_for(version, options.k, recall),
        Effort::ListSize(size) if (1..=MAX_LIST_SIZE).contains(&size) => Ok(match options.radius {
            Some(_) => size,
            None => size.max(options.k),
        }),
        Effort::ListSize(size) => Err(Error::invalid(format!(
            "list size {size}: give 1 to {MAX_LIST_SIZE}"
        ))),
    }
}

fn check(version: &Version, options: &SearchOptions) -> Result<()> {
    let Some(radius) = options.radius else {
        return check_k(version, options.k);
    };
    if radius.is_nan() {
        return Err(Error::invalid("radius: not a number"));
    }
    if !(1..=MAX_LIST_SIZE).contains(&options.k) {
        return Err(Error::invalid(format!(
            "limit {}: give 1 to {MAX_LIST_SIZE}",
            options.k
        )));
    }
    Ok(())
}

/// An index that changes may hold fewer vectors than are asked for at any time.
fn check_k(version: &Version, k: u32) -> Result<()> {
    let nodes = version.node_count();
    let most = if version.changes() {
        MAX_LIST_SIZE
    } else {
        nodes
    };
    if (1..=most).contains(&k) {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "k = {k}: this index holds {nodes} vectors, so give 1 to {most}"
    )))
}

/// Candidates that a list may grow to, for each that would hold as many admitted nodes were they
/// spread evenly: they seldom are.
const GROWTH_ROOM: f64 = 2.0;

fn panicked() -> Error {
    Error::new(ErrorKind::Internal, "a search thread panicked")
}

/// How many results a query may have.
#[derive(Clone, Copy)]
struct ResultPlaces {
    k: usize,
    /// Rows of the index.
    rows: usize,
    /// Whether every query has `k` places, filled or not.
    fills: bool,
}

/// Puts the rows of all threads into the order of the queries.
fn collect(
    outcomes: &mut [Outcomes],
    count: usize,
    room: ResultPlaces,
    settings: SearchSettings,
) -> Answers {
    let mut answers = Answers {
        k: room.k,
        lims: vec![0],
        stats: vec![QueryStats::default(); count],
        settings,
        ..Answers::default()
    };
    let mut places = vec![(0, 0..0); count];
    for (thread, outcome) in outcomes.iter().enumerate() {
        let mut start = 0;
        for (query, finished) in &outcome.queries {
            let results = finished.results;
            if let (Some(place), Some(own)) =
                (places.get_mut(*query), answers.stats.get_mut(*query))
            {
                *place = (thread, start..start + results);
                *own = finished.stats;
            }
            start += results;
        }
    }
    for (thread, range) in places {
        answers.push(outcomes.get(thread), range, room);
    }
    for outcome in outcomes {
        outcome.found = Vec::new();
    }
    answers
}

impl Answers {
    /// Appends the results of the next query.
    fn push(&mut self, thread: Option<&Outcomes>, range: Range<usize>, room: ResultPlaces) {
        let results = range.len();
        let found = thread.and_then(|outcomes| outcomes.found.get(range));
        for neighbor in found.unwrap_or_default() {
            self.ids.push(neighbor.user_id);
            self.rows.push(neighbor.row);
            self.nodes.push(neighbor.node.0);
            self.distances.push(neighbor.distance);
            self.errors.push(neighbor.error);
        }
        if room.fills {
            let filled = self.ids.len() + room.k.saturating_sub(results);
            self.ids.resize(filled, u64::MAX);
            self.rows.resize(filled, u32::MAX);
            self.nodes.resize(filled, u32::MAX);
            self.distances.resize(filled, f32::INFINITY);
            self.errors.resize(filled, 0.0);
        } else {
            self.truncated += usize::from(results >= room.k && results < room.rows);
        }
        self.lims.push(self.ids.len());
    }
}
