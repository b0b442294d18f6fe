//! Settings of a collection, as they are set and read back.
//!
//! Those that other engines have are kept and shown, since clients look at them; of them count the
//! vectors, their distances, and the degree of graphs.

use serde_json::{Map, Value, json};

use super::schema::Schema;
use crate::failure::{Failure, Outcome};

type Object = Map<String, Value>;

/// What a new collection is asked to be.
///
/// # Errors
/// 422 for values outside of their ranges, 400 for what is not supported.
pub(crate) fn created(body: &Object) -> Outcome<Value> {
    refuse_unknown(body)?;
    check_counts(body)?;
    let mut params = json!({
        "shard_number": 1,
        "replication_factor": 1,
        "write_consistency_factor": 1,
        "on_disk_payload": true,
    });
    let mut config = json!({
        "hnsw_config": {
            "m": 16, "ef_construct": 100, "full_scan_threshold": 10_000,
            "max_indexing_threads": 0, "on_disk": false,
        },
        "optimizer_config": {
            "deleted_threshold": 0.2, "vacuum_min_vector_number": 1000,
            "default_segment_number": 0, "max_segment_size": null, "memmap_threshold": null,
            "indexing_threshold": 10_000, "flush_interval_sec": 5,
            "max_optimization_threads": null,
        },
        "wal_config": {"wal_capacity_mb": 32, "wal_segments_ahead": 0, "wal_retain_closed": 1},
        "quantization_config": null,
    });
    let vectors = body.get("vectors").filter(|value| !value.is_null());
    set(
        &mut params,
        "vectors",
        vectors.cloned().unwrap_or(json!({})),
    );
    for name in [
        "sparse_vectors",
        "on_disk_payload",
        "replication_factor",
        "write_consistency_factor",
    ] {
        if let Some(value) = body.get(name).filter(|value| !value.is_null()) {
            set(&mut params, name, value.clone());
        }
    }
    set(&mut config, "params", params);
    let mut groups = groups_of(body);
    // Its other name, of older clients.
    if let Some(own) = body.get("quantization") {
        groups
            .entry("quantization_config")
            .or_insert_with(|| own.clone());
    }
    patch(&mut config, &groups)?;
    Schema::of(&config)?;
    Ok(config)
}

