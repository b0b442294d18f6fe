//! Lines of a log: an object of JSON each, to standard error. No vectors, payloads or keys.

use pageway::server::clock;
use pageway_shell::output;
use serde_json::{Value, json};

use crate::slow::SlowQuery;

/// What is told; each level tells what those before it do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, clap::ValueEnum)]
pub enum Level {
    /// What is our own fault.
    Error,
    /// What is slow.
    Warn,
    /// When the server starts and stops.
    Info,
    /// Every request.
    Debug,
}

/// A log down to a level.
#[derive(Clone, Copy, Debug)]
pub struct Log(
    /// The last level that is told.
    pub Level,
);

impl Log {
    /// Tells something.
    pub fn tell(self, level: Level, what: &str, more: Value) {
        if level > self.0 {
            return;
        }
        let mut line = json!({
            "time": clock::unix_seconds(),
            "level": format!("{level:?}").to_lowercase(),
            "event": what,
        });
        if let (Some(line), Value::Object(more)) = (line.as_object_mut(), more) {
            line.extend(more);
        }
        output::note(line);
    }

    /// Tells of a request, and how it was searched.
    pub(crate) fn request(
        self,
        level: Level,
        status: u16,
        request: &SlowQuery,
        failure: Option<&str>,
    ) {
        if level <= self.0 {
            let mut more = json!({"status": status, "error": failure});
            if let (Some(more), Ok(Value::Object(own))) =
                (more.as_object_mut(), serde_json::to_value(request))
            {
                more.extend(own);
            }
            self.tell(level, "request", more);
        }
    }
}
