//! The recall contract: from a recall target to a list size, by measurement.
//!
//! A build searches its own index for held-out vectors whose exact neighbours it computed, at a
//! ladder of list sizes, and stores what it saw. A search that asks for a recall reads the list
//! size off that ladder.

mod ladder;

pub use ladder::{Calibration, CalibrationRow, RANKS};
