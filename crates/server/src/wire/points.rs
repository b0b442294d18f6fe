//! Bodies of requests that change points.

use std::collections::BTreeMap;

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::either::Either;
use super::id::PointId;
use super::vector::{VectorInput, VectorValue};
use crate::failure::{Failure, Outcome};

/// A point to put in.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct PointInsert {
    pub(crate) id: PointId,
    pub(crate) vector: VectorInput,
    #[serde(default)]
    pub(crate) payload: Option<Map<String, Value>>,
}

/// What becomes of points that are there already, and of those that are not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum UpdateMode {
    #[default]
    Upsert,
    InsertOnly,
    UpdateOnly,
}

/// Points to put in: one after the other, or in columns.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct PointsInsert {
    points: Option<Vec<PointInsert>>,
    batch: Option<PointColumns>,
    shard_key: Option<Refused>,
    #[serde(default)]
    pub(crate) update_filter: Option<Value>,
    #[serde(default)]
    pub(crate) update_mode: Option<UpdateMode>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct PointColumns {
    ids: Vec<PointId>,
    vectors: VectorColumns,
    #[serde(default)]
    payloads: Option<Vec<Option<Map<String, Value>>>>,
}

type VectorColumns = Either<Vec<VectorValue>, BTreeMap<String, Vec<VectorValue>>>;

impl PointsInsert {
    /// The same with other points.
    pub(super) fn with_points(&self, points: Vec<PointInsert>) -> Self {
        Self {
            points: Some(points),
            batch: None,
            shard_key: None,
            update_filter: self.update_filter.clone(),
            update_mode: self.update_mode,
        }
    }

    /// The points.
    ///
    /// # Errors
    /// For columns of different lengths, and what is not supported.
    pub(crate) fn take_points(&mut self) -> Outcome<Vec<PointInsert>> {
        refuse("shard_key", self.shard_key)?;
        match (self.points.take(), self.batch.take()) {
            (Some(points), None) => Ok(points),
            (None, Some(columns)) => columns.into_points(),
            (None, None) => Err(Failure::format("missing field `points` or `batch`")),
            (Some(_), Some(_)) => Err(Failure::format("both `points` and `batch` are given")),
        }
    }
}

impl PointColumns {
    fn into_points(self) -> Outcome<Vec<PointInsert>> {
        let count = self.ids.len();
        let check = |what: &str, own: usize| {
            let words = format!("{own} {what} for {count} ids: give one for each");
            (own == count).then_some(()).ok_or(Failure::wrong(words))
        };
        let mut vectors: Vec<VectorInput> = match self.vectors {
            Either::Plain(all) => {
                check("vectors", all.len())?;
                all.into_iter().map(VectorInput::Unnamed).collect()
            }
            Either::Object(columns) => {
                let mut rows = vec![BTreeMap::new(); count];
                for (name, column) in columns {
                    check("vectors", column.len())?;
                    for (row, value) in rows.iter_mut().zip(column) {
                        row.insert(name.clone(), value);
                    }
                }
                rows.into_iter().map(VectorInput::Named).collect()
            }
        };
        let mut payloads = self.payloads.unwrap_or_default();
        if !payloads.is_empty() {
            check("payloads", payloads.len())?;
        }
        payloads.resize(count, None);
        let parts = self.ids.into_iter().zip(vectors.drain(..)).zip(payloads);
        let points = parts.map(|((id, vector), payload)| PointInsert {
            id,
            vector,
            payload,
        });
        Ok(points.collect())
    }
}

/// Which points: by their ids, or those that match.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Selector {
    pub(crate) points: Option<Vec<PointId>>,
    pub(crate) filter: Option<Value>,
    shard_key: Option<Refused>,
}

impl Selector {
    /// The same with other ids.
    pub(super) fn with_points(&self, points: Vec<PointId>) -> Self {
        Self {
            points: Some(points),
            ..self.clone()
        }
    }

    /// Refuses one that says nothing, and what is not supported.
    pub(crate) fn check(&self) -> Outcome<()> {
        refuse("shard_key", self.shard_key)?;
        if self.points.is_none() && self.filter.is_none() {
            return Err(Failure::format("missing field `points` or `filter`"));
        }
        Ok(())
    }
}

