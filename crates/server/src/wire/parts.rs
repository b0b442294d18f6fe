//! Which parts of a point are wanted: payload by paths, vectors by name.

use pageway::FieldPath;
use pageway::server::Step;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::failure::{Failure, Outcome};

/// What is wanted of payloads, as it comes.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
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

    /// What is wanted of a payload. An element of an array is at `[]`, whichever it is.
    pub(crate) fn of(&self, payload: Map<String, Value>) -> Map<String, Value> {
        let (paths, includes) = match self {
            Self::All(_) => return payload,
            Self::Fields(paths) | Self::Include { include: paths } => (paths, true),
            Self::Exclude { exclude } => (exclude, false),
        };
        let paths = paths.iter().filter_map(|path| FieldPath::parse(path).ok());
        let paths: Vec<FieldPath> = paths.collect();
        let on_way = |at: &[Step], path: &[Step]| at.iter().zip(path).all(|(at, step)| at == step);
        let keeps = |at: &[Step]| {
            let mut paths = paths.iter().map(FieldPath::steps);
            if includes {
                paths.any(|path| on_way(at, path))
            } else {
                !paths.any(|path| at.starts_with(path))
            }
        };
        kept_fields(payload, &mut Vec::new(), &keeps)
    }
}

fn kept_fields(
    object: Map<String, Value>,
    at: &mut Vec<Step>,
    keeps: &dyn Fn(&[Step]) -> bool,
) -> Map<String, Value> {
    let own = object.into_iter().filter_map(|(name, value)| {
        let value = kept(value, Step::Key(name.clone()), at, keeps);
        value.map(|value| (name, value))
    });
    own.collect()
}

/// What is kept of a value that is a step further.
fn kept(
    value: Value,
    step: Step,
    at: &mut Vec<Step>,
    keeps: &dyn Fn(&[Step]) -> bool,
) -> Option<Value> {
    at.push(step);
    let own = keeps(at).then(|| match value {
        Value::Object(object) => Value::Object(kept_fields(object, at, keeps)),
        Value::Array(all) => {
            let own = all.into_iter();
            let own = own.filter_map(|one| kept(one, Step::Each, at, keeps));
            Value::Array(own.collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    });
    at.pop();
    own
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
        assert_eq!(
            cut(json!({"include": ["l[].x"]})),
            json!({"l": [{"x": 1}, 5]})
        );
        assert_eq!(cut(json!({"include": ["l[0].x"]})), json!({"l": []}));
        assert_eq!(cut(json!({"exclude": ["l[0].x", "l.y"]})), payload);
        assert_eq!(
            cut(json!({"exclude": ["a", "l[].y"]})),
            json!({"l": [{"x": 1}, 5], "z": 3})
        );
    }

    #[test]
    fn what_is_said_twice_is_refused() {
        let both = json!({"include": ["a"], "exclude": ["b"]});
        assert!(serde_json::from_value::<PayloadParts>(both).is_err());
    }

    #[test]
    fn names_in_quotes_are_names() {
        let payload = json!({"a.b": 1, "a": {"b": 2, "c[]": 3}});
        let cut = |parts: Value| {
            let parts: PayloadParts = serde_json::from_value(parts).unwrap();
            Value::Object(parts.of(payload.as_object().unwrap().clone()))
        };
        assert_eq!(cut(json!(["\"a.b\""])), json!({"a.b": 1}));
        assert_eq!(
            cut(json!({"exclude": ["\"a.b\"", "a.\"c[]\""]})),
            json!({"a": {"b": 2}})
        );
    }
}
