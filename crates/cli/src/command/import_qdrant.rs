//! `pageway import-qdrant`: hands over to the program `pageway-import-qdrant`, which is installed
//! where it is wanted.

use std::ffi::OsString;

use clap::Args;
use pageway::Result;

use super::other::Other;
use crate::output::Outcome;
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  pageway import-qdrant --help
  pageway import-qdrant --url http://localhost:6333 --collection texts --out texts.index";

const IMPORTER: Other = Other {
    name: "pageway-import-qdrant",
    advice: "`cargo install --path crates/import` in the source of pageway installs it",
    examples: EXAMPLES,
};

/// Import a collection of a Qdrant server (the program pageway-import-qdrant)
#[derive(Debug, Args)]
#[command(disable_help_flag = true, after_long_help = EXAMPLES)]
pub(crate) struct ImportQdrantArguments {
    /// What pageway-import-qdrant is asked; --help lists it
    #[arg(
        value_name = "ARGUMENTS",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    arguments: Vec<OsString>,
}

impl ImportQdrantArguments {
    /// Becomes the other program, which has its own way to stop and gives the exit code.
    pub(crate) fn run(&self, session: &Session) -> Result<Outcome> {
        IMPORTER.hand_over(session.flags(), &self.arguments)
    }
}
