//! Text is UTF-8 with plain line ends: no control characters, tabs only where a format needs them.
//!
//! The reader turns invalid UTF-8 into U+FFFD, so that character stands for it here.

use crate::tidy::finding::Findings;
use crate::tidy::source::{Language, SourceFile};

pub(crate) fn check(file: &SourceFile, findings: &mut Findings<'_>) {
    for (index, line) in file.text.lines().enumerate() {
        if let Some(bad) = line.chars().find(|&letter| is_bad(letter, file.language)) {
            findings.fail(
                index + 1,
                format!("character U+{:04X} in text", u32::from(bad)),
            );
        }
    }
    if file.text.contains("\r\n") {
        findings.fail(1, "lines end in CR LF");
    }
}

fn is_bad(letter: char, language: Language) -> bool {
    match letter {
        '\t' => language != Language::Other,
        char::REPLACEMENT_CHARACTER | '\u{FEFF}' | '\u{200B}' => true,
        _ => letter.is_control() || is_direction_mark(letter),
    }
}

/// Marks that make text read in another order than it is compiled in.
fn is_direction_mark(letter: char) -> bool {
    matches!(letter, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use crate::tidy::check::messages;

    #[test]
    fn control_characters_fail_and_letters_pass() {
        for text in [
            "a\u{7}",
            "\u{FEFF}a",
            "a\u{202E}b",
            "\u{FFFD}",
            "a\r\n",
            "\ta",
        ] {
            assert_eq!(messages(super::check, "a.rs", text).len(), 1, "{text:?}");
        }
        assert!(messages(super::check, "a.rs", "é — µs ≤ 4\n").is_empty());
        assert!(messages(super::check, "Makefile", "\ta\n").is_empty());
    }
}
