//! Monotonic time, for waits and latencies, and the time of day. The only place that asks for them.

use std::time::{Duration, Instant};

/// The present moment on the monotonic clock. Costs tens of nanoseconds: not for inner loops.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the door that the lint points to"
)]
pub fn now() -> Instant {
    Instant::now()
}

/// Time since 1970 by the clock on the wall; `None` before that.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the door that the lint points to"
)]
pub fn unix_time() -> Option<Duration> {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.ok()
}

/// Seconds of it, for records that people read.
pub fn unix_seconds() -> Option<u64> {
    unix_time().map(|since| since.as_secs())
}
