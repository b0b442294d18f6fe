//! `pageway lab`: the evaluation of disk-resident graph search, on any data.
//!
//! ```text
//! run      a suite into the journal of a run      report    the journal as a page
//! suites   what there is to measure               data      what there is to measure it on
//! predict  a recorded search on a modelled device
//! ```

mod predict;
mod report;
mod run;
mod sets;
mod suites;

use clap::{Args, Subcommand};
use pageway::Result;

use crate::output::Outcome;
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  pageway lab run all --quick --out first-look
  pageway lab report first-look
  pageway lab suites

A run measures every published design on your data and this machine: speed, latency, page reads,
memory, disk, build time; each cell in a process of its own, every number kept with the command that
gave it. A report is one page with plots and tables that can be sent to a colleague.";

/// Measure every design on your data: runs, reports, predictions
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct LabArguments {
    #[command(subcommand)]
    command: LabCommand,
}

#[derive(Debug, Subcommand)]
enum LabCommand {
    /// Measure a suite, cell by cell, and write its report
    Run(Box<run::RunArguments>),
    /// Write the report of a run: HTML, Markdown, CSV, SVG
    Report(report::ReportArguments),
    /// Predict a recorded search on another device, or over more vectors
    Predict(Box<predict::PredictArguments>),
    /// List the data sets, or fetch one
    Data(sets::SetsArguments),
    /// List the suites that come with pageway, or print one
    Suites(suites::SuitesArguments),
}

impl LabArguments {
    /// Does what was asked.
    pub(crate) fn run(&self, session: &Session) -> Result<Outcome> {
        match &self.command {
            LabCommand::Run(arguments) => arguments.run(session),
            LabCommand::Report(arguments) => arguments.run(),
            LabCommand::Predict(arguments) => arguments.run(),
            LabCommand::Data(arguments) => arguments.run(session),
            LabCommand::Suites(arguments) => arguments.run(),
        }
    }
}
