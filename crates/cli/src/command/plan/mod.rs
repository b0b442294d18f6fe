//! `pageway plan`: which design, with which sizes, for a memory budget and a recall.
//!
//! ```text
//! arguments   what was typed, and the run        making   the plan, for `pageway build --plan` too
//! ```

mod arguments;
mod making;

pub(crate) use arguments::PlanArguments;
pub(crate) use making::{PlanFiles, make, pinned};
