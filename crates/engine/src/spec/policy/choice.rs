//! What a policy's own file says of it: the choices there are, and the words for each.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, from_value, to_value};

use super::words::{Subject, Words};
use crate::spec::Sizes;

/// A policy whose choices have names.
pub trait Choice: Copy + Serialize + DeserializeOwned {
    /// What it is and what there is to choose, in a line of help.
    const ABOUT: &str;

    /// Each variant once, with the values of keys that are left out.
    fn known(sizes: &Sizes) -> Vec<Self>;

    /// Whether it makes a difference to the index that is spoken of.
    fn is_used(self, _of: &Subject<'_>) -> bool {
        true
    }

    /// What it means and costs there.
    fn words(self, of: &Subject<'_>) -> Words;
}

/// How what is chosen is written.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum Reading {
    /// By name, with keys.
    Named(Names),
    /// A number from 0 to 1.
    Share,
    /// True or false.
    Flag,
    /// Bytes of a code, 0 for none.
    CodeBytes,
    /// Not as a choice: it is one of the sizes.
    Size,
    /// Not at all: it follows from other things.
    Told,
}

/// The choices of a policy, as a spec stores them.
#[derive(Clone, Copy)]
pub struct Names {
    /// Each once, with the values of keys that are left out.
    pub(super) known: fn(&Sizes) -> Vec<Value>,
    /// Whether a value is one of them, with other values of its keys.
    pub(super) check: fn(&Value) -> serde_json::Result<()>,
}

impl Names {
    pub(super) const fn of<T: Choice>() -> Self {
        Self {
            known: known::<T>,
            check: check::<T>,
        }
    }
}

fn known<T: Choice>(sizes: &Sizes) -> Vec<Value> {
    let known = T::known(sizes);
    known.iter().filter_map(|one| to_value(one).ok()).collect()
}

fn check<T: Choice>(value: &Value) -> serde_json::Result<()> {
    from_value::<T>(value.clone()).map(|_| ())
}

/// What is said of a choice that a spec stores as `value`.
pub(super) fn words_of<T: Choice>(value: &Value, of: &Subject<'_>) -> Option<Words> {
    let choice: T = from_value(value.clone()).ok()?;
    choice.is_used(of).then(|| choice.words(of))
}

/// The same of a number, or of yes and no.
pub(super) fn told<T: DeserializeOwned>(
    value: &Value,
    of: &Subject<'_>,
    words: fn(T, &Subject<'_>) -> Option<Words>,
) -> Option<Words> {
    words(from_value(value.clone()).ok()?, of)
}

/// The same of what there is always something to say of.
pub(super) fn always<T: DeserializeOwned>(
    value: &Value,
    of: &Subject<'_>,
    words: fn(T, &Subject<'_>) -> Words,
) -> Option<Words> {
    Some(words(from_value(value.clone()).ok()?, of))
}
