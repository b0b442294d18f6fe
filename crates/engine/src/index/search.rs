//! Searching an open index: from options to workers, from workers to answers.

use std::sync::atomic::AtomicUsize;

use pageway_types::{NoProgress, NodeId, Progress};

use super::Index;
use crate::error::{Error, ErrorKind, Result};
use crate::execution::driver::{Job, Outcomes, Worker, WorkerShape};
use crate::execution::{Goal, QueryStats, ScratchShape};
use crate::options::{Answers, Effort, Queries, SearchOptions, SearchSettings};
use crate::plan::{MAX_INTERLEAVE, scratch_shape};
use crate::source::{BLOCK_BYTES, Inspection, VectorSlice, inspect_rows};
use crate::spec::{RefineSpec, StopSpec};
use crate::threads::thread_count;

/// Largest candidate list of a search.
pub const MAX_LIST_SIZE: u32 = 100_000;

impl Index {
    /// Finds the `k` nearest vectors of each query.
    ///
    /// Costs about `list_size` page reads per query, of which `beam` are in flight at a time.
    ///
    /// # Errors
    /// `InvalidInput` for a k, shape or option that cannot be; `Unsupported` for a recall out of
    /// reach; `Corrupt` or `Io` when pages cannot be read.
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
        let count = self.check_queries(queries)?;
        self.check_k(options.k)?;
        let list_size = self.list_size(options)?.max(options.k);
        self.search_list(queries, options, list_size, (count, progress))
    }

    /// The smallest list size that is calibrated to reach `recall`@`k`.
    ///
    /// # Errors
    /// `Unsupported` when none does.
    pub fn list_size_for(&self, k: u32, recall: f32) -> Result<u32> {
        self.check_k(k)?;
        self.manifest.calibration.list_size_for(k, recall)
    }

    pub(super) fn list_size(&self, options: &SearchOptions) -> Result<u32> {
        match options.effort {
            Effort::Recall(recall) => self.list_size_for(options.k, recall),
            Effort::ListSize(size) if (1..=MAX_LIST_SIZE).contains(&size) => Ok(size),
            Effort::ListSize(size) => Err(Error::invalid(format!(
                "list size {size}: give 1 to {MAX_LIST_SIZE}"
            ))),
        }
    }

    /// Searches with a list size that may be below k, as calibration does.
    pub(crate) fn search_list(
        &self,
        queries: &Queries<'_>,
        options: &SearchOptions,
        list_size: u32,
        (count, progress): (usize, &dyn Progress),
    ) -> Result<Answers> {
        let call = Call {
            scratch: self.scratch(options, (options.k, list_size, list_size))?,
            goal: Goal::Nearest,
            exact: options.exact,
            threads: options.threads,
            interleave: options.interleave,
            traced: false,
            recorded: 0,
        };
        let (outcomes, settings) = self.call(queries, &call, (count, progress))?;
        Ok(collect(outcomes, count, call.scratch.results, settings))
    }

    /// Nodes that searches for `queries` expand, with repetitions.
    pub(crate) fn visits(
        &self,
        queries: &Queries<'_>,
        list_size: u32,
        progress: &dyn Progress,
    ) -> Result<Vec<NodeId>> {
        let options = SearchOptions::default();
        let count = queries.rows.len() / queries.shape.row_bytes();
        let call = Call {
            scratch: self.scratch(&options, (options.k, list_size, list_size))?,
            goal: Goal::Nearest,
            exact: false,
            threads: 0,
            interleave: 0,
            traced: true,
            recorded: 0,
        };
        let (outcomes, _) = self.call(queries, &call, (count, progress))?;
        Ok(outcomes.into_iter().flat_map(|o| o.visits).collect())
    }

    /// Runs queries on as many threads as asked for and memory allows.
    pub(super) fn call(
        &self,
        queries: &Queries<'_>,
        call: &Call,
        (count, progress): (usize, &dyn Progress),
    ) -> Result<(Vec<Outcomes>, SearchSettings)> {
        let scratch = call.scratch;
        let threads = if call.threads == 0 {
            self.lanes.0
        } else {
            thread_count(call.threads)
        };
        let threads = threads.clamp(1, count.max(1));
        let wished = if call.interleave == 0 {
            self.lanes.1
        } else {
            call.interleave
        };
        let most = count.div_ceil(threads).max(1);
        let interleave = (wished.min(MAX_INTERLEAVE) as usize).min(most);
        let shape = self.fitting((interleave, scratch), threads)?;
        let job = Job {
            rows: queries.rows,
            row_bytes: queries.shape.row_bytes(),
            held_out: queries.held_out,
            beam: scratch.beam,
            goal: call.goal,
            exact: call.exact,
            recorded: call.recorded,
            next: AtomicUsize::new(0),
            progress,
        };
        let (outcomes, threads) = self.run(&job, shape, (threads, call.traced))?;
        let settings = SearchSettings {
            list_size: scratch.list_size as u32,
            beam: scratch.beam as u32,
            threads,
            interleave: shape.interleave as u32,
        };
        Ok((outcomes, settings))
    }

    /// Whether what a search reads depends on how many neighbours it is asked for.
    pub(crate) fn reads_depend_on_k(&self) -> bool {
        let execution = &self.manifest.spec.execution;
        execution.refine != RefineSpec::Inline || execution.stop != StopSpec::Exhausted
    }

    /// Whether one query of this list size fits the memory set aside for searches.
    pub(crate) fn has_memory_for(&self, options: &SearchOptions, list_size: u32) -> Result<bool> {
        let scratch = self.scratch(options, (options.k, list_size, list_size))?;
        let shape = WorkerShape::compact(1, scratch);
        Ok(self.only()?.searcher.worker_bytes(&shape) <= self.pool.budget())
    }

    /// Sizes of a query's scratch: results, list size, list size to grow to.
    pub(super) fn scratch(
        &self,
        options: &SearchOptions,
        sizes: (u32, u32, u32),
    ) -> Result<ScratchShape> {
        let spec = &self.manifest.spec;
        let beam = options
            .beam
            .unwrap_or_else(|| spec.execution.schedule.beam());
        let subject = (self.only()?.index_shape, self.manifest.node_count());
        scratch_shape(subject, sizes, beam)
    }

    /// Fewer queries and reads in flight where the memory set aside is short. A call of fewer
    /// queries than were announced leaves the buffers of the others to calls beside it.
    fn fitting(&self, wished: (usize, ScratchShape), threads: usize) -> Result<WorkerShape> {
        let most = self.pool.budget() / threads as u64;
        let announced = self.lanes.0 as u64 * u64::from(self.lanes.1);
        let share = self.pool.budget() * wished.0 as u64 / announced.max(1);
        let searcher = self.only()?.searcher.as_ref();
        let bytes = |shape: &WorkerShape| searcher.worker_bytes(shape);
        Ok(WorkerShape::fitting(wished, (most, share.min(most)), bytes))
    }

    fn run(
        &self,
        job: &Job<'_>,
        shape: WorkerShape,
        (threads, traced): (usize, bool),
    ) -> Result<(Vec<Outcomes>, usize)> {
        let searcher = self.only()?.searcher.as_ref();
        let mut workers = vec![self.pool.acquire(searcher, shape)?];
        while workers.len() < threads {
            match self.pool.try_acquire(searcher, shape) {
                Ok(Some(worker)) => workers.push(worker),
                Ok(None) => break,
                Err(error) => {
                    for worker in workers {
                        self.pool.put_back(searcher, worker);
                    }
                    return Err(error);
                }
            }
        }
        let threads = workers.len();
        if traced {
            workers.iter_mut().for_each(Worker::record_traces);
        }
        let outcomes: Vec<Result<Outcomes>> = std::thread::scope(|scope| {
            let last = workers.pop();
            let spawned: Vec<_> = workers
                .into_iter()
                .map(|worker| scope.spawn(|| self.run_worker(job, worker)))
                .collect();
            let mine = last.map(|worker| self.run_worker(job, worker));
            let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
                thread.join().unwrap_or_else(|_| Err(panicked()))
            };
            spawned.into_iter().map(join).chain(mine).collect()
        });
        Ok((outcomes.into_iter().collect::<Result<_>>()?, threads))
    }

    fn run_worker(&self, job: &Job<'_>, mut worker: Worker) -> Result<Outcomes> {
        let searcher = self.only()?.searcher.as_ref();
        let outcome = searcher.run(job, &mut worker);
        if outcome.is_ok() && !worker.is_traced() {
            self.pool.put_back(searcher, worker);
        } else {
            // Reads may be in flight: the worker waits for them as it is dropped. One that records
            // is not for everybody.
            let shape = worker.shape;
            drop(worker);
            self.pool.forget(searcher, shape);
        }
        outcome
    }

    pub(super) fn check_k(&self, k: u32) -> Result<()> {
        let nodes = self.manifest.node_count();
        if (1..=nodes).contains(&k) {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "k = {k}: this index holds {nodes} vectors, so give 1 to {nodes}"
        )))
    }

    pub(super) fn check_queries(&self, queries: &Queries<'_>) -> Result<usize> {
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
        if count > 0 {
            let vectors = &VectorSlice::new(queries.rows, shape)?;
            let inspection = Inspection {
                vectors,
                name: "queries",
                metric: self.metric(),
            };
            inspect_rows(inspection, BLOCK_BYTES, &NoProgress)?;
        }
        Ok(count)
    }
}

