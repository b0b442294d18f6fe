//! What is explained: a preset, with choices in place of its own or not, or an index.

use std::path::{Path, PathBuf};

use clap::Args;
use pageway::choices::{Sentence, sentences};
use pageway::spec::Shape;
use pageway::{
    BuildOptions, ElementType, Error, ErrorKind, Footprint, IndexSpec, MemoryWish, Metric,
    Overrides, Preset, Result, Sizes,
};
use serde::Serialize;

use super::sizes;
use crate::design::{ChoiceArguments, SizeArguments};
use crate::output::Outcome;
use crate::text;

const EXAMPLES: &str = "\
Examples:
  pageway explain starling
  pageway explain gorgeous --dimension 384 --element f16 --page-size 8192
  pageway explain diskann --placement bnf --harvest near
  pageway explain pageway --rows 10000000 --memory 20%
  pageway explain my.index

Each choice stands as it can be typed at 'pageway build', with what it means and what it costs.
Choices given here replace the preset's own, so that a combination can be looked at, or is refused
with one that can be, before anything is built. Sizes are computed for --rows vectors; an index is
explained by its own. With --memory a design is sized as a build would size it: it takes the form
and the codes that this memory holds.";

/// Explain a design or an index in words: each choice, what it means and costs
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct ExplainArguments {
    /// Name of a preset, or directory of an index
    #[arg(value_name = "NAME")]
    subject: PathBuf,

    #[command(flatten)]
    vectors: VectorArguments,
    #[command(flatten)]
    sizes: SizeArguments,
    #[command(flatten)]
    choices: ChoiceArguments,
}

/// The vectors that sizes are computed for.
#[derive(Debug, Args)]
#[command(next_help_heading = "Vectors that sizes are computed for")]
struct VectorArguments {
    /// How many
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    rows: u32,

    /// Components per vector
    #[arg(long, value_name = "D", default_value_t = 128)]
    dimension: u32,

    /// Element type: f32, f16, bf16, u8, i8 or bit
    #[arg(long, value_name = "TYPE", default_value_t = ElementType::U8)]
    element: ElementType,

    /// Distance: l2, ip (inner product), cosine, l1 (Manhattan), or of bits hamming or jaccard
    #[arg(long, value_name = "METRIC", default_value_t = Metric::L2)]
    metric: Metric,

    /// Bytes per compressed vector [default: a quarter of the dimension, or by --memory]
    #[arg(long, value_name = "N")]
    code_bytes: Option<u32>,

    /// Memory of a search: bytes (200MB) or a share of the raw vectors (20%); a build decides by it
    /// [default: as much as the design likes]
    #[arg(long, value_name = "MEMORY")]
    memory: Option<MemoryWish>,

    /// Form of the design, where it has several: of pageway resident, clustered or on-disk
    /// [default: by --memory, or that for most memory]
    #[arg(long, value_name = "NAME")]
    form: Option<String>,
}

/// A design to explain.
struct Explained {
    name: String,
    summary: String,
    spec: IndexSpec,
    nodes: u32,
}

/// The names of its fields are the stable keys of `--json`.
#[derive(Serialize)]
struct Explanation<'e> {
    name: &'e str,
    summary: &'e str,
    choices: &'e [Sentence],
    sizes: &'e Footprint,
    spec: &'e IndexSpec,
}

impl ExplainArguments {
    /// Explains.
    pub(crate) fn run(&self) -> Result<Outcome> {
        let subject = self.subject()?;
        let footprint = Footprint::of(&subject.spec, subject.nodes)?;
        let sentences = sentences(&subject.spec, subject.nodes);
        let text = format!(
            "{}\n{}\nSizes\n{}",
            text::wrapped(&format!("{}: {}.", subject.name, subject.summary), ""),
            describe(&sentences),
            sizes::describe(&subject.spec, &footprint).render()
        );
        let explanation = Explanation {
            name: &subject.name,
            summary: &subject.summary,
            choices: &sentences,
            sizes: &footprint,
            spec: &subject.spec,
        };
        Outcome::new(text, &explanation)
    }

    fn subject(&self) -> Result<Explained> {
        let overrides = self.choices.overrides(&self.sizes.sizes())?;
        let name = self.subject.display().to_string();
        match name.parse::<Preset>() {
            Ok(preset) => self.preset(preset, overrides),
            Err(unknown) => of_index(&self.subject, &overrides, &unknown),
        }
    }

    fn preset(&self, preset: Preset, overrides: Overrides) -> Result<Explained> {
        let Self { vectors, sizes, .. } = self;
        let shape = vectors.shape();
        let quarter = vectors.dimension.div_ceil(4).max(1);
        let sizes = Sizes {
            code_bytes: vectors.code_bytes.unwrap_or(quarter),
            ..sizes.sizes()
        };
        let as_built = vectors.memory.is_some() || vectors.form.is_some();
        let spec = if as_built {
            let options = self.build_options(preset, overrides);
            options.spec_for(shape, vectors.rows)?
        } else {
            overrides.patch(&preset.spec(shape, &sizes))?
        };
        let mut summary = preset.summary().to_owned();
        if overrides != Overrides::default() {
            summary.push_str("; with other choices than its own");
        }
        let forms = preset.form_names();
        if !forms.is_empty() && !as_built {
            let words = "in its form for most memory of";
            summary.push_str(&format!("; {words} {}: see --memory", forms.join(", ")));
        }
        Ok(Explained {
            name: preset.name().to_owned(),
            summary,
            spec,
            nodes: vectors.rows,
        })
    }

    /// What a build would be told.
    fn build_options(&self, preset: Preset, overrides: Overrides) -> BuildOptions {
        let Self { vectors, sizes, .. } = self;
        sizes
            .options()
            .with_preset(preset)
            .with_metric(vectors.metric)
            .with_memory(vectors.memory)
            .with_form(vectors.form.clone())
            .with_code_bytes(vectors.code_bytes)
            .with_overrides(overrides)
    }
}

impl VectorArguments {
    fn shape(&self) -> Shape {
        Shape {
            dimension: self.dimension,
            element: self.element,
            metric: self.metric,
        }
    }
}

/// What the manifest of an index says.
fn of_index(dir: &Path, overrides: &Overrides, unknown: &Error) -> Result<Explained> {
    if *overrides != Overrides::default() {
        let words = "an index is explained as it is: choices go with a preset";
        return Err(Error::invalid(format!("{}: {words}", dir.display())));
    }
    let described = pageway::describe(dir).map_err(|error| {
        if error.kind() != ErrorKind::NotFound {
            return error;
        }
        let words = format!("{}; and {}", unknown.context(), error.context());
        Error::new(ErrorKind::NotFound, words)
    })?;
    Ok(Explained {
        name: dir.display().to_string(),
        summary: format!("an index written by {}", described.created_by),
        spec: described.spec,
        nodes: u32::try_from(described.nodes).unwrap_or(u32::MAX),
    })
}

/// A paragraph per choice, under the name of its axis.
fn describe(sentences: &[Sentence]) -> String {
    let mut text = String::new();
    let mut axis = "";
    for sentence in sentences {
        if sentence.axis != axis {
            axis = sentence.axis;
            text.push_str(&format!("\n{axis}\n"));
        }
        text.push_str(&format!("  {} {}\n", sentence.flag, sentence.choice));
        let words = format!("{} {}", sentence.words.meaning, sentence.words.cost);
        text.push_str(&text::wrapped(&words, "      "));
    }
    text.trim_start().to_owned()
}
