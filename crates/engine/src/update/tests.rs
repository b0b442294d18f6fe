//! An index that changes, against a map of the rows that it should hold.

mod attributes;
mod background;
mod concurrent;
mod model;
mod names;
mod recovery;
mod small;
