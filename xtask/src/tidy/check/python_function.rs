//! Python functions fit on a screen as well: 40 lines, never more than 70, docstrings not counted.

use crate::tidy::finding::{Findings, Limit};
use crate::tidy::source::{Language, SourceFile};

const LINES: Limit = Limit { aim: 40, hard: 70 };

pub(crate) fn check(file: &SourceFile, findings: &mut Findings<'_>) {
    if file.language != Language::Python {
        return;
    }
    let lines: Vec<(usize, &str)> = code_lines(&file.text);
    for (index, &(number, line)) in lines.iter().enumerate() {
        let is_function = line.trim_start().starts_with("def ");
        if is_function && file.is_production(number) {
            let body = lines.iter().skip(index + 1);
            let inside =
                body.take_while(|(_, below)| indent(below) > indent(line) || closes(below));
            findings.limit(number, 1 + inside.count(), LINES, "lines of this function");
        }
    }
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The line that ends a parameter list written over several lines.
fn closes(line: &str) -> bool {
    line.trim_start().starts_with(')')
}

/// Numbered lines without blank ones and without the inside of triple-quoted text.
fn code_lines(text: &str) -> Vec<(usize, &str)> {
    let mut in_docstring = false;
    let mut lines = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let was_in_docstring = in_docstring;
        let quotes = line.matches("\"\"\"").count();
        in_docstring ^= quotes % 2 == 1;
        if !was_in_docstring && quotes == 0 && !line.trim().is_empty() {
            lines.push((index + 1, line));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use crate::tidy::check::messages;

    fn found(lines: usize, docstring: usize) -> String {
        let doc = format!("    \"\"\"A\n{}    \"\"\"\n", "text\n".repeat(docstring));
        let text = format!(
            "def f(\n    a,\n):\n{doc}{}\nx = 1\n",
            "    b\n".repeat(lines - 3)
        );
        messages(super::check, "python/pageway/a.py", &text).concat()
    }

    #[test]
    fn long_functions_warn_and_then_fail() {
        assert!(found(40, 90).is_empty());
        assert!(found(41, 0).contains("warning"));
        assert!(found(71, 0).contains("failure"));
    }
}
