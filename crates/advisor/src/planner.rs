//! From a wish to a plan: guess all, try the best few, try the best of those on more rows, choose.
//!
//! ```text
//! all candidates          guessed from the statistics of one plain design over the small sample
//! best of each preset,    tried over the small sample (a quarter of the large one); each corrects
//!   then of each family     the guesses of its family; then the best of what is left
//! best few, and the       tried over the large sample, with several beams; what they cost over all
//!   decision tree's         vectors follows from the growth between both sizes
//! ```

use std::path::Path;
use std::time::Instant;

use pageway::lab::clock;
use pageway::source::{exact_element, is_below_two};
use pageway::spec::Shape;
use pageway::{
    BuildOptions, DoctorOptions, Error, ErrorKind, MemoryPart, Preset, Progress, Result, Sizes,
    VectorRead, doctor,
};

use crate::candidate::{Candidate, Space, enumerate, refuse_nothing};
use crate::device::Device;
use crate::draft::{Draft, Knowledge, median};
use crate::model::Statistics;
use crate::plain::measure_plain;
use crate::plan::Plan;
use crate::sample::{Draw, Sample};
use crate::scratch::Scratch;
use crate::tree::{TreeAdvice, advise};
use crate::trial::Trial;
use crate::wish::Wish;

/// Families that are tried over the small sample beside the best of each preset.
const FAMILIES: usize = 5;
/// Candidates that are tried after those, by what is known by then.
const MORE: usize = 6;
/// Candidates that are tried over the large sample.
const FINALISTS: usize = 5;
/// The same, where those turn out worse than others seemed.
const MOST_FINALISTS: usize = 8;
/// Times that a candidate may seem to cost of the best that was tried, to be tried over the small
/// sample: guesses are no better. And over the large one.
const HOPELESS: f64 = 4.0;
const BEHIND: f64 = 2.0;
/// Beams that are tried over the small sample.
const SMALL_BEAMS: usize = 2;
/// The large sample is so many times the small one; below so many rows there is one size only.
pub(crate) const SMALL_PART: u64 = 4;
const SMALL_ROWS: u64 = 1_000;
/// What the tree's candidate is called.
const TREE_NAME: &str = "decision tree";

/// What a plan is made for.
#[derive(Clone, Copy)]
pub struct PlanInput<'p> {
    /// The vectors; some are read, at random.
    pub vectors: &'p dyn VectorRead,
    /// Queries like those to come; rows of the vectors, held out, where absent.
    pub queries: Option<&'p dyn VectorRead>,
    /// A directory on the disk the index will lie on; used while the plan is made.
    pub scratch: &'p Path,
}

/// Makes a plan.
///
/// Costs the builds of about twenty small samples and six larger ones, some minutes in all at the
/// default sizes; memory of the larger sample a few times over, and its indexes on disk.
///
/// # Errors
/// `InvalidInput` where nothing fits the memory, with the least that works; `Unsupported` where
/// nothing reaches the recall; `Cancelled`; `NoSpace` and `Io` of the directory.
pub fn plan(input: &PlanInput<'_>, wish: &Wish, progress: &dyn Progress) -> Result<Plan> {
    let began = clock::now();
    let VectorOutline {
        shape,
        nodes,
        below_two,
        memory_bytes,
    } = outline(input, wish, progress)?;
    let space = Space {
        shape,
        nodes,
        below_two,
        memory_bytes,
        pins: &wish.pins,
        seed: wish.seed,
    };
    let (candidates, refused) = enumerate(&space);
    refuse_nothing(&candidates, &refused, memory_bytes)?;
    let (tree, advised) = ask_tree(&space, &candidates);
    let mut scratch = Scratch::within(input.scratch)?;
    let mut planner = Planner {
        wish,
        progress,
        began,
        knowledge: know(&space, wish, scratch.root(), progress)?,
        drafts: drafts(candidates, advised),
    };
    planner.try_out(input, &mut scratch)?;
    let Planner {
        knowledge, drafts, ..
    } = planner;
    Plan::conclude(wish, &knowledge, (drafts, refused), (tree, began))
}

