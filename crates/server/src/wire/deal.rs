//! A change of points, dealt to the parts that a collection is cut into by ids.
//!
//! Points that are named go where their ids belong, in their order; those that a filter stands for
//! may be anywhere, so every part is told. An operation without points goes to the first part,
//! which says what it says of it.

use std::collections::BTreeMap;

use super::id::PointId;
use super::points::{BatchOperation, DeletePayload, DeleteVectors, Selector, SetPayload};
use crate::failure::Outcome;

/// Into how many parts a collection is cut, and which of them an id belongs to.
type DealCut<'c> = (usize, &'c dyn Fn(PointId) -> usize);

impl BatchOperation {
    /// What each part has to do, by its number.
    ///
    /// # Errors
    /// 400 for what no part would do.
    pub(crate) fn deal(self, cut: DealCut<'_>) -> Outcome<BTreeMap<usize, Self>> {
        Ok(match self {
            Self::Upsert(mut insert) => {
                let points = insert.take_points()?;
                let parts = grouped(points, cut, |point| point.id);
                each(parts, |points| Self::Upsert(insert.with_points(points)))
            }
            Self::UpdateVectors(update) => {
                update.check()?;
                let parts = grouped(update.points.clone(), cut, |point| point.id);
                each(parts, |points| {
                    Self::UpdateVectors(update.with_points(points))
                })
            }
            Self::Delete(selector) => each(selector.deal(cut)?, Self::Delete),
            Self::ClearPayload(selector) => each(selector.deal(cut)?, Self::ClearPayload),
            Self::SetPayload(set) => {
                let part = |selector| SetPayload {
                    selector,
                    ..set.clone()
                };
                each(set.selector.deal(cut)?, |own| Self::SetPayload(part(own)))
            }
            Self::OverwritePayload(set) => {
                let part = |selector| SetPayload {
                    selector,
                    ..set.clone()
                };
                each(set.selector.deal(cut)?, |own| {
                    Self::OverwritePayload(part(own))
                })
            }
            Self::DeletePayload(delete) => {
                let part = |selector| DeletePayload {
                    selector,
                    ..delete.clone()
                };
                each(delete.selector.deal(cut)?, |own| {
                    Self::DeletePayload(part(own))
                })
            }
            Self::DeleteVectors(delete) => {
                let part = |selector| DeleteVectors {
                    selector,
                    ..delete.clone()
                };
                each(delete.selector.deal(cut)?, |own| {
                    Self::DeleteVectors(part(own))
                })
            }
        })
    }
}

impl Selector {
    fn deal(&self, cut: DealCut<'_>) -> Outcome<BTreeMap<usize, Self>> {
        self.check()?;
        let Some(ids) = &self.points else {
            return Ok((0..cut.0).map(|part| (part, self.clone())).collect());
        };
        let mut parts = grouped(ids.clone(), cut, |id| *id);
        if self.filter.is_some() {
            // It may stand for points anywhere.
            for part in 0..cut.0 {
                parts.entry(part).or_default();
            }
        }
        Ok(each(parts, |ids| self.with_points(ids)))
    }
}

fn each<A, B>(parts: BTreeMap<usize, A>, of: impl Fn(A) -> B) -> BTreeMap<usize, B> {
    parts
        .into_iter()
        .map(|(part, own)| (part, of(own)))
        .collect()
}

