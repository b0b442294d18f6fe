//! An index that changes, against a map of the rows that it should hold.

mod attributes;
mod background;
mod churn;
mod concurrent;
mod drift;
mod joined;
mod linked;
mod memory;
mod mixed;
mod model;
mod names;
mod overwrite;
mod patch;
mod recovery;
mod redesign;
mod repair;
mod rewrite;
mod small;
mod unread;
