//! Every module says what it is for: the first line of a source file is `//!`.

use crate::tidy::finding::Findings;
use crate::tidy::source::SourceFile;

pub(crate) fn check(file: &SourceFile, findings: &mut Findings<'_>) {
    let is_module = file.is_rust() && file.path.contains("src/") && file.is_production(1);
    if is_module && !file.text.starts_with("//! ") {
        findings.fail(1, "the module does not open with its documentation (`//!`)");
    }
}

#[cfg(test)]
mod tests {
    use crate::tidy::check::messages;

    #[test]
    fn a_module_without_documentation_fails() {
        let at = |path, text| messages(super::check, path, text).len();
        assert_eq!(at("crates/x/src/a.rs", "use b;\n//! Late.\n"), 1);
        assert_eq!(at("crates/x/src/a.rs", "//! What for.\n"), 0);
        assert_eq!(at("suites/tests/a.rs", "use b;\n"), 0);
    }
}
