//! What the programs `pageway`, `pageway-lab` and `pageway-server` share, so that none depends on
//! another.
//!
//! ```text
//! output     the only door to standard output and standard error
//! progress   bars with time left; interrupt turns Ctrl-C into cancellation
//! session    both, for one run of one command
//! text       numbers, tables and durations for people
//! program    from what was typed to an exit code, and where the other program is
//! trace      the file of a recorded search, which one program writes and the other reads
//! ```

#![expect(
    clippy::format_push_string,
    reason = "reports are short; plain appends read best"
)]

mod interrupt;
pub mod output;
pub mod program;
pub mod progress;
pub mod session;
pub mod text;
pub mod trace;
