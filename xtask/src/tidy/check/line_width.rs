//! Rust lines end at column 100. Text in literals and addresses cannot be broken and are let
//! through.

use crate::tidy::finding::Findings;
use crate::tidy::source::SourceFile;

const COLUMNS: usize = 100;

pub(crate) fn check(file: &SourceFile, findings: &mut Findings<'_>) {
    if !file.is_rust() {
        return;
    }
    let lines = file.text.lines().zip(file.code().lines()).enumerate();
    for (index, (line, code)) in lines {
        let columns = line.chars().count();
        let unbreakable =
            line.contains("://") || code.contains('"') || is_inside_literal(line, code);
        if columns > COLUMNS && !unbreakable {
            findings.fail(
                index + 1,
                format!("line of {columns} columns, the limit is {COLUMNS}"),
            );
        }
    }
}

/// A line of a multi-line literal: it has text, but neither code nor a comment.
fn is_inside_literal(line: &str, code: &str) -> bool {
    code.trim().is_empty() && !line.contains("//")
}

#[cfg(test)]
mod tests {
    use crate::tidy::check::messages;

    fn found(line: &str) -> usize {
        messages(super::check, "a.rs", line).len()
    }

    #[test]
    fn wide_code_and_comments_fail() {
        assert_eq!(found(&"x".repeat(101)), 1);
        assert_eq!(found(&format!("// {}", "é".repeat(98))), 1);
        assert_eq!(found(&"é".repeat(100)), 0);
    }

    #[test]
    fn text_and_addresses_are_let_through() {
        assert_eq!(found(&format!("let a = \"{}\";", "x".repeat(100))), 0);
        assert_eq!(
            found(&format!("// see https://example.org/{}", "x".repeat(100))),
            0
        );
    }
}