fn panicked() -> Error {
    Error::new(ErrorKind::Internal, "a search thread panicked")
}

/// One call: what every query of it shares.
pub(super) struct Call {
    pub(super) scratch: ScratchShape,
    pub(super) goal: Goal,
    /// Whether every answer needs its exact distance.
    pub(super) exact: bool,
    pub(super) threads: usize,
    pub(super) interleave: u32,
    /// Whether to record which nodes are expanded.
    pub(super) traced: bool,
    /// First queries whose reads are recorded.
    pub(super) recorded: usize,
}

/// Puts the rows of all threads into the order of the queries.
pub(super) fn collect(
    outcomes: Vec<Outcomes>,
    count: usize,
    k: usize,
    settings: SearchSettings,
) -> Answers {
    let mut answers = Answers {
        k,
        nodes: vec![u32::MAX; count * k],
        rows: vec![u32::MAX; count * k],
        ids: vec![u64::MAX; count * k],
        distances: vec![f32::INFINITY; count * k],
        stats: vec![QueryStats::default(); count],
        settings,
    };
    for outcome in outcomes {
        let mut found = outcome.found.as_slice();
        for (index, results, stats) in &outcome.queries {
            let (own, rest) = found.split_at(*results);
            found = rest;
            if let Some(slot) = answers.stats.get_mut(*index) {
                *slot = *stats;
            }
            let row = index * k..(index + 1) * k;
            let nodes = answers.nodes.get_mut(row.clone()).unwrap_or_default();
            let rows = answers.rows.get_mut(row.clone()).unwrap_or_default();
            let ids = answers.ids.get_mut(row.clone()).unwrap_or_default();
            let distances = answers.distances.get_mut(row).unwrap_or_default();
            let columns = nodes.iter_mut().zip(rows).zip(ids).zip(distances);
            for ((((node, row), id), distance), neighbor) in columns.zip(own) {
                (*node, *row) = (neighbor.node.0, neighbor.row);
                (*id, *distance) = (neighbor.user_id, neighbor.distance);
            }
        }
    }
    answers
}