/// The groups of settings that both making and changing a collection may set.
fn groups_of(body: &Object) -> Object {
    let names = [
        "hnsw_config",
        "optimizers_config",
        "wal_config",
        "quantization_config",
        "metadata",
    ];
    let known = body
        .iter()
        .filter(|(name, _)| names.contains(&name.as_str()));
    known
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// Sets what a change of a collection says; what it does not say stays.
///
/// # Errors
/// As [`created`].
pub(crate) fn patch(config: &mut Value, body: &Object) -> Outcome<()> {
    refuse_unknown(body)?;
    let groups = [
        ("hnsw_config", "hnsw_config"),
        ("optimizers_config", "optimizer_config"),
        ("wal_config", "wal_config"),
        ("params", "params"),
        ("metadata", "metadata"),
    ];
    for (given, own) in groups {
        match body.get(given) {
            None | Some(Value::Null) => {}
            Some(Value::Object(diff)) => {
                check_ranges(given, diff)?;
                merge(entry(config, own), diff);
                if own == "metadata" {
                    remove_nulls(entry(config, own), diff);
                    check_recall(config)?;
                }
            }
            Some(_) => {
                return Err(Failure::format(format_args!(
                    "{given}: an object is expected"
                )));
            }
        }
    }
    match body.get("quantization_config") {
        None | Some(Value::Null) => {}
        Some(Value::String(word)) if word == "Disabled" => {
            set(config, "quantization_config", Value::Null);
        }
        Some(other) => set(config, "quantization_config", other.clone()),
    }
    if let Some(Value::Object(vectors)) = body.get("vectors") {
        patch_vectors(config, vectors)?;
    }
    if let Some(Value::Object(sparse)) = body.get("sparse_vectors") {
        patch_sparse(config, sparse)?;
    }
    Ok(())
}

fn patch_vectors(config: &mut Value, vectors: &Object) -> Outcome<()> {
    let own = entry(entry(config, "params"), "vectors");
    let is_single = own.get("size").is_some();
    for (name, diff) in vectors {
        let Value::Object(diff) = diff else { continue };
        if let Some(Value::Object(hnsw)) = diff.get("hnsw_config") {
            check_ranges("hnsw_config", hnsw)?;
        }
        let place = if is_single && name.is_empty() {
            Some(&mut *own)
        } else {
            own.get_mut(name)
        };
        let place = place.filter(|place| place.is_object());
        deep_merge(place.ok_or_else(|| Failure::no_vector(name))?, diff);
    }
    Ok(())
}

fn patch_sparse(config: &mut Value, sparse: &Object) -> Outcome<()> {
    let own = entry(entry(config, "params"), "sparse_vectors");
    for (name, diff) in sparse {
        let Value::Object(diff) = diff else { continue };
        let place = own.get_mut(name).filter(|place| place.is_object());
        deep_merge(place.ok_or_else(|| Failure::no_vector(name))?, diff);
    }
    Ok(())
}

/// Refuses what is neither supported nor without effect.
fn refuse_unknown(body: &Object) -> Outcome<()> {
    let strict = body.get("strict_mode_config");
    let is_strict = strict.and_then(|strict| strict.get("enabled"));
    if is_strict.and_then(Value::as_bool) == Some(true) {
        return Err(Failure::unsupported("`strict_mode_config.enabled`"));
    }
    if body.get("sharding_method").and_then(Value::as_str) == Some("custom") {
        return Err(Failure::unsupported("`sharding_method`: custom"));
    }
    if body.get("init_from").is_some_and(|value| !value.is_null()) {
        return Err(Failure::unsupported("`init_from`"));
    }
    Ok(())
}

/// Refuses numbers of shards and replicas that are none.
fn check_counts(body: &Object) -> Outcome<()> {
    for name in [
        "shard_number",
        "replication_factor",
        "write_consistency_factor",
    ] {
        let Some(value) = body.get(name).filter(|value| !value.is_null()) else {
            continue;
        };
        match value.as_u64() {
            Some(0) => {
                return Err(Failure::invalid(
                    name,
                    "value 0 invalid, must be 1 or larger",
                ));
            }
            Some(_) => {}
            None => {
                let words = format!("{name}: invalid value: {value}, expected u32");
                return Err(Failure::format(words));
            }
        }
    }
    Ok(())
}

/// The least of numbers, by their names.
const LEAST: [(&str, f64); 6] = [
    ("ef_construct", 4.0),
    ("full_scan_threshold", 10.0),
    ("wal_capacity_mb", 1.0),
    ("vacuum_min_vector_number", 100.0),
    ("max_segment_size", 1.0),
    ("deleted_threshold", 0.0),
];

fn check_ranges(group: &str, diff: &Object) -> Outcome<()> {
    for (name, least) in LEAST {
        let Some(value) = diff.get(name).filter(|value| !value.is_null()) else {
            continue;
        };
        let path = format!("{group}.{name}");
        let number = value.as_f64();
        let number = number.ok_or_else(|| Failure::format(format_args!("{path}: a number")))?;
        if number < least {
            let words = format!("value {value} invalid, must be {least} or larger");
            return Err(Failure::invalid(&path, words));
        }
        if name == "deleted_threshold" && number > 1.0 {
            let words = format!("value {value} invalid, must be from 0.0 to 1.0");
            return Err(Failure::invalid(&path, words));
        }
    }
    for (name, value) in diff {
        if value.as_f64().is_some_and(|number| number < 0.0) {
            let words = format!("{group}.{name}: invalid value: integer `{value}`");
            return Err(Failure::format(words));
        }
    }
    Ok(())
}

/// The recall of searches that ask for none, where the metadata of the collection say it:
/// `{"pageway": {"recall": 0.97}}`.
pub(crate) fn recall_of(config: &Value) -> Option<f32> {
    let own = config.get("metadata")?.get("pageway")?.get("recall")?;
    own.as_f64().map(|own| own as f32)
}

fn check_recall(config: &Value) -> Outcome<()> {
    let path = "metadata.pageway";
    let own = config.get("metadata").and_then(|own| own.get("pageway"));
    let Some(own) = own else { return Ok(()) };
    let known = own.as_object().filter(|own| {
        let mut names = own.keys();
        names.all(|name| name == "recall")
    });
    if known.is_none() {
        return Err(Failure::invalid(
            path,
            "an object with `recall` is expected",
        ));
    }
    let is_wrong = own.get("recall").is_some()
        && !recall_of(config).is_some_and(|own| (0.0..1.0).contains(&own));
    if is_wrong {
        let words = "value invalid, must be a number from 0.0 to below 1.0";
        return Err(Failure::invalid(&format!("{path}.recall"), words));
    }
    Ok(())
}

/// The value of a key, an empty object where there is none.
fn entry<'v>(value: &'v mut Value, name: &str) -> &'v mut Value {
    if !value.is_object() {
        *value = json!({});
    }
    let own = &mut value[name];
    if own.is_null() {
        *own = json!({});
    }
    own
}