/// What is known before anything was tried: the machine.
fn know(space: &Space<'_>, wish: &Wish, dir: &Path, progress: &dyn Progress) -> Result<Knowledge> {
    let seconds = wish.device_seconds;
    let report = doctor(
        dir,
        &DoctorOptions::default().with_seconds(seconds),
        progress,
    )?;
    let threads = if wish.threads == 0 {
        report.cpu.cores
    } else {
        wish.threads
    };
    Ok(Knowledge {
        rows: space.nodes.into(),
        memory_bytes: space.memory_bytes,
        device: Device::of(&report),
        threads,
        statistics: Statistics::default(),
        growth_ratio: 1.0,
        goal: wish.goal,
    })
}

struct VectorOutline {
    shape: Shape,
    nodes: u32,
    below_two: bool,
    memory_bytes: u64,
}

fn outline(input: &PlanInput<'_>, wish: &Wish, progress: &dyn Progress) -> Result<VectorOutline> {
    if !(0.0..1.0).contains(&wish.recall) {
        return Err(Error::invalid(format!(
            "recall = {}: give 0 to below 1",
            wish.recall
        )));
    }
    wish.updates.map_or(Ok(()), |updates| updates.check())?;
    wish.fleet.map_or(Ok(()), |fleet| fleet.check())?;
    let vectors = input.vectors.shape();
    let count = input.vectors.count();
    let nodes = u32::try_from(count).ok().filter(|nodes| *nodes < u32::MAX);
    Ok(VectorOutline {
        shape: Shape {
            dimension: vectors.dimension,
            // What is stored decides what fits; memory is a share of what is given.
            element: exact_element(input.vectors, progress)?,
            metric: wish.metric,
        },
        nodes: nodes.ok_or_else(|| {
            Error::invalid(format!("{count} vectors; one index holds fewer than 2^32"))
        })?,
        below_two: is_below_two(input.vectors, progress)?,
        memory_bytes: wish.memory.resolve(count * vectors.row_bytes() as u64),
    })
}

/// Asks the decision tree, and finds or makes what it advises among the candidates.
fn ask_tree(space: &Space<'_>, candidates: &[Candidate]) -> (TreeAdvice, Option<Candidate>) {
    let sizes = Sizes {
        code_bytes: space
            .pins
            .code_bytes(space.shape.dimension)
            .unwrap_or((space.shape.dimension / 8).max(1)),
        max_degree: space.pins.degree.unwrap_or(Sizes::default().max_degree),
        page_bytes: space.pins.page_bytes.unwrap_or(Sizes::default().page_bytes),
        beam: space.pins.beam,
        ..Sizes::default()
    };
    let working = candidates
        .iter()
        .flat_map(|one| &one.footprint.memory)
        .filter(|(part, _)| *part == MemoryPart::OneQuery)
        .map(|(_, bytes)| *bytes)
        .min();
    let memory = (space.memory_bytes, working.unwrap_or(0));
    let advice = advise(space.shape, space.nodes, memory, &sizes);
    let options = BuildOptions::default()
        .with_metric(space.shape.metric)
        .with_preset(Preset::DiskAnn)
        .with_degree(sizes.max_degree)
        .with_page_bytes(sizes.page_bytes)
        .with_beam(space.pins.beam)
        .with_overrides(advice.overrides)
        .with_seed(space.seed);
    let sized = space.candidate(TREE_NAME, &options, sizes.code_bytes).ok();
    (advice, sized)
}

fn drafts(candidates: Vec<Candidate>, advised: Option<Candidate>) -> Vec<Draft> {
    let all = candidates.into_iter().map(|one| Draft::new(one, false));
    all.chain(advised.map(|one| Draft::new(one, true)))
        .collect()
}

