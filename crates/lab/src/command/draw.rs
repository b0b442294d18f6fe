//! `pageway lab draw`: one index, or walks through it, as a page.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use pageway::Result;
use pageway_lab::{model, picture, report};
use pageway_shell::output::Outcome;
use pageway_shell::session::Session;

const EXAMPLES: &str = "\
Examples:
  pageway lab draw index my.index --out my-index.html
  pageway lab draw walk my.trace --out walks.html

What 'pageway inspect --html' and 'pageway search --trace-html' call. Pages work offline.";

/// Draw an index, or the walks of a recorded search, on a page
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct DrawArguments {
    /// What to draw
    #[arg(value_enum, value_name = "WHAT")]
    what: Subject,

    /// Directory of the index, or file from 'pageway search --trace'
    #[arg(value_name = "FROM")]
    from: PathBuf,

    /// Page to write
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

/// What there is to draw.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Subject {
    Index,
    Walk,
}

impl DrawArguments {
    /// Draws.
    pub(crate) fn run(&self, session: &Session) -> Result<Outcome> {
        let drawn = match self.what {
            Subject::Index => picture::index(&self.from, &session.progress)?,
            Subject::Walk => picture::walk(&model::read_trace(&self.from)?),
        };
        report::write_page(&drawn, &self.out)?;
        Outcome::new(format!("The page: {}", self.out.display()), &drawn)
    }
}
