//! `pageway lab suites`: what there is to measure.

use clap::Args;
use pageway::Result;
use pageway_lab::suite::{Suite, builtin_suites};

use pageway_shell::output::Outcome;
use pageway_shell::text::Table;

const EXAMPLES: &str = "\
Examples:
  pageway lab suites
  pageway lab suites all > mine.toml

A suite is a file: experiments, each with what it varies. Print one, change it, and run yours with
'pageway lab run mine.toml'.";

/// List the suites that come with pageway, or print one
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct SuitesArguments {
    /// Suite to print as TOML
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

impl SuitesArguments {
    /// Lists, or prints.
    pub(crate) fn run(&self) -> Result<Outcome> {
        if let Some(name) = &self.name {
            let suite = Suite::builtin(name)?;
            return Outcome::new(suite.to_toml()?, &suite);
        }
        let suites = builtin_suites()?;
        let mut table = Table::left(&["suite", "experiments", "designs"]);
        for suite in &suites {
            let experiments = suite.experiments.len().to_string();
            let designs = suite.experiments.first().map(|experiment| {
                let own = &experiment.axes.data.designs;
                let named = if own.is_empty() {
                    &suite.axes.data.designs
                } else {
                    own
                };
                named.join(" ")
            });
            table.row(vec![
                suite.name.clone(),
                experiments,
                designs.unwrap_or_default(),
            ]);
        }
        Outcome::new(table.render(), &suites)
    }
}
