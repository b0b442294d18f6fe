//! Kinds of values at a path, and of which of them a condition can be true.
//!
//! An expression that asks for what a field cannot be is a mistake of its writer, and is refused by
//! name. Filters of Qdrant's mean that nothing matches, and are not asked.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::compile::Attributes;
use crate::error::Result;
use crate::evaluate::{Document, visit_values};
use crate::field::kind_name;
use crate::instant::Moment;
use crate::number::Number;
use crate::path::{Path, Step};
use crate::predicate::{Predicate, Scalar, Test};
use crate::schema::{FieldKind, Schema};
use crate::terms::{Tag, path_key, tag_key};

/// A path that a predicate names, as from the document, and what a value there is to be.
#[derive(Clone, Debug)]
pub struct Condition<'p> {
    /// The path, behind the elements of what it is nested in.
    pub path: Path,
    /// Nothing is asked of an array whose elements are looked into.
    test: Option<&'p Test>,
}

/// Kinds of values at a path, elements of arrays included.
#[derive(Clone, Default, Debug)]
pub struct Kinds(BTreeSet<Tag>);

/// What is wrong with a value that is asked for.
struct Wish {
    /// What it is compared with.
    asked: &'static str,
    /// What a value must be for that.
    tags: &'static [Tag],
}

const NUMBERS: &[Tag] = &[Tag::Int, Tag::Float];
const TEXTS: &[Tag] = &[Tag::Text, Tag::LongText];
/// Kinds of values that say what a field is; nulls and arrays may stand in each.
const TELLING: [Tag; 6] = [
    Tag::Bool,
    Tag::Int,
    Tag::Float,
    Tag::Text,
    Tag::LongText,
    Tag::Object,
];

impl Kinds {
    /// Adds those of a document.
    pub fn add_document(&mut self, document: &Document, path: &Path) {
        visit_values(document, &path.of_all(), &mut |value| match value {
            Value::Bool(_) => _ = self.0.insert(Tag::Bool),
            Value::Number(_) => {
                let is_whole = matches!(Number::of(value), Some(Number::Int(_)));
                self.0.insert(if is_whole { Tag::Int } else { Tag::Float });
            }
            Value::String(text) => {
                self.0.insert(Tag::Text);
                self.0.extend(Moment::parse(text).map(|_| Tag::Moment));
            }
            Value::Object(_) => _ = self.0.insert(Tag::Object),
            Value::Null | Value::Array(_) => {}
        });
    }

    /// What is wrong with a condition on a field of these kinds, for an error that names the field.
    pub fn refusal(&self, condition: &Condition<'_>) -> Option<String> {
        let own: BTreeSet<&str> = TELLING
            .iter()
            .filter(|tag| self.0.contains(tag))
            .filter_map(|tag| kind_name(*tag))
            .collect();
        let wishes = condition.test.map(Test::wishes).unwrap_or_default();
        let met = |wish: &Wish| wish.tags.iter().any(|tag| self.0.contains(tag));
        let wish = wishes.into_iter().find(|wish| !met(wish))?;
        let own: Vec<&str> = own.into_iter().collect();
        (!own.is_empty()).then(|| {
            let (asked, own) = (wish.asked, own.join(" and "));
            format!("is compared with {asked}, and its values are of kind {own}")
        })
    }
}

impl Schema {
    /// What is wrong with a condition on a field that the schema has, for an error that names the
    /// field: a text that is no UUID or no date is never one of its values.
    pub fn refusal(&self, condition: &Condition<'_>) -> Option<String> {
        let (Test::In(of) | Test::Except(of)) = condition.test? else {
            return None;
        };
        let keys = |path: &Path| -> Vec<String> {
            let steps = path.steps().iter();
            steps
                .filter_map(|step| match step {
                    Step::Key(key) => Some(key.clone()),
                    Step::Each | Step::At(_) => None,
                })
                .collect()
        };
        let own = keys(&condition.path);
        let (_, kind) = self.fields().find(|(path, _)| keys(path) == own)?;
        let is_told = matches!(kind, FieldKind::Uuid | FieldKind::Datetime);
        let mut texts = of.iter().filter_map(|scalar| match scalar {
            Scalar::Text(text) => Some(Value::from(text.as_str())),
            Scalar::Bool(_) | Scalar::Int(_) => None,
        });
        let wrong = texts.find(|text| is_told && !kind.holds(text))?;
        Some(format!(
            "is compared with {wrong}, and the schema says {kind}"
        ))
    }
}

impl Test {
    /// What a value must be, for each thing that it is compared with.
    fn wishes(&self) -> Vec<Wish> {
        let wish = |asked, tags| Wish { asked, tags };
        match self {
            Self::Range(_) => vec![wish("a number", NUMBERS)],
            Self::Time(_) => vec![wish("a date", &[Tag::Moment])],
            Self::Words(..) => vec![wish("words", TEXTS)],
            Self::Prefix(_) => vec![wish("the beginning of a text", TEXTS)],
            Self::Geo(_) => vec![wish("an area", &[Tag::Object])],
            Self::In(of) | Self::Except(of) => {
                let own = |scalar: &Scalar| match scalar {
                    Scalar::Bool(_) => wish("true or false", &[Tag::Bool]),
                    Scalar::Int(_) => wish("a number", NUMBERS),
                    Scalar::Text(_) => wish("a text", TEXTS),
                };
                of.iter().map(own).collect()
            }
            Self::Count(_) | Self::Empty | Self::Null => Vec::new(),
        }
    }
}

