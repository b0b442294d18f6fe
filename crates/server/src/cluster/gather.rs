//! Asks all shards of a collection, as a fan-out says.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, timeout};

use super::client::NodeRequest;
use super::content::ShardNeed;
use super::coverage::cover;
use super::fan_out::{CallEnd, FanOut, ShardEnd, Step};
use super::map::{RoutedCollection, Shard};
use super::routed::{Cluster, RoutedCall, ShardQuestion};
use crate::failure::Outcome;

/// A fan-out whose calls leave the books of their nodes, whatever becomes of the request.
struct Booked<'b, A> {
    fan: Option<FanOut<A>>,
    cluster: &'b Cluster,
}

impl<A> Booked<'_, A> {
    fn finish(&mut self) -> Vec<ShardEnd<A>> {
        let fan = self.fan.take();
        fan.map_or_else(Vec::new, |fan| fan.finish(&mut self.cluster.pool()))
    }
}

impl<A> Drop for Booked<'_, A> {
    fn drop(&mut self) {
        drop(self.finish());
    }
}

/// Calls that are under way.
struct Calls<A> {
    tasks: JoinSet<(usize, CallEnd<A>)>,
    handles: HashMap<usize, AbortHandle>,
}

impl RoutedCall<'_> {
    /// The answers of shards, each with the number of its shard.
    ///
    /// # Errors
    /// What a shard refuses the request with; 503 where one is missing that may not be.
    pub(super) async fn gather<A: DeserializeOwned + Send + 'static>(
        &self,
        collection: &RoutedCollection,
        question: &ShardQuestion,
    ) -> Outcome<Vec<(usize, A)>> {
        let shards = &collection.shards;
        let replicas = shards.iter().map(|shard| shard.nodes.clone()).collect();
        let times = (self.cluster.now(), self.deadline);
        let fan = FanOut::new(question.operation, replicas, times);
        let mut booked = Booked {
            fan: Some(fan),
            cluster: self.cluster,
        };
        let mut calls = Calls {
            tasks: JoinSet::new(),
            handles: HashMap::new(),
        };
        while let Some(fan) = &mut booked.fan {
            let now = self.cluster.now();
            let (steps, wait) = {
                let mut pool = self.cluster.pool();
                let steps = fan.poll(now, &mut pool);
                let wakes = fan.wakes(now, &pool);
                (steps, wakes.saturating_sub(now))
            };
            for step in steps {
                self.take(step, (shards, question), &mut calls);
            }
            if fan.is_done() {
                break;
            }
            if let Some((call, end)) = calls.next(wait).await {
                let now = self.cluster.now();
                fan.end((call, end), now, &mut self.cluster.pool());
            }
        }
        let names: Vec<&str> = shards.iter().map(|own| own.collection.as_str()).collect();
        let ends = booked.finish();
        cover(ends, &names, (self.allows_part, &mut self.missing()))
    }

    fn take<A: DeserializeOwned + Send + 'static>(
        &self,
        step: Step,
        (shards, question): (&[Shard], &ShardQuestion),
        calls: &mut Calls<A>,
    ) {
        match step {
            Step::Drop { call } => {
                if let Some(handle) = calls.handles.remove(&call) {
                    handle.abort();
                }
            }
            Step::Send { call, shard, node } => {
                let (Some(shard), Some(address)) =
                    (shards.get(shard), self.map.nodes.get(&node).cloned())
                else {
                    return;
                };
                let left = self.deadline.saturating_sub(self.cluster.now());
                let least = self.cluster.leaders().least(&shard.collection);
                let need = ShardNeed {
                    node,
                    least: least.max(shard.sequence),
                    content: self.cluster.contents().expected(shard),
                };
                let request = question.of_shard(&shard.collection, need, left);
                let (cluster, room) = (Arc::clone(self.cluster), Arc::clone(self.room));
                let ask = async move {
                    let ask = cluster
                        .client
                        .ask(&address, &request, (left, room.as_ref()));
                    (call, ask.await)
                };
                calls.handles.insert(call, calls.tasks.spawn(ask));
            }
        }
    }
}

impl<A: 'static> Calls<A> {
    /// The next call that ends within so much time.
    async fn next(&mut self, wait: Duration) -> Option<(usize, CallEnd<A>)> {
        if self.tasks.is_empty() {
            sleep(wait).await;
            return None;
        }
        // One that was dropped ends without an answer.
        let (call, end) = timeout(wait, self.tasks.join_next()).await.ok()??.ok()?;
        self.handles.remove(&call);
        Some((call, end))
    }
}

impl ShardQuestion {
    /// The request to a node that is to have so much of a shard.
    pub(super) fn of_shard(
        &self,
        collection: &str,
        shard: ShardNeed,
        left: Duration,
    ) -> NodeRequest {
        let (name, path) = (encoded(collection), &self.path);
        let seconds = left.as_secs_f64().ceil().max(1.0) as u64;
        NodeRequest {
            method: self.method.clone(),
            path: format!("/collections/{name}{path}?timeout={seconds}"),
            body: self.body.clone(),
            shard,
        }
    }
}

/// A name as a part of a path.
pub(super) fn encoded(name: &str) -> String {
    let mut path = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            path.push(char::from(byte));
        } else {
            let _ = write!(path, "%{byte:02X}");
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_parts_of_paths() {
        assert_eq!(encoded("texts-0_a.b"), "texts-0_a.b");
        assert_eq!(encoded("a b\u{e9}?"), "a%20b%C3%A9%3F");
    }
}
