//! Changes of documents, with the meaning that they have in Qdrant.

use serde_json::Value;

use crate::error::Result;
use crate::evaluate::Document;
use crate::name::check_fields;
use crate::path::{Path, Step};

/// A change of a document.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Edit {
    /// Fields of an object take the place of those of their names, which go where they are null: of
    /// the document, or of every object at a path. What is missing on the way is made; what is of
    /// another kind is replaced. Elements that are not there are left.
    Set {
        /// Where, if not in the document itself.
        at: Option<Path>,
        /// The fields.
        fields: Document,
    },
    /// The document is this one.
    Overwrite(Document),
    /// What is at these paths goes; paths that lead nowhere, or to one element of an array, are
    /// passed over.
    Remove(Vec<Path>),
    /// The document goes.
    Clear,
}

impl Edit {
    /// Refuses a change that would give rows a name.
    ///
    /// # Errors
    /// For fields with the key that is kept for names.
    pub fn check(&self) -> Result<()> {
        match self {
            Self::Set { at: None, fields } | Self::Overwrite(fields) => check_fields(fields),
            Self::Set { .. } | Self::Remove(_) | Self::Clear => Ok(()),
        }
    }

    /// Changes a document.
    pub fn apply(&self, document: &mut Document) {
        match self {
            Self::Set { at: None, fields } => merge(document, fields),
            Self::Set {
                at: Some(path),
                fields,
            } => set_key(document, path.steps(), fields),
            Self::Overwrite(fields) => document.clone_from(fields),
            Self::Remove(paths) => paths
                .iter()
                .for_each(|path| remove_key(document, path.steps())),
            Self::Clear => document.clear(),
        }
    }
}

fn merge(document: &mut Document, fields: &Document) {
    document.retain(|name, _| !fields.get(name).is_some_and(Value::is_null));
    let given = fields.iter().filter(|(_, value)| !value.is_null());
    document.extend(given.map(|(name, value)| (name.clone(), value.clone())));
}

/// Sets fields at steps that begin with a key.
fn set_key(document: &mut Document, steps: &[Step], fields: &Document) {
    let Some((Step::Key(name), rest)) = steps.split_first() else {
        return;
    };
    let value = document.entry(name.clone()).or_insert(Value::Null);
    set(value, rest, fields);
}

fn set(value: &mut Value, steps: &[Step], fields: &Document) {
    match steps.first() {
        None => with_object(value, &mut |object| merge(object, fields)),
        Some(Step::Key(_)) => with_object(value, &mut |object| set_key(object, steps, fields)),
        Some(step) => {
            let rest = steps.get(1..).unwrap_or_default();
            elements(as_array(value), step).for_each(|element| set(element, rest, fields));
        }
    }
}

/// Changes the object that a value is, or that takes its place.
fn with_object(value: &mut Value, change: &mut dyn FnMut(&mut Document)) {
    if !value.is_object() {
        *value = Value::Object(Document::new());
    }
    if let Some(object) = value.as_object_mut() {
        change(object);
    }
}

/// The elements of the array that a value is, or that takes its place.
fn as_array(value: &mut Value) -> &mut [Value] {
    if !value.is_array() {
        *value = Value::Array(Vec::new());
    }
    value.as_array_mut().map_or(&mut [], Vec::as_mut_slice)
}

/// The elements that a step means.
fn elements<'v>(all: &'v mut [Value], step: &Step) -> impl Iterator<Item = &'v mut Value> {
    let own = match step {
        Step::Each => Some(all),
        Step::At(at) => all.get_mut(*at..at.saturating_add(1)),
        Step::Key(_) => None,
    };
    own.unwrap_or_default().iter_mut()
}

fn remove_key(document: &mut Document, steps: &[Step]) {
    let Some((Step::Key(name), rest)) = steps.split_first() else {
        return;
    };
    if rest.is_empty() {
        document.remove(name);
    } else if let Some(value) = document.get_mut(name) {
        remove(value, rest);
    }
}