impl Predicate {
    /// The conditions on fields, and the arrays that others are nested in.
    pub fn conditions(&self) -> Vec<Condition<'_>> {
        let mut found = Vec::new();
        self.add_conditions(&[], &mut found);
        found
    }

    fn add_conditions<'p>(&'p self, within: &[Step], found: &mut Vec<Condition<'p>>) {
        match self {
            Self::Field { path, test } => found.push(Condition {
                path: path.within(within),
                test: Some(test),
            }),
            Self::Nested { path, of } => {
                let array = path.of_array().within(within);
                let element = Path::extended(Some(array.clone()), Step::Each);
                found.push(Condition {
                    path: array,
                    test: None,
                });
                of.add_conditions(element.steps(), found);
            }
            Self::And(of) | Self::Or(of) | Self::AtLeast { of, .. } => {
                for one in of {
                    one.add_conditions(within, found);
                }
            }
            Self::Not(of) => of.add_conditions(within, found),
            Self::All | Self::HasId(_) => {}
        }
    }
}

impl Attributes {
    /// Adds the kinds of values at a path, an index of which stands for all. Costs a look-up for
    /// each kind.
    ///
    /// # Errors
    /// `Corrupt`, or as the file is.
    pub fn add_kinds(&self, path: &Path, kinds: &mut Kinds) -> Result<()> {
        let element = Path::extended(Some(path.clone()), Step::Each);
        for key in [path_key(path), path_key(&element)] {
            for tag in TELLING.into_iter().chain([Tag::Moment]) {
                let behind = [&key[..], &[tag as u8 + 1]].concat();
                if self.terms.has_any(&tag_key(&key, tag), &behind)? {
                    kinds.0.insert(tag);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(document: &str, expression: &str) -> Option<String> {
        let document: Document = serde_json::from_str(document).unwrap();
        let predicate = Predicate::from_expression(expression).unwrap();
        predicate.conditions().into_iter().find_map(|condition| {
            let mut kinds = Kinds::default();
            kinds.add_document(&document, &condition.path);
            let words = kinds.refusal(&condition)?;
            Some(format!("{} {words}", condition.path))
        })
    }

    #[test]
    fn what_a_schema_rules_out_is_refused_by_its_path() {
        let schema: Schema = r#"{"key":"uuid","own.days":"datetime","lex":"keyword"}"#
            .parse()
            .unwrap();
        let refused = |expression: &str| -> Option<String> {
            let predicate = Predicate::from_expression(expression).unwrap();
            let mut conditions = predicate.conditions().into_iter();
            conditions.find_map(|own| schema.refusal(&own))
        };
        let key = "67e55044-10b1-426f-9247-bb680e5fe0c8";
        assert_eq!(refused(&format!("key = '{key}' and lex = 'a'")), None);
        assert_eq!(refused("key is null and other = 'a'"), None);
        let wrong = "is compared with \"67e5\", and the schema says uuid";
        assert_eq!(
            refused("lex = 'a' and not (key in ['67e5'])"),
            Some(wrong.to_owned())
        );
        let wrong = "is compared with \"monday\", and the schema says datetime";
        assert_eq!(refused("own.days[] != 'monday'"), Some(wrong.to_owned()));
    }

    #[test]
    fn what_a_field_cannot_be_is_refused_by_its_path() {
        let document = r#"{"lex":"noun","n":3,"x":[1.5,null],"day":"2026-01-31","on":true,
            "kids":[{"age":3}],"none":null,"empty":[]}"#;
        let fits = [
            "lex = 'a' and n > 3 and x < 2 and day < date'2027-01-01' and on = true",
            "lex in ['a', 'b'] and lex starts with 'n' and lex contains 'x' and x[0] = 1",
            "any(kids, age > 1) and kids[].age > 1 and kids is not null and exists(n)",
            "none > 3 and empty = 'a' and missing = 'a'",
        ];
        for expression in fits {
            assert_eq!(refused(document, expression), None, "{expression}");
        }
        let wrong = [
            (
                "lex > 3",
                "lex is compared with a number, and its values are of kind text",
            ),
            (
                "not (n = 'a')",
                "n is compared with a text, and its values are of kind integer",
            ),
            (
                "x = true",
                "x is compared with true or false, and its values are of kind float",
            ),
            (
                "lex < date'2026-01-01'",
                "lex is compared with a date, and its values are of kind text",
            ),
            (
                "n contains 'a'",
                "n is compared with words, and its values are of kind integer",
            ),
            (
                "lex in ['a', 3]",
                "lex is compared with a number, and its values are of kind text",
            ),
            (
                "any(kids, age starts with 'a')",
                "kids[].age is compared with the beginning of a text, and its values are of kind integer",
            ),
            (
                "kids = 3",
                "kids is compared with a number, and its values are of kind object",
            ),
        ];
        for (expression, words) in wrong {
            assert_eq!(
                refused(document, expression).as_deref(),
                Some(words),
                "{expression}"
            );
        }
    }
}
