//! What the server says of itself.

#![expect(
    clippy::unnecessary_wraps,
    reason = "operations of the table have one form"
)]

use std::collections::BTreeMap;

use serde_json::json;

use super::call::{Call, Reply};
use crate::cluster::ShardContent;
use crate::collection::{CollectionState, OpenCollection};
use crate::failure::{Failure, Outcome};
use crate::metrics::{MOST_COLLECTIONS, MetricsPage};
use crate::partition::ReplicaSign;

/// The level of the interface that is spoken: clients compare it with their own.
const LEVEL: &str = "1.19.0";
/// What clients expect to find here.
const TITLE: &str = "qdrant - vector search engine";

pub(super) fn root(_: &Call<'_>) -> Outcome<Reply> {
    title()
}

/// What it is.
pub(crate) fn title() -> Outcome<Reply> {
    Reply::bare(&json!({
        "title": TITLE,
        "version": LEVEL,
        "commit": concat!("pageway ", env!("CARGO_PKG_VERSION")),
    }))
}

/// Every operation that is there, as OpenAPI 3.
const DESCRIPTION: &str = include_str!("../../assets/openapi.json");

pub(super) fn description(_: &Call<'_>) -> Outcome<Reply> {
    Ok(Reply::Bare(DESCRIPTION.as_bytes().to_vec()))
}

pub(super) fn healthy(_: &Call<'_>) -> Outcome<Reply> {
    Ok(health())
}

/// That it is there.
pub(crate) fn health() -> Reply {
    Reply::Text("healthz check passed".to_owned())
}

pub(super) fn ready(_: &Call<'_>) -> Outcome<Reply> {
    Ok(readiness())
}

/// That it answers.
pub(crate) fn readiness() -> Reply {
    Reply::Text("all shards are ready".to_owned())
}

pub(super) fn cluster(_: &Call<'_>) -> Outcome<Reply> {
    Reply::of(&json!({"status": "disabled"}))
}

pub(super) fn telemetry(call: &Call<'_>) -> Outcome<Reply> {
    let names = call.service.registry.names();
    Reply::of(&json!({
        "id": "pageway",
        "app": {
            "name": "pageway", "version": env!("CARGO_PKG_VERSION"), "startup": "1970-01-01T00:00:00Z",
            "jwt_rbac": false, "hide_jwt_dashboard": true,
        },
        "collections": {"number_of_collections": names.collections.len()},
        "requests": {"rest": {"responses": {}}, "grpc": {"responses": {}}},
    }))
}

pub(super) fn issues(_: &Call<'_>) -> Outcome<Reply> {
    Reply::of(&json!({"issues": []}))
}

pub(super) fn clear_issues(_: &Call<'_>) -> Outcome<Reply> {
    Reply::of(&true)
}

/// Which node of a cluster it is, and how its partitions are. Answered at once, so that it is a
/// sign of life.
pub(super) fn node(call: &Call<'_>) -> Outcome<Reply> {
    let none = || Failure::not_found("this server is no node of a cluster");
    let name = call.service.node.as_ref().ok_or_else(none)?;
    let partitions = call.service.partitions.values();
    let partitions: Vec<ReplicaSign> = partitions.map(|own| own.sign()).collect();
    let names = call.service.registry.names();
    let shards = names.collections.iter();
    let shards: BTreeMap<&String, &ShardContent> = shards
        .filter_map(|(name, entry)| Some((name, entry.content.as_ref()?)))
        .collect();
    Reply::of(&json!({
        "name": name, "version": env!("CARGO_PKG_VERSION"), "partitions": partitions,
        "shards": shards,
    }))
}

/// What several servers would do together.
pub(super) fn of_several(_: &Call<'_>) -> Outcome<Reply> {
    Err(Failure::not_allowed("this server is in standalone mode"))
}

