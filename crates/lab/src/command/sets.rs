//! `pageway lab data`: the data sets that there are, fetching them, and growing larger ones.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use pageway::{Result, format_bytes};
use pageway_lab::data::{self, Listed, Place, Registry};

use pageway_shell::output::Outcome;
use pageway_shell::session::Session;
use pageway_shell::text::{self, Table};

const EXAMPLES: &str = "\
Examples:
  pageway lab data
  pageway lab data --registry data.toml
  pageway lab data sift1m --directory ~/vectors
  pageway lab data grow base.u8bin --rows 10000000 --out ten-million.u8bin

A file that declares data sets of your own looks like this; paths are relative to it:
  [articles]
  metric = \"cosine\"
  base = \"articles.fbin\"
  queries = \"questions.fbin\"
Cuts go by name: articles-300k is its first 300,000 rows.";

/// List the data sets, or fetch one
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct SetsArguments {
    #[command(subcommand)]
    make: Option<Make>,

    /// Data set to fetch, or a cut of one
    #[arg(value_name = "NAME")]
    name: Option<String>,

    /// File that declares data sets of your own
    #[arg(long, value_name = "FILE")]
    registry: Option<PathBuf>,

    /// Directory that data sets are fetched to
    #[arg(long, value_name = "DIR", default_value = "lab-data")]
    directory: PathBuf,
}

#[derive(Debug, Subcommand)]
enum Make {
    /// Write a larger set: the rows of a file, and made ones between near neighbours
    Grow(GrowArguments),
}

#[derive(Debug, Args)]
struct GrowArguments {
    /// File of the real rows, which are held in memory
    #[arg(value_name = "FILE")]
    base: PathBuf,

    /// Rows of the set that is written; the real ones come first
    #[arg(long, value_name = "N")]
    rows: u64,

    /// Seed of the made rows
    #[arg(long, value_name = "S", default_value_t = 42)]
    seed: u64,

    /// File to write, in the format of its extension
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

impl GrowArguments {
    fn run(&self, session: &Session) -> Result<Outcome> {
        let size = (self.rows, self.seed);
        let grown = data::grow(&self.base, size, &self.out, &session.progress)?;
        let said = format!(
            "{}: {} real rows, and {} that were made between near neighbours",
            self.out.display(),
            text::count(grown.real_rows),
            text::count(grown.made_rows),
        );
        Outcome::new(said, &grown)
    }
}

impl SetsArguments {
    /// Lists, fetches or grows.
    pub(crate) fn run(&self, session: &Session) -> Result<Outcome> {
        if let Some(Make::Grow(arguments)) = &self.make {
            return arguments.run(session);
        }
        let registry = match &self.registry {
            Some(path) => Registry::read(path)?,
            None => Registry::builtin()?,
        };
        let place = Place::new(&self.directory);
        if let Some(name) = &self.name {
            let (set, cut) = registry.find(name)?;
            let paths = data::fetch(set, cut, &place, &session.progress)?;
            let lines: Vec<String> = paths
                .iter()
                .map(|path| path.display().to_string())
                .collect();
            return Outcome::new(lines.join("\n"), &paths);
        }
        let sets = data::list(&registry, &place)?;
        Outcome::new(describe(&sets), &sets)
    }
}

fn describe(sets: &[Listed]) -> String {
    let mut table = Table::left(&["name", "rows", "dimension", "metric", "raw", "here", ""]);
    let unknown = || "?".to_owned();
    for set in sets {
        table.row(vec![
            set.name.clone(),
            set.rows.map_or_else(unknown, text::count),
            set.dimension
                .map_or_else(unknown, |dimension| dimension.to_string()),
            set.metric.to_string(),
            set.bytes.map_or_else(unknown, format_bytes),
            if set.here { "yes" } else { "no" }.to_owned(),
            set.about.clone(),
        ]);
    }
    table.render()
}
