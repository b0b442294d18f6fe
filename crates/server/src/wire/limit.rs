//! How many points an answer has.

use crate::failure::{Failure, Outcome};

/// Points of an answer, where nobody says how many.
const LIMIT: usize = 10;
/// Points of an answer and before it, at most.
pub(crate) const MAX_LIMIT: usize = 10_000;

/// The limit that a request names at `path`, or the usual one.
pub(super) fn checked_limit(path: &str, limit: Option<usize>) -> Outcome<usize> {
    match limit {
        None => Ok(LIMIT),
        Some(0) => Err(Failure::invalid(
            path,
            "value 0 invalid, must be 1 or larger",
        )),
        Some(limit) if limit > MAX_LIMIT => {
            let words = format!("value {limit} invalid, must be {MAX_LIMIT} or smaller");
            Err(Failure::invalid(path, words))
        }
        Some(limit) => Ok(limit),
    }
}
