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
    check_settings("", body)?;
    check_vectors(body)?;
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

/// Sets what a change of a collection says; what it does not say stays, as does all where it is
/// refused.
///
/// # Errors
/// As [`created`]; 400 for what points were made by.
pub(crate) fn patch(config: &mut Value, body: &Object) -> Outcome<()> {
    refuse_unknown(body)?;
    check_settings("", body)?;
    let mut next = config.clone();
    let groups = [
        ("hnsw_config", "hnsw_config"),
        ("optimizers_config", "optimizer_config"),
        ("wal_config", "wal_config"),
        ("metadata", "metadata"),
    ];
    for (given, own) in groups {
        if let Some(diff) = body.get(given).and_then(Value::as_object) {
            merge(entry(&mut next, own), diff);
            if own == "metadata" {
                remove_nulls(entry(&mut next, own), diff);
                check_recall(&next)?;
            }
        }
    }
    if let Some(own) = body.get("quantization_config") {
        patch_part(&mut next, "quantization_config", own);
    }
    if let Some(diff) = body.get("params").and_then(Value::as_object) {
        patch_parts(entry(&mut next, "params"), ("params", diff), &PARAMS)?;
    }
    for (group, parts) in [
        ("vectors", &VECTOR_PARTS[..]),
        ("sparse_vectors", &SPARSE_PARTS[..]),
    ] {
        if let Some(diff) = body.get(group).and_then(Value::as_object) {
            patch_vectors(
                entry(entry(&mut next, "params"), group),
                (group, diff),
                parts,
            )?;
        }
    }
    if !Schema::of(config)?.has_points_of(&Schema::of(&next)?) {
        return Err(Failure::unsupported("a change of the vectors of points"));
    }
    *config = next;
    Ok(())
}

/// Settings that may change in collections, in vectors, and in sparse ones.
const PARAMS: [&str; 6] = [
    "replication_factor",
    "write_consistency_factor",
    "read_fan_out_factor",
    "read_fan_out_delay_ms",
    "on_disk_payload",
    "payload",
];
const VECTOR_PARTS: [&str; 4] = ["hnsw_config", "quantization_config", "on_disk", "memory"];
const SPARSE_PARTS: [&str; 2] = ["index", "modifier"];

fn patch_vectors(own: &mut Value, (group, diffs): (&str, &Object), parts: &[&str]) -> Outcome<()> {
    let is_single = own.get("size").is_some_and(Value::is_number);
    for (name, diff) in diffs {
        let path = format!("{group}.{name}");
        let diff = object_of(&path, diff)?;
        check_settings(&path, diff)?;
        let place = if is_single {
            name.is_empty().then_some(&mut *own)
        } else {
            own.get_mut(name)
        };
        let place = place.ok_or_else(|| Failure::no_vector(name))?;
        patch_parts(place, (&path, diff), parts)?;
    }
    Ok(())
}

/// Sets those of some parts that a change says, and refuses others.
fn patch_parts(own: &mut Value, (path, diff): (&str, &Object), parts: &[&str]) -> Outcome<()> {
    for (name, value) in diff {
        if !parts.contains(&name.as_str()) {
            let words = format!("a change of `{path}.{name}`");
            return Err(Failure::unsupported(words));
        }
        patch_part(own, name, value);
    }
    Ok(())
}

fn patch_part(own: &mut Value, name: &str, value: &Value) {
    match value {
        Value::Null => {}
        Value::String(word) if word == "Disabled" => set(own, name, Value::Null),
        Value::Object(diff) if name != "quantization_config" => merge(entry(own, name), diff),
        Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_) => set(own, name, value.clone()),
    }
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

/// Refuses settings of vectors of a wrong kind; what they are is for the schema to say.
fn check_vectors(body: &Object) -> Outcome<()> {
    for group in ["vectors", "sparse_vectors"] {
        let Some(all) = body.get(group).and_then(Value::as_object) else {
            continue;
        };
        if all.get("size").is_some_and(|size| !size.is_object()) {
            check_settings(group, all)?;
            continue;
        }
        for (name, own) in all {
            let path = format!("{group}.{name}");
            check_settings(&path, object_of(&path, own)?)?;
        }
    }
    Ok(())
}

