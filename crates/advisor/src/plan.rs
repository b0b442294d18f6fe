//! What a plan says: every candidate with what it costs, best first, and why.

use std::time::Instant;

use pageway::choices::chosen;
use pageway::{Error, ErrorKind, Result, format_bytes};
use serde::Serialize;

use crate::candidate::{Candidate, Refusal};
use crate::cost::Cost;
use crate::device::Device;
use crate::draft::{Draft, Knowledge};
use crate::fleet::FleetPlan;
use crate::model::Statistics;
use crate::tree::TreeAdvice;
use crate::trial::Tried;
use crate::update::{UpdatePlan, UpdateSite};
use crate::verdict::Verdict;
use crate::wish::{Goal, Wish};

/// A candidate in a plan.
#[derive(Clone, Debug, Serialize)]
pub struct Entry {
    /// The preset, and what is chosen in place of its own.
    pub name: String,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Longest adjacency list (R).
    pub degree: u32,
    /// Bytes per code.
    pub code_bytes: u32,
    /// Reads in flight (W).
    pub beam: u32,
    /// The least memory it can be searched in.
    pub least_memory_bytes: u64,
    /// Bytes on disk.
    pub disk_bytes: u64,
    /// Cost over all vectors: from trials where `tried` holds any, else a guess; absent where the
    /// recall is out of reach.
    pub cost: Option<Cost>,
    /// What was built and searched.
    pub tried: Vec<Tried>,
    /// Why it was chosen, or not.
    pub verdict: Verdict,
    /// The arguments of `pageway build` that make it.
    pub arguments: Vec<String>,
    /// The same for the library; memory and recall are those of the wish.
    #[serde(skip)]
    pub candidate: Candidate,
}

/// What the decision tree of the experimental evaluation advises, and how it did.
#[derive(Clone, Debug, Serialize)]
pub struct TreeVerdict {
    /// Its answers.
    pub advice: TreeAdvice,
    /// Cost of its design over all vectors; absent where it does not fit the memory or does not
    /// reach the recall.
    pub cost: Option<Cost>,
    /// Where it differs from the choice, policy by policy.
    pub differences: Vec<String>,
    /// Who was right on the sample.
    pub verdict: String,
}

/// What the guesses of a plan were made from.
#[derive(Clone, Debug, Serialize)]
pub struct PlanBasis {
    /// Of the rows.
    pub statistics: Statistics,
    /// The disk.
    pub device: Device,
    /// Exponents with which hops grew between the samples, by those that are usual with codes as
    /// long; a median.
    pub growth_ratio: f64,
}

/// A plan.
#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    /// Vectors.
    pub rows: u64,
    /// Memory of a search.
    pub memory_bytes: u64,
    /// Recall@10 that is wished.
    pub recall: f32,
    /// What counted.
    pub goal: Goal,
    /// Searching threads.
    pub threads: usize,
    /// The candidates, the choice first.
    pub entries: Vec<Entry>,
    /// What cannot be.
    pub refused: Vec<Refusal>,
    /// The decision tree beside it.
    pub tree: TreeVerdict,
    /// What guesses were made from.
    #[serde(flatten)]
    pub basis: PlanBasis,
    /// How changes should reach the disk, where there will be any.
    pub updates: Option<UpdatePlan>,
    /// The choice on several machines, where it is to lie on some.
    pub fleet: Option<FleetPlan>,
    /// Seconds that the plan took.
    pub seconds: f64,
}

impl Entry {
    /// Whether a trial of it ended in an error.
    pub fn has_failed(&self) -> bool {
        matches!(self.verdict, Verdict::Failed(_))
    }

    /// Its sizes, in words.
    pub(crate) fn sizes(&self) -> String {
        let page = self.page_bytes / 1024;
        format!("{page} KiB, R {}, {} B", self.degree, self.code_bytes)
    }
}

/// How much is known of a candidate, best first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Standing {
    TriedTwice,
    Tried,
    Guessed,
    OutOfReach,
    Failed,
}

impl Plan {
    /// The candidate that is chosen.
    ///
    /// # Errors
    /// `Internal`: a plan has one.
    pub fn choice(&self) -> Result<&Entry> {
        let none = || Error::new(ErrorKind::Internal, "a plan without a choice");
        self.entries.first().ok_or_else(none)
    }

