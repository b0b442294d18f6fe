//! Commands, word by word.

use std::fmt::Display;

/// A command that is being put together.
pub(super) trait CommandWords: Sized {
    /// Adds an option and its value.
    fn with(self, option: &str, value: impl Display) -> Self;

    /// Adds an option as often as there are values.
    fn with_each(self, option: &str, values: impl IntoIterator<Item = impl Display>) -> Self {
        let add = |words: Self, value| words.with(option, value);
        values.into_iter().fold(self, add)
    }
}

impl CommandWords for Vec<String> {
    fn with(mut self, option: &str, value: impl Display) -> Self {
        self.extend([option.to_owned(), value.to_string()]);
        self
    }
}
