//! `pageway presets`: the designs, a row each.

use clap::Args;
use pageway::choices::{POLICIES, Policy, Reading, chosen, name_of};
use pageway::spec::Shape;
use pageway::{ElementType, IndexSpec, Metric, Preset, Result, Sizes};
use serde::Serialize;

use crate::output::Outcome;
use crate::text::{self, Table};

const EXAMPLES: &str = "\
Examples:
  pageway presets
  pageway presets --json

A preset is a row of choices, one per policy, and nothing else: 'pageway explain NAME' puts the row
into sentences, 'pageway build --preset NAME' builds it, and every choice can be replaced there.
'pageway build' without a name builds our own design, 'pageway'.";

/// List the designs, ours and the published ones, a row each
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct PresetsArguments {}

/// One row. The names of its fields are the stable keys of `--json`.
#[derive(Serialize)]
struct PresetRow {
    name: &'static str,
    storage: String,
    layout: String,
    cache: String,
    execution: String,
    update: String,
    summary: &'static str,
    /// The whole row, for vectors of a usual shape.
    spec: IndexSpec,
}

#[derive(Serialize)]
struct PresetsReport {
    presets: Vec<PresetRow>,
}

impl PresetsArguments {
    /// Lists.
    #[expect(clippy::unused_self, reason = "all commands run alike")]
    pub(crate) fn run(&self) -> Result<Outcome> {
        let presets = Preset::ALL.into_iter().map(PresetRow::of).collect();
        let report = PresetsReport { presets };
        Outcome::new(report.describe(), &report)
    }
}

impl PresetRow {
    fn of(preset: Preset) -> Self {
        let shape = Shape {
            dimension: 128,
            element: ElementType::F32,
            metric: Metric::L2,
        };
        let spec = preset.spec(shape, &Sizes::default());
        Self {
            name: preset.name(),
            storage: storage_words(&spec),
            layout: names(&spec, "Layout"),
            cache: cache_words(&spec),
            execution: names(&spec, "Execution"),
            update: name_of(&spec.update),
            summary: preset.summary(),
            spec,
        }
    }
}

impl PresetsReport {
    fn describe(&self) -> String {
        let (layout, execution) = (head("Layout"), head("Execution"));
        let heads = [
            "design",
            "storage (codes)",
            &layout,
            "cache",
            &execution,
            "update",
        ];
        let mut table = Table::left(&heads);
        let mut summaries = String::new();
        for row in &self.presets {
            let cells = [
                row.name,
                &row.storage,
                &row.layout,
                &row.cache,
                &row.execution,
                &row.update,
            ];
            table.row(cells.map(str::to_owned).to_vec());
            summaries.push_str(&text::entry(row.name, row.summary));
        }
        format!("{}\n{summaries}", table.render())
    }
}

fn storage_words(spec: &IndexSpec) -> String {
    let mut words = vec![name_of(&spec.storage.codes)];
    if spec.storage.second_quantizer.is_some() {
        words.push("two codes".to_owned());
    }
    if spec.storage.vectors.is_separate() {
        words.push("vectors separate".to_owned());
    }
    words.join(", ")
}

fn cache_words(spec: &IndexSpec) -> String {
    let cache = &spec.cache;
    let mut words = Vec::new();
    if !cache.nodes.is_none() {
        words.push(name_of(&cache.nodes));
    }
    if !cache.pages.is_none() {
        words.push(format!("{} pages", name_of(&cache.pages)));
    }
    if words.is_empty() {
        words.push("none".to_owned());
    }
    words.join(", ")
}

/// The policies of an axis whose choices have names.
fn policies(axis: &str) -> impl Iterator<Item = &'static Policy> {
    let is_named = |policy: &&Policy| matches!(policy.reading, Reading::Named(_));
    POLICIES
        .iter()
        .filter(is_named)
        .filter(move |policy| policy.axis == axis)
}

/// What a design chooses for them.
fn names(spec: &IndexSpec, axis: &str) -> String {
    let chosen = chosen(spec);
    let name = |policy: &Policy| {
        let mut all = chosen.iter();
        let (_, name) = all.find(|(one, _)| one.name == policy.name)?;
        Some(name.as_str())
    };
    let names: Vec<&str> = policies(axis).filter_map(name).collect();
    names.join(", ")
}

/// An axis, and what of it is named.
fn head(axis: &str) -> String {
    let names: Vec<&str> = policies(axis).map(|policy| policy.name).collect();
    format!("{} ({})", axis.to_lowercase(), names.join(", "))
}
