//! Splits Rust source into code, comments and literal text, byte by byte.
//!
//! Knows nested block comments, escapes, raw, byte and C strings, and tells a character literal
//! from a lifetime. Both layers keep the length and the line breaks of the source, so a position in
//! one is a position in the other.

/// What a byte of source belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Code,
    Comment,
    Literal,
}

/// The two views of one Rust source that checks read.
#[derive(Debug)]
pub(crate) struct Layers {
    /// The source with comments and the inside of literals turned into spaces.
    pub(crate) code: String,
    /// The source with everything but comments turned into spaces.
    pub(crate) comments: String,
}

/// Splits `text`; an unfinished literal or comment runs to the end.
pub(crate) fn layers(text: &str) -> Layers {
    let mut scanner = Scanner {
        bytes: text.as_bytes(),
        parts: Vec::with_capacity(text.len()),
    };
    scanner.run();
    Layers {
        code: scanner.keep(Part::Code),
        comments: scanner.keep(Part::Comment),
    }
}

struct Scanner<'s> {
    bytes: &'s [u8],
    /// One entry per byte already read; its length is the position.
    parts: Vec<Part>,
}

impl Scanner<'_> {
    fn run(&mut self) {
        while self.parts.len() < self.bytes.len() {
            match (self.peek(0), self.peek(1)) {
                (b'/', b'/') => self.line_comment(),
                (b'/', b'*') => self.block_comment(),
                (b'"', _) => self.string(),
                (b'\'', _) => self.quote(),
                (b'r', b'"' | b'#') if self.starts_raw_string() => self.raw_string(),
                _ => self.take(1, Part::Code),
            }
        }
    }

    /// The byte `ahead` of the position, 0 beyond the end.
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes
            .get(self.parts.len() + ahead)
            .copied()
            .unwrap_or(0)
    }

    fn at_end(&self) -> bool {
        self.parts.len() >= self.bytes.len()
    }

    fn take(&mut self, count: usize, part: Part) {
        let end = (self.parts.len() + count).min(self.bytes.len());
        self.parts.resize(end, part);
    }

    fn line_comment(&mut self) {
        while !self.at_end() && self.peek(0) != b'\n' {
            self.take(1, Part::Comment);
        }
    }

    fn block_comment(&mut self) {
        let mut depth = 0_usize;
        while !self.at_end() {
            match (self.peek(0), self.peek(1)) {
                (b'/', b'*') => depth += 1,
                (b'*', b'/') => depth -= 1,
                _ => {
                    self.take(1, Part::Comment);
                    continue;
                }
            }
            self.take(2, Part::Comment);
            if depth == 0 {
                return;
            }
        }
    }

    fn string(&mut self) {
        self.take(1, Part::Code);
        while !self.at_end() && self.peek(0) != b'"' {
            let width = if self.peek(0) == b'\\' { 2 } else { 1 };
            self.take(width, Part::Literal);
        }
        self.take(1, Part::Code);
    }

    /// A character literal, or a lifetime, which is code.
    fn quote(&mut self) {
        let width = match self.peek(1) {
            b'\\' => self.escape_width(),
            first => utf8_width(first),
        };
        self.take(1, Part::Code);
        if self.peek(width) == b'\'' {
            self.take(width, Part::Literal);
            self.take(1, Part::Code);
        }
    }

    /// Bytes between the quotes of an escaped character such as `'\n'` or `'\u{1F}'`.
    fn escape_width(&self) -> usize {
        let longest = "\\u{10FFFF}".len();
        (2..=longest)
            .find(|&width| self.peek(1 + width) == b'\'')
            .unwrap_or(2)
    }

    fn starts_raw_string(&self) -> bool {
        let hashes = self.hashes(1);
        self.peek(1 + hashes) == b'"' && !self.inside_word()
    }

    /// Whether the `r` at the position ends an identifier; the prefixes `b` and `c` do not count.
    fn inside_word(&self) -> bool {
        let before = |back: usize| {
            let index = self.parts.len().checked_sub(back)?;
            self.bytes.get(index).copied()
        };
        let is_word =
            |byte: Option<u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric() || b == b'_');
        let prefixed = matches!(before(1), Some(b'b' | b'c'));
        if prefixed {
            is_word(before(2))
        } else {
            is_word(before(1))
        }
    }

    fn hashes(&self, from: usize) -> usize {
        let rest = self.bytes.iter().skip(self.parts.len() + from);
        rest.take_while(|&&byte| byte == b'#').count()
    }

    fn raw_string(&mut self) {
        let hashes = self.hashes(1);
        self.take(hashes + 2, Part::Code);
        while !self.at_end() {
            if self.peek(0) == b'"' && self.hashes(1) >= hashes {
                self.take(hashes + 1, Part::Code);
                return;
            }
            self.take(1, Part::Literal);
        }
    }

    fn keep(&self, wanted: Part) -> String {
        let pairs = self.bytes.iter().zip(&self.parts);
        let kept = pairs.map(|(&byte, &part)| {
            if part == wanted || byte == b'\n' {
                byte
            } else {
                b' '
            }
        });
        String::from_utf8_lossy(&kept.collect::<Vec<u8>>()).into_owned()
    }
}

fn utf8_width(first: u8) -> usize {
    match first {
        0xC0..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xFF => 4,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::layers;

    fn code(text: &str) -> String {
        layers(text).code
    }

    #[test]
    fn comments_leave_the_code_and_make_their_own_layer() {
        let split = layers("a /* b /* c */ d */ e // f\ng");
        assert_eq!(split.code, "a                   e     \ng");
        assert_eq!(
            split
                .comments
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" "),
            "/* b /* c */ d */ // f"
        );
    }

    #[test]
    fn literals_are_blanked_between_their_quotes() {
        assert_eq!(code(r#"x("a{\"b") y"#), r#"x("     ") y"#);
        assert_eq!(code("r#\"a\"{\"# z"), "r#\"   \"# z");
        assert_eq!(code("br\"{\" z"), "br\" \" z");
        assert_eq!(code("'{' '\\'' '\\u{7f}' 'é'"), "' ' '  ' '      ' '  '");
    }

    #[test]
    fn lifetimes_and_raw_identifiers_are_code() {
        let text = "fn f<'a>(x: &'a str, y: r#type) -> &'static str { 'l: loop {} }";
        assert_eq!(code(text), text);
    }

    #[test]
    fn a_word_that_ends_in_r_does_not_start_a_raw_string() {
        assert_eq!(code("for\"a\\\"b\" c"), "for\"    \" c");
    }

    #[test]
    fn unfinished_input_ends_without_a_panic() {
        for text in ["\"abc\\", "/* a", "r##\"x\"#", "'", "'\\", "b'"] {
            assert_eq!(code(text).len(), text.len());
        }
    }
}
