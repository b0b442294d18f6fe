//! Vectors as they come: lists of numbers, sparse ones, and several by name.

use std::collections::BTreeMap;
use std::fmt;

use pageway::VectorShape;
use serde::de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::either::Either;
use crate::failure::{Failure, Outcome};

/// Numbers of a vector at most.
pub(crate) const MAX_DIMENSION: usize = VectorShape::MAX_DIMENSION as usize;

/// Values at some places.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct SparseVector {
    pub(crate) indices: Vec<u32>,
    pub(crate) values: Vec<f32>,
}

impl SparseVector {
    /// Refuses values without a place, and those that are no numbers.
    pub(crate) fn check(&self, path: &str) -> Outcome<()> {
        if self.indices.len() != self.values.len() {
            let words = "Validation error: must be the same length as indices [{}]";
            return Err(Failure::invalid(&format!("{path}.values"), words));
        }
        let mut known = std::collections::HashSet::new();
        if !self.indices.iter().all(|index| known.insert(index)) {
            let words = "Validation error: must be unique [{}]";
            return Err(Failure::invalid(&format!("{path}.indices"), words));
        }
        if self.values.iter().any(|value| !value.is_finite()) {
            return Err(Failure::invalid(path, "a number is not finite in 32 bits"));
        }
        Ok(())
    }
}

/// One vector.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum VectorValue {
    Dense(Vec<f32>),
    Sparse(SparseVector),
    /// Several in one, which there are not.
    Multi,
}

/// The vectors of a point: the one without a name, or those of some names.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum VectorInput {
    Unnamed(VectorValue),
    Named(BTreeMap<String, VectorValue>),
}

impl Default for VectorInput {
    fn default() -> Self {
        Self::Named(BTreeMap::new())
    }
}

impl VectorInput {
    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Self::Named(all) if all.is_empty())
    }

    /// Each with its name.
    pub(crate) fn into_named(self) -> BTreeMap<String, VectorValue> {
        match self {
            Self::Unnamed(value) => BTreeMap::from([(String::new(), value)]),
            Self::Named(all) => all,
        }
    }
}

impl<'de> Deserialize<'de> for VectorValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

impl<'de> Deserialize<'de> for VectorInput {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Either::deserialize(deserializer)? {
            Either::Plain(value) => Self::Unnamed(value),
            Either::Object(all) => Self::Named(all),
        })
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = VectorValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of numbers, or an object with indices and values")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<VectorValue, A::Error> {
        let mut numbers = Vec::new();
        let mut is_multi = false;
        while let Some(element) = seq.next_element::<Element>()? {
            match element {
                Element::Number(number) if numbers.len() < MAX_DIMENSION => numbers.push(number),
                Element::Number(_) => {
                    return Err(A::Error::custom(format_args!(
                        "more than {MAX_DIMENSION} numbers"
                    )));
                }
                Element::List => is_multi = true,
            }
        }
        if is_multi {
            return Ok(VectorValue::Multi);
        }
        numbers.shrink_to_fit();
        Ok(VectorValue::Dense(numbers))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<VectorValue, A::Error> {
        let inner = serde::de::value::MapAccessDeserializer::new(map);
        SparseVector::deserialize(inner).map(VectorValue::Sparse)
    }
}

/// What stands in a list.
enum Element {
    Number(f32),
    List,
}

impl<'de> Deserialize<'de> for Element {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ElementVisitor)
    }
}

struct ElementVisitor;

impl<'de> Visitor<'de> for ElementVisitor {
    type Value = Element;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number")
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Element, E> {
        Ok(Element::Number(number as f32))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Element, E> {
        Ok(Element::Number(number as f32))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Element, E> {
        Ok(Element::Number(number as f32))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Element, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Element::List)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<VectorInput, serde_json::Error> {
        serde_json::from_str(json)
    }

    #[test]
    fn vectors_are_told_apart() {
        let dense = |numbers: &[f32]| VectorValue::Dense(numbers.to_vec());
        assert_eq!(
            read("[1, -2, 0.5]").unwrap(),
            VectorInput::Unnamed(dense(&[1.0, -2.0, 0.5]))
        );
        assert_eq!(
            read("[[1, 2]]").unwrap(),
            VectorInput::Unnamed(VectorValue::Multi)
        );
        let named = read(r#"{"a": [1], "b": {"indices": [3], "values": [0.5]}}"#).unwrap();
        let named = named.into_named();
        assert_eq!(named["a"], dense(&[1.0]));
        assert!(matches!(&named["b"], VectorValue::Sparse(own) if own.indices == [3]));
        assert_eq!(read("{}").unwrap(), VectorInput::default());
        for json in [
            r#"["x"]"#,
            r#"{"text": "words", "model": "m"}"#,
            "5",
            "null",
        ] {
            assert!(read(json).is_err(), "{json}");
        }
    }
}
