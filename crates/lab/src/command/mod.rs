//! `pageway lab`: the evaluation of disk-resident graph search, on any data.
//!
//! ```text
//! run      a suite into the journal of a run      report    the journal as a page
//! suites   what there is to measure               data      what there is to measure it on
//! predict  a recorded search on a modelled device        draw      an index, or walks
//! stream   an index through a runbook of changes         filter   searches among rows that match
//! updates  searches beside inserts and deletes           cluster  a search over many machines
//! ```

mod cluster;
mod draw;
mod filter;
mod predict;
mod records;
mod report;
mod run;
mod sets;
mod stream;
mod suites;
mod updates;
mod vectors;

use clap::{Parser, Subcommand};
use pageway::Result;
use pageway_shell::output::Outcome;
use pageway_shell::session::Session;

const EXAMPLES: &str = "\
Examples:
  pageway lab run all --quick --out first-look
  pageway lab report first-look
  pageway lab suites

A run measures every published design on your data and this machine: speed, latency, page reads,
memory, disk, build time; each cell in a process of its own, every number kept with the command that
gave it. A report is one page with plots and tables that can be sent to a colleague.";

/// What can be typed. Each command's arguments stand in the file of that command.
#[derive(Debug, Parser)]
#[command(
    name = "pageway-lab",
    bin_name = "pageway lab",
    about = "Measure every design on your data: runs, reports, predictions",
    version,
    max_term_width = 100,
    disable_help_subcommand = true,
    after_long_help = EXAMPLES
)]
pub(crate) struct Lab {
    /// Print one JSON object instead of text, and no progress
    #[arg(long, global = true, display_order = 900)]
    pub(crate) json: bool,

    /// Show no progress
    #[arg(long, short, global = true, display_order = 901)]
    pub(crate) quiet: bool,

    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Measure a suite, cell by cell, and write its report
    Run(Box<run::RunArguments>),
    /// Write the report of a run: HTML, Markdown, CSV
    Report(report::ReportArguments),
    /// Predict a recorded search on another device, or over more vectors
    Predict(Box<predict::PredictArguments>),
    /// Draw an index, or the walks of a recorded search, on a page
    Draw(draw::DrawArguments),
    /// Let an index live through a runbook of changes
    Stream(Box<stream::StreamArguments>),
    /// Search beside inserts and deletes, design by design
    Updates(Box<updates::UpdatesArguments>),
    /// Search among rows that match, by how many do and where they lie
    Filter(Box<filter::FilterArguments>),
    /// Replay recorded searches over many machines, three ways of laying rows out
    Cluster(Box<cluster::ClusterArguments>),
    /// List the data sets, or fetch one
    Data(sets::SetsArguments),
    /// List the suites that come with pageway, or print one
    Suites(suites::SuitesArguments),
}

impl Lab {
    /// Does what was asked.
    pub(crate) fn run(&self, session: &Session) -> Result<Outcome> {
        match &self.command {
            Command::Run(arguments) => arguments.run(session),
            Command::Report(arguments) => arguments.run(),
            Command::Predict(arguments) => arguments.run(),
            Command::Draw(arguments) => arguments.run(session),
            Command::Stream(arguments) => arguments.run(session),
            Command::Updates(arguments) => arguments.run(session),
            Command::Filter(arguments) => arguments.run(session),
            Command::Cluster(arguments) => arguments.run(session),
            Command::Data(arguments) => arguments.run(session),
            Command::Suites(arguments) => arguments.run(),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn every_command_teaches_by_example_and_explains_its_arguments() {
        Lab::command().debug_assert();
        for command in Lab::command().get_subcommands() {
            let name = command.get_name();
            let after = command.get_after_long_help().map(ToString::to_string);
            let after = after.unwrap_or_default();
            assert!(after.contains(&format!("pageway lab {name}")), "{name}");
            for argument in command.get_arguments() {
                assert!(argument.get_help().is_some(), "{name} {argument}");
            }
        }
    }
}
