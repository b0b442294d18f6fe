//! Axis 3: what stays in memory beside the codes.

mod nodes;
mod selection;

pub(crate) use nodes::NodeCache;
pub(crate) use selection::breadth_first;
