//! Collections: made, described, changed, deleted.

use serde_json::{Map, Value, json};

use super::call::{Call, Reply};
use crate::collection::{Schema, created, patch};
use crate::failure::{Failure, Outcome};
use crate::registry::{CollectionEntry, check_name};
use crate::wire::Count;

/// Kinds of fields that an index may be asked for.
const KINDS: [&str; 8] = [
    "keyword", "integer", "float", "geo", "text", "bool", "datetime", "uuid",
];

/// All of them.
pub(super) fn list(call: &Call<'_>) -> Outcome<Reply> {
    let names = call.service.registry.names();
    let all: Vec<Value> = names
        .collections
        .keys()
        .map(|name| json!({"name": name}))
        .collect();
    Reply::of(&json!({"collections": all}))
}

/// All of them with the memory that they hold; none of those that are closed.
pub(super) fn list_memory(call: &Call<'_>) -> Outcome<Reply> {
    let service = call.service;
    let names = service.registry.names();
    let one = |(name, entry): (&String, &CollectionEntry)| {
        let bytes = service.shelf.bytes_of(entry.number);
        json!({"name": name, "open": bytes.is_some(), "memory_bytes": bytes.unwrap_or(0)})
    };
    let all: Vec<Value> = names.collections.iter().map(one).collect();
    Reply::of(&json!({"collections": all}))
}

/// Whether there is one.
pub(super) fn exists(call: &Call<'_>) -> Outcome<Reply> {
    let name = call.name("collection");
    check_name(name)?;
    let exists = call.service.registry.names().resolve(name).is_ok();
    Reply::of(&json!({"exists": exists}))
}

/// Makes one.
pub(super) fn create(call: &Call<'_>) -> Outcome<Reply> {
    let (name, service) = (call.name("collection"), call.service);
    check_name(name)?;
    let config = created(&call.object()?)?;
    Schema::of(&config)?;
    if let Some(replica) = service.partitions.get(name) {
        // All replicas are made of this; one that is there is of this too.
        replica.settle(&serde_json::to_vec(&config).map_err(Failure::internal)?)?;
        if service.registry.names().collections.contains_key(name) {
            return Reply::of(&true);
        }
    }
    match service.make_collection(name, config) {
        // Its keeper has made it meanwhile.
        Err(failure) if failure.status == 409 && service.partitions.contains_key(name) => {}
        made => made?,
    }
    Reply::of(&true)
}

/// Changes the settings of one.
pub(super) fn update(call: &Call<'_>) -> Outcome<Reply> {
    let (name, _) = call.service.entry(call.name("collection"))?;
    let body = call.object()?;
    let registry = &call.service.registry;
    let turn = registry.turn();
    registry.change(&turn, |names| match names.collections.get_mut(&name) {
        Some(entry) => patch(&mut entry.config, &body),
        None => Err(Failure::no_collection(&name)),
    })?;
    Reply::of(&true)
}

/// Deletes one, and its aliases; none is no error.
pub(super) fn delete(call: &Call<'_>) -> Outcome<Reply> {
    let name = call.name("collection");
    check_name(name)?;
    call.service.check_history(name)?;
    let registry = &call.service.registry;
    let removed = {
        let turn = registry.turn();
        registry.change(&turn, |names| {
            let removed = names.collections.remove(name);
            if removed.is_some() {
                names.aliases.retain(|_, target| target != name);
            }
            Ok(removed)
        })?
    };
    let Some(entry) = removed else {
        return Reply::of(&false);
    };
    call.service.shelf.forget(entry.number);
    registry.remove_files(entry.number)?;
    Reply::of(&true)
}

/// What one is.
pub(super) fn describe(call: &Call<'_>) -> Outcome<Reply> {
    let (name, entry) = call.service.entry(call.name("collection"))?;
    let open = call.service.open_entry(&name, &entry)?;
    let state = open.state()?;
    let mut schema = Map::new();
    for (field, kind) in &entry.payload_schema {
        let filter = json!({"must_not": [{"is_empty": {"key": field}}]});
        let mut info = kind.clone();
        if let Some(info) = info.as_object_mut() {
            info.insert("points".to_owned(), open.count(Some(&filter))?.into());
        }
        schema.insert(field.clone(), info);
    }
    let status = if open.is_broken() {
        "red"
    } else if !state.builds.is_empty() {
        "yellow"
    } else {
        "green"
    };
    let optimizer = match &state.failed {
        None => json!("ok"),
        Some(error) => json!({"error": error}),
    };
    Reply::of(&json!({
        "status": status,
        "optimizer_status": optimizer,
        "points_count": state.points,
        "indexed_vectors_count": state.indexed,
        "segments_count": state.segments.max(1),
        "update_queue": {"length": 0},
        "config": entry.config,
        "payload_schema": schema,
    }))
}

