//! What a check reports: where, which rule, how serious, and one sentence.

use std::fmt;

/// Whether a finding fails the run or only prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Severity {
    /// Above the aim of the house, below its hard limit.
    Warning,
    /// Not allowed.
    Failure,
}

/// One breach of one rule at one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// Name of the check, as the exception list spells it.
    pub(crate) check: &'static str,
    pub(crate) severity: Severity,
    /// Relative to the repository root, with forward slashes.
    pub(crate) path: String,
    /// Counted from 1.
    pub(crate) line: usize,
    pub(crate) message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.severity {
            Severity::Warning => "warning",
            Severity::Failure => "failure",
        };
        write!(
            out,
            "{}:{}: {word}[{}]: {}",
            self.path, self.line, self.check, self.message
        )
    }
}

/// Collects the findings of one check in one file.
#[derive(Debug)]
pub(crate) struct Findings<'f> {
    check: &'static str,
    path: &'f str,
    list: Vec<Finding>,
}

impl<'f> Findings<'f> {
    pub(crate) fn new(check: &'static str, path: &'f str) -> Self {
        Self {
            check,
            path,
            list: Vec::new(),
        }
    }

    pub(crate) fn fail(&mut self, line: usize, message: impl Into<String>) {
        self.push(Severity::Failure, line, message.into());
    }

    pub(crate) fn warn(&mut self, line: usize, message: impl Into<String>) {
        self.push(Severity::Warning, line, message.into());
    }

    /// Reports a size: nothing up to `aim`, a warning up to `hard`, a failure beyond.
    pub(crate) fn limit(&mut self, line: usize, size: usize, limit: Limit, what: &str) {
        let Limit { aim, hard } = limit;
        if size > hard {
            self.fail(line, format!("{what}: {size}, the limit is {hard}"));
        } else if size > aim {
            self.warn(line, format!("{what}: {size}, the aim is {aim}"));
        }
    }

    pub(crate) fn into_list(self) -> Vec<Finding> {
        self.list
    }

    fn push(&mut self, severity: Severity, line: usize, message: String) {
        let path = self.path.to_owned();
        self.list.push(Finding {
            check: self.check,
            severity,
            path,
            line,
            message,
        });
    }
}

/// The size the house aims for, and the one it does not allow to be passed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    pub(crate) aim: usize,
    pub(crate) hard: usize,
}