/// What a setting is.
#[derive(Clone, Copy)]
enum SettingKind {
    /// A whole number, at least this.
    Count(u64),
    /// From 0 to 1.
    Part,
    Flag,
    Word,
    /// A whole number or a word.
    Threads,
    /// Settings by name.
    Group,
    /// Anything by name.
    Object,
    /// An object, or the word for none.
    Quantization,
}

/// Settings by their names, which mean the same in each group.
const SETTINGS: [(&str, SettingKind); 38] = {
    use SettingKind::{Count, Flag, Group, Object, Part, Quantization, Threads, Word};
    [
        ("hnsw_config", Group),
        ("optimizers_config", Group),
        ("wal_config", Group),
        ("params", Group),
        ("index", Group),
        ("payload", Group),
        ("metadata", Object),
        ("vectors", Object),
        ("sparse_vectors", Object),
        ("quantization_config", Quantization),
        ("shard_number", Count(1)),
        ("replication_factor", Count(1)),
        ("write_consistency_factor", Count(1)),
        ("read_fan_out_factor", Count(0)),
        ("read_fan_out_delay_ms", Count(0)),
        ("on_disk_payload", Flag),
        ("m", Count(0)),
        ("payload_m", Count(0)),
        ("ef_construct", Count(4)),
        ("full_scan_threshold", Count(10)),
        ("max_indexing_threads", Count(0)),
        ("inline_storage", Flag),
        ("on_disk", Flag),
        ("memory", Word),
        ("modifier", Word),
        ("datatype", Word),
        ("deleted_threshold", Part),
        ("vacuum_min_vector_number", Count(100)),
        ("default_segment_number", Count(0)),
        ("max_segment_size", Count(1)),
        ("memmap_threshold", Count(0)),
        ("indexing_threshold", Count(0)),
        ("flush_interval_sec", Count(0)),
        ("max_optimization_threads", Threads),
        ("prevent_unoptimized", Flag),
        ("wal_capacity_mb", Count(1)),
        ("wal_segments_ahead", Count(0)),
        ("wal_retain_closed", Count(0)),
    ]
};

/// Refuses settings of a wrong kind, or out of their range. Vectors are looked at each alone.
fn check_settings(group: &str, all: &Object) -> Outcome<()> {
    for (name, kind) in SETTINGS {
        let Some(value) = all.get(name).filter(|value| !value.is_null()) else {
            continue;
        };
        let dot = if group.is_empty() { "" } else { "." };
        check_setting(&format!("{group}{dot}{name}"), kind, value)?;
    }
    Ok(())
}

fn check_setting(path: &str, kind: SettingKind, value: &Value) -> Outcome<()> {
    let is_word = value.is_string();
    let (holds, expected) = match kind {
        SettingKind::Count(least) => {
            if value.as_u64().is_some_and(|own| own < least) {
                let words = format!("value {value} invalid, must be {least} or larger");
                return Err(Failure::invalid(path, words));
            }
            (value.is_u64(), "a whole number")
        }
        SettingKind::Part => {
            if value
                .as_f64()
                .is_some_and(|own| !(0.0..=1.0).contains(&own))
            {
                let words = format!("value {value} invalid, must be from 0.0 to 1.0");
                return Err(Failure::invalid(path, words));
            }
            (value.is_number(), "a number")
        }
        SettingKind::Flag => (value.is_boolean(), "true or false"),
        SettingKind::Word => (is_word, "a word"),
        SettingKind::Threads => (is_word || value.is_u64(), "a whole number or `auto`"),
        SettingKind::Group => return check_settings(path, object_of(path, value)?),
        SettingKind::Object => (value.is_object(), "an object"),
        SettingKind::Quantization => {
            let is_none = value.as_str() == Some("Disabled");
            (is_none || value.is_object(), "an object or `Disabled`")
        }
    };
    if holds {
        return Ok(());
    }
    let words = format!("{path}: invalid value: {value}, {expected} is expected");
    Err(Failure::format(words))
}

