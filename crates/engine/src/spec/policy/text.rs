//! Choices as they are typed: `name`, or `name:key=value,...`.
//!
//! Names and keys are those of the manifest, taken from the way the specification stores its
//! choices: a new variant needs no parser here, only its place among the known ones.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, from_value, to_value};

use crate::error::{Error, Result};

/// Fields that hold the name of a choice.
pub(super) const NAMES: [&str; 2] = ["kind", "algorithm"];

/// Reads a choice that was typed for `flag`. `known` holds each variant once, with the values that
/// keys left out take.
///
/// # Errors
/// `InvalidInput` for a name, key or value that is not legal, with those that are.
pub fn parse<T>(flag: &str, text: &str, known: &[T]) -> Result<T>
where
    T: Serialize + DeserializeOwned,
{
    let known = known.iter().filter_map(|one| to_value(one).ok());
    let value = read(flag, text, known.collect())?;
    from_value(value).map_err(|error| Error::invalid(format!("{flag} {text}: {error}")))
}

/// The same as a spec stores it; whether the values of its keys are legal is not seen yet.
pub(super) fn read(flag: &str, text: &str, known: Vec<Value>) -> Result<Value> {
    let (name, keys) = match text.split_once(':') {
        Some((name, keys)) => (name, Some(keys)),
        None => (text, None),
    };
    let within = |words: String| Error::invalid(format!("{flag} {text}: {words}"));
    let names: Vec<String> = known.iter().map(name_of).collect();
    let mut forms = known.into_iter().map(ChoiceText::of);
    let form = forms.find(|form| form.name == name);
    let mut form = form.ok_or_else(|| {
        let perhaps = perhaps(name, &names);
        within(format!(
            "there is {}, not '{name}'{perhaps}",
            listed(&names)
        ))
    })?;
    for pair in keys.into_iter().flat_map(|keys| keys.split(',')) {
        form.set(pair).map_err(within)?;
    }
    Ok(form.stored)
}

/// The known choice of that name.
pub fn find<T: Copy + Serialize>(known: &[T], name: &str) -> Option<T> {
    known.iter().copied().find(|choice| name_of(choice) == name)
}

/// Name of a choice.
pub fn name_of(choice: &impl Serialize) -> String {
    ChoiceText::of(to_value(choice).unwrap_or_default()).name
}

/// A choice with all its keys, as it can be typed; a bare value as people write it.
pub fn typed(choice: &impl Serialize) -> String {
    typed_without(&to_value(choice).unwrap_or_default(), &[])
}

/// The same without some keys.
pub(super) fn typed_without(choice: &Value, hidden: &[&str]) -> String {
    let form = ChoiceText::of(choice.clone());
    let keys = form
        .keys()
        .filter(|(key, _)| !hidden.contains(&key.as_str()));
    let keys: Vec<String> = keys
        .map(|(key, value)| format!("{key}={}", plain(value)))
        .collect();
    if keys.is_empty() {
        form.name
    } else {
        format!("{}:{}", form.name, keys.join(","))
    }
}

/// A value as people write it.
fn plain(value: &Value) -> String {
    match value {
        Value::String(word) => word.clone(),
        // A fraction was an `f32`: as one it has the digits that were typed.
        Value::Number(number) if number.is_f64() => {
            (number.as_f64().unwrap_or_default() as f32).to_string()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            value.to_string()
        }
    }
}

/// A number as people write it, such as `.5`, or a word.
fn number_or_word(value: &str) -> Value {
    let number = serde_json::from_str(value).ok().filter(Value::is_number);
    let fraction = || value.parse().ok().and_then(serde_json::Number::from_f64);
    let number = number.or_else(|| fraction().map(Value::Number));
    number.unwrap_or_else(|| Value::String(value.to_owned()))
}

/// A choice as the manifest stores it.
pub(super) struct ChoiceText {
    pub(super) name: String,
    pub(super) stored: Value,
}

impl ChoiceText {
    pub(super) fn of(stored: Value) -> Self {
        let name = stored.as_object().map_or_else(|| plain(&stored), name_in);
        Self { name, stored }
    }

