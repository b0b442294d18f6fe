//! What `pageway search` and `pageway range` share: from what was typed to the report.
//!
//! ```text
//! arguments   files, beam, --show                  call     open, search, write, report
//! reference   what answers are compared with       report   what `--json` and people see
//! filter      what rows must be
//! ```

mod arguments;
mod call;
mod filter;
mod reference;
mod report;

pub(crate) use arguments::QueryArguments;
pub(crate) use call::Call;
pub(crate) use filter::FilterArguments;
