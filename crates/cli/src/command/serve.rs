//! `pageway serve` and `pageway route`: hand over to the program `pageway-server`, which is
//! installed where it is wanted.

use std::ffi::OsString;

use clap::Args;
use pageway::Result;

use super::other::Other;
use crate::output::Outcome;

const EXAMPLES: &str = "\
Examples:
  pageway serve --help
  pageway serve --data-dir ./data
  pageway serve --data-dir ./data --memory 256MB";

const ROUTE_EXAMPLES: &str = "\
Examples:
  pageway route --help
  pageway route --map map.toml
  pageway route --map map.toml --allow-partial";

const SERVER: Other = Other {
    name: "pageway-server",
    advice: "`cargo install --path crates/server` in the source of pageway installs it",
    examples: EXAMPLES,
};

const ROUTER: Other = Other {
    examples: ROUTE_EXAMPLES,
    ..SERVER
};

/// Serve collections over HTTP to clients of Qdrant (the program pageway-server)
#[derive(Debug, Args)]
#[command(disable_help_flag = true, after_long_help = EXAMPLES)]
pub(crate) struct ServeArguments {
    /// What pageway-server is asked; --help lists it
    #[arg(
        value_name = "ARGUMENTS",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    arguments: Vec<OsString>,
}

impl ServeArguments {
    /// Becomes the other program.
    pub(crate) fn run(&self) -> Result<Outcome> {
        SERVER.hand_over(std::iter::empty(), &self.arguments)
    }
}

/// Answer for collections whose shards lie on several servers (the program pageway-server)
#[derive(Debug, Args)]
#[command(disable_help_flag = true, after_long_help = ROUTE_EXAMPLES)]
pub(crate) struct RouteArguments {
    /// What pageway-server is asked; --help lists it
    #[arg(
        value_name = "ARGUMENTS",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    arguments: Vec<OsString>,
}

impl RouteArguments {
    /// Becomes the other program.
    pub(crate) fn run(&self) -> Result<Outcome> {
        ROUTER.hand_over(std::iter::once("route"), &self.arguments)
    }
}
