//! Texts of rows, as they are read to be built in: attributes as JSON, or names.

use crate::error::Result;

/// A text for each of some rows, in any number of passes.
pub trait TextRead: Sync {
    /// Where they come from, for messages.
    fn name(&self) -> &str;

    /// How many there are.
    fn count(&self) -> u64;

    /// Number of the first row, for messages.
    fn first(&self) -> u64 {
        0
    }

    /// Shows the texts of `count` rows from `first` on, in order: bytes of UTF-8, unless they come
    /// from a file that is none.
    ///
    /// # Errors
    /// As reading is; what `visit` gives.
    fn visit(
        &self,
        first: u64,
        count: u64,
        visit: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()>;
}

impl std::fmt::Debug for dyn TextRead + '_ {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} texts of {}", self.count(), self.name())
    }
}

/// Texts in memory.
pub struct TextSlice<'s> {
    name: &'static str,
    texts: &'s [String],
}

impl<'s> TextSlice<'s> {
    /// Attributes, a JSON object each.
    pub fn attributes(texts: &'s [String]) -> Self {
        let name = "attributes";
        Self { name, texts }
    }

    /// Names.
    pub fn names(texts: &'s [String]) -> Self {
        let name = "names";
        Self { name, texts }
    }
}

impl TextRead for TextSlice<'_> {
    fn name(&self) -> &str {
        self.name
    }

    fn count(&self) -> u64 {
        self.texts.len() as u64
    }

    fn visit(
        &self,
        first: u64,
        count: u64,
        visit: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let all = self.texts.iter().skip(first as usize).take(count as usize);
        all.map(String::as_bytes).try_for_each(visit)
    }
}

/// Some of the texts of others.
pub struct TextPart<'t> {
    of: &'t dyn TextRead,
    first: u64,
    count: u64,
}

impl<'t> TextPart<'t> {
    /// The texts of `count` rows from `first` on.
    pub fn new(of: &'t dyn TextRead, first: u64, count: u64) -> Self {
        let count = count.min(of.count().saturating_sub(first));
        Self { of, first, count }
    }
}

impl TextRead for TextPart<'_> {
    fn name(&self) -> &str {
        self.of.name()
    }

    fn count(&self) -> u64 {
        self.count
    }

    fn first(&self) -> u64 {
        self.of.first() + self.first
    }

    fn visit(
        &self,
        first: u64,
        count: u64,
        visit: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let count = count.min(self.count.saturating_sub(first));
        self.of.visit(self.first + first, count, visit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_shows_its_own_and_no_more() {
        let texts: Vec<String> = (0..10).map(|row| row.to_string()).collect();
        let whole = TextSlice::names(&texts);
        let part = TextPart::new(&whole, 3, 4);
        let part = TextPart::new(&part, 1, 90);
        assert_eq!((part.name(), part.count(), part.first()), ("names", 3, 4));
        let mut seen = Vec::new();
        let mut keep = |text: &[u8]| {
            seen.push(String::from_utf8(text.to_vec()).unwrap());
            Ok(())
        };
        part.visit(1, 9, &mut keep).unwrap();
        part.visit(4, 1, &mut keep).unwrap();
        assert_eq!(seen, ["5", "6"]);
    }
}