    /// Ranks what is known.
    pub(crate) fn conclude(
        wish: &Wish,
        known: &Knowledge,
        (drafts, refused): (Vec<Draft>, Vec<Refusal>),
        (advice, began): (TreeAdvice, Instant),
    ) -> Result<Self> {
        let ranked = ranked(&drafts, known);
        let choice = ranked.first().filter(|one| one.standing <= Standing::Tried);
        let choice = choice.and_then(|one| Some((one.draft, one.cost?)));
        let (chosen, best) = choice.ok_or_else(|| unreached(wish, &drafts))?;
        let serves = |one: &&Ranked<'_>| one.standing <= Standing::Tried;
        let words = Words {
            wish,
            memory_bytes: known.memory_bytes,
            best,
            serving: ranked.iter().filter(serves).count(),
        };
        let advised = drafts.iter().find(|draft| draft.of_tree);
        let updates = wish.updates.map(|updates| {
            let built = (&chosen.candidate, &best, build_us(chosen));
            let site = UpdateSite::of(built, (known.memory_bytes, &known.device));
            UpdatePlan::new(&chosen.candidate.spec, site, updates)
        });
        Ok(Self {
            rows: known.rows,
            memory_bytes: known.memory_bytes,
            recall: wish.recall,
            goal: wish.goal,
            threads: known.threads,
            entries: entries(&ranked, &words, known)?,
            refused,
            tree: tree_verdict(advice, (advised, chosen), (known, best)),
            basis: PlanBasis {
                statistics: known.statistics,
                device: known.device.clone(),
                growth_ratio: known.growth_ratio,
            },
            updates,
            fleet: fleet_plan(wish, chosen, known),
            seconds: began.elapsed().as_secs_f64(),
        })
    }
}

/// The chosen design on the machines that are wished: its trials tell what it costs over the rows
/// of one.
fn fleet_plan(wish: &Wish, chosen: &Draft, known: &Knowledge) -> Option<FleetPlan> {
    let fleet = wish.fleet?;
    let of_node = Knowledge {
        rows: fleet.rows_of_node(known.rows),
        ..known.clone()
    };
    let (cost, _) = chosen.predicted(&of_node)?;
    let disk_bytes = chosen.candidate.footprint.disk_bytes;
    let size = (known.rows, known.memory_bytes, disk_bytes);
    Some(FleetPlan::new(fleet, size, &cost))
}

/// Microseconds that a row of its last trial took to build.
fn build_us(draft: &Draft) -> f64 {
    let last = draft.trials().last();
    last.map_or(0.0, |tried| {
        1e6 * tried.build_seconds / tried.rows.max(1) as f64
    })
}

/// A draft in its place.
struct Ranked<'d> {
    standing: Standing,
    cost: Option<Cost>,
    draft: &'d Draft,
}

/// By how much is known, then by what they cost.
fn ranked<'d>(drafts: &'d [Draft], known: &Knowledge) -> Vec<Ranked<'d>> {
    let ranked = |draft| Ranked {
        standing: standing(draft, known),
        cost: draft.cost(known, drafts),
        draft,
    };
    let mut all: Vec<Ranked<'_>> = drafts.iter().map(ranked).collect();
    let score = |one: &Ranked<'_>| {
        let cost = one.cost.as_ref();
        cost.map_or(f64::INFINITY, |cost| cost.score(known.goal))
    };
    all.sort_by(|a, b| {
        let by_standing = a.standing.cmp(&b.standing);
        by_standing.then(score(a).total_cmp(&score(b)))
    });
    all
}

fn entries(ranked: &[Ranked<'_>], words: &Words<'_>, known: &Knowledge) -> Result<Vec<Entry>> {
    let with_place = ranked.iter().enumerate();
    with_place
        .map(|(at, one)| {
            let verdict = words.verdict(at == 0, (one.standing, one.cost), one.draft);
            entry((one.draft, one.cost), known, verdict)
        })
        .collect()
}

fn standing(draft: &Draft, known: &Knowledge) -> Standing {
    if draft.failed.is_some() {
        Standing::Failed
    } else if !draft.is_tried() {
        Standing::Guessed
    } else if draft.predicted(known).is_none() {
        Standing::OutOfReach
    } else if draft.large.is_empty() {
        Standing::Tried
    } else {
        Standing::TriedTwice
    }
}

fn entry(
    (draft, cost): (&Draft, Option<Cost>),
    known: &Knowledge,
    verdict: Verdict,
) -> Result<Entry> {
    let own = draft.candidate.spec.execution.schedule.beam();
    let beam = draft.predicted(known).map_or(own, |(_, beam)| beam);
    let candidate = if beam == own {
        draft.candidate.clone()
    } else {
        draft.candidate.with_beam(beam)?
    };
    Ok(Entry {
        name: candidate.name.clone(),
        page_bytes: candidate.options.page_bytes,
        degree: candidate.spec.graph.max_degree(),
        code_bytes: candidate.code_bytes(),
        beam,
        least_memory_bytes: candidate.footprint.memory_bytes(),
        disk_bytes: candidate.footprint.disk_bytes,
        cost,
        tried: draft.trials().cloned().collect(),
        verdict,
        arguments: candidate.arguments(),
        candidate,
    })
}

fn unreached(wish: &Wish, drafts: &[Draft]) -> Error {
    let tried = drafts.iter().flat_map(Draft::trials);
    let best = tried.map(|tried| tried.best_recall).fold(0.0, f64::max);
    let words = format!(
        "no design reaches recall@10 {} in this memory: {best:.3} at most on the sample; ask for \
         less recall or more memory",
        wish.recall
    );
    Error::new(ErrorKind::Unsupported, words)
}

/// What verdicts are made from.
struct Words<'w> {
    wish: &'w Wish,
    memory_bytes: u64,
    best: Cost,
    serving: usize,
}

