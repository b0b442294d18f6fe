//! What values fields must have, where somebody says so.
//!
//! ```text
//! { "lex": "keyword", "length": "integer", "kids[].born": "datetime" }
//! ```
//!
//! A field that is named holds values of its kind, or lists of such; null and missing are of every
//! kind. Fields that are not named are free.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{AttributeError, Result, invalid};
use crate::evaluate::{Document, visit_values};
use crate::geo::Place;
use crate::instant::Moment;
use crate::number::Number;
use crate::path::{Path, Step};
use crate::uuid::Uuid;

/// Fields of a schema at most.
const MAX_FIELDS: usize = 1000;
/// Characters of a value that messages show.
const SHOWN: usize = 60;

/// What the values of a field are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FieldKind {
    /// A text that is asked for whole.
    Keyword,
    /// A whole number.
    Integer,
    /// A number.
    Float,
    /// `true` or `false`.
    Bool,
    /// A text that names a moment, as RFC 3339 does.
    Datetime,
    /// A text that is asked for by its words.
    Text,
    /// An object of `lat` and `lon`.
    Geo,
    /// A text that is a UUID.
    Uuid,
}

impl FieldKind {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Keyword,
        Self::Integer,
        Self::Float,
        Self::Bool,
        Self::Datetime,
        Self::Text,
        Self::Geo,
        Self::Uuid,
    ];

    /// The name in a schema.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Keyword => "keyword",
            Self::Integer => "integer",
            Self::Float => "float",
            Self::Bool => "bool",
            Self::Datetime => "datetime",
            Self::Text => "text",
            Self::Geo => "geo",
            Self::Uuid => "uuid",
        }
    }

    /// Whether a value is of this kind.
    pub fn holds(self, value: &Value) -> bool {
        match self {
            Self::Keyword | Self::Text => value.is_string(),
            Self::Integer => {
                matches!(Number::of(value), Some(Number::Int(_) | Number::Large(_)))
            }
            Self::Float => value.is_number(),
            Self::Bool => value.is_boolean(),
            Self::Datetime => value.as_str().and_then(Moment::parse).is_some(),
            Self::Geo => Place::of(value).is_some_and(Place::is_on_earth),
            Self::Uuid => value.as_str().and_then(Uuid::parse).is_some(),
        }
    }
}

impl fmt::Display for FieldKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Kinds of fields.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Schema {
    fields: Vec<(Path, FieldKind)>,
}

impl Schema {
    /// The fields that are named, with their kinds, in the order of their paths.
    pub fn fields(&self) -> impl Iterator<Item = (&Path, FieldKind)> {
        self.fields.iter().map(|(path, kind)| (path, *kind))
    }

    /// The kind of the values of a key of documents, where it is named.
    pub fn kind_of(&self, key: &str) -> Option<FieldKind> {
        let mut own = self.fields();
        own.find_map(|(path, kind)| match path.steps() {
            [Step::Key(name)] if name == key => Some(kind),
            _ => None,
        })
    }

    /// Whether a document is as it should be.
    ///
    /// # Errors
    /// For the first value that contradicts: its path, the value, and what the schema says.
    pub fn check(&self, document: &Document) -> Result<()> {
        self.fields().try_for_each(|(path, kind)| {
            let mut wrong = None;
            visit_values(document, path, &mut |value| {
                let fits = value.is_null() || kind.holds(value);
                if !fits && wrong.is_none() {
                    wrong = Some(shown(value));
                }
            });
            let words = |value| format!("holds {value}, the schema says {kind}");
            wrong.map_or(Ok(()), |value| Err(invalid(path.to_string(), words(value))))
        })
    }
}

/// A value as messages show it.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}..", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

impl FromStr for Schema {
    type Err = AttributeError;

