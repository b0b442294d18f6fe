//! `pageway verify`: every byte of an index against its checksum.

use std::path::PathBuf;

use clap::Args;
use pageway::{ErrorKind, Result, VerifyReport, format_bytes};
use serde::Serialize;

use crate::output::Outcome;
use crate::place::CacheArguments;
use crate::session::Session;
use crate::system;
use crate::text::{self, Table};

const EXAMPLES: &str = "\
Examples:
  pageway verify my.index
  pageway verify my.index --json

Reads every file of the index once, at the speed of the disk, in constant memory; changes nothing.
Exit code 0: sound. Exit code 5: damaged; each problem is listed. Restore a copy of the directory or
build again.";

/// Check every byte of an index.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct VerifyArguments {
    /// Directory of the index, or its URL
    #[arg(value_name = "DIR")]
    index: PathBuf,

    #[command(flatten)]
    cache: CacheArguments,
}

#[derive(Serialize)]
struct VerifyOutcome<'r> {
    sound: bool,
    seconds: f64,
    #[serde(flatten)]
    report: &'r VerifyReport,
}

impl VerifyArguments {
    /// Verifies. Problems are a result, with the exit code of damage.
    pub(crate) fn run(&self, session: &Session) -> Result<Outcome> {
        let place = self.cache.place(&self.index)?;
        let started = system::now();
        let report = pageway::verify_on(&place.vfs, &place.dir, &session.progress)?;
        let sound = report.problems.is_empty();
        let seconds = started.elapsed().as_secs_f64();
        let text = self.describe(&report, seconds);
        let verified = VerifyOutcome {
            sound,
            seconds,
            report: &report,
        };
        Ok(Outcome::new(text, &verified)?.failed_if(!sound, ErrorKind::Corrupt))
    }

    fn describe(&self, report: &VerifyReport, seconds: f64) -> String {
        let mut table = Table::new(&["file", "pages", "bytes"]);
        for file in &report.files {
            table.row(vec![
                file.name.clone(),
                text::count(file.pages),
                text::count(file.bytes),
            ]);
        }
        let bytes = report.files.iter().map(|file| file.bytes).sum();
        let in_log = match report.log_records {
            0 => String::new(),
            records => format!(" and {} in the log", text::count(records)),
        };
        let verdict = match report.problems.len() {
            0 => format!("sound. {} records{in_log}", text::count(report.records)),
            1 => "DAMAGED, 1 problem".to_owned(),
            problems => format!("DAMAGED, {problems} problems"),
        };
        let mut lines = format!(
            "{}: {verdict}, {} read in {}.\n\n{}",
            self.index.display(),
            format_bytes(bytes),
            text::seconds(seconds),
            table.render()
        );
        for problem in &report.problems {
            lines.push_str("\n  ");
            lines.push_str(problem);
        }
        lines
    }
}
