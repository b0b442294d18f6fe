//! Searching an open index: from options to workers, from workers to answers.

use std::sync::atomic::AtomicUsize;
use std::time::{Duration, Instant};

use pageway_store::clock;
use pageway_types::{NoProgress, NodeId, Progress};

use super::collect::collect;
use super::pool::{Lease, Patience, Wanted};
use super::sizes::{check, list_size, list_size_for};
use super::watch::{Notes, Watch};
use super::{Index, Version};
use crate::calibration::{Misses, whole_list};
use crate::error::{Error, ErrorKind, Result};
use crate::execution::driver::{Job, JobNotes, Outcomes, WorkerShape};
use crate::execution::{CallLists, Goal, MetRows, QuerySizes, Segment};
use crate::memory::check_room;
use crate::options::{Answers, Effort, Queries, SearchOptions, SearchSettings};
use crate::plan::MAX_INTERLEAVE;
use crate::source::{BLOCK_BYTES, Inspection, VectorSlice, inspect_rows};
use crate::threads::thread_count;

/// The state that all queries of a call share.
pub(super) struct Call<'c> {
    version: &'c Version,
    options: &'c SearchOptions,
    lists: CallLists<'c>,
    watch: Watch<'c>,
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
    ///
    /// Of an index whose recall was not measured yet, the first search that asks for one measures
    /// it, before its timeout begins: [`Index::measure_first`] tells what that costs.
    pub fn search_with(
        &self,
        queries: &Queries<'_>,
        options: &SearchOptions,
        progress: &dyn Progress,
    ) -> Result<Answers> {
        let (answers, _) = self.answer(queries, options, (Notes::default(), progress))?;
        Ok(answers)
    }

    /// Searches; returns notes beside the answers.
    pub(super) fn answer(
        &self,
        queries: &Queries<'_>,
        options: &SearchOptions,
        (notes, progress): (Notes, &dyn Progress),
    ) -> Result<(Answers, Vec<Outcomes>)> {
        self.follow()?;
        self.check_queries(queries)?;
        if options.strategy.is_some() && queries.filter.is_none() {
            return Err(Error::invalid(
                "a filter strategy without a filter: give both",
            ));
        }
        check(&self.version(), options)?;
        self.measure_first(options, progress)?;
        self.note_recent(queries);
        let begun = clock::now();
        let (version, watch) = (self.version(), Watch::new(options, progress).noting(notes));
        let place = (&*version, queries);
        let options = &version.within_reach(options);
        let list_size = if options.exact {
            Ok(options.k)
        } else {
            list_size(&version, options, Misses::Unknown)
        };
        let found = if let Some(filter) = queries.filter {
            let matched = self.matching(&version, filter)?;
            let (list_size, options) = matched.promised(list_size, options)?;
            self.search_matching(place, &options, (list_size, &matched), watch)
        } else if options.exact {
            self.search_exactly(place, options, watch)
        } else {
            let list_size = list_size?;
            match options.effort {
                Effort::Recall(_) => self.search_for_recall(place, options, watch),
                Effort::ListSize(_) => self.search_list(place, options, list_size, watch),
            }
        };
        let (mut answers, outcomes) = found?;
        if queries.filter.is_none() && queries.admitted.is_none() && options.radius.is_none() {
            self.fill(place, options, watch, &mut answers)?;
        }
        if queries.wants_attributes || queries.wants_names {
            version.add_documents(queries, &mut answers)?;
        }
        self.note_latency(&answers, begun);
        Ok((answers, outcomes))
    }

    /// Notes the latency of each query of a call, if searches have a target.
    fn note_latency(&self, answers: &Answers, begun: Instant) {
        let Some(mut control) = self.latency() else {
            return;
        };
        let now = clock::now();
        if let [_] = answers.stats.as_slice() {
            control.note(now.saturating_duration_since(begun), now);
            return;
        }
        for stats in &answers.stats {
            control.note(Duration::from_nanos(stats.latency_ns), now);
        }
    }

    /// The smallest list size that is calibrated to reach `recall`@`k`.
    ///
    /// # Errors
    /// `Unsupported` when none does.
    pub fn list_size_for(&self, k: u32, recall: f32) -> Result<u32> {
        list_size_for(&self.version(), (k, recall), Misses::Unknown)
    }

    /// Searches with a list size, which may be below k.
    pub(super) fn search_list(
        &self,
        (version, queries): (&Version, &Queries<'_>),
        options: &SearchOptions,
        list_size: u32,
        watch: Watch<'_>,
    ) -> Result<(Answers, Vec<Outcomes>)> {
        let place = (version, queries);
        let list_size = (list_size as f32, Misses::Unknown);
        let found = self.search_fixed(place, options, list_size, watch)?;
        let (mut answers, outcomes) = found;
        self.add_deltas(version, (queries, options), (&mut answers, &outcomes));
        Ok((answers, outcomes))
    }

    /// Searches segments with lists of one size on average, for queries that miss so much.
    pub(super) fn search_fixed(
        &self,
        (version, queries): (&Version, &Queries<'_>),
        options: &SearchOptions,
        (list_size, misses): (f32, Misses),
        watch: Watch<'_>,
    ) -> Result<(Answers, Vec<Outcomes>)> {
        let longer = whole_list(list_size);
        let sizes = version.sizes_for(options, longer, queries.admitted)?;
        let place = (version, queries);
        let lists = CallLists {
            shorter: (longer as f32 - list_size).max(0.0),
            ..CallLists::fixed(sizes)
        };
        let (mut answers, outcomes) = self.search_sized(place, options, lists, watch)?;
        if options.radius.is_none() && queries.admitted.is_none() {
            let calibration = version.calibration_of(options);
            answers.expected_recall = calibration.expected_by(options.k, list_size, misses);
        }
        Ok((answers, outcomes))
    }

    /// Searches the segments with these lists.
    pub(super) fn search_sized(
        &self,
        (version, queries): (&Version, &Queries<'_>),
        options: &SearchOptions,
        lists: CallLists<'_>,
        watch: Watch<'_>,
    ) -> Result<(Answers, Vec<Outcomes>)> {
        let place = (version, queries);
        let (mut outcomes, settings) = self.run_sized(place, options, lists, watch)?;
        let count = queries.rows.len() / queries.shape.row_bytes();
        let answers = collect(&mut outcomes, count, version.places(options), settings);
        Ok((answers, outcomes))
    }

    /// The same; outcomes stay separate for each thread.
    pub(super) fn run_sized(
        &self,
        (version, queries): (&Version, &Queries<'_>),
        options: &SearchOptions,
        lists: CallLists<'_>,
        watch: Watch<'_>,
    ) -> Result<(Vec<Outcomes>, SearchSettings)> {
        let call = Call {
            version,
            options,
            lists,
            watch,
        };
        self.call(queries, &call)
    }

    /// Searches with a list size that may be below k, as calibration does.
    pub(crate) fn search_below_k(
        &self,
        queries: &Queries<'_>,
        options: &SearchOptions,
        list_size: u32,
        progress: &dyn Progress,
    ) -> Result<Answers> {
        let (version, watch) = (self.version(), Watch::new(options, progress));
        Ok(self
            .search_list((&version, queries), options, list_size, watch)?
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
            ..Notes::default()
        };
        let options = SearchOptions::default();
        let watch = Watch::new(&options, progress).noting(notes);
        let version = self.version();
        let found = self.search_list((&version, queries), &options, list_size, watch)?;
        Ok(found.1.into_iter().flat_map(|o| o.visits).collect())
    }

    /// Threads of a call, if it has work for so many.
    pub(super) fn threads_of(&self, options: &SearchOptions) -> usize {
        match options.threads {
            0 => self.lanes.0,
            wished => thread_count(wished),
        }
    }

    /// Runs queries on as many threads as asked for and memory allows.
    fn call(
        &self,
        queries: &Queries<'_>,
        call: &Call<'_>,
    ) -> Result<(Vec<Outcomes>, SearchSettings)> {
        let (version, options, sizes) = (call.version, call.options, call.lists.sizes);
        let count = queries.rows.len() / queries.shape.row_bytes();
        let threads = self.threads_of(options).clamp(1, count.max(1));
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
            deadline: call.watch.deadline,
            tolerance: options.tolerance,
            interleave: shape.interleave,
            notes: JobNotes {
                recorded: call.watch.notes.recorded,
                near: version.near_nodes(queries, options),
            },
            next: AtomicUsize::new(0),
            progress: call.watch.progress,
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

    /// Whether only expanded nodes can be answers.
    pub(crate) fn expands_answers(&self) -> bool {
        let version = self.version();
        let execution = &version.manifest.spec.execution;
        execution.refine.is_inline() && !execution.harvest.scores_pages()
    }

    /// Whether pages that are read to refine give further answers.
    pub(crate) fn harvests_refined(&self) -> bool {
        self.version().manifest.spec.execution.harvest.is_all()
    }

    /// Whether one query of this list size fits the memory set aside for searches.
    pub(crate) fn has_memory_for(&self, options: &SearchOptions, list_size: u32) -> Result<bool> {
        let version = self.version();
        Ok(version.has_room(version.sizes(options, list_size)?))
    }

    /// The shape of a worker that fits the memory set aside: with fewer queries and reads in flight
    /// if it is short. A call of fewer queries than announced leaves buffers to other calls. Memory
    /// is laid out for the capacity class of the sizes, if one query of that class fits.
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
            least: (threads == 1).then(|| WorkerShape::compact(shape.interleave, call.lists.sizes)),
            budget: call.version.for_searches(),
            version: call.version.number,
        };
        check_room(wanted.bytes, "this search")?;
        let mut patience = call.watch.patience();
        let mut leases = Vec::with_capacity(threads);
        while leases.len() < threads {
            let Some(mut lease) = self.pool.lease(wanted, patience)? else {
                break;
            };
            if call.watch.notes.visits {
                lease.record_traces();
            }
            if call.watch.notes.met > 0 {
                let row_bytes = call.version.stored_row_bytes();
                lease.record_met(MetRows::new(row_bytes, call.watch.notes.met));
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
                "a filter goes neither with held-out rows nor with a set of admitted nodes: give \
                 queries",
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

/// Runs a job on every worker that was lent for it.
fn run(segments: &[Segment], job: &Job<'_>, mut leases: Vec<Lease<'_>>) -> Result<Vec<Outcomes>> {
    let outcomes: Vec<Result<Outcomes>> = std::thread::scope(|scope| {
        let last = leases.pop();
        // If the system gives no more threads, the others do the work.
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

fn panicked() -> Error {
    Error::new(ErrorKind::Internal, "a search thread panicked")
}
