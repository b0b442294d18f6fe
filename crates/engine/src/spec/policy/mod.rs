//! The policies of a spec, as data: the one place that knows what there is to choose.
//!
//! ```text
//! table       every policy: its name, where a spec has it, what it is, what there is to choose
//! choice      what a policy's own file says of it: the known choices, and the words for each
//! text        a choice as it is typed, name:key=value,...; derived from how a spec stores it
//! wishes      choices as Python has them: names, or fields of the design's own choice
//! overrides   choices in place of a preset's: patches of the JSON of its spec
//! words       what is said of a choice
//! ```
//!
//! The command line, Python, explanations, plans and lists of presets walk the table. A new variant
//! is written into the file of its policy, and nowhere else here.

mod choice;
mod overrides;
mod table;
mod text;
mod wishes;
mod words;

pub use choice::{Choice, Names, Reading};
pub use overrides::{CacheOverrides, Overrides, Patch};
pub use table::{POLICIES, Policy, Sentence, choices, chosen, sentences};
pub use text::{find, name_of, parse, typed};
pub use wishes::Wishes;
pub(in crate::spec) use words::percent;
pub use words::{Subject, Words, count};
