//! Functions fit on a screen: 40 lines, 5 parameters, blocks nested 4 deep.

use crate::tidy::finding::{Findings, Limit};
use crate::tidy::function::{Function, functions};
use crate::tidy::source::SourceFile;

const LINES: Limit = Limit { aim: 40, hard: 70 };
const PARAMETERS: Limit = Limit { aim: 5, hard: 6 };
const NESTING: Limit = Limit { aim: 4, hard: 5 };

pub(crate) fn check(file: &SourceFile, findings: &mut Findings<'_>) {
    for function in functions(file.code()) {
        let line = file.line_at(function.start);
        if file.is_production(line) {
            measure(&function, line, findings);
        }
    }
}

fn measure(function: &Function, line: usize, findings: &mut Findings<'_>) {
    let what = |of: &str| format!("{of} of fn {}", function.name);
    findings.limit(line, function.line_count, LINES, &what("lines"));
    findings.limit(
        line,
        function.parameter_count,
        PARAMETERS,
        &what("parameters"),
    );
    // A tuple hides parameters; those that stand in one only warn for now.
    if function.element_count > PARAMETERS.aim && function.parameter_count <= PARAMETERS.aim {
        let (what, count, aim) = (
            what("parameters, tuples taken apart,"),
            function.element_count,
            PARAMETERS.aim,
        );
        findings.warn(line, format!("{what}: {count}, the aim is {aim}"));
    }
    findings.limit(line, function.nesting, NESTING, &what("nested blocks"));
}

#[cfg(test)]
mod tests {
    use crate::tidy::check::messages;

    fn found(text: &str) -> String {
        messages(super::check, "a.rs", text).join("\n")
    }

    #[test]
    fn long_functions_warn_and_then_fail() {
        let of = |lines: usize| found(&format!("fn f() {{\n{}}}\n", "x;\n".repeat(lines - 2)));
        assert!(of(40).is_empty());
        assert!(of(41).contains("warning"));
        assert!(of(71).contains("a.rs:1: failure"));
    }

    #[test]
    fn many_parameters_warn_and_then_fail() {
        assert!(found("fn f(&self, a: A, b: B, c: C, d: D, e: E) {}").is_empty());
        assert!(found("fn f(a: A, b: B, c: C, d: D, e: E, f: F) {}").contains("warning"));
        assert!(found("fn f(a: A, b: B, c: C, d: D, e: E, f: F, g: G) {}").contains("failure"));
    }

    #[test]
    fn parameters_in_tuples_warn() {
        assert!(found("fn f((a, b): (A, B), (c, d, e): (C, D, E)) {}").is_empty());
        assert!(found("fn f((a, b, c): (A, B, C), (d, e, f): (D, E, F)) {}").contains("warning"));
    }

    #[test]
    fn deep_nesting_warns_and_then_fails() {
        let of = |depth: usize| {
            found(&format!(
                "fn f() {{ {}{} }}",
                "if a { ".repeat(depth),
                "}".repeat(depth)
            ))
        };
        assert!(of(4).is_empty());
        assert!(of(5).contains("warning"));
        assert!(of(6).contains("failure"));
    }
}
