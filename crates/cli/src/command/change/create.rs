//! `pageway create`: an index without a row.

use std::path::PathBuf;

use clap::Args;
use pageway::{
    CreateOptions, ElementType, Error, MemoryWish, Metric, Preset, Result, VectorShape, Writer,
};
use serde::Serialize;

use crate::output::Outcome;
use crate::system;
use crate::text;

const EXAMPLES: &str = "\
Examples:
  pageway create --out my.index --dimension 384 --metric cosine
  pageway create --out my.index --dimension 128 --metric l2 --element u8 --memory 64MB
  pageway create --out my.index --dimension 768 --metric ip --preset diskann --expected 5000000

The first vectors get the form of the design that --memory holds for those that are expected. From then
on every merge of all chooses form and codes for as many as there are.
Then 'pageway insert' puts vectors in. An index that 'pageway build' made can be changed as well.";

/// Make an empty index, to be filled by insert.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct CreateArguments {
    /// Directory of the index, which is not there yet or empty
    #[arg(long, value_name = "DIR")]
    out: PathBuf,

    /// Components of a vector
    #[arg(long, value_name = "N")]
    dimension: u32,

    /// Distance: l2, ip (inner product), cosine, l1 (Manhattan), or of bits hamming or jaccard
    #[arg(long, value_name = "METRIC")]
    metric: Metric,

    /// Element type: f32, f16, bf16, u8, i8 or bit
    #[arg(long, value_name = "TYPE", default_value_t = ElementType::F32)]
    element: ElementType,

    /// Design, as in build
    #[arg(long, value_name = "NAME", default_value_t = Preset::default())]
    preset: Preset,

    /// Form of the design [default: the first that memory holds]
    #[arg(long, value_name = "NAME")]
    form: Option<String>,

    /// Memory of a search, in bytes, however many vectors come [default: 64MB, more as they come]
    #[arg(long, value_name = "MEMORY")]
    memory: Option<MemoryWish>,

    /// Vectors to come, which the memory is divided for [default: so many that they are five times
    /// the memory, or as many as it holds codes for]
    #[arg(long, value_name = "N")]
    expected: Option<u64>,

    /// What values of attributes must be, as in build
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,

    /// Longest adjacency list (R)
    #[arg(long, value_name = "R", default_value_t = 48)]
    degree: u32,
}

#[derive(Serialize)]
struct Created<'c> {
    index: String,
    dimension: u32,
    element: ElementType,
    metric: Metric,
    preset: &'c str,
}

impl CreateArguments {
    /// Creates.
    pub(crate) fn run(&self) -> Result<Outcome> {
        let shape = VectorShape {
            dimension: self.dimension,
            element: self.element,
        };
        let options = CreateOptions::new(shape, self.metric)
            .with_preset(self.preset)
            .with_form(self.form.clone())
            .with_memory(self.memory_bytes()?)
            .with_expected(self.expected)
            .with_degree(self.degree)
            .with_schema(
                self.schema
                    .as_deref()
                    .map(system::read_schema)
                    .transpose()?,
            );
        Writer::create(&self.out, &options)?;
        let out = self.out.display();
        let text = format!(
            "Created {out}, empty, for {shape}, {}.\n\nNext: pageway insert {} --data FILE",
            self.metric,
            text::word(&out.to_string())
        );
        let created = Created {
            index: out.to_string(),
            dimension: self.dimension,
            element: self.element,
            metric: self.metric,
            preset: self.preset.name(),
        };
        Outcome::new(text, &created)
    }

    fn memory_bytes(&self) -> Result<Option<u64>> {
        match self.memory {
            None => Ok(None),
            Some(MemoryWish::Bytes(bytes)) => Ok(Some(bytes)),
            Some(_) => Err(Error::invalid(
                "--memory is a share of the vectors, and there are none yet: write bytes, such as \
                 64MB",
            )),
        }
    }
}
