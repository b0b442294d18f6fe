//! Payload indexes of a collection that changes: each of its nodes notes them, as they are in no
//! log.

use std::sync::Arc;

use axum::http::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::client::NodeRequest;
use super::content::ShardNeed;
use super::fan_out::CallEnd;
use super::gather::encoded;
use super::routed::{RoutedCall, ShardQuestion};
use crate::failure::{Failure, Outcome};
use crate::operation::Reply;

impl RoutedCall<'_> {
    /// Makes a payload index on all nodes of a collection, or takes it away. Doing it again changes
    /// nothing.
    pub(super) async fn index(&self, operation: &'static str, name: &str) -> Outcome<Reply> {
        let collection = self.partitioned(name)?;
        let (method, path) = match operation {
            "delete_index" => (
                Method::DELETE,
                format!("/index/{}", encoded(self.name("field"))),
            ),
            _ => (Method::PUT, "/index".to_owned()),
        };
        let question = ShardQuestion {
            operation,
            method,
            path: path.into(),
            body: self.body.to_vec().into(),
        };
        let left = self.deadline.saturating_sub(self.cluster.now());
        let mut calls = JoinSet::new();
        let mut missing = Vec::new();
        for shard in &collection.shards {
            for node in &shard.nodes {
                let place = format!("{node} for {}", shard.collection);
                let Some(address) = self.map.nodes.get(node).cloned() else {
                    missing.push(format!("{place} (not in the map)"));
                    continue;
                };
                let need = ShardNeed {
                    node: node.clone(),
                    ..ShardNeed::default()
                };
                let request: NodeRequest = question.of_shard(&shard.collection, need, left);
                let (cluster, room) = (Arc::clone(self.cluster), Arc::clone(self.room));
                calls.spawn(async move {
                    let asked = cluster.client.ask(&address, &request, (left, &room));
                    let end: CallEnd<Value> = asked.await;
                    (place, end)
                });
            }
        }
        while let Some(ended) = calls.join_next().await {
            let (place, end) = ended.map_err(Failure::internal)?;
            match end {
                CallEnd::Answered(_) => {}
                // What one refuses all do.
                CallEnd::Refused(failure) => return Err(failure),
                CallEnd::Failed(why) | CallEnd::Unreached(why) | CallEnd::Behind(why) => {
                    missing.push(format!("{place} ({why})"));
                }
            }
        }
        if !missing.is_empty() {
            missing.sort();
            let words = format!(
                "not everywhere, which doing it again settles: {}",
                missing.join(", ")
            );
            return Err(Failure::incomplete(words));
        }
        let status = if self.waits {
            "completed"
        } else {
            "acknowledged"
        };
        Reply::of(&json!({"operation_id": 0, "status": status}))
    }
}
