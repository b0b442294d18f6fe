//! What tests of several servers share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use pageway::lab::clock;
use serde_json::Value;

use super::process::ask;

/// A vector of its own for each seed.
pub fn vector(seed: u64, size: u64) -> Vec<f64> {
    let mixed = |at: u64| (seed * 7919 + at * 104_729 + 13) * 2_654_435_761 % 1009;
    (0..size)
        .map(|at| mixed(at) as f64 / 1009.0 - 0.5)
        .collect()
}

/// The result of a request that succeeds.
pub fn done(address: &str, request: (&str, &str), body: &Value) -> Value {
    let (status, answer) = ask(address, request, body).expect("a server that answers");
    assert_eq!(status, 200, "{request:?}: {answer}");
    answer["result"].clone()
}

/// Status and words of one that is refused.
pub fn refused(address: &str, request: (&str, &str), body: &Value) -> (u16, String) {
    let (status, answer) = ask(address, request, body).expect("a server that answers");
    let text = answer["status"]["error"].as_str();
    (
        status,
        text.unwrap_or_else(|| panic!("{answer}")).to_owned(),
    )
}

/// Waits until something is so, for a time at most.
pub fn wait_for((what, most): (&str, Duration), mut is_so: impl FnMut() -> bool) {
    let began = clock::now();
    while !is_so() {
        assert!(clock::now() - began < most, "{what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Lets those who ask come to an end, also where the test fails.
pub struct End<'e>(pub &'e AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
