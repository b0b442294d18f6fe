//! The repository does not know the machine it was written on: no home, root or sibling paths.
//!
//! The prefixes are put together from halves, so that this file passes its own check.

use crate::tidy::finding::Findings;
use crate::tidy::source::SourceFile;

const PREFIXES: [&str; 7] = [
    concat!("..", "/shared"),
    concat!("/ho", "me/"),
    concat!("/ro", "ot/"),
    concat!("/Us", "ers/"),
    concat!("/wo", "rk/"),
    concat!("/tmp", "/t-"),
    concat!("C:\\", "Users"),
];

pub(crate) fn check(file: &SourceFile, findings: &mut Findings<'_>) {
    for (index, line) in file.text.lines().enumerate() {
        if let Some(prefix) = PREFIXES.iter().find(|prefix| is_path(line, prefix)) {
            findings.fail(index + 1, format!("path of one machine: {prefix}"));
        }
    }
}

/// Whether `prefix` stands in `line` as the start of a path, not inside a longer one.
fn is_path(line: &str, prefix: &str) -> bool {
    line.match_indices(prefix).any(|(at, _)| {
        let before = line.get(..at).and_then(|text| text.chars().next_back());
        !before.is_some_and(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '}' | '.'))
    })
}

#[cfg(test)]
mod tests {
    use super::PREFIXES;
    use crate::tidy::check::messages;

    #[test]
    fn every_prefix_fails() {
        for prefix in PREFIXES {
            let line = format!("path = \"{prefix}a\"");
            assert_eq!(
                messages(super::check, "docs/a.md", &line).len(),
                1,
                "{line}"
            );
        }
    }

    #[test]
    fn a_part_of_a_longer_path_passes() {
        let line = format!("https://example.org{}index.html", PREFIXES[1]);
        assert!(messages(super::check, "docs/a.md", &line).is_empty());
    }
}
