//! Which parts of a point are wanted: payload by paths, vectors by name.

use pageway::FieldPath;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::failure::{Failure, Outcome};

/// What is wanted of payloads, as it comes.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum PayloadParts {
    All(bool),
    Fields(Vec<String>),
    Include { include: Vec<String> },
    Exclude { exclude: Vec<String> },
}

impl PayloadParts {
    /// Whether payloads are wanted at all.
    pub(crate) fn is_wanted(&self) -> bool {
        !matches!(self, Self::All(false))
    }

    /// Refuses paths that are none.
    pub(crate) fn check(&self) -> Outcome<()> {
        let paths = match self {
            Self::All(_) => return Ok(()),
            Self::Fields(paths)
            | Self::Include { include: paths }
            | Self::Exclude { exclude: paths } => paths,
        };
        for path in paths {
            FieldPath::parse(path)
                .map_err(|error| Failure::wrong(format!("with_payload: {error}")))?;
        }
        Ok(())
    }

    /// What is wanted of a payload.
    pub(crate) fn of(&self, payload: Map<String, Value>) -> Map<String, Value> {
        match self {
            Self::All(_) => payload,
            Self::Fields(paths) | Self::Include { include: paths } => {
                let paths: Vec<Vec<&str>> = paths.iter().map(|path| keys(path)).collect();
                including(payload, &paths)
            }
            Self::Exclude { exclude } => {
                let paths: Vec<Vec<&str>> = exclude.iter().map(|path| keys(path)).collect();
                excluding(payload, &paths)
            }
        }
    }
}

/// Names of a path, brackets left out: they stand for every element.
fn keys(path: &str) -> Vec<&str> {
    let names = path.split('.');
    names
        .map(|name| name.split_once('[').map_or(name, |(name, _)| name))
        .collect()
}

/// Ends of paths that begin with a name.
fn behind<'p>(paths: &[Vec<&'p str>], name: &str) -> Vec<Vec<&'p str>> {
    let own = paths.iter().filter(|path| path.first() == Some(&name));
    own.map(|path| path.get(1..).unwrap_or_default().to_vec())
        .collect()
}

fn including(object: Map<String, Value>, paths: &[Vec<&str>]) -> Map<String, Value> {
    let mut kept = Map::new();
    for (name, value) in object {
        let ends = behind(paths, &name);
        if ends.iter().any(Vec::is_empty) {
            kept.insert(name, value);
        } else if !ends.is_empty()
            && let Some(value) = include_in(value, &ends)
        {
            kept.insert(name, value);
        }
    }
    kept
}

fn include_in(value: Value, paths: &[Vec<&str>]) -> Option<Value> {
    match value {
        Value::Object(object) => Some(Value::Object(including(object, paths))),
        Value::Array(all) => {
            let own = all.into_iter().filter_map(|one| include_in(one, paths));
            Some(Value::Array(own.collect()))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

fn excluding(object: Map<String, Value>, paths: &[Vec<&str>]) -> Map<String, Value> {
    let mut kept = Map::new();
    for (name, value) in object {
        let ends = behind(paths, &name);
        if !ends.iter().any(Vec::is_empty) {
            kept.insert(name, exclude_in(value, &ends));
        }
    }
    kept
}

fn exclude_in(value: Value, paths: &[Vec<&str>]) -> Value {
    match value {
        Value::Object(object) if !paths.is_empty() => Value::Object(excluding(object, paths)),
        Value::Array(all) if !paths.is_empty() => {
            let own = all.into_iter().map(|one| exclude_in(one, paths));
            Value::Array(own.collect())
        }
        Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_) => value,
    }
}

/// Which vectors are wanted, as it comes.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum VectorParts {
    All(bool),
    Names(Vec<String>),
}

impl VectorParts {
    /// Whether vectors are wanted at all.
    pub(crate) fn is_wanted(&self) -> bool {
        !matches!(self, Self::All(false))
    }

    /// Whether that of a name is.
    pub(crate) fn wants(&self, name: &str) -> bool {
        match self {
            Self::All(all) => *all,
            Self::Names(names) => names.iter().any(|own| own == name),
        }
    }
}

impl VectorParts {
    /// The names that are given.
    pub(crate) fn names(&self) -> &[String] {
        match self {
            Self::All(_) => &[],
            Self::Names(names) => names,
        }
    }
}

/// What a request wants of points: payloads, and no vectors, where it does not say.
pub(crate) fn parts_of(
    payload: Option<&PayloadParts>,
    vector: Option<&VectorParts>,
) -> (PayloadParts, VectorParts) {
    (
        payload.cloned().unwrap_or(PayloadParts::All(true)),
        vector.cloned().unwrap_or(VectorParts::All(false)),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn payloads_are_cut_to_what_is_wanted() {
        let payload = json!({"a": {"b": 1, "c": 2}, "l": [{"x": 1, "y": 2}, 5], "z": 3});
        let cut = |parts: Value| {
            let parts: PayloadParts = serde_json::from_value(parts).unwrap();
            Value::Object(parts.of(payload.as_object().unwrap().clone()))
        };
        assert_eq!(cut(json!(true)), payload);
        assert_eq!(cut(json!(["z", "a.b"])), json!({"a": {"b": 1}, "z": 3}));
        assert_eq!(cut(json!({"include": ["l[].x"]})), json!({"l": [{"x": 1}]}));
        assert_eq!(
            cut(json!({"exclude": ["a", "l[].y"]})),
            json!({"l": [{"x": 1}, 5], "z": 3})
        );
    }
}
