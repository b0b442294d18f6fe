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
//! the list size off that surface, for any k.

mod curve;
mod former;
mod surface;

pub use curve::{CalibrationCurve, CalibrationRow};
pub use surface::{Calibration, RANKS};
