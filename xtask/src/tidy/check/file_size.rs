//! A file holds one concept, so it stays short: 400 production lines, never more than 700.

use crate::tidy::finding::{Findings, Limit};
use crate::tidy::source::{Language, SourceFile};

const LIMIT: Limit = Limit {
    aim: 400,
    hard: 700,
};

pub(crate) fn check(file: &SourceFile, findings: &mut Findings<'_>) {
    if file.language != Language::Other {
        findings.limit(
            1,
            file.production_count(),
            LIMIT,
            "production lines in this file",
        );
    }
}

#[cfg(test)]
mod tests {
    use crate::tidy::check::messages;

    #[test]
    fn long_files_warn_and_then_fail() {
        let lines = |count: usize| messages(super::check, "a.rs", &"x;\n".repeat(count));
        assert!(lines(400).is_empty());
        assert!(lines(401).concat().contains("warning"));
        assert!(lines(701).concat().contains("failure"));
    }

    #[test]
    fn tests_do_not_count() {
        let text = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "x;\n".repeat(900));
        assert!(messages(super::check, "a.rs", &text).is_empty());
    }
}
