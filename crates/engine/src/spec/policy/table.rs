//! The table of all policies, in the order in which a design is explained.

use serde::Serialize;
use serde_json::{Value, to_value};

use super::choice::{Choice, Names, Reading, always, told, words_of};
use super::words::{Subject, Words};
use super::{text, typed};
use crate::error::{Error, Result};
use crate::spec::{
    CodeStorage, CodecSpec, DeltaSpec, EntrySpec, GraphSpec, HarvestSpec, IdStorage, IndexSpec,
    ListSpec, NodeCacheSpec, PageCacheSpec, PlacementSpec, QuantizerSpec, RefineSpec, RepairSpec,
    ScheduleSpec, SelectionSpec, Sizes, StopSpec, UpdateSpec, VectorStorage, cache, execution,
    layout, storage,
};

/// One thing that is chosen, or told beside what is.
pub struct Policy {
    /// The part of a design that it belongs to.
    pub axis: &'static str,
    /// What users of the library call it.
    pub name: &'static str,
    /// What it is chosen by on the command line.
    pub flag: &'static str,
    /// Where the JSON of a spec has it.
    pub path: &'static str,
    /// What it is and what there is to choose, in a line of help.
    pub about: &'static str,
    /// How what is chosen is written.
    pub reading: Reading,
    /// Keys of a choice that sizes decide, whatever is chosen.
    pub(super) sized: &'static [&'static str],
    words: fn(&Value, &Subject<'_>) -> Option<Words>,
}

const GRAPH: &str = "Graph";
const STORAGE: &str = "Storage";
const LAYOUT: &str = "Layout";
const CACHE: &str = "Cache";
const EXECUTION: &str = "Execution";
const UPDATE: &str = "Update";

/// Every policy.
pub static POLICIES: [Policy; 25] = [
    named::<GraphSpec>(GRAPH, "graph", "--graph", "/graph"),
    named::<VectorStorage>(STORAGE, "vectors", "--vectors", "/storage/vectors"),
    Policy {
        sized: &["code_bytes"],
        ..named::<QuantizerSpec>(STORAGE, "quantizer", "--quantizer", "/storage/quantizer")
    },
    Policy {
        axis: STORAGE,
        name: "code_bytes",
        flag: "--code-bytes",
        path: "/storage/quantizer/code_bytes",
        about: "Bytes per compressed vector",
        reading: Reading::Size,
        sized: &[],
        words: |value, of| always(value, of, storage::length_words),
    },
    named::<CodeStorage>(STORAGE, "codes", "--codes", "/storage/codes"),
    Policy {
        axis: STORAGE,
        name: "second_code_bytes",
        flag: "--second-code-bytes",
        path: "/storage/second_quantizer",
        about: "Bytes of a second code, for refine cascade or vectors coded; 0 for none",
        reading: Reading::CodeBytes,
        sized: &[],
        words: |value, of| always(value, of, storage::second_words),
    },
    Policy {
        axis: STORAGE,
        name: "ids_in_memory",
        flag: "--ids-in-memory",
        path: "/storage/ids_in_memory",
        about: "Whether rows and ids are in memory too, so that refine bounded need not read what \
                is sure",
        reading: Reading::Flag,
        sized: &[],
        words: |value, of| told(value, of, storage::in_memory_words),
    },
    Policy {
        reading: Reading::Told,
        ..named::<IdStorage>(STORAGE, "ids", "ids", "/storage/ids")
    },
    Policy {
        axis: LAYOUT,
        name: "page_size",
        flag: "--page-size",
        path: "/layout/page_bytes",
        about: "Bytes of a page",
        reading: Reading::Size,
        sized: &[],
        words: |value, of| always(value, of, layout::page_words),
    },
    named::<CodecSpec>(LAYOUT, "codec", "--codec", "/layout/codec"),
    named::<PlacementSpec>(LAYOUT, "placement", "--placement", "/layout/placement"),
    named::<ListSpec>(LAYOUT, "lists", "--lists", "/layout/lists"),
    named::<NodeCacheSpec>(CACHE, "cache_nodes", "--cache-nodes", "/cache/nodes"),
    named::<PageCacheSpec>(CACHE, "cache_pages", "--cache-pages", "/cache/pages"),
    named::<SelectionSpec>(
        CACHE,
        "cache_selection",
        "--cache-selection",
        "/cache/selection",
    ),
    Policy {
        axis: CACHE,
        name: "page_share",
        flag: "--page-share",
        path: "/cache/page_share",
        about: "Share of the cache that pages get where nodes are cached too, 0 to 1",
        reading: Reading::Share,
        sized: &[],
        words: |value, of| told(value, of, cache::share_words),
    },
    named::<EntrySpec>(EXECUTION, "entry", "--entry", "/execution/entry"),
    named::<ScheduleSpec>(EXECUTION, "schedule", "--schedule", "/execution/schedule"),
    named::<HarvestSpec>(EXECUTION, "harvest", "--harvest", "/execution/harvest"),
    named::<RefineSpec>(EXECUTION, "refine", "--refine", "/execution/refine"),
    named::<StopSpec>(EXECUTION, "stop", "--stop", "/execution/stop"),
    Policy {
        axis: EXECUTION,
        name: "slack",
        flag: "--slack",
        path: "/execution/slack",
        about: "How much nearer a candidate that needs a read must be, as a share of its distance, \
                to come before one whose list is in memory; 0 to 1",
        reading: Reading::Share,
        sized: &[],
        words: |value, of| told(value, of, execution::slack_words),
    },
    named::<UpdateSpec>(UPDATE, "update", "--update", "/update"),
    named::<RepairSpec>(UPDATE, "repair", "--repair", "/repair"),
    named::<DeltaSpec>(UPDATE, "delta", "--delta", "/delta"),
];

