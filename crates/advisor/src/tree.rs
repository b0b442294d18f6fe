//! The decision tree of the experimental evaluation (its section 5.1 and figure 17), as a table: an
//! adviser beside ours.
//!
//! Each question compares one number with one limit; the answer is a choice of the spec or two. The
//! fifth question, how changes reach the disk, is asked where changes are wished for. Where an
//! answer has no meaning under another (pages of vectors alone hold nothing to score while the next
//! are read), the nearest legal choice stands in for it.

use pageway::choices::{ENTRIES, PLACEMENTS, find, schedules};
use pageway::spec::{
    CodeStorage, CodecSpec, EntrySpec, HarvestSpec, NodeCacheSpec, PageCacheSpec, PlacementSpec,
    RefineSpec, ScheduleSpec, Shape, VectorStorage,
};
use pageway::{CacheOverrides, Overrides, Sizes};
use serde::Serialize;

use crate::equations::{EvaluationMemory, packing_factor};

/// What the tree asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TreeQuestion {
    /// Do codes stay in memory?
    Storage,
    /// Do vectors lie beside their lists?
    GlobalLayout,
    /// Which nodes share a page?
    LocalLayout,
    /// What is cached?
    Caching,
    /// What decides on the next read?
    Execution,
}

/// A row of the table: up to the limit one answer, above it the other.
struct Branch {
    question: TreeQuestion,
    compared: &'static str,
    limit: f64,
    answers: [&'static str; 2],
}

/// Dimension up to which vectors and lists lie together.
const COUPLED_DIMENSION: f64 = 1500.0;
/// Dimension up to which a cache learns.
const DYNAMIC_DIMENSION: f64 = 900.0;
/// Reads per update from which a workload is balanced or read-heavy. The findings of the same paper
/// give balanced ones to updates out of place; its tree stands here.
const BALANCED: f64 = 1.0;
/// Vectors per page from which on computing decides on reads.
const COMPUTE_FACTOR: f64 = 2.0;

const TREE: [Branch; 5] = [
    Branch {
        question: TreeQuestion::Storage,
        compared: "memory by equation 1, as a share of the budget",
        limit: 1.0,
        answers: [
            "major-in-disk: codes in memory",
            "all-in-disk: codes in pages",
        ],
    },
    Branch {
        question: TreeQuestion::GlobalLayout,
        compared: "dimension",
        limit: COUPLED_DIMENSION,
        answers: [
            "coupled: vectors beside their lists",
            "decoupled: vectors in pages of their own",
        ],
    },
    Branch {
        question: TreeQuestion::LocalLayout,
        compared: "dimension",
        limit: f64::INFINITY,
        answers: ["heuristic: neighbours share pages", ""],
    },
    Branch {
        question: TreeQuestion::Caching,
        compared: "dimension",
        limit: DYNAMIC_DIMENSION,
        answers: ["dynamic: pages used lately", "static: lists before vectors"],
    },
    Branch {
        question: TreeQuestion::Execution,
        compared: "records per page by equation 3, inverted",
        limit: 1.0 / COMPUTE_FACTOR,
        answers: [
            "compute-driven: a round of reads",
            "I/O-driven: a pipeline of reads",
        ],
    },
];

/// A question that was answered.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Step {
    /// Which.
    pub question: TreeQuestion,
    /// The number that was compared, in words.
    pub compared: &'static str,
    /// The number.
    pub value: f64,
    /// Its limit; infinite where there is one answer alone.
    pub limit: f64,
    /// The answer.
    pub answer: &'static str,
    /// Whether the number was above the limit.
    above: bool,
}

/// The update branch: what the tree says for so many reads per update.
pub(crate) fn update_branch(reads_per_update: f64) -> &'static str {
    if reads_per_update >= BALANCED {
        "in place (patch, overwrite), as reads are as many as updates or more"
    } else {
        "out of place (segments, rewrite), as updates are more than reads"
    }
}

/// What the tree advises.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct TreeAdvice {
    /// The questions in order.
    pub steps: Vec<Step>,
    /// Equation 1.
    pub memory: EvaluationMemory,
    /// Bytes per code that equation 2 is computed with.
    pub code_bytes: u32,
    /// The same as choices of a spec.
    #[serde(skip)]
    pub overrides: Overrides,
}

