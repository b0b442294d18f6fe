//! A candidate, built over a sample and searched for queries whose neighbours are known.
//!
//! The budget keeps its ratio: what grows with the vectors (codes, lists, cached records) gets as
//! much per vector as it would over all of them, what does not (codebook, a query's scratch) gets
//! what it needs. All candidates with one graph share it: it is built once and laid out anew.
//! Counts are the engine's own, at the list size that reaches the recall, between two that were
//! searched where it lies between them.

use std::path::{Path, PathBuf};

use pageway::lab::{clock, process_cpu_time};
use pageway::spec::{GraphSpec, IndexSpec, ScheduleSpec};
use pageway::truth::{Found, recall};
use pageway::{
    BuildInput, BuildOptions, ErrorKind, Footprint, Index, MemoryPart, MemoryWish, OpenOptions,
    Overrides, Progress, Quiet, Result,
};
use serde::{Deserialize, Serialize};

use crate::candidate::Candidate;
use crate::model::Counts;
use crate::plain::plain;
use crate::sample::{K, Sample};
use crate::scratch::Scratch;
use crate::walk::{Walk, means};

/// List sizes that are searched, by this factor, until the recall is reached.
const LADDER_STEP: f64 = 1.35;
const LADDER_MOST: f64 = 1500.0;
/// Searches beyond the first by which processor time is judged.
const REPEATS: usize = 2;
/// Beyond the memory that all of a sample takes.
pub(crate) const ALL_BYTES: u64 = 256 << 20;

/// What a trial found.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Tried {
    /// Vectors it was built over.
    pub rows: u64,
    /// Best recall@10 that was reached.
    pub best_recall: f64,
    /// Counts at the recall that is wished; absent where it is out of reach.
    pub counts: Option<Counts>,
    /// Reads in flight (W).
    pub beam: u32,
    /// Seconds that building took.
    pub build_seconds: f64,
}

/// Searches of one index with ever longer lists.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Climb {
    /// Vectors it was built over.
    pub rows: u64,
    /// Reads in flight (W).
    pub beam: u32,
    /// Recall@10 and counts of each list, the shortest first.
    pub steps: Vec<(f64, Counts)>,
    /// Seconds that building took.
    pub build_seconds: f64,
}

impl Climb {
    /// Counts at a recall, between the lists around it; none where it is out of reach.
    pub fn at(&self, recall: f64) -> Option<Counts> {
        let above = self.steps.iter().position(|(found, _)| *found >= recall)?;
        let below = above.checked_sub(1).and_then(|at| self.steps.get(at));
        Some(between(below.copied(), *self.steps.get(above)?, recall))
    }

    /// What is found at a recall.
    pub(crate) fn tried(&self, recall: f64) -> Tried {
        let recalls = self.steps.iter().map(|(found, _)| *found);
        Tried {
            rows: self.rows,
            best_recall: recalls.fold(0.0, f64::max),
            counts: self.at(recall),
            beam: self.beam,
            build_seconds: self.build_seconds,
        }
    }
}

/// Builds and searches candidates over one sample.
pub struct Trial<'t> {
    sample: &'t Sample,
    scratch: &'t mut Scratch,
    recall: f32,
    threads: usize,
    /// Microseconds of the processor per read.
    pub read_us: f64,
    /// Pages per query beyond which no longer list is searched.
    pub most_pages: f64,
    progress: &'t dyn Progress,
    donors: Vec<(GraphSpec, PathBuf)>,
}

/// A finished index over the sample.
pub(crate) struct Built {
    pub(crate) dir: PathBuf,
    pub(crate) mean_degree: f64,
    seconds: f64,
}

impl<'t> Trial<'t> {
    /// Trials over `sample` at a recall; `threads` build, 0 for all cores.
    pub fn new(
        sample: &'t Sample,
        scratch: &'t mut Scratch,
        (recall, threads): (f32, usize),
        progress: &'t dyn Progress,
    ) -> Self {
        Self {
            sample,
            scratch,
            recall,
            threads,
            read_us: 0.0,
            most_pages: f64::INFINITY,
            progress,
            donors: Vec::new(),
        }
    }

    /// Vectors of the sample.
    pub fn rows(&self) -> u64 {
        self.sample.rows()
    }

    /// The recall that is wished.
    pub(crate) fn recall(&self) -> f64 {
        f64::from(self.recall)
    }

    /// Builds and searches `candidate` with the same memory per vector that `memory_bytes` are for
    /// all; once for each beam.
    ///
    /// # Errors
    /// `Cancelled`, `NoSpace`, `Io`; what the sample cannot hold is `InvalidInput`.
    pub fn run(
        &mut self,
        candidate: &Candidate,
        memory_bytes: u64,
        beams: &[u32],
    ) -> Result<Vec<Tried>> {
        let climbs = self.climb(candidate, memory_bytes, beams)?;
        let wished = self.recall();
        Ok(climbs.iter().map(|climb| climb.tried(wished)).collect())
    }

