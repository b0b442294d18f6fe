//! One word per thing: the synonyms that papers and older code use are refused in production Rust.
//!
//! The glossary in `docs/glossary.md` has the words to use. The unit of a device
//! keeps its name when it is written out: a device sector.

use crate::tidy::finding::Findings;
use crate::tidy::source::SourceFile;
use crate::tidy::word;

/// Part of an identifier or word of a comment, and the term of the house.
const SYNONYMS: [(&str, &str); 4] = [
    ("nhood", "adjacency list"),
    ("retset", "candidate list"),
    ("sector", "page, or device sector"),
    ("sectors", "pages, or device sectors"),
];
/// Words that a comment does not need, because they name nothing.
const EMPTY_WORDS: [&str; 5] = [
    "helper",
    "helpers",
    "manager",
    concat!("st", "ub"),
    concat!("place", "holder"),
];
const DEVICE_SECTOR: [&str; 6] = [
    "device sector",
    "Device sector",
    "512-byte sector",
    "device_sector",
    "DEVICE_SECTOR",
    "DeviceSector",
];

pub(crate) fn check(file: &SourceFile, findings: &mut Findings<'_>) {
    for (line, code) in file.code_lines() {
        check_line(line, code, findings);
    }
    for (line, comment) in file.comment_lines() {
        check_line(line, comment, findings);
        let lower = comment.to_lowercase().replace("context manager", "");
        if let Some(empty) = EMPTY_WORDS
            .iter()
            .find(|empty| word::has_word(&lower, empty))
        {
            findings.fail(line, format!("{empty:?} says nothing; name what it does"));
        }
    }
}

fn check_line(line: usize, text: &str, findings: &mut Findings<'_>) {
    let mut text = text.to_owned();
    for allowed in DEVICE_SECTOR {
        text = text.replace(allowed, "");
    }
    let parts: Vec<Vec<String>> = word::words(&text).map(word::parts).collect();
    for (banned, term) in SYNONYMS {
        if parts.iter().flatten().any(|part| part == banned) {
            findings.fail(line, format!("{banned:?}: the term is {term}"));
        }
    }
    if parts
        .iter()
        .any(|word| matches!(word.as_slice(), [a, b, ..] if a == "search" && b == "l"))
    {
        findings.fail(line, "\"search_L\": the term is list_size");
    }
}

#[cfg(test)]
mod tests {
    use crate::tidy::check::messages;

    fn found(code: &str) -> usize {
        messages(super::check, "crates/x/src/a.rs", code).len()
    }

    #[test]
    fn synonyms_fail_in_code_and_comments() {
        for code in [
            "let nhood = 1;",
            "struct SectorReader;",
            "// reads a sector",
            "const SECTORS_PER_READ: u8 = 1;",
            "fn f(retset: u8) {}",
            "search_L: u32",
            "/// A helper.",
        ] {
            assert_eq!(found(code), 1, "{code}");
        }
    }

    #[test]
    fn device_sectors_strings_and_longer_words_pass() {
        for code in [
            "const DEVICE_SECTOR_BYTES: usize = 512;",
            "// a 512-byte sector may tear, a device sector may not",
            "let a = \"sector\";",
            "let search_list = bisector(search_length);",
            "/// Works as a context manager.",
        ] {
            assert_eq!(found(code), 0, "{code}");
        }
    }
}
