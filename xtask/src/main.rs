//! Repository chores, run as `cargo xtask <chore>`.
//!
//! Needs nothing but the standard library, so it builds in seconds on a fresh machine. `tidy`
//! checks the house rules that neither rustfmt nor clippy can see, `test` runs every Rust test.

mod test;
mod tidy;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.split_first() {
        Some((chore, rest)) if chore == "test" => test::run(rest),
        Some((chore, _)) if chore == "tidy" => tidy::run(),
        _ => usage(),
    }
}

#[expect(
    clippy::print_stderr,
    reason = "the terminal is the only reader of this text"
)]
fn usage() -> ExitCode {
    eprintln!(
        "usage: cargo xtask tidy                 check sizes, names, imports and leftovers\n       \
         cargo xtask test [ARGUMENTS]     every Rust test; arguments are those of cargo test"
    );
    ExitCode::from(2)
}