    /// The same, with every list that was searched until the recall was reached.
    ///
    /// # Errors
    /// The same.
    pub fn climb(
        &mut self,
        candidate: &Candidate,
        memory_bytes: u64,
        beams: &[u32],
    ) -> Result<Vec<Climb>> {
        let share = self.rows() as f64 / f64::from(candidate.footprint.nodes);
        let options = self.options_of(candidate, memory_bytes, share)?;
        let built = self.build(&options)?;
        let mut climbs = Vec::with_capacity(beams.len());
        for beam in beams {
            let candidate = candidate.with_beam(*beam)?;
            let least = candidate.footprint.memory_bytes();
            // Over all vectors it could not be opened for so many reads in flight.
            let Some(spare) = memory_bytes.checked_sub(least) else {
                continue;
            };
            let opening = Opening::new(&built.dir, Some(*beam));
            let schedule = candidate.spec.execution.schedule;
            let memory = self.memory_of((opening, schedule), spare, share)?;
            let index = opening.open(memory)?;
            let walk = Walk {
                index: &index,
                beam: Some(*beam),
                is_pipeline: candidate.spec.execution.schedule.is_pipeline(),
            };
            climbs.push(self.measure(walk, built.seconds)?);
        }
        self.scratch.remove(&built.dir);
        Ok(climbs)
    }

    /// What builds a candidate over the sample, with its share of the memory.
    fn options_of(
        &mut self,
        candidate: &Candidate,
        memory_bytes: u64,
        share: f64,
    ) -> Result<BuildOptions> {
        let spare = memory_bytes.saturating_sub(candidate.footprint.memory_bytes());
        let spec = scaled(&candidate.spec, share);
        let least = Footprint::of(&spec, self.rows() as u32)?.memory_bytes();
        let options = candidate
            .options
            .clone()
            .with_memory(MemoryWish::Bytes(least + (spare as f64 * share) as u64))
            .with_graph_from(self.donor(&spec, &candidate.options)?)
            // A preset takes the first form that memory holds, and parts of constant size weigh
            // more over a sample: every choice is named, so that the form is that over all vectors.
            .with_overrides(Overrides::every_choice_of(&spec)?);
        Ok(options)
    }

    /// Builds over the sample, with a calibration of one query: nobody will search by it.
    pub(crate) fn build(&mut self, options: &BuildOptions) -> Result<Built> {
        let dir = self.scratch.place();
        let vectors = self.sample.vectors()?;
        let input = BuildInput::new(&vectors, "sample");
        let options = options
            .clone()
            .with_threads(self.threads)
            .with_calibration_queries(1);
        let began = clock::now();
        let report = Index::build(&dir, &input, &options, &Quiet(self.progress))?;
        Ok(Built {
            dir,
            mean_degree: report.mean_degree,
            seconds: began.elapsed().as_secs_f64(),
        })
    }

    /// Opens with memory for everything.
    pub(crate) fn open_whole(&self, opening: Opening<'_>) -> Result<Index> {
        let raw = self.sample.vectors()?.bytes().len() as u64;
        opening.open(ALL_BYTES + 8 * raw)
    }

    /// The index whose graph `spec` takes over, built at its first use; none where it cannot be.
    fn donor(&mut self, spec: &IndexSpec, options: &BuildOptions) -> Result<Option<PathBuf>> {
        // A graph is taken over without the layers above it; clusters are none.
        let has_layers = spec.execution.entry.needs_layers();
        if has_layers || !spec.graph.has_lists() {
            return Ok(None);
        }
        if let Some((_, dir)) = self.donors.iter().find(|(graph, _)| *graph == spec.graph) {
            return Ok(Some(dir.clone()));
        }
        let built = self.build(&plain(spec, options))?;
        self.donors.push((spec.graph, built.dir.clone()));
        Ok(Some(built.dir))
    }