/// What one is in our own words.
pub(super) fn inspect(call: &Call<'_>) -> Outcome<Reply> {
    let (name, entry) = call.service.entry(call.name("collection"))?;
    let open = call.service.open_entry(&name, &entry)?;
    let state = open.state()?;
    Reply::of(&json!({
        "name": name,
        "points": state.points,
        "sequence": open.sequence()?,
        "memory_bytes": open.memory_bytes(),
        "indexes": state.indexes,
        "slow": call.service.slow_queries.of(call.name("collection")),
    }))
}

/// Notes that a field is to be indexed; all are.
pub(super) fn create_index(call: &Call<'_>) -> Outcome<Reply> {
    let (name, _) = call.service.entry(call.name("collection"))?;
    let body = call.object()?;
    let field = body.get("field_name").and_then(Value::as_str);
    let field = field.ok_or_else(|| Failure::format("missing field `field_name`"))?;
    pageway::FieldPath::parse(field).map_err(Failure::wrong)?;
    let schema = body.get("field_schema").or_else(|| body.get("field_type"));
    let info = index_info(schema.unwrap_or(&Value::Null))?;
    let registry = &call.service.registry;
    {
        let turn = registry.turn();
        registry.change(&turn, |names| {
            let entry = names.collections.get_mut(&name);
            let entry = entry.ok_or_else(|| Failure::no_collection(&name))?;
            entry.payload_schema.insert(field.to_owned(), info);
            Ok(())
        })?;
    }
    updated(call, 0)
}

fn index_info(schema: &Value) -> Outcome<Value> {
    let kind = match schema {
        Value::String(kind) => Some(kind.as_str()),
        Value::Object(params) => params.get("type").and_then(Value::as_str),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
    };
    let known = kind.filter(|kind| KINDS.contains(kind));
    let kind = known.ok_or_else(|| {
        Failure::format(format_args!(
            "field_schema: one of {} is expected",
            KINDS.join(", ")
        ))
    })?;
    let lacks = |name: &str| schema.get(name).and_then(Value::as_bool) == Some(false);
    if lacks("lookup") && lacks("range") {
        let words = "the 'lookup' and 'range' capabilities can't be both disabled";
        return Err(Failure::invalid_index(words));
    }
    check_text(kind, schema)?;
    let mut info = json!({"data_type": kind});
    if let (Value::Object(_), Some(info)) = (schema, info.as_object_mut()) {
        info.insert("params".to_owned(), schema.clone());
    }
    Ok(info)
}

/// Refuses to cut texts into other words than they are cut into here: it would change what matches.
fn check_text(kind: &str, schema: &Value) -> Outcome<()> {
    let is_there = |name: &str| match schema.get(name) {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::Array(all)) => !all.is_empty(),
        Some(_) => true,
    };
    let tokenizer = schema.get("tokenizer").and_then(Value::as_str);
    let other = tokenizer
        .is_some_and(|name| name != "word")
        .then_some("tokenizer");
    let is_cased = schema.get("lowercase") == Some(&Value::Bool(false));
    let cased = is_cased.then_some("lowercase");
    let more = ["stopwords", "stemmer", "ascii_folding"];
    let more = more.into_iter().find(|name| is_there(name));
    match other.or(cased).or(more) {
        Some(name) if kind == "text" => Err(Failure::unsupported(format_args!(
            "field_schema.{name}: texts are runs of letters and digits in lower case"
        ))),
        _ => Ok(()),
    }
}

/// Forgets that a field is to be indexed.
pub(super) fn delete_index(call: &Call<'_>) -> Outcome<Reply> {
    let (name, _) = call.service.entry(call.name("collection"))?;
    let registry = &call.service.registry;
    {
        let turn = registry.turn();
        registry.change(&turn, |names| {
            let entry = names.collections.get_mut(&name);
            let entry = entry.ok_or_else(|| Failure::no_collection(&name))?;
            entry.payload_schema.remove(call.name("field"));
            Ok(())
        })?;
    }
    updated(call, 0)
}

/// The result of a change.
pub(super) fn updated(call: &Call<'_>, operation: u64) -> Outcome<Reply> {
    let waits = call.query.flag("wait", false)?;
    let status = if waits { "completed" } else { "acknowledged" };
    Reply::of(&json!({"operation_id": operation, "status": status}))
}

/// How many points match.
pub(super) fn count(call: &Call<'_>) -> Outcome<Reply> {
    let request: Count = call.read()?;
    request.check()?;
    let open = call.service.collection(call.name("collection"))?;
    Reply::of(&json!({"count": open.count(request.filter.as_ref())?}))
}