/// Asks the tree about `nodes` vectors of `shape` under a budget, of which `working_bytes` go to
/// what is there whatever is held.
pub fn advise(
    shape: Shape,
    nodes: u32,
    (memory_bytes, working_bytes): (u64, u64),
    sizes: &Sizes,
) -> TreeAdvice {
    let vector_bytes = shape.vectors().row_bytes() as u64;
    let degree = sizes.max_degree;
    let chunks = (degree, sizes.code_bytes);
    let memory = EvaluationMemory::of(nodes.into(), vector_bytes, chunks, working_bytes);
    let packing = packing_factor(sizes.page_bytes, vector_bytes, degree);
    let dimension = f64::from(shape.dimension);
    let value = |question| match question {
        TreeQuestion::Storage => memory.total() as f64 / memory_bytes.max(1) as f64,
        TreeQuestion::GlobalLayout | TreeQuestion::LocalLayout | TreeQuestion::Caching => dimension,
        TreeQuestion::Execution => 1.0 / packing,
    };
    let steps: Vec<Step> = TREE
        .iter()
        .map(|branch| branch.step(value(branch.question)))
        .collect();
    let above = |question| {
        let mut found = steps.iter().filter(|step| step.question == question);
        found.next().is_some_and(|step| step.above)
    };
    let overrides = Answers {
        in_page: above(TreeQuestion::Storage),
        decoupled: above(TreeQuestion::GlobalLayout),
        lists_cached: above(TreeQuestion::Caching),
        pipelined: above(TreeQuestion::Execution),
    }
    .overrides(sizes);
    TreeAdvice {
        steps,
        memory,
        code_bytes: sizes.code_bytes,
        overrides,
    }
}

impl Branch {
    fn step(&self, value: f64) -> Step {
        let above = value > self.limit;
        let [below, beyond] = self.answers;
        Step {
            question: self.question,
            compared: self.compared,
            value,
            limit: self.limit,
            answer: if above { beyond } else { below },
            above,
        }
    }
}

/// The second answers that were given.
struct Answers {
    in_page: bool,
    decoupled: bool,
    lists_cached: bool,
    pipelined: bool,
}

impl Answers {
    fn overrides(&self, sizes: &Sizes) -> Overrides {
        // Codes that lie beside lists fill the page that vectors would share with them.
        let split = self.decoupled && !self.in_page;
        let (codes, codec) = match (self.in_page, split) {
            (true, _) => (CodeStorage::InPage, CodecSpec::InlineCodes),
            (false, true) => (CodeStorage::Memory, CodecSpec::Split),
            (false, false) => (CodeStorage::Memory, CodecSpec::Packed),
        };
        let vectors = if split {
            VectorStorage::Separate
        } else {
            VectorStorage::InRecord
        };
        let refine = if split || self.lists_cached {
            RefineSpec::Deferred { share: 0.5 }
        } else {
            RefineSpec::Inline
        };
        Overrides {
            vectors: Some(vectors),
            codes: Some(codes),
            second_quantizer: Some(None),
            codec: Some(codec),
            placement: shuffled(),
            cache: self.cache(),
            entry: navigation(),
            schedule: Some(self.schedule(split, sizes)),
            harvest: Some(self.harvest(split)),
            refine: Some(refine),
            ..Overrides::default()
        }
    }

    fn cache(&self) -> CacheOverrides {
        let (nodes, pages) = match (self.lists_cached, self.in_page) {
            // A list without the codes beside it would be of no use.
            (true, true) => (NodeCacheSpec::Records, PageCacheSpec::None),
            (true, false) => (NodeCacheSpec::Lists, PageCacheSpec::None),
            (false, _) => (NodeCacheSpec::None, PageCacheSpec::Clock),
        };
        CacheOverrides {
            nodes: Some(nodes),
            pages: Some(pages),
            ..CacheOverrides::default()
        }
    }