    /// The budget with which an index over the sample caches the share of it that one over all
    /// vectors would, where that has `spare` bytes beyond the least it needs.
    fn memory_of(
        &self,
        (opening, schedule): (Opening<'_>, ScheduleSpec),
        spare: u64,
        share: f64,
    ) -> Result<u64> {
        let whole = self.open_whole(opening)?;
        let (memory, described) = (whole.memory(), whole.description()?);
        let queries = memory.bytes_of(MemoryPart::MoreQueries);
        let caches =
            memory.bytes_of(MemoryPart::CachedNodes) + memory.bytes_of(MemoryPart::CachedPages);
        let all: u64 = memory.parts.iter().map(|(_, bytes)| bytes).sum();
        if caches == 0 {
            // Memory changes no count: searches get what they need.
            return Ok(all);
        }
        let least = all - queries - caches;
        // More queries in flight get half of what is left at most, caches the rest. Where all lists
        // fit they come first at open, and queries get less than is set aside for them here.
        let cached = spare - queries.min(spare / 2);
        let cached = (cached as f64 * share) as u64;
        // Few lists are all in memory, or the index is not opened.
        let lists = described.list_memory_bytes.unwrap_or(0);
        let mut spec = described.spec;
        spec.execution.schedule = schedule;
        let opens = Footprint::of(&spec, self.rows() as u32)?.memory_bytes();
        let opens = opens.min(least + lists);
        Ok((least + cached + cached.min(queries)).max(opens))
    }

    /// Searches with ever longer lists until the recall is reached.
    pub(crate) fn measure(&self, walk: Walk<'_>, build_seconds: f64) -> Result<Climb> {
        let wished = self.recall();
        let mut climb = Climb {
            rows: self.rows(),
            beam: walk.beam.unwrap_or(0),
            steps: Vec::new(),
            build_seconds,
        };
        let mut size = f64::from(K);
        while size <= LADDER_MOST {
            let found = self.search(walk, size as u32);
            let Some((recall, counts)) = unless_too_long(found, !climb.steps.is_empty())? else {
                break;
            };
            if recall >= wished {
                let quietest = self.quietest(walk, size as u32, counts)?;
                climb.steps.push((recall, quietest));
                break;
            }
            climb.steps.push((recall, counts));
            if counts.pages > self.most_pages {
                break;
            }
            size = (size * LADDER_STEP).ceil();
        }
        Ok(climb)
    }

    /// Counts with the least processor time of several searches: others on the machine only add.
    fn quietest(&self, walk: Walk<'_>, list_size: u32, counts: Counts) -> Result<Counts> {
        let mut least = counts;
        for _ in 0..REPEATS {
            let (_, again) = self.search(walk, list_size)?;
            if again.compute_us + again.read_us < least.compute_us + least.read_us {
                (least.compute_us, least.read_us) = (again.compute_us, again.read_us);
            }
        }
        Ok(least)
    }

    /// Recall and means of one search of all queries.
    fn search(&self, walk: Walk<'_>, list_size: u32) -> Result<(f64, Counts)> {
        let before = process_cpu_time();
        let (answers, in_flight) = walk.search(&self.sample.queries(), list_size, self.progress)?;
        let cpu = process_cpu_time().saturating_sub(before);
        let found = Found {
            ids: &answers.rows,
            distances: &answers.distances,
            width: answers.k,
        };
        let recall = recall(&found, self.sample.truth(), K as usize)?;
        let count = answers.stats.len().max(1) as f64;
        let mut counts = means(&answers.stats, count);
        counts.list_size = f64::from(answers.settings.list_size);
        if let Some(in_flight) = in_flight {
            counts.rounds = counts.reads / in_flight;
        }
        let cpu_us = cpu.as_secs_f64() * 1e6 / count;
        counts.read_us = (counts.reads * self.read_us).min(0.95 * cpu_us);
        counts.compute_us = cpu_us - counts.read_us;
        Ok((recall, counts))
    }
}

impl Drop for Trial<'_> {
    fn drop(&mut self) {
        for (_, dir) in &self.donors {
            self.scratch.remove(dir);
        }
    }
}

/// An index, and the reads in flight that memory is set aside for; its own where absent.
#[derive(Clone, Copy)]
pub(crate) struct Opening<'d> {
    dir: &'d Path,
    beam: Option<u32>,
}

impl<'d> Opening<'d> {
    pub(crate) const fn new(dir: &'d Path, beam: Option<u32>) -> Self {
        Self { dir, beam }
    }

    /// Opens it with so much memory.
    pub(crate) fn open(self, memory_bytes: u64) -> Result<Index> {
        let options = OpenOptions::default()
            .with_memory(MemoryWish::Bytes(memory_bytes))
            .with_beam(self.beam);
        Index::open(self.dir, &options)
    }
}

/// A list that is too long for the memory of a search ends the ladder, if it is not the first.
fn unless_too_long(found: Result<(f64, Counts)>, searched: bool) -> Result<Option<(f64, Counts)>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if searched && error.kind() == ErrorKind::InvalidInput => Ok(None),
        Err(error) => Err(error),
    }
}

/// Counts at the recall `wished`, between those of a list below it and of one that reaches it.
fn between(below: Option<(f64, Counts)>, above: (f64, Counts), wished: f64) -> Counts {
    let Some((low, fewer)) = below else {
        return above.1;
    };
    let share = (wished - low) / (above.0 - low).max(1e-9);
    let more = above.1;
    let mut counts = fewer.towards(&more, share.clamp(0.0, 1.0));
    // Times were taken with more care above.
    counts.compute_us = more.compute_us * counts.hops / more.hops.max(1e-9);
    counts.read_us = more.read_us * counts.reads / more.reads.max(1e-9);
    counts
}

/// The spec over a part of the vectors.
fn scaled(spec: &IndexSpec, share: f64) -> IndexSpec {
    let mut spec = spec.clone();
    let codes = &mut spec.storage.codes;
    let held = (f64::from(codes.in_memory(u32::MAX)) * share) as u32;
    *codes = codes.with_memory_nodes(held);
    spec
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_lie_between_the_lists_that_were_searched() {
        let counts = |pages| Counts {
            pages,
            ..Counts::default()
        };
        let below = Some((0.90, counts(20.0)));
        let found = between(below, (0.98, counts(40.0)), 0.95);
        assert!((found.pages - 32.5).abs() < 1e-9);
        assert_eq!(between(None, (0.98, counts(40.0)), 0.95).pages, 40.0);
    }
}
