//! What the server says of itself.

#![expect(
    clippy::unnecessary_wraps,
    reason = "operations of the table have one form"
)]

use serde_json::json;

use super::call::{Call, Reply};
use crate::failure::{Failure, Outcome};
use crate::metrics::Gauge;

/// The level of the interface that is spoken: clients compare it with their own.
const LEVEL: &str = "1.19.0";
/// What clients expect to find here.
const TITLE: &str = "qdrant - vector search engine";

pub(super) fn root(_: &Call<'_>) -> Outcome<Reply> {
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
    Ok(Reply::Text("healthz check passed".to_owned()))
}

pub(super) fn ready(_: &Call<'_>) -> Outcome<Reply> {
    Ok(Reply::Text("all shards are ready".to_owned()))
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

/// What several servers would do together.
pub(super) fn of_several(_: &Call<'_>) -> Outcome<Reply> {
    Err(Failure::not_allowed("this server is in standalone mode"))
}

pub(super) fn metrics(call: &Call<'_>) -> Outcome<Reply> {
    let service = call.service;
    let (budget, taken) = service.shelf.memory();
    let names = service.registry.names();
    let gauges = [
        Gauge {
            name: "pageway_budget_bytes",
            help: "memory of all collections together",
            value: budget,
        },
        Gauge {
            name: "pageway_memory_bytes",
            help: "memory of the collections that are open",
            value: taken,
        },
        Gauge {
            name: "pageway_collections",
            help: "collections",
            value: names.collections.len() as u64,
        },
        Gauge {
            name: "pageway_collections_open",
            help: "collections that are open",
            value: service.shelf.open_count() as u64,
        },
    ];
    Ok(Reply::Text(service.metrics.text(&gauges)))
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