    fn schedule(&self, split: bool, sizes: &Sizes) -> ScheduleSpec {
        let [lockstep, overlapped, _, pipelined] = schedules(sizes);
        match (self.pipelined, split) {
            (true, _) => pipelined,
            (false, true) => lockstep,
            (false, false) => overlapped,
        }
    }

    fn harvest(&self, split: bool) -> HarvestSpec {
        match (self.pipelined, split) {
            (_, true) => HarvestSpec::Held,
            (true, false) => HarvestSpec::Target,
            (false, false) => HarvestSpec::Near { share: 0.3 },
        }
    }
}

/// Neighbours in one page by frequency, as the evaluation's heuristic designs do it.
pub(crate) fn shuffled() -> Option<PlacementSpec> {
    find(&PLACEMENTS, "bnf")
}

/// A navigation graph over a sample.
pub(crate) fn navigation() -> Option<EntrySpec> {
    find(&ENTRIES, "navigation")
}

#[cfg(test)]
mod tests {
    use pageway::spec::UpdateSpec;
    use pageway::{ElementType, Metric, Preset};

    use super::*;

    const ROWS: u32 = 1_000_000;

    fn ask(dimension: u32, page_bytes: u32, memory_bytes: u64) -> TreeAdvice {
        let shape = shape(dimension);
        let sizes = Sizes {
            code_bytes: dimension / 8,
            page_bytes,
            ..Sizes::default()
        };
        advise(shape, ROWS, (memory_bytes, 50_000_000), &sizes)
    }

    fn shape(dimension: u32) -> Shape {
        Shape {
            dimension,
            element: ElementType::F32,
            metric: Metric::L2,
        }
    }

    #[test]
    fn the_sets_of_the_evaluation_get_the_designs_it_found_best() {
        // Figure 7: page layouts and rounds win below 420 dimensions, the pipeline on GIST and
        // OpenAI; figure 11: separate vectors win on OpenAI.
        for (dimension, page_bytes, pipelined, decoupled, lists) in [
            (128, 4096, false, false, false),
            (256, 4096, false, false, false),
            (384, 4096, false, false, false),
            (420, 4096, false, false, false),
            (960, 4096, true, false, true),
            (3072, 16_384, true, true, true),
        ] {
            let chosen = ask(dimension, page_bytes, 2_000_000_000).overrides;
            let schedule = chosen.schedule.unwrap();
            let is_pipeline = matches!(schedule, ScheduleSpec::Pipelined { .. });
            assert_eq!(is_pipeline, pipelined, "{dimension}");
            let split = chosen.codec == Some(CodecSpec::Split);
            assert_eq!(split, decoupled, "{dimension}");
            let cached = chosen.cache.nodes == Some(NodeCacheSpec::Lists);
            assert_eq!(cached, lists, "{dimension}");
            assert_eq!(chosen.codes, Some(CodeStorage::Memory), "{dimension}");
        }
    }

    #[test]
    fn too_little_memory_sends_codes_to_the_pages() {
        let advice = ask(128, 4096, 60_000_000);
        assert_eq!(advice.overrides.codes, Some(CodeStorage::InPage));
        assert!(advice.steps.first().unwrap().value > 1.0);
        let advice = ask(128, 4096, 100_000_000);
        assert_eq!(advice.overrides.codes, Some(CodeStorage::Memory));
        assert_eq!(advice.steps.len(), TREE.len());
    }

    #[test]
    fn every_answer_is_a_legal_spec() {
        for dimension in [64, 384, 960, 1600, 3072] {
            for page_bytes in [4096, 16_384] {
                for memory_bytes in [1_000_000, 4_000_000_000] {
                    let advice = ask(dimension, page_bytes, memory_bytes);
                    let sizes = Sizes {
                        code_bytes: 8,
                        page_bytes,
                        ..Sizes::default()
                    };
                    for preset in Preset::ALL {
                        let mut own = preset.spec(shape(dimension), &sizes);
                        // Pages that are patched allow no other layout.
                        if own.patches_pages() {
                            own.update = UpdateSpec::Segments;
                        }
                        let spec = advice.overrides.apply(own);
                        spec.validate().unwrap();
                    }
                }
            }
        }
    }
}