fn remove(value: &mut Value, steps: &[Step]) {
    let (Some(step), rest) = (steps.first(), steps.get(1..).unwrap_or_default()) else {
        return;
    };
    match (step, value) {
        (Step::Key(_), Value::Object(object)) => remove_key(object, steps),
        (Step::Each, Value::Array(all)) if rest.is_empty() => all.clear(),
        // Others would be in its place, which doing it again would remove.
        (Step::At(_), _) if rest.is_empty() => {}
        (step, Value::Array(all)) => {
            elements(all, step).for_each(|element| remove(element, rest));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn document(value: Value) -> Document {
        value.as_object().unwrap().clone()
    }

    fn set_at(at: &str, fields: Value) -> Edit {
        Edit::Set {
            at: Some(Path::parse(at).unwrap()),
            fields: document(fields),
        }
    }

    #[track_caller]
    fn assert_edits<const N: usize>(cases: [(Edit, Value, Value); N]) {
        for (edit, before, after) in cases {
            let mut changed = document(before.clone());
            edit.apply(&mut changed);
            assert_eq!(Value::Object(changed), after, "{edit:?} of {before}");
        }
    }

    #[test]
    fn whole_documents_are_changed() {
        assert_edits([
            (
                Edit::Set {
                    at: None,
                    fields: document(json!({"a": {"x": 1, "n": null}, "c": null, "e": null})),
                },
                json!({"a": {"b": 2}, "c": 3, "d": 4}),
                json!({"a": {"x": 1, "n": null}, "d": 4}),
            ),
            (
                Edit::Overwrite(document(json!({"z": null}))),
                json!({"a": 1}),
                json!({"z": null}),
            ),
            (
                Edit::Overwrite(document(json!({"z": 1}))),
                json!({"a": 1}),
                json!({"z": 1}),
            ),
            (Edit::Clear, json!({"a": 1}), json!({})),
        ]);
    }

    #[test]
    fn fields_are_set_where_a_path_leads() {
        assert_edits([
            (
                set_at("a[].b", json!({"x": null, "y": 2})),
                json!({"a": [{"b": {"x": 1}}, {}]}),
                json!({"a": [{"b": {"y": 2}}, {"b": {"y": 2}}]}),
            ),
            (
                set_at("a", json!({"x": 1})),
                json!({"a": {"b": 2, "x": 0}}),
                json!({"a": {"b": 2, "x": 1}}),
            ),
            (
                set_at("a.b", json!({"x": 1})),
                json!({}),
                json!({"a": {"b": {"x": 1}}}),
            ),
            (
                set_at("a.b", json!({"x": 1})),
                json!({"a": 7}),
                json!({"a": {"b": {"x": 1}}}),
            ),
            (
                set_at("a[].b", json!({"x": 1})),
                json!({"a": [{"b": {"y": 2}}, {}, 5]}),
                json!({"a": [{"b": {"x": 1, "y": 2}}, {"b": {"x": 1}}, {"b": {"x": 1}}]}),
            ),
            (
                set_at("a[1]", json!({"x": 1})),
                json!({"a": [{"b": 2}, {"b": 3}]}),
                json!({"a": [{"b": 2}, {"b": 3, "x": 1}]}),
            ),
            (
                set_at("a[9]", json!({"x": 1})),
                json!({"a": [1]}),
                json!({"a": [1]}),
            ),
            (
                set_at("a[]", json!({"x": 1})),
                json!({"a": 3}),
                json!({"a": []}),
            ),
        ]);
    }

    #[test]
    fn what_paths_name_is_removed() {
        let remove = |paths: &[&str]| {
            let path = |path: &&str| Path::parse(path).unwrap();
            Edit::Remove(paths.iter().map(path).collect())
        };
        assert_edits([
            (
                remove(&["a.b", "c", "no.where", "l[].k", "l[1].j"]),
                json!({"a": {"b": 1, "d": 2}, "c": 3, "l": [{"k": 1}, {"k": 2, "j": 3}]}),
                json!({"a": {"d": 2}, "l": [{}, {}]}),
            ),
            (
                remove(&["m[0]", "n[]", "o[0][]"]),
                json!({"m": [1, 2], "n": [3], "o": [[4], [5]]}),
                json!({"m": [1, 2], "n": [], "o": [[], [5]]}),
            ),
        ]);
    }
}