/// Fields to set, or to put in place of all.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct SetPayload {
    pub(crate) payload: Map<String, Value>,
    #[serde(flatten)]
    pub(crate) selector: Selector,
    #[serde(default)]
    pub(crate) key: Option<String>,
}

/// Fields to remove.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct DeletePayload {
    pub(crate) keys: Vec<String>,
    #[serde(flatten)]
    pub(crate) selector: Selector,
}

/// Vectors in place of those of their names.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct UpdateVectors {
    pub(crate) points: Vec<PointVectors>,
    #[serde(default)]
    pub(crate) update_filter: Option<Value>,
    #[serde(default)]
    shard_key: Option<Refused>,
}

impl UpdateVectors {
    /// The same with other points.
    pub(super) fn with_points(&self, points: Vec<PointVectors>) -> Self {
        Self {
            points,
            update_filter: self.update_filter.clone(),
            shard_key: None,
        }
    }

    /// Refuses what is not supported.
    pub(crate) fn check(&self) -> Outcome<()> {
        refuse("shard_key", self.shard_key)?;
        if self.points.is_empty() {
            return Err(Failure::invalid("points", "must specify points to update"));
        }
        let empty = self.points.iter().position(|own| own.vector.is_empty());
        if let Some(at) = empty {
            let words = "must specify vectors to update for point";
            return Err(Failure::invalid(&format!("points[{at}].vector"), words));
        }
        Ok(())
    }
}

/// Vectors of a point.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct PointVectors {
    pub(crate) id: PointId,
    pub(crate) vector: VectorInput,
}

/// Vectors to remove, by their names.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct DeleteVectors {
    pub(crate) vector: Vec<String>,
    #[serde(flatten)]
    pub(crate) selector: Selector,
}

/// Operations one after the other.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Operations {
    pub(crate) operations: Vec<BatchOperation>,
}

/// One of them.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum BatchOperation {
    Upsert(PointsInsert),
    Delete(Selector),
    SetPayload(SetPayload),
    OverwritePayload(SetPayload),
    DeletePayload(DeletePayload),
    ClearPayload(Selector),
    UpdateVectors(UpdateVectors),
    DeleteVectors(DeleteVectors),
}

/// What is there of a field that is not supported: that it was given.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub(super) struct Refused;

impl<'de> Deserialize<'de> for Refused {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

/// Refuses a field that is given.
pub(super) fn refuse(name: &str, value: Option<Refused>) -> Outcome<()> {
    match value {
        None => Ok(()),
        Some(Refused) => Err(Failure::unsupported(format_args!("`{name}`"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(json: &str) -> Outcome<Vec<PointInsert>> {
        let mut insert: PointsInsert = serde_json::from_str(json).map_err(Failure::format)?;
        insert.take_points()
    }

    #[test]
    fn points_come_in_rows_or_in_columns() {
        let rows = points(
            r#"{"points": [{"id": 1, "vector": {"a": [1]}, "payload": {"x": 1}},
                           {"id": 2, "vector": {"a": [2]}}]}"#,
        );
        let columns = points(
            r#"{"batch": {"ids": [1, 2], "vectors": {"a": [[1], [2]]},
                          "payloads": [{"x": 1}, null]}}"#,
        );
        assert_eq!(rows.unwrap(), columns.unwrap());
        let unnamed = points(r#"{"batch": {"ids": [1, 2], "vectors": [[1], [2]]}}"#).unwrap();
        assert_eq!(unnamed.len(), 2);
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        for (json, word) in [
            (
                r#"{"batch": {"ids": [1], "vectors": [[1], [2]]}}"#,
                "2 vectors for 1 ids",
            ),
            (
                r#"{"batch": {"ids": [1], "vectors": [[1]], "payloads": [{}, {}]}}"#,
                "2 payloads for 1",
            ),
            ("{}", "missing field"),
            (r#"{"points": [], "shard_key": "a"}"#, "`shard_key`"),
            (
                r#"{"points": [{"id": "x", "vector": []}]}"#,
                "not a valid point ID",
            ),
        ] {
            let failure = points(json).unwrap_err();
            assert!(
                failure.status == 400 && failure.text.contains(word),
                "{failure:?}"
            );
        }
    }
}
