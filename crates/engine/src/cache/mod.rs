//! Axis 3: what stays in memory beside the codes.

mod frames;
mod images;
mod lists;
mod nodes;
mod recent;
mod selection;
mod slots;

pub(crate) use frames::{Eviction, FrameCache};
pub(crate) use images::{ImageCache, ImageShape};
pub(crate) use lists::{ListCache, ListShape};
pub(crate) use nodes::NodeCache;
pub(crate) use recent::RecentRecords;
pub(crate) use selection::{ListRead, breadth_first, most_visited};
