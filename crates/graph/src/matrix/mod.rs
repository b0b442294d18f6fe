//! Distances by products of matrices: rows beside each other, and the few nearest of many.

mod nearest;
mod rows;
mod side;

pub(crate) use nearest::{NOBODY, Nearest, insert};
pub(crate) use rows::{Panels, Rows};
pub(crate) use side::Side;