    /// Reads an object of JSON with a kind for each path.
    fn from_str(json: &str) -> Result<Self> {
        let wrong = |words: String| invalid("schema", words);
        let given: BTreeMap<String, String> = serde_json::from_str(json)
            .map_err(|error| wrong(format!("an object with a kind for each field: {error}")))?;
        if given.len() > MAX_FIELDS {
            let count = given.len();
            return Err(wrong(format!("{count} fields, {MAX_FIELDS} are possible")));
        }
        let mut fields = Vec::new();
        for (path, kind) in given {
            let found = FieldKind::ALL.into_iter().find(|own| own.name() == kind);
            let found = found.ok_or_else(|| {
                let all = FieldKind::ALL.map(FieldKind::name).join(", ");
                invalid(
                    format!("schema, {path}"),
                    format!("{kind:?} is no kind; there are {all}"),
                )
            })?;
            let path = Path::parse(&path)?;
            if path.steps().iter().any(|step| matches!(step, Step::At(_))) {
                let words = "a kind is that of all elements: [] in place of an index";
                return Err(invalid(format!("schema, {path}"), words));
            }
            fields.push((path, found));
        }
        Ok(Self { fields })
    }
}

impl Serialize for Schema {
    fn serialize<S: serde::Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        to.collect_map(self.fields().map(|(path, kind)| (path.to_string(), kind)))
    }
}

impl<'de> Deserialize<'de> for Schema {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        let given = serde_json::Map::deserialize(from)?;
        let json = Value::Object(given).to_string();
        json.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema(of: &Value) -> Result<Schema> {
        of.to_string().parse()
    }

    fn document(of: Value) -> Document {
        of.as_object().unwrap().clone()
    }

    #[test]
    fn values_are_of_their_kind_alone_in_lists_or_missing() {
        let uuid = "00010203-0405-0607-0809-0a0b0c0d0e0f";
        let place = json!({"lat": 1.5, "lon": -3});
        let cases = [
            ("keyword", json!("a"), json!(1)),
            ("text", json!("a b"), json!({"a": 1})),
            ("integer", json!(-3), json!(2.5)),
            ("integer", json!(0), json!(true)),
            ("float", json!(2.5), json!("2.5")),
            ("float", json!(2), json!(false)),
            ("bool", json!(false), json!(0)),
            ("datetime", json!("2026-01-31T10:00:00Z"), json!("noun")),
            ("geo", place, json!({"lat": 91, "lon": 0})),
            ("uuid", json!(uuid), json!("00010203-0405-0607-0809")),
            (
                "uuid",
                json!(uuid.replace('-', "")),
                json!(uuid.replace('0', "g")),
            ),
        ];
        for (kind, good, bad) in cases {
            let own = schema(&json!({"a.b": kind})).unwrap();
            let check = |value: &Value| own.check(&document(json!({"a": {"b": value}, "c": 1})));
            for fine in [&good, &json!(null), &json!([]), &json!([good, null])] {
                assert!(check(fine).is_ok(), "{kind} {fine}");
            }
            for wrong in [&bad, &json!([good, bad])] {
                let words = check(wrong).unwrap_err().to_string();
                assert!(words.starts_with("a.b: holds "), "{words}");
                assert!(
                    words.ends_with(&format!("the schema says {kind}")),
                    "{words}"
                );
            }
            assert!(own.check(&Document::new()).is_ok());
        }
        let nested = schema(&json!({"kids[].age": "integer"})).unwrap();
        let kids = |age: Value| document(json!({"kids": [{"age": 3}, {"age": age}]}));
        assert!(nested.check(&kids(json!(4))).is_ok());
        assert!(nested.check(&kids(json!("old"))).is_err());
    }

    #[test]
    fn schemas_come_back_and_what_is_none_is_refused() {
        let given = json!({"a": "keyword", "b[].c": "geo"});
        let own = schema(&given).unwrap();
        assert_eq!(own.kind_of("a"), Some(FieldKind::Keyword));
        assert_eq!(own.kind_of("b"), None);
        assert_eq!(serde_json::to_value(&own).unwrap(), given);
        assert_eq!(serde_json::from_value::<Schema>(given).unwrap(), own);
        for (given, words) in [
            (json!([1]), "an object"),
            (
                json!({"a": "number"}),
                "\"number\" is no kind; there are keyword",
            ),
            (json!({"a[0]": "text"}), "[] in place of an index"),
            (json!({"": "text"}), "a name is missing"),
        ] {
            let error = schema(&given).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
