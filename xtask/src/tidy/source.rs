//! One file of the repository as the checks see it.
//!
//! Production is what ships: not the folders of tests and bench programs, not `tests.rs`, and not
//! an item under `#[cfg(test)]`.

use super::scan::{self, Layers};

/// The languages that have rules of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    Rust,
    Python,
    Other,
}

/// Path, text and the layers that checks read.
#[derive(Debug)]
pub(crate) struct SourceFile {
    /// Relative to the repository root, with forward slashes.
    pub(crate) path: String,
    pub(crate) text: String,
    pub(crate) language: Language,
    layers: Layers,
    /// One entry per line: does it belong to the product.
    production: Vec<bool>,
}

impl SourceFile {
    pub(crate) fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        let (path, text) = (path.into(), text.into());
        let language = language(&path);
        let layers = match language {
            Language::Rust => scan::layers(&text),
            Language::Python | Language::Other => Layers {
                code: String::new(),
                comments: String::new(),
            },
        };
        let production = production_lines(&path, &text, &layers.code);
        Self {
            path,
            text,
            language,
            layers,
            production,
        }
    }

    /// Rust code with literals and comments blanked; empty for other languages.
    pub(crate) fn code(&self) -> &str {
        &self.layers.code
    }

    /// Numbered production lines of the code layer.
    pub(crate) fn code_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.production_of(&self.layers.code)
    }

    /// Numbered production lines of the comment layer.
    pub(crate) fn comment_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.production_of(&self.layers.comments)
    }

    pub(crate) fn is_rust(&self) -> bool {
        self.language == Language::Rust
    }

    pub(crate) fn is_production(&self, line: usize) -> bool {
        line.checked_sub(1)
            .and_then(|index| self.production.get(index))
            .copied()
            .unwrap_or(false)
    }

    pub(crate) fn production_count(&self) -> usize {
        self.production.iter().filter(|&&line| line).count()
    }

    /// The line, counted from 1, that holds byte `offset`.
    pub(crate) fn line_at(&self, offset: usize) -> usize {
        line_of(&self.text, offset)
    }

    fn production_of<'s>(&'s self, layer: &'s str) -> impl Iterator<Item = (usize, &'s str)> {
        let numbered = layer
            .lines()
            .enumerate()
            .map(|(index, line)| (index + 1, line));
        numbered.filter(|&(line, _)| self.is_production(line))
    }
}

fn language(path: &str) -> Language {
    match path.rsplit_once('.').map(|(_, extension)| extension) {
        Some("rs") => Language::Rust,
        Some("py" | "pyi") => Language::Python,
        _ => Language::Other,
    }
}

fn is_test_path(path: &str) -> bool {
    let in_test_folder = path
        .split('/')
        .any(|part| matches!(part, "tests" | "suites" | "benches" | "examples" | "fuzz"));
    in_test_folder || path.ends_with("/tests.rs") || path.ends_with("_tests.rs")
}

fn production_lines(path: &str, text: &str, code: &str) -> Vec<bool> {
    let mut lines = vec![!is_test_path(path); text.lines().count()];
    for (start, _) in code.match_indices("#[cfg(test)]") {
        let end = item_end(code, start);
        let (first, last) = (line_of(code, start), line_of(code, end));
        lines
            .iter_mut()
            .skip(first - 1)
            .take(last + 1 - first)
            .for_each(|line| *line = false);
    }
    lines
}

/// The offset just before the end of the item that starts at or after `start`: its `;` or last `}`.
fn item_end(code: &str, start: usize) -> usize {
    let mut depth = 0_usize;
    for (offset, byte) in code.bytes().enumerate().skip(start) {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            b';' => {}
            _ => continue,
        }
        if depth == 0 && byte != b'{' {
            return offset;
        }
    }
    code.len()
}

fn line_of(text: &str, offset: usize) -> usize {
    1 + text
        .bytes()
        .take(offset)
        .filter(|&byte| byte == b'\n')
        .count()
}

#[cfg(test)]
mod tests {
    use super::SourceFile;

    #[test]
    fn test_items_are_not_production() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() { if x {} }\n}\nfn c() {}\n";
        let file = SourceFile::new("crates/x/src/a.rs", text);
        let lines: Vec<usize> = file.code_lines().map(|(line, _)| line).collect();
        assert_eq!(lines, [1, 6]);
        assert_eq!(file.production_count(), 2);
    }

    #[test]
    fn a_test_declaration_ends_at_its_semicolon() {
        let file = SourceFile::new("crates/x/src/a.rs", "#[cfg(test)]\nuse a::b;\nfn c() {}\n");
        assert!(!file.is_production(2) && file.is_production(3));
    }

    #[test]
    fn test_folders_are_not_production() {
        for path in [
            "suites/tests/a.rs",
            "crates/x/tests/b.rs",
            "crates/x/src/a/tests.rs",
        ] {
            assert_eq!(SourceFile::new(path, "fn a() {}\n").production_count(), 0);
        }
    }

    #[test]
    fn offsets_become_lines() {
        let file = SourceFile::new("a.rs", "a\nb\nc");
        assert_eq!([0, 2, 4].map(|offset| file.line_at(offset)), [1, 2, 3]);
    }
}
