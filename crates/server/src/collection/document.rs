//! What a row of an index keeps of a point beside a vector: its payload, and with it what no filter
//! of a client sees.
//!
//! ```text
//! { "\0p": {"v": version, "s": sparse vectors}, "\1": marks of vectors, fields of the payload .. }
//! ```

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::failure::{Failure, Outcome};
use crate::wire::SparseVector;

/// The key of what is kept from filters.
const KEPT: &str = "\u{0}p";
/// The key of the marks, which the filters of `has_vector` ask for.
const MARKS: &str = "\u{1}";
/// Bytes of a row at most: its document and its longest vector.
const MAX_BYTES: usize = 1 << 20;
/// Of them those of its name, and of what the log of an index says of it.
const HEAD_BYTES: usize = 256;
/// Objects and lists in one another at most.
const MAX_LEVELS: usize = 32;
/// Bytes of a name at most.
const MAX_NAME_BYTES: usize = 200;

/// Sparse vectors by their names.
pub(crate) type SparseVectors = BTreeMap<String, SparseVector>;

#[derive(Serialize, Deserialize, Default)]
struct Kept {
    #[serde(rename = "v")]
    version: u64,
    #[serde(rename = "s", default, skip_serializing_if = "BTreeMap::is_empty")]
    sparse: SparseVectors,
}

/// A document, taken apart.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct PointDocument {
    /// The operation that last wrote the point.
    pub(crate) version: u64,
    pub(crate) payload: Map<String, Value>,
    pub(crate) sparse: SparseVectors,
    /// What is said of its vectors.
    pub(crate) marks: Vec<String>,
}

impl PointDocument {
    /// As JSON.
    ///
    /// # Errors
    /// 500 where it cannot be written.
    pub(crate) fn encode(&self) -> Outcome<String> {
        let mut document = self.payload.clone();
        let kept = Kept {
            version: self.version,
            sparse: self.sparse.clone(),
        };
        let kept = serde_json::to_value(kept).map_err(Failure::internal)?;
        document.insert(KEPT.to_owned(), kept);
        if !self.marks.is_empty() {
            document.insert(MARKS.to_owned(), self.marks.clone().into());
        }
        serde_json::to_string(&document).map_err(Failure::internal)
    }

    /// Takes JSON apart.
    ///
    /// # Errors
    /// 500 where it is no document.
    pub(crate) fn decode(json: Option<&str>) -> Outcome<Self> {
        let Some(json) = json else {
            return Ok(Self::default());
        };
        let mut payload: Map<String, Value> =
            serde_json::from_str(json).map_err(Failure::internal)?;
        // An index that was built elsewhere has payloads alone.
        let kept = payload.remove(KEPT).map(serde_json::from_value::<Kept>);
        let kept = kept.transpose().map_err(Failure::internal)?;
        let kept = kept.unwrap_or_default();
        let marks = payload.remove(MARKS).unwrap_or(Value::Array(Vec::new()));
        Ok(Self {
            version: kept.version,
            payload,
            sparse: kept.sparse,
            marks: serde_json::from_value(marks).map_err(Failure::internal)?,
        })
    }
}

/// Refuses a payload that a row cannot keep.
///
/// # Errors
/// 400, with the place.
pub(crate) fn check_payload(payload: &Map<String, Value>, place: &str) -> Outcome<()> {
    let wrong = |what: String| Failure::wrong(format_args!("{place}: {what}"));
    let own = payload
        .keys()
        .find(|key| key.starts_with(['\u{0}', '\u{1}']));
    if let Some(key) = own {
        return Err(wrong(format!(
            "a key that begins with a control character: {key:?}"
        )));
    }
    let mut waiting: Vec<(&Value, usize)> = Vec::new();
    let check_name = |name: &str| {
        let words = format!(
            "a name of {} bytes, {MAX_NAME_BYTES} are possible",
            name.len()
        );
        (name.len() <= MAX_NAME_BYTES)
            .then_some(())
            .ok_or(wrong(words))
    };
    for (name, value) in payload {
        check_name(name)?;
        waiting.push((value, 1));
    }
    while let Some((value, level)) = waiting.pop() {
        if level > MAX_LEVELS {
            return Err(wrong(format!("more than {MAX_LEVELS} levels")));
        }
        match value {
            Value::Object(object) => {
                for (name, value) in object {
                    check_name(name)?;
                    waiting.push((value, level + 1));
                }
            }
            Value::Array(all) => waiting.extend(all.iter().map(|value| (value, level + 1))),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    Ok(())
}

/// Refuses a document that is too long for a row with a vector of so many bytes.
///
/// # Errors
/// 400, with the place.
pub(crate) fn check_length(document: &str, vector: usize, place: &str) -> Outcome<()> {
    let most = MAX_BYTES.saturating_sub(HEAD_BYTES + vector);
    if document.len() > most {
        return Err(Failure::wrong(format_args!(
            "{place}: payload and sparse vectors of {} bytes, {most} are possible",
            document.len()
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn documents_come_back_as_they_were() {
        let sparse = SparseVector {
            indices: vec![1, 5],
            values: vec![0.1, 2.0],
        };
        let document = PointDocument {
            version: 7,
            payload: json!({"a": [1, 2.5, null], "b": {"c": "x"}})
                .as_object()
                .unwrap()
                .clone(),
            sparse: SparseVectors::from([("words".to_owned(), sparse)]),
            marks: vec!["-image".to_owned()],
        };
        let json = document.encode().unwrap();
        assert_eq!(PointDocument::decode(Some(&json)).unwrap(), document);
        assert_eq!(
            PointDocument::decode(None).unwrap(),
            PointDocument::default()
        );
        let foreign = PointDocument::decode(Some("{\"a\": 1}")).unwrap();
        assert_eq!((foreign.version, &foreign.payload["a"]), (0, &json!(1)));
        let plain = PointDocument::default();
        assert_eq!(
            PointDocument::decode(Some(&plain.encode().unwrap())).unwrap(),
            plain
        );
    }

    #[test]
    fn payloads_have_limits() {
        let check = |value: &Value| check_payload(value.as_object().unwrap(), "points[0]");
        assert!(check(&json!({"": 1, "a.b": 2})).is_ok());
        assert!(check(&json!({"\u{1}": 1})).is_err() && check(&json!({"\u{0}p": 1})).is_err());
        let deep = |levels: usize| (1..levels).fold(json!(1), |inner, _| json!([inner]));
        assert!(check(&json!({"a": deep(32)})).is_ok());
        assert!(check(&json!({"a": deep(33)})).is_err());
        assert!(check(&json!({"n".repeat(201): 1})).is_err());
        let most = (1 << 20) - 256;
        assert!(check_length(&"x".repeat(most), 0, "p").is_ok());
        assert!(check_length(&"x".repeat(most), 8, "p").is_err());
    }
}
