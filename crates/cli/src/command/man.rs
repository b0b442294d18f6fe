//! `pageway man`: the manual, from the same words as `--help`.

use std::path::PathBuf;

use clap::{Args, Command};
use clap_mangen::Man;
use pageway::{Error, Result};

use crate::output::Outcome;
use crate::system;

const EXAMPLES: &str = "\
Examples:
  pageway man --out ~/.local/share/man/man1
  pageway man --out . && man ./pageway-build.1";

/// Write the manual: a page for each command.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct ManArguments {
    /// Directory of the pages: pageway.1, pageway-build.1 and so on
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
}

impl ManArguments {
    /// Writes the pages of the program and of each of its commands.
    pub(crate) fn run(&self, program: Command) -> Result<Outcome> {
        system::create_directory(&self.out)?;
        let mut program = program.disable_help_subcommand(true);
        program.build();
        let name = program.get_name().to_owned();
        let commands = program.get_subcommands().cloned();
        let commands = commands.map(|command| {
            let page = format!("{name}-{}", command.get_name());
            (page.clone(), command.display_name(page))
        });
        let mut pages = Vec::new();
        for (page, command) in commands.chain([(name.clone(), program.clone())]) {
            let mut text = Vec::new();
            let written = Man::new(command).render(&mut text);
            written.map_err(|error| Error::from(error).within("a page of the manual"))?;
            let path = self.out.join(format!("{page}.1"));
            system::write_text(&path, &String::from_utf8_lossy(&text))?;
            pages.push(path);
        }
        let words = format!("{} pages in {}", pages.len(), self.out.display());
        Outcome::new(words, &serde_json::json!({"pages": pages}))
    }
}