pub(super) fn metrics(call: &Call<'_>) -> Outcome<Reply> {
    let (service, mut page) = (call.service, MetricsPage::default());
    let (budget, _) = service.shelf.memory();
    let names = service.registry.names();
    page.gauge(
        "pageway_budget_bytes",
        "memory of all collections together",
        budget,
    );
    let count = names.collections.len();
    page.gauge("pageway_collections", "collections", count);
    let open = service.shelf.open_count();
    page.gauge(
        "pageway_collections_open",
        "collections that are open",
        open,
    );
    let mut open: Vec<OpenRow> = Vec::new();
    for (number, collection) in service.shelf.opened() {
        let name = names.collections.iter();
        let mut name = name.filter(|(_, entry)| entry.number == number);
        if let Some((name, _)) = name.next() {
            open.push(OpenRow::of(name, &collection)?);
        }
    }
    open.sort_by(|one, next| one.name.cmp(&next.name));
    write_open(&mut page, &open);
    service.metrics.write(&mut page);
    Ok(Reply::Text(page.text()))
}

/// What metrics tell of a collection that is open.
struct OpenRow {
    name: String,
    state: CollectionState,
}

impl OpenRow {
    fn of(name: &str, collection: &OpenCollection) -> Outcome<Self> {
        Ok(Self {
            name: name.to_owned(),
            state: collection.state()?,
        })
    }
}

/// A number of an open collection, or of several.
type OpenFamily = (&'static str, &'static str, fn(&CollectionState) -> u64);

/// Numbers of open collections; the last ones have one row together.
fn write_open(page: &mut MetricsPage, open: &[OpenRow]) {
    let mut parts: BTreeMap<&str, u64> = BTreeMap::new();
    for (part, bytes) in open.iter().flat_map(|own| &own.state.memory) {
        *parts.entry(part).or_default() += bytes;
    }
    let name = "pageway_memory_bytes";
    page.family(name, "gauge", "memory of open collections");
    for (part, bytes) in parts {
        page.row(name, &[("part", part)], bytes);
    }
    let families: [OpenFamily; 4] = [
        ("pageway_points", "points of open collections", |own| {
            own.points
        }),
        ("pageway_segments", "segments of open collections", |own| {
            own.segments as u64
        }),
        ("pageway_log_bytes", "bytes that logs have written", |own| {
            own.log_bytes
        }),
        ("pageway_builds", "flushes and merges that run", |own| {
            own.builds.len() as u64
        }),
    ];
    let (first, rest) = open.split_at(open.len().min(MOST_COLLECTIONS));
    for (name, help, number) in families {
        page.family(name, "gauge", help);
        for own in first {
            page.row(name, &[("collection", &own.name)], number(&own.state));
        }
        if !rest.is_empty() {
            let sum: u64 = rest.iter().map(|own| number(&own.state)).sum();
            page.row(name, &[("collection", "")], sum);
        }
    }
    let name = "pageway_build_progress_ratio";
    page.family(name, "gauge", "how far the stage of a flush or a merge is");
    for own in first {
        for (work, ratio) in &own.state.builds {
            page.row(name, &[("collection", &own.name), ("work", work)], ratio);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::operation::OPERATIONS;

    #[test]
    fn the_description_is_that_of_the_table() {
        let described: Value = serde_json::from_str(DESCRIPTION).unwrap();
        let mut known = Vec::new();
        for (path, operations) in described["paths"].as_object().unwrap() {
            for (method, operation) in operations.as_object().unwrap() {
                let id = operation["operationId"].as_str().unwrap();
                known.push((id.to_owned(), method.to_uppercase(), path.clone()));
                let named = path.matches('{').count();
                let parameters = operation["parameters"].as_array().unwrap();
                let in_path = parameters.iter().filter(|own| own["in"] == "path").count();
                assert_eq!(in_path, named, "{path}");
            }
        }
        let there = OPERATIONS.iter().filter(|operation| operation.is_there());
        let mut own: Vec<_> = there
            .map(|one| {
                (
                    one.name.to_owned(),
                    one.method.to_owned(),
                    one.path.to_owned(),
                )
            })
            .collect();
        known.sort();
        own.sort();
        assert_eq!(known, own);
    }

    #[test]
    fn what_the_description_refers_to_is_there() {
        let described: Value = serde_json::from_str(DESCRIPTION).unwrap();
        let schemas = described["components"]["schemas"].as_object().unwrap();
        let parts = DESCRIPTION.split("#/components/schemas/").skip(1);
        for part in parts {
            let name = part.split('"').next().unwrap();
            assert!(schemas.contains_key(name), "{name}");
        }
    }
}
