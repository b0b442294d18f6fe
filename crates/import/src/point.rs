//! Points as a server scrolls them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use half::f16;
use pageway::{ElementType, Error, Result, VectorShape};
use serde::Deserialize;
use serde_json::{Map, Value};

/// Points that follow each other, and where those go on that follow.
#[derive(Deserialize)]
pub(crate) struct Page {
    pub(crate) points: Vec<Point>,
    pub(crate) next_page_offset: Option<Value>,
}

/// A point.
#[derive(Deserialize)]
pub(crate) struct Point {
    id: Value,
    payload: Option<Map<String, Value>>,
    vector: Option<Vectors>,
}

/// Its vectors: the only one, or some by their names.
#[derive(Deserialize)]
#[serde(untagged)]
enum Vectors {
    One(Vec<f64>),
    Named(BTreeMap<String, Value>),
}

/// What a row is known by.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Key {
    Id(u64),
    Name(String),
}

impl Point {
    /// What its row is known by.
    ///
    /// # Errors
    /// An id that is neither a whole number nor a text.
    pub(crate) fn key(&self) -> Result<Key> {
        match (&self.id, self.id.as_u64()) {
            (_, Some(id)) => Ok(Key::Id(id)),
            (Value::String(name), _) => Ok(Key::Name(name.clone())),
            (other, _) => Err(Error::invalid(format!("point {other}: no id"))),
        }
    }

    /// Its payload, as a document of attributes.
    pub(crate) fn document(&self) -> String {
        let payload = self.payload.as_ref();
        payload.map_or_else(
            || "{}".to_owned(),
            |own| Value::from(own.clone()).to_string(),
        )
    }

    /// Appends its vector of a name to rows; false where it has none.
    ///
    /// # Errors
    /// A vector of another shape.
    pub(crate) fn append(
        &self,
        name: &str,
        shape: VectorShape,
        rows: &mut Vec<u8>,
    ) -> Result<bool> {
        let numbers = match &self.vector {
            Some(Vectors::One(numbers)) if name.is_empty() => Cow::Borrowed(numbers),
            None | Some(Vectors::One(_)) => return Ok(false),
            Some(Vectors::Named(named)) => match named.get(name) {
                None => return Ok(false),
                Some(own) => Cow::Owned(
                    Vec::deserialize(own).map_err(|error| self.wrong(name, &error.to_string()))?,
                ),
            },
        };
        if numbers.len() != shape.dimension as usize {
            let words = format!("{} numbers in place of {}", numbers.len(), shape.dimension);
            return Err(self.wrong(name, &words));
        }
        for &number in &*numbers {
            match shape.element {
                ElementType::F16 => rows.extend(f16::from_f64(number).to_le_bytes()),
                ElementType::U8 => {
                    let byte = number as u8;
                    if f64::from(byte) != number {
                        return Err(self.wrong(name, &format!("{number} is no uint8")));
                    }
                    rows.push(byte);
                }
                ElementType::F32 | ElementType::Bf16 | ElementType::I8 | ElementType::Bit => {
                    rows.extend((number as f32).to_le_bytes());
                }
            }
        }
        Ok(true)
    }

    fn wrong(&self, name: &str, words: &str) -> Error {
        Error::invalid(format!("point {}, vector '{name}': {words}", self.id))
    }
}

/// The numbers of a row.
pub(crate) fn numbers_of(row: &[u8], element: ElementType) -> Vec<f32> {
    match element {
        ElementType::U8 => row.iter().copied().map(f32::from).collect(),
        ElementType::F16 => {
            let halves = row.as_chunks::<2>().0.iter();
            halves
                .map(|bytes| f16::from_le_bytes(*bytes).to_f32())
                .collect()
        }
        ElementType::F32 | ElementType::Bf16 | ElementType::I8 | ElementType::Bit => {
            let floats = row.as_chunks::<4>().0.iter();
            floats.map(|bytes| f32::from_le_bytes(*bytes)).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn point(own: Value) -> Point {
        serde_json::from_value(own).unwrap()
    }

    fn shape(element: ElementType) -> VectorShape {
        VectorShape {
            dimension: 2,
            element,
        }
    }

    #[test]
    fn points_become_rows() {
        let one = point(json!({"id": 7, "payload": null, "vector": [1, 0.1]}));
        assert_eq!(
            (one.key().unwrap(), one.document().as_str()),
            (Key::Id(7), "{}")
        );
        let mut rows = Vec::new();
        assert!(one.append("", shape(ElementType::F32), &mut rows).unwrap());
        assert_eq!(rows, [1_f32, 0.1].map(f32::to_le_bytes).concat());
        assert_eq!(numbers_of(&rows, ElementType::F32), [1.0, 0.1]);
        rows.clear();
        assert!(one.append("", shape(ElementType::F16), &mut rows).unwrap());
        assert_eq!(
            numbers_of(&rows, ElementType::F16),
            [1.0, f16::from_f32(0.1).to_f32()]
        );
        assert!(!one.append("a", shape(ElementType::F32), &mut rows).unwrap());
        let named = point(json!({
            "id": "0198", "payload": {"n": 18_446_744_073_709_551_615_u64},
            "vector": {"a": [1, 255], "s": {"indices": [1], "values": [0.5]}},
        }));
        assert_eq!(named.key().unwrap(), Key::Name("0198".to_owned()));
        assert_eq!(named.document(), r#"{"n":18446744073709551615}"#);
        rows.clear();
        assert!(
            named
                .append("a", shape(ElementType::U8), &mut rows)
                .unwrap()
        );
        assert_eq!(rows, [1, 255]);
        assert!(!named.append("", shape(ElementType::U8), &mut rows).unwrap());
        assert!(
            !named
                .append("b", shape(ElementType::U8), &mut rows)
                .unwrap()
        );
        named
            .append("s", shape(ElementType::U8), &mut rows)
            .unwrap_err();
    }

    #[test]
    fn what_is_no_row_is_named() {
        for (own, words) in [
            (
                json!({"id": 7, "vector": [1, 2, 3]}),
                "point 7, vector '': 3 numbers",
            ),
            (json!({"id": "a", "vector": [1, 0.5]}), "0.5 is no uint8"),
            (json!({"id": 1, "vector": [1, 256]}), "256 is no uint8"),
            (json!({"id": 1, "vector": [-1, 2]}), "-1 is no uint8"),
        ] {
            let error = point(own).append("", shape(ElementType::U8), &mut Vec::new());
            let error = error.unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
        point(json!({"id": -1})).key().unwrap_err();
    }
}
