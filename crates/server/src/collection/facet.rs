//! How often each value of a field is there: a pass over the documents of all points that match.

use std::collections::{BTreeMap, HashSet};

use pageway::FieldPath;
use serde::Serialize;
use serde_json::{Map, Value};

use super::document::PointDocument;
use super::open::OpenCollection;
use crate::failure::{Failure, Outcome};
use crate::wire::{Facet, PointId};

/// Different values at most.
const MAX_VALUES: usize = 1 << 20;

/// A value, and how many points have it.
#[derive(Serialize, PartialEq, Debug)]
pub(crate) struct FacetHit {
    value: Value,
    count: u64,
}

/// Values that can be counted, in the order in which equally many are shown.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum FacetValue {
    Bool(bool),
    Int(i64),
    Text(String),
}

impl FacetValue {
    fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Bool(own) => Some(Self::Bool(*own)),
            Value::Number(own) => own.as_i64().map(Self::Int),
            Value::String(own) => Some(Self::Text(own.clone())),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        }
    }
}

impl FacetValue {
    /// A UUID as it is written; others as they are.
    fn with_hyphens(self) -> Self {
        match &self {
            Self::Text(text) => match PointId::parse(text) {
                Some(id @ PointId::Uuid(_)) => Self::Text(id.to_string()),
                Some(PointId::Number(_)) | None => self,
            },
            Self::Bool(_) | Self::Int(_) => self,
        }
    }
}

impl From<FacetValue> for Value {
    fn from(value: FacetValue) -> Self {
        match value {
            FacetValue::Bool(own) => own.into(),
            FacetValue::Int(own) => own.into(),
            FacetValue::Text(own) => own.into(),
        }
    }
}

impl OpenCollection {
    /// The values that most of the points that match have.
    /// UUIDs are written in one way where the field has `uuids`.
    pub(crate) fn facet(&self, request: &Facet, uuids: bool) -> Outcome<Vec<FacetHit>> {
        let limit = request.limit()?;
        let path = FieldPath::parse(&request.key).map_err(Failure::wrong)?;
        let mut counts: BTreeMap<FacetValue, u64> = BTreeMap::new();
        self.visit_documents(request.filter.as_ref(), &mut |_, document| {
            let payload = PointDocument::decode(document)?.payload;
            let values = values_at(&payload, &path).into_iter();
            let own = values.filter_map(FacetValue::of);
            let own = own.map(|value| if uuids { value.with_hyphens() } else { value });
            let own: HashSet<FacetValue> = own.collect();
            for value in own {
                *counts.entry(value).or_default() += 1;
            }
            if counts.len() > MAX_VALUES {
                let words = format!("`{}` has more than {MAX_VALUES} values", request.key);
                return Err(Failure::wrong(words));
            }
            Ok(())
        })?;
        let mut hits: Vec<(FacetValue, u64)> = counts.into_iter().collect();
        hits.sort_by(|one, next| next.1.cmp(&one.1).then_with(|| one.0.cmp(&next.0)));
        let first = hits.into_iter().take(limit);
        let hit = |(value, count): (FacetValue, u64)| FacetHit {
            value: value.into(),
            count,
        };
        Ok(first.map(hit).collect())
    }
}

/// The values at a path, those of lists one by one.
pub(super) fn values_at<'p>(payload: &'p Map<String, Value>, path: &FieldPath) -> Vec<&'p Value> {
    use pageway::server::Step;
    let mut steps = path.steps().iter();
    let Some(Step::Key(name)) = steps.next() else {
        return Vec::new();
    };
    let mut found: Vec<&Value> = payload.get(name).into_iter().collect();
    for step in steps {
        found = found
            .into_iter()
            .flat_map(|value| match (step, value) {
                (Step::Key(name), Value::Object(object)) => object.get(name).into_iter().collect(),
                (Step::Each, Value::Array(all)) => all.iter().collect(),
                (Step::At(at), Value::Array(all)) => all.get(*at).into_iter().collect(),
                _ => Vec::new(),
            })
            .collect();
    }
    let spread = |value: &'p Value| match value.as_array() {
        Some(all) => all.iter().collect(),
        None => vec![value],
    };
    found.into_iter().flat_map(spread).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_found_at_paths() {
        let payload = json!({"a": {"b": [1, 2]}, "l": [{"x": 3}, {"x": [4]}, 5]});
        let payload = payload.as_object().unwrap();
        let at = |path: &str| -> Vec<Value> {
            let path = FieldPath::parse(path).unwrap();
            values_at(payload, &path).into_iter().cloned().collect()
        };
        assert_eq!(at("a.b"), [json!(1), json!(2)]);
        assert_eq!(at("l[].x"), [json!(3), json!(4)]);
        assert_eq!(at("l[0].x"), [json!(3)]);
        assert!(at("no.where").is_empty());
    }
}
