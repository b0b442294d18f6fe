//! Axis 3: what stays in memory beside the codes.

mod nodes;
#[allow(
    dead_code,
    reason = "drivers take it up with the first preset that keeps pages"
)]
mod pages;
mod selection;

pub(crate) use nodes::NodeCache;
#[allow(unused_imports, reason = "see the module")]
pub(crate) use pages::{Eviction, PageCache};
pub(crate) use selection::breadth_first;