fn grouped<T>(
    all: Vec<T>,
    (_, part_of): DealCut<'_>,
    id: impl Fn(&T) -> PointId,
) -> BTreeMap<usize, Vec<T>> {
    let mut parts: BTreeMap<usize, Vec<T>> = BTreeMap::new();
    if all.is_empty() {
        parts.insert(0, Vec::new());
    }
    for one in all {
        parts.entry(part_of(id(&one))).or_default().push(one);
    }
    parts
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn dealt(operation: Value) -> BTreeMap<usize, Value> {
        let operation: BatchOperation = serde_json::from_value(operation).unwrap();
        let part_of = |id| match id {
            PointId::Number(number) => number as usize % 3,
            PointId::Uuid(_) => 2,
        };
        let parts = operation.deal((3, &part_of)).unwrap();
        let json = |own: BatchOperation| serde_json::to_value(own).unwrap();
        each(parts, json)
    }

    #[test]
    fn named_points_go_where_they_belong_in_their_order() {
        let uuid = "f47ac10b-58cc-4372-a567-0e02b2c3d479";
        let points = json!([
            {"id": 4, "vector": [1.5, 0.1], "payload": {"a": 1}}, {"id": 3, "vector": {"x": [2.0]}},
            {"id": uuid, "vector": []}, {"id": 1, "vector": [0.25]}
        ]);
        let parts = dealt(json!({"upsert": {"points": points, "update_mode": "insert_only"}}));
        assert_eq!(parts.keys().collect::<Vec<_>>(), [&0, &1, &2]);
        let part = |part: usize| parts[&part]["upsert"]["points"].clone();
        let ids = |part: usize| part_ids(&parts[&part]["upsert"]["points"]);
        assert_eq!((ids(0), ids(1)), (json!([3]), json!([4, 1])));
        assert_eq!(ids(2), json!([uuid]));
        assert_eq!(part(0)[0]["vector"], json!({"x": [2.0]}));
        assert_eq!(part(1)[0]["payload"], json!({"a": 1}));
        assert_eq!(parts[&1]["upsert"]["update_mode"], "insert_only");
        // Numbers come through as they are.
        let first: Vec<f32> = serde_json::from_value(part(1)[0]["vector"].clone()).unwrap();
        assert_eq!(first, [1.5, 0.1]);
        let columns = json!({"ids": [1, 3], "vectors": [[1], [2]], "payloads": [null, {"b": 2}]});
        let parts = dealt(json!({"upsert": {"batch": columns}}));
        assert_eq!(parts[&0]["upsert"]["points"][0]["payload"], json!({"b": 2}));
        let update = json!({"points": [{"id": 1, "vector": [1.0]}, {"id": 5, "vector": [2.0]}]});
        let parts = dealt(json!({"update_vectors": update}));
        assert_eq!(part_ids(&parts[&2]["update_vectors"]["points"]), json!([5]));
        assert_eq!(parts.len(), 2);
    }

    fn part_ids(points: &Value) -> Value {
        let points = points.as_array().unwrap().iter();
        points.map(|point| point["id"].clone()).collect()
    }

    fn part_points(parts: &BTreeMap<usize, Value>, name: &str) -> Vec<Value> {
        let points = parts.values().map(|own| own[name]["points"].clone());
        points.collect()
    }

    #[test]
    fn what_a_filter_stands_for_may_be_anywhere() {
        let filter = json!({"must": [{"key": "a", "match": {"value": 1}}]});
        for (name, more) in [
            ("delete", json!({})),
            ("clear_payload", json!({})),
            ("set_payload", json!({"payload": {"b": 1}, "key": "c"})),
            ("overwrite_payload", json!({"payload": {"b": 1}})),
            ("delete_payload", json!({"keys": ["b"]})),
            ("delete_vectors", json!({"vector": [""]})),
        ] {
            let with = |own: Value| {
                let mut body = more.clone();
                let own = own.as_object().unwrap().clone();
                body.as_object_mut().unwrap().extend(own);
                json!({ name: body })
            };
            let parts = dealt(with(json!({"filter": filter})));
            assert_eq!(parts.len(), 3, "{name}");
            assert!(parts.values().all(|own| own[name]["filter"] == filter));
            let both = dealt(with(json!({"points": [2, 5, 3], "filter": filter})));
            assert_eq!(both[&2][name]["points"], json!([2, 5]), "{name}");
            assert_eq!(both[&2][name]["filter"], filter, "{name}");
            for (key, value) in more.as_object().unwrap() {
                assert_eq!(&both[&0][name][key], value, "{name}");
            }
            assert_eq!(
                part_points(&both, name),
                [json!([3]), json!([]), json!([2, 5])]
            );
            let none = dealt(with(json!({"points": []})));
            assert_eq!(none.keys().collect::<Vec<_>>(), [&0], "{name}");
        }
        let none: BatchOperation = serde_json::from_value(json!({"delete": {}})).unwrap();
        assert_eq!(none.deal((2, &|_| 0)).unwrap_err().status, 400);
    }
}