impl Words<'_> {
    fn verdict(
        &self,
        chosen: bool,
        (standing, cost): (Standing, Option<Cost>),
        draft: &Draft,
    ) -> Verdict {
        match (standing, cost) {
            (Standing::Failed, _) => Verdict::Failed(draft.failed.clone().unwrap_or_default()),
            (Standing::OutOfReach, _) | (_, None) => {
                let tried = draft.trials();
                Verdict::OutOfReach {
                    recall: self.wish.recall,
                    best: tried.map(|tried| tried.best_recall).fold(0.0, f64::max),
                }
            }
            _ if chosen => Verdict::Chosen(format!(
                "{} of {} tried designs that reach recall {} in {}",
                goal_words(self.wish.goal),
                self.serving,
                self.wish.recall,
                format_bytes(self.memory_bytes)
            )),
            (Standing::Guessed, Some(cost)) => Verdict::Guessed(self.against(&cost)),
            (Standing::Tried | Standing::TriedTwice, Some(cost)) => {
                Verdict::Behind(self.against(&cost))
            }
        }
    }

    /// How a cost compares with the best one, and by what most.
    fn against(&self, cost: &Cost) -> String {
        let ratio = |own: f64, best: f64| (own + 1e-9) / (best + 1e-9);
        let (own, best) = (&cost.counts, &self.best.counts);
        let parts = [
            ("the reads", ratio(own.reads, best.reads)),
            ("the rounds", ratio(own.rounds, best.rounds)),
            ("the bytes", ratio(own.bytes, best.bytes)),
            ("the computing", ratio(own.compute_us, best.compute_us)),
        ];
        let goal = self.wish.goal;
        let whole = ratio(cost.score(goal), self.best.score(goal));
        let counted = match goal {
            Goal::Latency => "the latency",
            Goal::Throughput => "the time per query",
            Goal::Reads => "the pages",
        };
        let most = parts.into_iter().max_by(|(_, a), (_, b)| a.total_cmp(b));
        match most {
            Some((what, times)) if times > 1.02 => {
                format!("{whole:.2} times {counted}, with {times:.1} times {what}")
            }
            _ => format!("{whole:.2} times {counted}"),
        }
    }
}

fn goal_words(goal: Goal) -> &'static str {
    match goal {
        Goal::Latency => "the shortest latency",
        Goal::Throughput => "the most queries per second",
        Goal::Reads => "the fewest pages",
    }
}

fn tree_verdict(
    advice: TreeAdvice,
    (advised, chosen): (Option<&Draft>, &Draft),
    (known, best): (&Knowledge, Cost),
) -> TreeVerdict {
    let cost = advised.and_then(|draft| Some(draft.predicted(known)?.0));
    let goal = known.goal;
    let verdict = match (advised, cost) {
        (None, _) => "its design does not fit the memory".to_owned(),
        (Some(_), None) => "its design does not reach the recall on the sample".to_owned(),
        (Some(_), Some(cost)) => {
            let ratio = cost.score(goal) / best.score(goal).max(1e-9);
            if ratio > 1.0 {
                format!(
                    "on the sample the choice is right: the tree's takes {ratio:.2} times as much"
                )
            } else {
                "on the sample the tree is right".to_owned()
            }
        }
    };
    let differences = advised.map_or_else(Vec::new, |advised| {
        differences(&advised.candidate, &chosen.candidate)
    });
    TreeVerdict {
        advice,
        cost,
        differences,
        verdict,
    }
}