fn object_of<'v>(path: &str, value: &'v Value) -> Outcome<&'v Object> {
    let wrong = || Failure::format(format_args!("{path}: an object is expected"));
    value.as_object().ok_or_else(wrong)
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
    fn what_points_were_made_by_does_not_change() {
        let single = json!({"vectors": {"size": 4, "distance": "Dot"}});
        let named = json!({
            "vectors": {"size": {"size": 4, "distance": "Dot"}},
            "sparse_vectors": {"s": {}},
        });
        for (body, diff) in [
            (&single, json!({"vectors": {"": {"size": 8}}})),
            (&single, json!({"vectors": {"": {"distance": "Euclid"}}})),
            (&single, json!({"vectors": {"": {"datatype": "float16"}}})),
            (
                &single,
                json!({"vectors": {"": {"multivector_config": {}}}}),
            ),
            (&single, json!({"vectors": {"x": {}}})),
            (&single, json!({"vectors": {"size": {"on_disk": true}}})),
            (
                &single,
                json!({"params": {"vectors": {"x": {"size": 4, "distance": "Dot"}}}}),
            ),
            (&single, json!({"params": {"sparse_vectors": {"z": {}}}})),
            (&single, json!({"sparse_vectors": {"z": {}}})),
            (&named, json!({"vectors": {"size": {"size": 5}}})),
            (&named, json!({"vectors": {"": {"on_disk": true}}})),
        ] {
            let mut config = created(&object(body.clone())).unwrap();
            let before = config.clone();
            let mut diff = object(diff);
            diff.insert("hnsw_config".to_owned(), json!({"m": 9}));
            assert_eq!(
                patch(&mut config, &diff).unwrap_err().status,
                400,
                "{diff:?}"
            );
            assert_eq!(config, before, "{diff:?}");
        }
        let mut config = created(&object(named)).unwrap();
        let diff = json!({
            "vectors": {"size": {"on_disk": true, "hnsw_config": {"m": 9}}},
            "sparse_vectors": {"s": {"index": {"on_disk": true}, "modifier": "idf"}},
            "params": {"on_disk_payload": false},
        });
        patch(&mut config, &object(diff)).unwrap();
        let params = &config["params"];
        assert_eq!(params["vectors"]["size"]["on_disk"], true);
        assert_eq!(params["vectors"]["size"]["hnsw_config"]["m"], 9);
        assert_eq!(params["sparse_vectors"]["s"]["modifier"], "idf");
        assert_eq!(params["on_disk_payload"], false);
    }

    #[test]
    fn settings_of_a_wrong_kind_are_refused() {
        let vectors = json!({"size": 4, "distance": "Dot"});
        for (group, value) in [
            ("vectors", json!([])),
            ("vectors", json!(5)),
            ("vectors", json!({"a": 5})),
            (
                "vectors",
                json!({"size": 4, "distance": "Dot", "on_disk": 1}),
            ),
            (
                "vectors",
                json!({"a": {"size": 4, "distance": "Dot", "hnsw_config": {"m": "a"}}}),
            ),
            ("sparse_vectors", json!(7)),
            ("sparse_vectors", json!({"s": 7})),
            ("quantization_config", json!(7)),
            ("quantization_config", json!("Enabled")),
            ("hnsw_config", json!({"m": "a"})),
            ("hnsw_config", json!({"m": 1e300})),
            ("hnsw_config", json!(5)),
            ("optimizers_config", json!({"indexing_threshold": "a"})),
            ("optimizers_config", json!({"indexing_threshold": -1})),
            ("on_disk_payload", json!("x")),
            ("metadata", json!(7)),
        ] {
            let mut body = object(json!({"vectors": vectors}));
            let mut config = created(&body).unwrap();
            body.insert(group.to_owned(), value.clone());
            assert_eq!(created(&body).unwrap_err().status, 400, "{body:?}");
            let diff = object(json!({group: value}));
            if group != "on_disk_payload" {
                assert_eq!(
                    patch(&mut config, &diff).unwrap_err().status,
                    400,
                    "{diff:?}"
                );
            }
        }
        let most = json!({"vectors": vectors, "hnsw_config": {"m": u64::MAX}});
        assert!(created(&object(most)).is_ok());
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
                json!({"vectors": {"size": "4", "distance": "Dot"}}),
                400,
                "body: vectors.size",
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
