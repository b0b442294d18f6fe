//! Words in source text: identifiers with their column, and the parts an identifier is made of.

/// Every maximal run of letters, digits and underscores in `line`.
pub(crate) fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !is_word_char(c))
        .filter(|word| !word.is_empty())
}

/// Whether `line` contains `word` with no letter, digit or underscore next to it.
pub(crate) fn has_word(line: &str, word: &str) -> bool {
    words(line).any(|found| found == word)
}

/// The lower-case parts of an identifier in any case style: `PageIOKind2` is `page`, `iokind2`.
///
/// A part starts at an underscore, or at a capital after a small letter or digit.
pub(crate) fn parts(identifier: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut previous = '_';
    for letter in identifier.chars() {
        let starts = letter == '_' || (letter.is_uppercase() && !previous.is_uppercase());
        if starts {
            parts.push(String::new());
        }
        if let (true, Some(part)) = (letter != '_', parts.last_mut()) {
            part.extend(letter.to_lowercase());
        }
        previous = letter;
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// Whether `c` can be part of an identifier.
pub(crate) fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::{has_word, parts, words};

    #[test]
    fn words_are_split_at_everything_else() {
        assert_eq!(
            words("a_b::C2(d)->e").collect::<Vec<_>>(),
            ["a_b", "C2", "d", "e"]
        );
        assert!(has_word("if x {", "if") && !has_word("elif x", "if"));
    }

    #[test]
    fn identifiers_fall_into_parts() {
        assert_eq!(parts("PageCodec"), ["page", "codec"]);
        assert_eq!(parts("SECTOR_BYTES"), ["sector", "bytes"]);
        assert_eq!(parts("read_at2"), ["read", "at2"]);
    }
}
