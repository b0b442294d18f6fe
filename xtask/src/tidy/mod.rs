//! `cargo xtask tidy`: the house rules that a tool can check, so that no review has to.
//!
//! ```text
//! git ls-files ─> SourceFile ─> each check ─> Finding (warning | failure) ─> exceptions ─> report
//! ```
//!
//! A check is one small file under `check/` and sees one file at a time. It reads Rust through two
//! layers made by `scan`: the code with strings and comments blanked, and the comments alone. That
//! is enough for every rule here and needs no parser. Failures make the command exit with 1;
//! warnings are the softer limits of the house and only print. Each check is tested on an input
//! that must fail.

mod check;
mod exceptions;
mod finding;
mod function;
mod pattern;
mod policy;
mod run;
mod scan;
mod source;
mod type_name;
mod word;

pub(crate) use run::run;