    /// Keys that can be given, with their values. What a build decides by itself is none.
    pub(super) fn keys(&self) -> impl Iterator<Item = (&String, &Value)> {
        let fields = self.stored.as_object().into_iter().flatten();
        fields.filter(|(key, value)| !NAMES.contains(&key.as_str()) && !value.is_object())
    }

    fn set(&mut self, pair: &str) -> std::result::Result<(), String> {
        let (key, value) = pair
            .split_once('=')
            .ok_or_else(|| format!("'{pair}' is not key=value"))?;
        let legal: Vec<String> = self.keys().map(|(key, _)| key.clone()).collect();
        if !legal.iter().any(|legal| legal == key) {
            let perhaps = perhaps(key, &legal);
            return Err(match legal.as_slice() {
                [] => format!("{} takes no keys, so not '{key}'", self.name),
                legal => format!(
                    "{} takes {}, not '{key}'{perhaps}",
                    self.name,
                    listed(legal)
                ),
            });
        }
        if let Some(field) = self.stored.get_mut(key) {
            *field = if field.is_boolean() {
                let truth = value.parse().map(Value::Bool);
                truth.map_err(|_| format!("{key} is true or false, not '{value}'"))?
            } else {
                number_or_word(value)
            };
        }
        Ok(())
    }
}

/// The name among the fields of a choice, or its only field.
fn name_in(fields: &Map<String, Value>) -> String {
    let tag = NAMES.iter().find_map(|name| fields.get(*name)?.as_str());
    let only = fields.keys().next().map(String::as_str);
    tag.or(only).unwrap_or_default().to_owned()
}

