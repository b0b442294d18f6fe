//! The recall contract: from a recall target to a list size, by measurement.
//!
//! ```text
//!  misses of   1 |x                            curve    recall by list size, of one k
//!  queries       |   x--__                     surface  a few curves; between two of them, and
//!  (log)         |        `x--_                         between two rows of one, straight
//!                +-------------`x--  list size          lines of logarithms
//! ```
//! A build searches its own index for held-out vectors whose exact neighbours it computed, for some
//! k with lists of some sizes each, and stores what it saw. A search that asks for a recall reads
//! the list size off that surface, for any k. Where misses go with the local dimension of a query,
//! each query is asked as if for more recall or less, and has a list of its own. Whether queries
//! are like those that were measured is told by how far they lie from what they find.

mod curve;
mod dimension;
mod former;
mod likeness;
mod plan;
mod pooled;
mod surface;

pub use curve::{CalibrationCurve, CalibrationRow};
pub use dimension::DimensionFit;
pub(crate) use dimension::{LEVEL_RECALLS, Missed};
pub use likeness::{Likeness, Moments};
pub(crate) use likeness::{Marks, marks};
pub(crate) use plan::ListPlan;
pub use plan::unlike_warning;
pub(crate) use pooled::pool_ranks;
pub use surface::{Calibration, RANKS};
pub(crate) use surface::{Misses, whole_list};
