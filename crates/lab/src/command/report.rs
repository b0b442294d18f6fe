//! `pageway lab report`: the journal of a run as a page.

use std::path::PathBuf;

use clap::Args;
use pageway::Result;
use pageway_lab::record::Run;
use pageway_lab::report;

use pageway_shell::output::Outcome;

const EXAMPLES: &str = "\
Examples:
  pageway lab report first-look
  pageway lab report first-look --out somewhere-else

Writes report.html (one file, works offline), report.md and csv/. Everything in them comes from
the records of the run; a run that is not finished can be looked at too.";

/// Write the report of a run: HTML, Markdown, CSV
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct ReportArguments {
    /// Directory of the run
    #[arg(value_name = "RUN")]
    run: PathBuf,

    /// Directory of the report [default: that of the run]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

impl ReportArguments {
    /// Reports.
    pub(crate) fn run(&self) -> Result<Outcome> {
        let report = report::report(&Run::read(&self.run)?)?;
        let written = report::write(&report, self.out.as_ref().unwrap_or(&self.run))?;
        let page = written.first().map(|path| path.display().to_string());
        let mut words = format!("The report: {}", page.unwrap_or_default());
        for warning in &report.warnings {
            words += &format!("\nWarning: {warning}");
        }
        Outcome::new(words, &report)
    }
}
