//! One file per command: its arguments, the options they resolve to, and the report.

pub(crate) mod build;
pub(crate) mod calibrate;
pub(crate) mod change;
pub(crate) mod completions;
pub(crate) mod convert;
pub(crate) mod count;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod ground_truth;
pub(crate) mod import;
pub(crate) mod inspect;
pub(crate) mod man;
pub(crate) mod open;
pub(crate) mod other;
pub(crate) mod plan;
pub(crate) mod presets;
pub(crate) mod publish;
pub(crate) mod query;
pub(crate) mod range;
pub(crate) mod recall;
pub(crate) mod scroll;
pub(crate) mod search;
pub(crate) mod slice;
pub(crate) mod verify;