struct Planner<'p> {
    wish: &'p Wish,
    progress: &'p dyn Progress,
    began: Instant,
    knowledge: Knowledge,
    drafts: Vec<Draft>,
}

impl Planner<'_> {
    /// Draws the samples and tries the best candidates on them.
    fn try_out(&mut self, input: &PlanInput<'_>, scratch: &mut Scratch) -> Result<()> {
        let wish = self.wish;
        let draw = Draw {
            rows: wish.sample_rows,
            recall: wish.recall,
            metric: wish.metric,
            seed: wish.seed,
        };
        self.progress.stage("draw a sample", 0);
        let large = Sample::draw(input.vectors, input.queries, draw)?;
        if large.rows() >= SMALL_PART * SMALL_ROWS {
            let small = large.part(large.rows() / SMALL_PART, wish.metric)?;
            self.try_small(&small, scratch)?;
        } else {
            self.try_small(&large, scratch)?;
        }
        self.try_large(&large, scratch)
    }

    /// The statistics, the guesses, and the first trials.
    fn try_small(&mut self, sample: &Sample, scratch: &mut Scratch) -> Result<()> {
        let presets = self.best_by(Candidate::preset_form);
        let total = presets.len() + FAMILIES + MORE + 1;
        self.progress.stage("try designs", total as u64);
        let limits = (self.wish.recall, self.wish.threads);
        let mut trial = Trial::new(sample, scratch, limits, self.progress);
        if let Some(first) = self.drafts.first() {
            self.knowledge.statistics = measure_plain(&mut trial, &first.candidate)?;
        }
        trial.read_us = self.knowledge.statistics.read_us;
        self.progress.advance(1);
        for draft in &mut self.drafts {
            draft.guess(&self.knowledge);
        }
        for at in self.best_by(Candidate::preset_form) {
            if self.is_within(HOPELESS, at) {
                self.try_one(&mut trial, at)?;
            }
        }
        let families = self.best_by(Candidate::family);
        let untried = families.into_iter().filter(|at| self.is_open(*at));
        for at in untried.take(FAMILIES).collect::<Vec<_>>() {
            if self.is_within(HOPELESS, at) {
                self.try_one(&mut trial, at)?;
            }
        }
        for _ in 0..MORE {
            let next = self.ranked().into_iter().find(|at| self.is_open(*at));
            let Some(at) = next.filter(|at| self.is_within(HOPELESS, *at)) else {
                break;
            };
            self.try_one(&mut trial, at)?;
        }
        Ok(())
    }

    /// The tree's and the best few, over more rows and with several beams; until what seems best is
    /// among them.
    fn try_large(&mut self, sample: &Sample, scratch: &mut Scratch) -> Result<()> {
        self.progress
            .stage("try the best again", FINALISTS as u64 + 1);
        let limits = (self.wish.recall, self.wish.threads);
        let mut trial = Trial::new(sample, scratch, limits, self.progress);
        trial.read_us = self.knowledge.statistics.read_us;
        let advised = self.drafts.iter().position(|one| one.of_tree);
        if let Some(at) = advised.filter(|_| !self.is_over()) {
            self.try_again(&mut trial, at)?;
        }
        for tried in 0..MOST_FINALISTS {
            let ranked = self.ranked();
            let is_open = |at: &&usize| {
                let draft = self.drafts.get(**at);
                draft.is_some_and(|one| !one.small.is_empty() && one.large.is_empty())
            };
            let next = ranked.iter().find(is_open);
            let first = self.first_tried(&ranked);
            let Some(next) = next.filter(|next| tried < FINALISTS || Some(*next) == first) else {
                break;
            };
            if self.is_over() || !self.is_within(BEHIND, *next) {
                break;
            }
            self.try_again(&mut trial, *next)?;
        }
        let ratios = self.drafts.iter().filter_map(Draft::growth_ratio).collect();
        self.knowledge.growth_ratio = median(ratios).unwrap_or(1.0).clamp(0.3, 3.0);
        Ok(())
    }

    /// The best of those that were tried at all.
    fn first_tried<'r>(&self, ranked: &'r [usize]) -> Option<&'r usize> {
        ranked.iter().find(|at| {
            let draft = self.drafts.get(**at);
            draft.is_some_and(Draft::is_tried)
        })
    }

    fn try_again(&mut self, trial: &mut Trial<'_>, at: usize) -> Result<()> {
        self.progress.check()?;
        let Some(draft) = self.drafts.get_mut(at) else {
            return Ok(());
        };
        let beams = self.wish.beams(&draft.candidate.spec);
        match trial.run(&draft.candidate, self.knowledge.memory_bytes, &beams) {
            Ok(tried) => draft.large = tried,
            Err(error) => draft.failed = Some(forgiven(error)?),
        }
        self.progress.advance(1);
        Ok(())
    }

    /// Whether the time is up; not before something was tried.
    fn is_over(&self) -> bool {
        let elapsed = self.began.elapsed().as_secs_f64();
        let is_late = self.wish.seconds.is_some_and(|limit| elapsed > limit);
        is_late && self.drafts.iter().any(Draft::is_tried)
    }

    fn try_one(&mut self, trial: &mut Trial<'_>, at: usize) -> Result<()> {
        self.progress.check()?;
        let is_over = self.is_over();
        let Some(draft) = self.drafts.get_mut(at).filter(|_| !is_over) else {
            return Ok(());
        };
        let mut beams = self.wish.beams(&draft.candidate.spec);
        beams.truncate(SMALL_BEAMS);
        match trial.run(&draft.candidate, self.knowledge.memory_bytes, &beams) {
            Ok(tried) => draft.small = tried,
            Err(error) => draft.failed = Some(forgiven(error)?),
        }
        self.progress.advance(1);
        Ok(())
    }

    /// Whether a candidate seems to cost so many times the best that was tried, or less.
    fn is_within(&self, times: f64, at: usize) -> bool {
        let ranked = self.ranked();
        let best = self.first_tried(&ranked).and_then(|best| self.score(*best));
        let (Some(best), Some(score)) = (best, self.score(at)) else {
            return true;
        };
        score <= times * best
    }

    fn score(&self, at: usize) -> Option<f64> {
        let cost = self.drafts.get(at)?.cost(&self.knowledge, &self.drafts)?;
        Some(cost.score(self.wish.goal))
    }

    fn is_open(&self, at: usize) -> bool {
        let draft = self.drafts.get(at);
        draft.is_some_and(|one| !one.is_tried() && one.failed.is_none())
    }

    /// The best candidate of each kind, best first.
    fn best_by(&self, kind: impl Fn(&Candidate) -> String) -> Vec<usize> {
        let mut seen = Vec::new();
        let mut first = |at: &usize| {
            let Some(draft) = self.drafts.get(*at).filter(|one| !one.of_tree) else {
                return false;
            };
            let kind = kind(&draft.candidate);
            let new = !seen.contains(&kind);
            seen.push(kind);
            new
        };
        self.ranked().into_iter().filter(|at| first(at)).collect()
    }

    /// All candidates by what they seem to cost, least first.
    fn ranked(&self) -> Vec<usize> {
        let scores = (0..self.drafts.len()).filter_map(|at| Some((self.score(at)?, at)));
        let mut scores: Vec<(f64, usize)> = scores.collect();
        scores.sort_by(|(a, i), (b, j)| a.total_cmp(b).then(i.cmp(j)));
        scores.into_iter().map(|(_, at)| at).collect()
    }
}

/// Words of an error that is one candidate's; others are the plan's.
fn forgiven(error: Error) -> Result<String> {
    let its_own = [ErrorKind::InvalidInput, ErrorKind::Unsupported];
    if its_own.contains(&error.kind()) {
        Ok(error.context().to_owned())
    } else {
        Err(error)
    }
}
