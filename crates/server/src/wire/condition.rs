//! Filters as they come, with what the engine knows in other words: ids, and vectors that are
//! there.

use pageway::Filter;
use serde_json::{Value, json};

use super::id::PointId;
use crate::failure::{Failure, Outcome};

/// The field of a document that says which vectors are there or not. No payload has it.
pub(crate) const MARKS: &str = "\u{1}";

/// The mark of a point that lacks a dense vector.
pub(crate) fn absence(name: &str) -> String {
    format!("-{name}")
}

/// The mark of a point that has a sparse vector.
pub(crate) fn presence(name: &str) -> String {
    format!("+{name}")
}

/// The filter that JSON stands for. `is_dense` tells of a name whether that vector is dense; none
/// where there is none.
///
/// # Errors
/// Names the place in the filter.
pub(crate) fn filter_of(json: &Value, is_dense: &dyn Fn(&str) -> Option<bool>) -> Outcome<Filter> {
    if conditions(json, &mut 0) {
        let words = format!("filter: more than {MAX_CONDITIONS} conditions");
        return Err(Failure::wrong(words));
    }
    let mut json = json.clone();
    rewrite(&mut json, is_dense, 0)?;
    Ok(Filter::qdrant(&json.to_string())?)
}

/// The same filter, of points that have a dense vector.
pub(crate) fn without_vector(filter: Option<&Value>, name: &str) -> Value {
    let lacks = json!({"key": MARKS, "match": {"value": absence(name)}});
    let mut all = json!({"must_not": [lacks]});
    if let (Some(filter), Some(all)) = (filter, all.as_object_mut()) {
        all.insert("must".to_owned(), json!([filter]));
    }
    all
}

/// Conditions and groups of them that a filter is looked through for; the engine refuses more than
/// a thousand conditions.
const MAX_CONDITIONS: usize = 10_000;

/// Whether there are more objects in a filter than anybody means.
fn conditions(json: &Value, count: &mut usize) -> bool {
    match json {
        Value::Array(all) => all.iter().any(|one| conditions(one, count)),
        Value::Object(object) => {
            *count += 1;
            *count > MAX_CONDITIONS || object.values().any(|one| conditions(one, count))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Levels of a filter that are looked through; the engine refuses more.
const MAX_DEPTH: usize = 128;

fn rewrite(json: &mut Value, is_dense: &dyn Fn(&str) -> Option<bool>, depth: usize) -> Outcome<()> {
    if depth > MAX_DEPTH {
        return Err(Failure::wrong("filter: too many levels"));
    }
    match json {
        Value::Array(all) => all
            .iter_mut()
            .try_for_each(|one| rewrite(one, is_dense, depth + 1)),
        Value::Object(object) => {
            if let Some(ids) = object.get_mut("has_id") {
                return rewrite_ids(ids);
            }
            if let Some(name) = object.get("has_vector").and_then(Value::as_str) {
                *json = has_vector(name, is_dense(name));
                return Ok(());
            }
            check_field(object)?;
            let inner = [
                "must",
                "should",
                "must_not",
                "min_should",
                "conditions",
                "nested",
                "filter",
            ];
            for name in inner {
                if let Some(value) = object.get_mut(name) {
                    rewrite(value, is_dense, depth + 1)?;
                }
            }
            Ok(())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

/// Refuses a condition on a field that says nothing of it.
fn check_field(object: &serde_json::Map<String, Value>) -> Outcome<()> {
    let says = object
        .iter()
        .any(|(name, value)| name != "key" && !value.is_null());
    if object.contains_key("key") && !says {
        let words = "At least one field condition must be specified";
        return Err(Failure::invalid("filter", words));
    }
    Ok(())
}

fn has_vector(name: &str, is_dense: Option<bool>) -> Value {
    match is_dense {
        Some(true) => without_vector(None, name),
        Some(false) => json!({"key": MARKS, "match": {"value": presence(name)}}),
        None => json!({"has_id": []}),
    }
}

/// Ids as the engine has them: numbers, and names of rows.
fn rewrite_ids(ids: &mut Value) -> Outcome<()> {
    let all = ids.as_array_mut();
    let all = all.ok_or_else(|| Failure::format("has_id: a list of ids is expected"))?;
    for id in all {
        let own: PointId = serde_json::from_value(id.clone()).map_err(Failure::format)?;
        if let Some(name) = own.name() {
            *id = Value::String(name);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(mut json: Value) -> Value {
        let is_dense = |name: &str| match name {
            "image" => Some(true),
            "words" => Some(false),
            _ => None,
        };
        rewrite(&mut json, &is_dense, 0).unwrap();
        json
    }

    #[test]
    fn vectors_and_ids_are_said_in_other_words() {
        assert_eq!(
            rewritten(json!({"must": [{"has_vector": "image"}, {"has_vector": "words"}]})),
            json!({"must": [
                {"must_not": [{"key": "\u{1}", "match": {"value": "-image"}}]},
                {"key": "\u{1}", "match": {"value": "+words"}},
            ]})
        );
        let id = "F47AC10B58CC4372A5670E02B2C3D479";
        assert_eq!(
            rewritten(json!({"should": {"has_id": [3, id]}})),
            json!({"should": {"has_id": [3, "f47ac10b-58cc-4372-a567-0e02b2c3d479"]}})
        );
        let high = rewritten(json!({"has_id": [u64::MAX]}));
        assert_eq!(high, json!({"has_id": ["18446744073709551615"]}));
    }

    #[test]
    fn filters_are_those_of_the_engine() {
        let none = |_: &str| None;
        assert!(
            filter_of(
                &json!({"must": [{"key": "a", "match": {"value": 1}}]}),
                &none
            )
            .is_ok()
        );
        let failure = filter_of(&json!({"must": [{"key": "a", "match": {"x": 1}}]}), &none);
        let failure = failure.unwrap_err();
        assert!(
            failure.status == 400 && failure.text.contains("match"),
            "{failure:?}"
        );
        let bare = filter_of(&json!({"must": [{"key": "a"}]}), &none).unwrap_err();
        assert_eq!(bare.status, 422);
        assert!(filter_of(&json!({"has_id": ["x"]}), &none).is_err());
        let many = json!({"should": vec![json!({}); MAX_CONDITIONS]});
        let many = filter_of(&many, &none).unwrap_err();
        assert!(many.text.contains("more than 10000 conditions"), "{many:?}");
        assert!(filter_of(&without_vector(Some(&json!({})), "a"), &none).is_ok());
    }
}
