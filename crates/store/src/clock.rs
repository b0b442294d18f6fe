//! Monotonic time, for waits and latencies. The only place that asks the system for it.

use std::time::Instant;

/// The present moment on the monotonic clock. Costs tens of nanoseconds: not for inner loops.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the door that the lint points to"
)]
pub fn now() -> Instant {
    Instant::now()
}
