//! Repository chores, run as `cargo xtask <chore>`.
//!
//! Needs nothing but the standard library, so it builds in seconds on a fresh machine. The one
//! chore today is `tidy`, which checks the house rules that neither rustfmt nor clippy can see.

mod tidy;

use std::process::ExitCode;

fn main() -> ExitCode {
    let chore = std::env::args().nth(1);
    match chore.as_deref() {
        Some("tidy") => tidy::run(),
        _ => usage(),
    }
}

#[expect(
    clippy::print_stderr,
    reason = "the terminal is the only reader of this text"
)]
fn usage() -> ExitCode {
    eprintln!("usage: cargo xtask tidy    check sizes, names, imports and leftovers");
    ExitCode::from(2)
}
