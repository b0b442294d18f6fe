//! What `pageway search` and `pageway range` share: from what was typed to the report.
//!
//! ```text
//! arguments   files, beam, --show                  call     open, search, write, report
//! reference   what answers are compared with       report   what `--json` and people see
//! ```

mod arguments;
mod call;
mod reference;
mod report;

pub(crate) use arguments::QueryArguments;
pub(crate) use call::Call;
