//! `pageway presets`: the designs, a row each.

use clap::Args;
use pageway::choices::name_of;
use pageway::spec::{NodeCacheSpec, PageCacheSpec, Shape, VectorStorage};
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
            layout: joined(&[name_of(&spec.layout.codec), name_of(&spec.layout.placement)]),
            cache: cache_words(&spec),
            execution: joined(&[
                name_of(&spec.execution.entry),
                name_of(&spec.execution.schedule),
                name_of(&spec.execution.harvest),
                name_of(&spec.execution.refine),
                name_of(&spec.execution.stop),
            ]),
            update: name_of(&spec.update),
            summary: preset.summary(),
            spec,
        }
    }
}

impl PresetsReport {
    fn describe(&self) -> String {
        let heads = [
            "design",
            "storage (codes)",
            "layout",
            "cache",
            "execution (entry, schedule, harvest, refine, stop)",
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
    if spec.storage.vectors == VectorStorage::Separate {
        words.push("vectors separate".to_owned());
    }
    joined(&words)
}

fn cache_words(spec: &IndexSpec) -> String {
    let cache = &spec.cache;
    let mut words = Vec::new();
    if cache.nodes != NodeCacheSpec::None {
        words.push(name_of(&cache.nodes));
    }
    if cache.pages != PageCacheSpec::None {
        words.push(format!("{} pages", name_of(&cache.pages)));
    }
    if words.is_empty() {
        words.push("none".to_owned());
    }
    joined(&words)
}

fn joined(words: &[String]) -> String {
    words.join(", ")
}
