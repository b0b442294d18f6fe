//! Names say what a thing is. Type, module and file names that could mean anything are refused.

use crate::tidy::finding::Findings;
use crate::tidy::source::SourceFile;
use crate::tidy::word;

/// Parts of a type or module name that say nothing.
const EMPTY_PARTS: [&str; 6] = ["manager", "helper", "helpers", "util", "utils", "info"];
/// File names that say nothing, beyond the parts above.
const EMPTY_FILES: [&str; 2] = ["data", "misc"];
/// Other names for a node; refused as the whole name of a type or a field.
const NODE_SYNONYMS: [&str; 6] = ["point", "points", "doc", "docs", "item", "items"];
const TYPE_KEYWORDS: [&str; 5] = ["struct", "enum", "trait", "union", "mod"];

pub(crate) fn check(file: &SourceFile, findings: &mut Findings<'_>) {
    if !file.is_rust() {
        return;
    }
    check_file_name(file, findings);
    for (line, code) in file.code_lines() {
        if let Some(name) = declared_type(code).filter(|name| is_empty_name(name)) {
            findings.fail(line, format!("the name {name} does not say what it is"));
        }
        if let Some(name) = field(code).filter(|name| NODE_SYNONYMS.contains(name)) {
            findings.fail(
                line,
                format!("field {name}: the term is node, vector or record"),
            );
        }
    }
}

fn check_file_name(file: &SourceFile, findings: &mut Findings<'_>) {
    let name = file
        .path
        .rsplit('/')
        .next()
        .unwrap_or("")
        .trim_end_matches(".rs");
    if EMPTY_FILES.contains(&name) || is_empty_name(name) {
        findings.fail(
            1,
            format!("the file name {name}.rs does not say what is inside"),
        );
    }
}

fn is_empty_name(name: &str) -> bool {
    let lower = name.to_lowercase();
    let parts = word::parts(name);
    NODE_SYNONYMS.contains(&lower.as_str())
        || parts
            .iter()
            .any(|part| EMPTY_PARTS.contains(&part.as_str()))
}

/// The name that a line declares with `struct`, `enum`, `trait`, `union` or `mod`.
fn declared_type(code: &str) -> Option<&str> {
    let words: Vec<&str> = word::words(code).collect();
    let keyword = words
        .iter()
        .position(|found| TYPE_KEYWORDS.contains(found))?;
    words.get(keyword + 1).copied()
}

/// The name of a field declared alone on its line, such as `pub(crate) name: Type,`.
fn field(code: &str) -> Option<&str> {
    let (left, right) = code.split_once(": ")?;
    let is_declaration =
        right.trim_end().ends_with(',') && !left.contains('(') | left.contains("pub(");
    let name = word::words(left).last()?;
    (is_declaration && left.trim_end().ends_with(name)).then_some(name)
}

#[cfg(test)]
mod tests {
    use crate::tidy::check::messages;

    fn found(path: &str, code: &str) -> usize {
        messages(super::check, path, code).len()
    }

    #[test]
    fn names_that_say_nothing_fail() {
        for code in [
            "pub struct CacheManager;",
            "enum FileInfo {",
            "mod util;",
            "trait Item {",
        ] {
            assert_eq!(found("a.rs", code), 1, "{code}");
        }
        for path in ["src/data.rs", "src/util.rs", "src/page_helper.rs"] {
            assert_eq!(found(path, "//! A.\n"), 1, "{path}");
        }
    }

    #[test]
    fn a_field_called_point_fails() {
        assert_eq!(found("a.rs", "    pub(crate) point: u32,"), 1);
        assert_eq!(found("a.rs", "    doc: Vec<u8>,"), 1);
    }

    #[test]
    fn other_names_pass() {
        for code in [
            "type Item = u8;",
            "struct Information;",
            "items: &[u8]",
            "impl Database for A {",
        ] {
            assert_eq!(found("a.rs", code), 0, "{code}");
        }
    }
}
