//! Axis 3: what stays in memory beside the codes.

mod nodes;
mod pages;
mod selection;

pub(crate) use nodes::{ImageShape, NodeCache};
pub(crate) use pages::{Eviction, PageCache};
pub(crate) use selection::{ListRead, breadth_first, most_visited};
