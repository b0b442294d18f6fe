//! `pageway-import-qdrant`: a collection of a Qdrant server or snapshot becomes indexes, reached as
//! `pageway import-qdrant` where it lies beside `pageway`.
//!
//! ```text
//! arguments   what was typed
//! source      what is asked: one of the next two
//! client      requests to a server, repeated where it is busy
//! snapshot    requests to a process that reads a snapshot, snapshot.py
//! collection  what is said of a collection
//! point       points as they are scrolled
//! target      an index that is filled
//! state       how far it got, in a file beside the indexes
//! import      page after page; then a merge and a comparison
//! compare     answers of the collection, and of the index
//! report      what is shown at the end
//! file        whole files, read and replaced
//! ```
//!
//! A page is durable in all indexes before the state says so, and goes in by ids, so that a page
//! which is read again changes nothing.

#![expect(
    clippy::format_push_string,
    reason = "reports are short; plain appends read best"
)]

mod arguments;
mod client;
mod collection;
mod compare;
mod file;
mod import;
mod point;
mod report;
mod snapshot;
mod source;
mod state;
mod target;

use std::process::ExitCode;

use clap::Parser;
use pageway_shell::program;
use pageway_shell::session::Session;

use crate::arguments::Arguments;

fn main() -> ExitCode {
    match Arguments::try_parse() {
        Ok(arguments) => {
            let session = Session::start(arguments.quiet, arguments.json);
            let imported = import::run(&arguments, &session);
            program::conclude(imported, arguments.json)
        }
        Err(usage) => program::explain(usage.render(), usage.use_stderr()),
    }
}
