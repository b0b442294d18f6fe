//! Files and clocks are reached through `store` alone, so that a simulated disk can replace them.

use crate::tidy::finding::Findings;
use crate::tidy::source::SourceFile;
use crate::tidy::word;

const STORE: &str = "crates/store/src/";
const CALLS: [(&str, &str); 6] = [
    ("std::fs", "store::Vfs"),
    ("fs::File", "store::Vfs"),
    ("File::open(", "store::Vfs"),
    ("File::create(", "store::Vfs"),
    ("Instant::now(", "store::clock"),
    ("SystemTime::now(", "store::clock"),
];

pub(crate) fn check(file: &SourceFile, findings: &mut Findings<'_>) {
    if file.path.starts_with(STORE) {
        return;
    }
    for (line, code) in file.code_lines() {
        if let Some((call, instead)) = CALLS.iter().find(|(call, _)| calls(code, call)) {
            findings.fail(line, format!("{call} outside store; use {instead}"));
        }
    }
}

/// Whether `call` stands in `code` and not as the end of a longer name.
fn calls(code: &str, call: &str) -> bool {
    code.match_indices(call).any(|(at, _)| {
        let before = code.get(..at).and_then(|text| text.chars().next_back());
        !before.is_some_and(word::is_word_char)
    })
}

#[cfg(test)]
mod tests {
    use crate::tidy::check::messages;

    #[test]
    fn direct_access_fails_outside_store() {
        let at = |path, code| messages(super::check, path, code).len();
        assert_eq!(at("crates/engine/src/a.rs", "use std::fs;"), 1);
        assert_eq!(at("crates/cli/src/a.rs", "let t = Instant::now();"), 1);
        assert_eq!(at("crates/store/src/vfs/os.rs", "use std::fs;"), 0);
        assert_eq!(
            at("crates/engine/src/a.rs", "OutputFile::create(vfs, path)"),
            0
        );
        assert_eq!(at("crates/engine/src/a.rs", "// as std::fs does\n"), 0);
    }
}
