//! Pages that `pageway-lab` draws: it has the plots, so that this program need not carry them.

use std::path::Path;
use std::process::{Command, Stdio};

use pageway::{Error, ErrorKind, Result};
use pageway_shell::program;

/// How to get the program.
const ADVICE: &str = "it draws pages; `cargo install --path crates/lab` in the source of pageway \
                      installs it";

/// Draws `subject`, an index or the file of a walk, to the file `page`.
///
/// # Errors
/// `NotFound` without the program; what it says, else.
pub(crate) fn draw(what: &str, subject: &Path, page: &Path) -> Result<()> {
    let lab = program::find("pageway-lab", ADVICE)?;
    let mut lab = Command::new(lab);
    lab.args(["--quiet", "draw", what])
        .arg(subject)
        .arg("--out")
        .arg(page);
    let ended = lab.stdout(Stdio::null()).status();
    let ended = ended.map_err(|error| Error::from(error).within("pageway-lab"))?;
    if ended.success() {
        return Ok(());
    }
    // It has said why.
    let words = format!("{}: was not drawn", page.display());
    Err(Error::new(ErrorKind::Io, words))
}