fn set(value: &mut Value, name: &str, to: Value) {
    if let Some(object) = value.as_object_mut() {
        object.insert(name.to_owned(), to);
    }
}

fn merge(value: &mut Value, diff: &Object) {
    let given = diff.iter().filter(|(_, value)| !value.is_null());
    for (name, new) in given {
        set(value, name, new.clone());
    }
}

/// Removes what a change sets to null.
fn remove_nulls(value: &mut Value, diff: &Object) {
    if let Some(object) = value.as_object_mut() {
        object.retain(|name, _| !diff.get(name).is_some_and(Value::is_null));
    }
}

fn deep_merge(value: &mut Value, diff: &Object) {
    for (name, new) in diff {
        match new {
            Value::Null => {}
            Value::Object(inner) => deep_merge(entry(value, name), inner),
            Value::String(word) if word == "Disabled" => set(value, name, Value::Null),
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                set(value, name, new.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(value: Value) -> Object {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn what_is_set_is_read_back() {
        let body = object(json!({
            "vectors": {"size": 4, "distance": "Dot", "on_disk": true},
            "hnsw_config": {"m": 32},
            "metadata": {"a": 1},
        }));
        let mut config = created(&body).unwrap();
        assert_eq!(config["params"]["vectors"], body["vectors"]);
        assert_eq!(config["hnsw_config"]["m"], 32);
        assert_eq!(config["hnsw_config"]["ef_construct"], 100);
        let diff = object(json!({
            "vectors": {"": {"hnsw_config": {"m": 8}}},
            "optimizers_config": {"indexing_threshold": 0},
            "metadata": {"b": 2, "a": null},
            "quantization_config": {"scalar": {"type": "int8"}},
        }));
        patch(&mut config, &diff).unwrap();
        assert_eq!(config["params"]["vectors"]["hnsw_config"]["m"], 8);
        assert_eq!(config["params"]["vectors"]["size"], 4);
        assert_eq!(config["optimizer_config"]["indexing_threshold"], 0);
        assert_eq!(config["metadata"], json!({"b": 2}));
        patch(
            &mut config,
            &object(json!({"quantization_config": "Disabled"})),
        )
        .unwrap();
        assert_eq!(config["quantization_config"], Value::Null);
        assert_eq!(recall_of(&config), None);
        let diff = object(json!({"metadata": {"pageway": {"recall": 0.5}}}));
        patch(&mut config, &diff).unwrap();
        assert_eq!(recall_of(&config), Some(0.5));
        assert_eq!(config["metadata"]["b"], 2);
    }

    #[test]
    fn values_out_of_range_are_refused_with_their_path() {
        for (body, status, word) in [
            (
                json!({"vectors": {"size": 0, "distance": "Dot"}}),
                422,
                "vectors.size",
            ),
            (
                json!({"vectors": {"size": 4, "distance": "Far"}}),
                400,
                "Far",
            ),
            (
                json!({"metadata": {"pageway": {"recall": 1.5}}}),
                422,
                "metadata.pageway.recall",
            ),
            (
                json!({"metadata": {"pageway": {"recal": 0.5}}}),
                422,
                "metadata.pageway",
            ),
            (
                json!({"hnsw_config": {"ef_construct": 0}}),
                422,
                "hnsw_config.ef_construct",
            ),
            (
                json!({"strict_mode_config": {"enabled": true}}),
                400,
                "strict_mode_config",
            ),
            (
                json!({"vectors": {"a": {"size": 4, "distance": "Dot",
                                         "multivector_config": {"comparator": "max_sim"}}}}),
                400,
                "multivector_config",
            ),
        ] {
            let failure = created(&object(body)).unwrap_err();
            assert_eq!(failure.status, status, "{failure:?}");
            assert!(failure.text.contains(word), "{failure:?}");
        }
    }
}
