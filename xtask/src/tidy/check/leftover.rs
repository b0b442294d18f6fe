//! Nothing unfinished is left behind: no markers in code, comments or documents.
//!
//! The words are put together here from halves, so that this file passes its own check.

use crate::tidy::finding::Findings;
use crate::tidy::source::SourceFile;
use crate::tidy::word;

const MARKERS: [&str; 5] = [
    concat!("to", "do"),
    concat!("fix", "me"),
    concat!("x", "xx"),
    concat!("ha", "ck"),
    concat!("unimple", "mented"),
];

pub(crate) fn check(file: &SourceFile, findings: &mut Findings<'_>) {
    for (index, line) in file.text.lines().enumerate() {
        let lower = line.to_lowercase();
        let marker = MARKERS.iter().find(|marker| word::has_word(&lower, marker));
        if let Some(marker) = marker.filter(|marker| !is_lint_level(&lower, marker)) {
            findings.fail(index + 1, format!("leftover marker {marker:?}"));
        }
    }
}

/// A line such as `name = "deny"`, where the marker is the name of the lint that forbids it.
fn is_lint_level(line: &str, marker: &str) -> bool {
    line.trim() == format!("{marker} = \"deny\"")
}

#[cfg(test)]
mod tests {
    use super::MARKERS;
    use crate::tidy::check::messages;

    #[test]
    fn every_marker_fails_in_any_case() {
        for marker in MARKERS {
            let line = format!("// {}: later", marker.to_uppercase());
            assert_eq!(messages(super::check, "a.rs", &line).len(), 1, "{line}");
        }
    }

    #[test]
    fn longer_words_and_lint_levels_pass() {
        let text = format!("hackney\n{} = \"deny\"\n", MARKERS[0]);
        assert!(messages(super::check, "Cargo.toml", &text).is_empty());
    }
}
