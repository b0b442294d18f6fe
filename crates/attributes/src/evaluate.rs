//! A predicate on one document: the specification of what it means.

use serde_json::{Map, Value};

use crate::geo::Place;
use crate::instant::Moment;
use crate::number::Number;
use crate::path::{Path, Step};
use crate::predicate::{Predicate, Scalar, Test, Words};
use crate::text::tokens;

/// The attributes of a row.
pub type Document = Map<String, Value>;

impl Predicate {
    /// Whether a row with this document, and this id, is meant. Inside of nested predicates there
    /// is no id.
    pub fn matches(&self, document: &Document, id: Option<u64>) -> bool {
        match self {
            Self::All => true,
            Self::And(of) => of.iter().all(|one| one.matches(document, id)),
            Self::Or(of) => of.iter().any(|one| one.matches(document, id)),
            Self::Not(of) => !of.matches(document, id),
            Self::AtLeast { count, of } => {
                of.iter().filter(|one| one.matches(document, id)).count() >= *count
            }
            Self::Field { path, test } => test.matches(document, path),
            Self::Nested { path, of } => {
                any_element(document, path, &|element| of.matches(element, None))
            }
            Self::HasId(ids) => id.is_some_and(|id| ids.contains(&id)),
        }
    }

    /// Whether rows are asked for by their ids.
    pub fn asks_for_ids(&self) -> bool {
        match self {
            Self::HasId(_) => true,
            Self::And(of) | Self::Or(of) | Self::AtLeast { of, .. } => {
                of.iter().any(Self::asks_for_ids)
            }
            Self::Not(of) => of.asks_for_ids(),
            // Elements have no id.
            Self::All | Self::Field { .. } | Self::Nested { .. } => false,
        }
    }
}

fn any_element(document: &Document, path: &Path, meets: &dyn Fn(&Document) -> bool) -> bool {
    any(document, &path.of_array(), &mut |value| {
        let elements = value.as_array().into_iter().flatten();
        elements.filter_map(Value::as_object).any(meets)
    })
}

impl Test {
    fn matches(&self, document: &Document, path: &Path) -> bool {
        match self {
            Self::Empty => !any(document, path, &mut |value| !is_empty(value)),
            Self::Null => any(document, path, &mut |value| {
                let elements = value.as_array().into_iter().flatten();
                elements.chain([value]).any(Value::is_null)
            }),
            Self::Count(bounds) => {
                let holds = |count: u64| bounds.hold(|bound| count.cmp(bound));
                let mut found = false;
                any(document, path, &mut |value| {
                    found = true;
                    holds(count(value))
                }) || (!found && holds(0))
            }
            Self::In(_)
            | Self::Except(_)
            | Self::Range(_)
            | Self::Time(_)
            | Self::Words(..)
            | Self::Prefix(_)
            | Self::Geo(_) => any_spread(document, path, &mut |value| self.meets(value)),
        }
    }

    /// Whether one value is as it should be.
    fn meets(&self, value: &Value) -> bool {
        match self {
            Self::In(of) => Scalar::of(value).is_some_and(|own| of.contains(&own)),
            Self::Except(of) => {
                !value.is_null() && !Scalar::of(value).is_some_and(|own| of.contains(&own))
            }
            Self::Range(bounds) => {
                Number::of(value).is_some_and(|own| bounds.hold(|bound| own.compare(*bound)))
            }
            Self::Time(bounds) => value
                .as_str()
                .and_then(Moment::parse)
                .is_some_and(|own| bounds.hold(|bound| own.cmp(bound))),
            Self::Words(how, words) => value.as_str().is_some_and(|text| how.stand(words, text)),
            Self::Prefix(prefix) => value.as_str().is_some_and(|text| text.starts_with(prefix)),
            Self::Geo(area) => Place::of(value).is_some_and(|place| area.contains(place)),
            Self::Count(_) | Self::Empty | Self::Null => false,
        }
    }
}

impl Words {
    fn stand(self, words: &[String], text: &str) -> bool {
        let own: Vec<String> = tokens(text).collect();
        if words.is_empty() {
            return false;
        }
        match self {
            Self::All => words.iter().all(|word| own.contains(word)),
            Self::Any => words.iter().any(|word| own.contains(word)),
            Self::Phrase => own.windows(words.len()).any(|some| some == words),
        }
    }
}

impl Scalar {
    /// What a value is, if it is one that can be equal to another.
    pub fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Bool(own) => Some(Self::Bool(*own)),
            Value::Number(own) => own.as_i64().map(Self::Int),
            Value::String(own) => Some(Self::Text(own.clone())),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        }
    }
}

/// Elements that a value counts as.
pub(crate) fn count(value: &Value) -> u64 {
    match value {
        Value::Null => 0,
        Value::Array(elements) => elements.len() as u64,
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => 1,
    }
}

/// Whether a value is as good as none.
pub(crate) fn is_empty(value: &Value) -> bool {
    value.is_null() || value.as_array().is_some_and(Vec::is_empty)
}

/// Whether a document has a value at a path, an index of which stands for all.
pub fn has_value(document: &Document, path: &Path) -> bool {
    any(document, &path.of_all(), &mut |_| true)
}

/// Shows the values at a path, of which those of an array come one by one.
pub fn visit_values(document: &Document, path: &Path, visit: &mut dyn FnMut(&Value)) {
    any_spread(document, path, &mut |value| {
        visit(value);
        false
    });
}

/// Whether `meets` likes one of the values at a path, of which those of an array count each.
fn any_spread(document: &Document, path: &Path, meets: &mut dyn FnMut(&Value) -> bool) -> bool {
    any(document, path, &mut |value| match value.as_array() {
        Some(elements) => elements.iter().any(&mut *meets),
        None => meets(value),
    })
}

/// Whether `meets` likes one of the values at a path.
fn any(document: &Document, path: &Path, meets: &mut dyn FnMut(&Value) -> bool) -> bool {
    let Some((Step::Key(name), rest)) = path.steps().split_first() else {
        return false;
    };
    document
        .get(name)
        .is_some_and(|value| follow(value, rest, meets))
}

fn follow(value: &Value, steps: &[Step], meets: &mut dyn FnMut(&Value) -> bool) -> bool {
    let Some((step, rest)) = steps.split_first() else {
        return meets(value);
    };
    let next = match step {
        Step::Key(name) => value.as_object().and_then(|object| object.get(name)),
        Step::At(at) => value.as_array().and_then(|elements| elements.get(*at)),
        Step::Each => {
            let mut elements = value.as_array().into_iter().flatten();
            return elements.any(|value| follow(value, rest, meets));
        }
    };
    next.is_some_and(|value| follow(value, rest, meets))
}