fn differences(tree: &Candidate, choice: &Candidate) -> Vec<String> {
    let both = chosen(&tree.spec).into_iter().zip(chosen(&choice.spec));
    both.filter(|((_, tree), (_, choice))| tree != choice)
        .map(|((policy, tree), (_, choice))| {
            let what = policy.name.replace('_', " ");
            format!("{what}: {tree} there, {choice} here")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use pageway::Sizes;
    use pageway::lab::clock;

    use super::*;
    use crate::fixture::{MEMORY_BYTES, SHAPE, drafts, knowledge, tried, unreached};
    use crate::fleet::FleetWish;
    use crate::tree::advise;

    fn advice() -> TreeAdvice {
        advise(
            SHAPE,
            1_000_000,
            (MEMORY_BYTES, 1_000_000),
            &Sizes::default(),
        )
    }

    fn concluded(goal: Goal) -> Result<Plan> {
        let known = knowledge(goal);
        let (mut drafts, refused) = drafts(&known);
        drafts[0].small = vec![tried(5_000, 30.0)];
        drafts[0].large = vec![
            tried(20_000, 33.0),
            Tried {
                beam: 8,
                ..tried(20_000, 36.0)
            },
        ];
        drafts[1].small = vec![tried(5_000, 60.0)];
        drafts[2].small = vec![unreached(5_000)];
        drafts[3].failed = Some("a sentence".to_owned());
        drafts[4].small = vec![tried(5_000, 40.0)];
        drafts[4].large = vec![tried(20_000, 44.0)];
        drafts[4].of_tree = true;
        let wish = Wish {
            goal,
            fleet: Some(FleetWish {
                nodes: 4,
                replicas: 2,
                round_trip_us: 200.0,
                prices: None,
            }),
            ..Wish::default()
        };
        Plan::conclude(&wish, &known, (drafts, refused), (advice(), clock::now()))
    }

    #[test]
    fn a_fleet_is_predicted_from_the_trials_of_the_choice() {
        let plan = concluded(Goal::Latency).unwrap();
        let (fleet, cost) = (plan.fleet.unwrap(), plan.choice().unwrap().cost.unwrap());
        assert_eq!(fleet.rows_of_node, plan.rows.div_ceil(2));
        assert_eq!(fleet.memory_of_node, plan.memory_bytes.div_ceil(2));
        // Half the rows cost less than all, and two replicas answer twice as many.
        assert!(fleet.latency_us < cost.latency_us + 200.0, "{fleet:?}");
        assert!(fleet.queries_per_second > 2.0 * cost.queries_per_second);
        assert!(fleet.pages > cost.counts.pages && fleet.pages < 2.0 * cost.counts.pages);
        assert!(plan.to_string().contains("Predicted for 4 nodes"));
    }

    #[test]
    fn the_choice_was_tried_and_each_loser_has_a_reason() {
        let plan = concluded(Goal::Latency).unwrap();
        let verdicts = plan.entries.iter().map(|one| one.verdict.to_string());
        let verdicts: Vec<String> = verdicts.collect();
        assert!(
            verdicts[0].starts_with("chosen: the shortest latency of 3 tried"),
            "{verdicts:?}"
        );
        assert!(
            verdicts[1].contains("times the latency, with"),
            "{verdicts:?}"
        );
        assert!(verdicts[2].contains("times the latency"), "{verdicts:?}");
        assert!(
            verdicts[3].starts_with("guessed, not tried: "),
            "{verdicts:?}"
        );
        let [.., short, failed] = verdicts.as_slice() else {
            panic!("{verdicts:?}")
        };
        assert!(
            short.contains("out of reach on the sample: 0.710 at most"),
            "{short}"
        );
        assert_eq!(*failed, "could not be tried: a sentence");
        let failures: Vec<bool> = plan.entries.iter().map(Entry::has_failed).collect();
        assert_eq!(failures.iter().filter(|failed| **failed).count(), 1);
        assert!(plan.to_string().contains("could not be tried: a sentence"));
        assert!(
            plan.tree.verdict.contains("the choice is right"),
            "{:?}",
            plan.tree
        );
        let text = format!("{plan}{}", plan.explained());
        assert!(text.contains("cannot be") && text.contains(" *"), "{text}");
        assert!(serde_json::to_value(&plan).unwrap()["entries"][0]["tried"].is_array());
    }

    #[test]
    fn the_beam_is_that_of_the_goal() {
        let beam = |goal| concluded(goal).unwrap().choice().unwrap().beam;
        assert_eq!(beam(Goal::Reads), 4);
        let choice = concluded(Goal::Reads).unwrap();
        let line = choice.choice().unwrap().arguments.join(" ");
        assert!(line.contains("--preset"), "{line}");
    }

    #[test]
    fn a_recall_that_nothing_reaches_is_refused_with_the_best() {
        let known = knowledge(Goal::Latency);
        let (mut drafts, refused) = drafts(&known);
        drafts.truncate(1);
        drafts[0].small = vec![unreached(5_000)];
        let said = Plan::conclude(
            &Wish::default(),
            &known,
            (drafts, refused),
            (advice(), clock::now()),
        );
        let error = said.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.context().contains("0.710 at most"), "{error}");
    }
}