/// `a`, `a and b`, `a, b and c`.
fn listed(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [word] => word.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// The known word that `word` may have been meant to be, for the end of a refusal.
pub(super) fn perhaps<W: AsRef<str>>(word: &str, known: &[W]) -> String {
    let slips = |one: &&W| slips(word, one.as_ref());
    let nearest = known.iter().min_by_key(slips);
    let nearest = nearest.filter(|one| slips(one) <= 1 + word.chars().count() / 5);
    nearest.map_or_else(String::new, |one| format!("; perhaps '{}'", one.as_ref()))
}

/// Letters to leave out, put in, replace or swap with the next, to make `other` of `word`.
fn slips(word: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    // The counts for the word so far against each beginning of the other, and those before.
    let mut rows = [Vec::new(), (0..=other.len()).collect::<Vec<usize>>()];
    let mut before = None;
    for letter in word.chars() {
        let [older, old] = &rows;
        let mut row = vec![old.first().map_or(0, |count| count + 1)];
        for (at, wanted) in other.iter().enumerate() {
            let count = |row: &[usize], at: usize| row.get(at).copied().unwrap_or(usize::MAX / 2);
            let same = usize::from(*wanted != letter);
            let mut least = (count(old, at) + same)
                .min(count(old, at + 1) + 1)
                .min(count(&row, at) + 1);
            let swaps = before == Some(*wanted) && other.get(at.wrapping_sub(1)) == Some(&letter);
            if swaps {
                least = least.min(count(older, at - 1) + 1);
            }
            row.push(least);
        }
        before = Some(letter);
        let [_, old] = rows;
        rows = [old, row];
    }
    let [_, last] = rows;
    last.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::spec::{CodeStorage, CompletionSpec, PlacementSpec, ScheduleSpec};

    const KNOWN: [PlacementSpec; 3] = [
        PlacementSpec::ById,
        PlacementSpec::Bnf {
            rounds: 8,
            gain: 0.01,
        },
        PlacementSpec::Grouped { hops: 2 },
    ];

    const PIPELINE: ScheduleSpec = ScheduleSpec::Pipelined {
        least: 4,
        most: 32,
        completion: CompletionSpec::AsTheyCome,
    };

    #[test]
    fn names_and_keys_make_choices() {
        let parse = |text| super::parse("--placement", text, &KNOWN).unwrap();
        assert_eq!(parse("by_id"), PlacementSpec::ById);
        assert_eq!(parse("bnf"), KNOWN[1]);
        let bnf = PlacementSpec::Bnf {
            rounds: 3,
            gain: 0.01,
        };
        assert_eq!(parse("bnf:rounds=3"), bnf);
        let bnf = PlacementSpec::Bnf {
            rounds: 3,
            gain: 1.0,
        };
        assert_eq!(parse("bnf:gain=1,rounds=3"), bnf);
        assert_eq!(parse("bnf:gain=.5"), parse("bnf:gain=0.5"));
        let pipeline = super::parse("--schedule", "pipelined:completion=in_order", &[PIPELINE]);
        let in_order = ScheduleSpec::Pipelined {
            least: 4,
            most: 32,
            completion: CompletionSpec::InOrder,
        };
        assert_eq!(pipeline.unwrap(), in_order);
        let rounds = ScheduleSpec::Overlapped {
            beam: 4,
            doubling: false,
        };
        let doubled = super::parse("--schedule", "overlapped:doubling=true", &[rounds]);
        assert!(doubled.unwrap().doubles());
        let refused = super::parse("--schedule", "overlapped:doubling=yes", &[rounds]);
        let told = refused.unwrap_err().context().to_owned();
        assert!(
            told.contains("doubling is true or false, not 'yes'"),
            "{told}"
        );
        let codes = [CodeStorage::Memory, CodeStorage::Split { memory_nodes: 0 }];
        assert_eq!(super::parse("--codes", "split", &codes).unwrap(), codes[1]);
    }

    #[test]
    fn what_is_typed_is_what_was_chosen() {
        for choice in KNOWN {
            let text = typed(&choice);
            assert_eq!(
                parse("--placement", &text, &KNOWN).unwrap(),
                choice,
                "{text}"
            );
        }
        assert_eq!(typed(&KNOWN[1]), "bnf:gain=0.01,rounds=8");
        let text = typed(&PIPELINE);
        assert_eq!(parse("--schedule", &text, &[PIPELINE]).unwrap(), PIPELINE);
        assert_eq!(typed(&CodeStorage::Split { memory_nodes: 7 }), "split");
    }

    #[test]
    fn refusals_list_what_is_legal() {
        for (text, words) in [
            ("bnx", "there is by_id, bnf and grouped, not 'bnx'"),
            ("", "there is by_id, bnf and grouped, not ''"),
            ("bnf:round=3", "bnf takes gain and rounds, not 'round'"),
            ("bnf:kind=by_id", "bnf takes gain and rounds, not 'kind'"),
            ("by_id:rounds=3", "by_id takes no keys"),
            ("bnf:rounds", "'rounds' is not key=value"),
            ("bnf:", "'' is not key=value"),
            ("bnf:rounds=0.5", "0.5"),
            ("bnf:rounds=-1", "-1"),
            ("bnf:rounds=many", "many"),
            ("bnf:gain=nan", "nan"),
            ("grouped:hops=99999999999", "99999999999"),
        ] {
            let error = parse("--placement", text, &KNOWN).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput);
            let said = error.context();
            assert!(said.contains(words), "{text}: {said}");
            assert!(said.starts_with(&format!("--placement {text}")), "{said}");
        }
        let error = parse("--codes", "split:memory_nodes=3", &[CodeStorage::Memory]).unwrap_err();
        assert!(error.context().contains("there is memory"), "{error}");
    }

    #[test]
    fn what_was_meant_is_named() {
        for (word, other, count) in [
            ("", "", 0),
            ("bnf", "bnf", 0),
            ("bfn", "bnf", 1),
            ("placment", "placement", 1),
            ("abc", "", 3),
            ("", "abc", 3),
            ("lockstpe", "lockstep", 1),
            ("near", "held", 3),
        ] {
            assert_eq!(slips(word, other), count, "{word} {other}");
        }
        assert_eq!(
            perhaps("bfn", &["by_id", "bnf", "grouped"]),
            "; perhaps 'bnf'"
        );
        assert_eq!(perhaps("?", &["by_id", "bnf", "grouped"]), "");
        assert_eq!(perhaps::<&str>("bnf", &[]), "");
        let error = parse("--placement", "groupde", &KNOWN).unwrap_err();
        assert!(error.context().ends_with("; perhaps 'grouped'"), "{error}");
    }
}
