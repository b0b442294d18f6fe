//! The way to a value in a document: `a.b`, `a[].b`, `a[0]`, `a."b c"`.

use std::fmt;

use crate::error::{Result, invalid};
use crate::name::is_hidden_key;

/// Bytes of a name at most.
pub const MAX_NAME_BYTES: usize = 200;
/// Steps of a path at most.
const MAX_STEPS: usize = 32;

/// One step of a path.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Step {
    /// The value of a key of an object.
    Key(String),
    /// Every element of an array.
    Each,
    /// One element of an array.
    At(usize),
}

/// Steps from the document to a value. Begins with a key.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Path {
    steps: Vec<Step>,
}

impl Path {
    /// The path that a text stands for.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self> {
        let wrong = |what: &str| invalid(format!("path {text:?}"), what);
        let mut steps = Vec::new();
        let mut rest = text;
        loop {
            let (name, behind) = name(rest).ok_or_else(|| wrong("a name is missing"))?;
            if name.len() > MAX_NAME_BYTES {
                return Err(wrong("a name is longer than 200 bytes"));
            }
            if is_hidden_key(&name) {
                return Err(wrong("no attribute has this name"));
            }
            steps.push(Step::Key(name));
            rest = behind;
            while let Some(inner) = rest.strip_prefix('[') {
                let (number, behind) = inner
                    .split_once(']')
                    .ok_or_else(|| wrong("a bracket is not closed"))?;
                let at = number.parse().map(Step::At);
                steps.push(match (number, at) {
                    ("", _) => Step::Each,
                    (_, Ok(step)) if number.bytes().all(|byte| byte.is_ascii_digit()) => step,
                    _ => return Err(wrong("a bracket holds a number or nothing")),
                });
                rest = behind;
            }
            if steps.len() > MAX_STEPS {
                return Err(wrong("more than 32 steps"));
            }
            if rest.is_empty() {
                return Ok(Self { steps });
            }
            let behind = rest.strip_prefix('.');
            rest = behind.ok_or_else(|| wrong("names are separated by dots"))?;
        }
    }

    /// The steps.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The same path behind the elements of another.
    pub(crate) fn within(&self, outer: &[Step]) -> Self {
        let steps = outer.iter().chain(&self.steps).cloned().collect();
        Self { steps }
    }

    /// A path one step further; its beginning, where there was none.
    pub(crate) fn extended(path: Option<Self>, step: Step) -> Self {
        let mut steps = path.map(|path| path.steps).unwrap_or_default();
        steps.push(step);
        Self { steps }
    }

    /// The path of some steps, if there are any.
    pub(crate) fn of_steps(steps: &[Step]) -> Option<Self> {
        let steps = (!steps.is_empty()).then(|| steps.to_vec());
        steps.map(|steps| Self { steps })
    }

    /// The same path with every element in place of one.
    pub(crate) fn of_all(&self) -> Self {
        let each = |step: &Step| match step {
            Step::At(_) => Step::Each,
            Step::Key(_) | Step::Each => step.clone(),
        };
        Self {
            steps: self.steps.iter().map(each).collect(),
        }
    }

    /// Whether it means one element of an array.
    pub(crate) fn has_index(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::At(_)))
    }

    /// The array whose elements it means, written with or without brackets at its end.
    pub(crate) fn of_array(&self) -> Self {
        match self.steps.split_last() {
            Some((Step::Each, before)) if !before.is_empty() => Self {
                steps: before.to_vec(),
            },
            _ => self.clone(),
        }
    }
}

/// The first name of a text, quoted or plain, and what is behind it.
fn name(text: &str) -> Option<(String, &str)> {
    if let Some(inner) = text.strip_prefix('"') {
        let (name, behind) = inner.split_once('"')?;
        return Some((name.to_owned(), behind));
    }
    let end = text.find(['.', '[', '"']).unwrap_or(text.len());
    let (name, behind) = text.split_at(end);
    (!name.is_empty() && !name.contains(']')).then(|| (name.to_owned(), behind))
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.steps.iter().enumerate() {
            match step {
                Step::Key(name) => {
                    let dot = if at > 0 { "." } else { "" };
                    let plain = !name.is_empty() && !name.contains(['.', '[', ']', '"']);
                    let quote = if plain { "" } else { "\"" };
                    write!(f, "{dot}{quote}{name}{quote}")?;
                }
                Step::Each => write!(f, "[]")?,
                Step::At(at) => write!(f, "[{at}]")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_and_shown() {
        for text in [
            "a",
            "a.b",
            "a[].b",
            "a[0][3]",
            "a.\"b.c\".d[]",
            "\"\"",
            "ä b",
        ] {
            assert_eq!(Path::parse(text).unwrap().to_string(), text);
        }
        for text in [
            "", ".", "a.", "a[", "a[x]", "a[+1]", "[]", "a]b", "\"a", "a\"b\"", "a[]b",
        ] {
            assert!(Path::parse(text).is_err(), "{text}");
        }
        let name = "n".repeat(MAX_NAME_BYTES + 1);
        assert!(Path::parse(&name).is_err());
        assert!(Path::parse(&["a"; 40].join(".")).is_err());
    }

    #[test]
    fn a_nested_key_means_the_array_with_or_without_brackets() {
        let of = |text: &str| Path::parse(text).unwrap().of_array().to_string();
        assert_eq!([of("a"), of("a[]"), of("a[].b[]")], ["a", "a", "a[].b"]);
    }
}
