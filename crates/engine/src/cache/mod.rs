//! Axis 3: what stays in memory beside the codes.

mod images;
mod lists;
mod nodes;
mod pages;
mod selection;
mod slots;

pub(crate) use images::{ImageCache, ImageShape};
pub(crate) use lists::{ListCache, ListShape};
pub(crate) use nodes::NodeCache;
pub(crate) use pages::{Eviction, PageCache};
pub(crate) use selection::{ListRead, breadth_first, most_visited};