/// A policy whose choices have names.
const fn named<T: Choice>(
    axis: &'static str,
    name: &'static str,
    flag: &'static str,
    path: &'static str,
) -> Policy {
    Policy {
        axis,
        name,
        flag,
        path,
        about: T::ABOUT,
        reading: Reading::Named(Names::of::<T>()),
        sized: &[],
        words: words_of::<T>,
    }
}

/// Those that can be chosen in place of a preset's own.
pub fn choices() -> impl Iterator<Item = &'static Policy> {
    let is_choice = |policy: &&Policy| !matches!(policy.reading, Reading::Size | Reading::Told);
    POLICIES.iter().filter(is_choice)
}

impl Policy {
    /// Names of its choices; none where it is a number.
    pub fn names(&self, sizes: &Sizes) -> Vec<String> {
        self.known(sizes).iter().map(text::name_of).collect()
    }

    /// Its choices as a spec stores them, with the values of keys that are left out.
    pub(super) fn known(&self, sizes: &Sizes) -> Vec<Value> {
        match self.reading {
            Reading::Named(names) => (names.known)(sizes),
            Reading::Share | Reading::Flag | Reading::CodeBytes | Reading::Size | Reading::Told => {
                Vec::new()
            }
        }
    }

    /// Whether a choice is a number, or the bytes that stand for a second code.
    pub(super) const fn is_number(&self) -> bool {
        matches!(self.reading, Reading::Share | Reading::CodeBytes)
    }

    /// Whether a choice is the bytes of a second code.
    pub(super) const fn is_second_code(&self) -> bool {
        matches!(self.reading, Reading::CodeBytes)
    }

    /// What is called what was chosen: a name, or a number with its unit.
    pub fn name_of(&self, value: &Value) -> String {
        match self.reading {
            Reading::Named(_) | Reading::Told => text::name_of(value),
            Reading::CodeBytes | Reading::Size => format!("{} B", self.typed(value)),
            Reading::Share | Reading::Flag => self.typed(value),
        }
    }

    /// What was chosen, as it can be typed.
    pub fn typed(&self, value: &Value) -> String {
        match self.reading {
            Reading::CodeBytes => match value.get("code_bytes") {
                Some(bytes) => bytes.to_string(),
                None => "0".to_owned(),
            },
            Reading::Named(_) => text::typed_without(value, self.sized),
            Reading::Share | Reading::Flag | Reading::Size | Reading::Told => typed(value),
        }
    }

    /// Reads what was typed for it; keys that are left out follow from `sizes`.
    ///
    /// # Errors
    /// `InvalidInput` for what cannot be read, with what could be and what is nearest to it.
    pub fn read(&self, text: &str, sizes: &Sizes) -> Result<Value> {
        let refuse = |words: &str| Error::invalid(format!("{} {text}: {words}", self.flag));
        match self.reading {
            Reading::Named(names) => {
                let value = text::read(self.flag, text, (names.known)(sizes))?;
                let check = (names.check)(&value);
                check.map_err(|error| refuse(&error.to_string()))?;
                Ok(value)
            }
            Reading::Share => {
                let share = text.parse().ok().filter(|share: &f32| share.is_finite());
                share
                    .map(Value::from)
                    .ok_or_else(|| refuse("give a number from 0 to 1"))
            }
            Reading::Flag => {
                let flag = text.parse::<bool>().map(Value::from);
                flag.map_err(|_| refuse("give true or false"))
            }
            Reading::CodeBytes => {
                let bytes = text.parse::<u32>().map(Value::from);
                bytes.map_err(|_| refuse("give a number of bytes, 0 for none"))
            }
            Reading::Size | Reading::Told => Err(refuse("it is no choice")),
        }
    }
}

/// What is said of one choice. The names of its fields are keys of `explain --json`.
#[derive(Clone, Debug, Serialize)]
pub struct Sentence {
    /// The part of a design that it belongs to.
    pub axis: &'static str,
    /// What it is chosen by at build.
    pub flag: &'static str,
    /// As it can be typed.
    pub choice: String,
    /// What it means, and what it costs.
    #[serde(flatten)]
    pub words: Words,
}

/// A sentence for each choice of an index of `nodes` vectors that makes a difference to it, axis by
/// axis. They belong to the choices, never to a preset.
pub fn sentences(spec: &IndexSpec, nodes: u32) -> Vec<Sentence> {
    let (stored, of) = (stored(spec), Subject { spec, nodes });
    let sentence = |policy: &Policy| {
        let value = stored.pointer(policy.path)?;
        Some(Sentence {
            axis: policy.axis,
            flag: policy.flag,
            choice: policy.typed(value),
            words: (policy.words)(value, &of)?,
        })
    };
    POLICIES.iter().filter_map(sentence).collect()
}

/// What a spec has for each policy: a name, or a number with its unit.
pub fn chosen(spec: &IndexSpec) -> Vec<(&'static Policy, String)> {
    let stored = stored(spec);
    let name =
        |policy: &'static Policy| Some((policy, policy.name_of(stored.pointer(policy.path)?)));
    POLICIES.iter().filter_map(name).collect()
}

/// A spec as the manifest stores it, with what that leaves out.
pub(super) fn stored(spec: &IndexSpec) -> Value {
    let mut whole = to_value(spec).unwrap_or_default();
    if let Some(fields) = whole.as_object_mut() {
        fields.insert(
            "repair".to_owned(),
            to_value(spec.repair).unwrap_or_default(),
        );
        fields.insert("delta".to_owned(), to_value(spec.delta).unwrap_or_default());
    }
    whole
}
