//! Changes through a router: dealt to partitions by ids, done by the nodes that lead these.
//!
//! A node that does not lead a partition has done nothing and says so: then the leader is looked
//! for, once; so it is where a node cannot be reached, as nothing was sent to it. Of a call that
//! fails later nobody knows whether it was done, so it is not made again; that is for who asks, as
//! operations say what points become.

use std::sync::Arc;
use std::time::Duration;

use axum::http::Method;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::client::NodeRequest;
use super::content::ShardNeed;
use super::fan_out::{CallEnd, ShardEnd};
use super::map::{ClusterMap, RoutedCollection, Shard};
use super::routed::{Cluster, RoutedCall, ShardQuestion};
use super::watch::ask;
use crate::collection::check_insert;
use crate::failure::{Failure, Outcome};
use crate::operation::{Operation, Reply};
use crate::partition::part_of;
use crate::room::AnswerRoom;
use crate::wire::{BatchOperation, Operations};

/// Leaders that a change is asked of.
const TRIES: usize = 2;
/// Pause before a leader of a new partition is looked for again.
const PAUSE: Duration = Duration::from_millis(50);

/// A change of a partition.
struct PartChange {
    cluster: Arc<Cluster>,
    map: Arc<ClusterMap>,
    shard: Shard,
    question: ShardQuestion,
    deadline: Duration,
    room: Arc<AnswerRoom>,
}

/// What a node says of an operation.
#[derive(Deserialize)]
struct Updated {
    operation_id: u64,
}

impl RoutedCall<'_> {
    /// The change of points that an operation is; none of others.
    pub(super) fn change(&self, operation: &Operation) -> Outcome<Option<BatchOperation>> {
        Ok(Some(match operation.name {
            "upsert_points" => BatchOperation::Upsert(self.read()?),
            "delete_points" => BatchOperation::Delete(self.read()?),
            "set_payload" => BatchOperation::SetPayload(self.read()?),
            "overwrite_payload" => BatchOperation::OverwritePayload(self.read()?),
            "delete_payload" => BatchOperation::DeletePayload(self.read()?),
            "clear_payload" => BatchOperation::ClearPayload(self.read()?),
            "update_vectors" => BatchOperation::UpdateVectors(self.read()?),
            "delete_vectors" => BatchOperation::DeleteVectors(self.read()?),
            _ => return Ok(None),
        }))
    }

    /// Does a change.
    pub(super) async fn change_one(&self, name: &str, change: BatchOperation) -> Outcome<Reply> {
        Reply::of(&self.changed(name, change).await?)
    }

    /// Does changes one after the other; those before one that fails are done.
    pub(super) async fn change_all(&self, name: &str) -> Outcome<Reply> {
        let Operations { operations } = self.read()?;
        let mut results = Vec::with_capacity(operations.len());
        for (at, operation) in operations.into_iter().enumerate() {
            let within = |failure: Failure| failure.within(format_args!("operations[{at}]"));
            results.push(self.changed(name, operation).await.map_err(within)?);
        }
        Reply::of(&results)
    }

    /// Makes all partitions of a collection of the map, and waits until each has a leader.
    pub(super) async fn make(&self, name: &str) -> Outcome<Reply> {
        let collection = self.partitioned(name)?;
        let question = ShardQuestion {
            operation: "create_collection",
            method: Method::PUT,
            path: "".into(),
            body: self.body.to_vec().into(),
        };
        let made: Vec<(usize, Value)> = self.gather(collection, &question).await?;
        if made.len() < collection.shards.len() {
            return Err(self.missing().failure());
        }
        for shard in &collection.shards {
            let part = self.part_change(shard, &json!({}))?;
            while part.leader().await.is_none() {
                if self.cluster.now() >= self.deadline {
                    let words = format!("{} is made, and {}", shard.collection, part.absence());
                    return Err(Failure::incomplete(words));
                }
                sleep(PAUSE).await;
            }
        }
        Reply::of(&true)
    }

    /// A collection of the map whose points are dealt by their ids.
    pub(super) fn partitioned(&self, name: &str) -> Outcome<&RoutedCollection> {
        let collection = self.collection(name)?;
        match collection.cut {
            Some(_) => Ok(collection),
            None => Err(Failure::not_cut(name)),
        }
    }

    async fn changed(&self, name: &str, change: BatchOperation) -> Outcome<Value> {
        let collection = self.partitioned(name)?;
        if let BatchOperation::Upsert(insert) = &change {
            // Refused as a whole: no partition has it then.
            check_insert(self.schema(name).await?.as_ref(), insert)?;
        }
        let shards = &collection.shards;
        let parts = change.deal((shards.len(), &|id| part_of(id, shards.len())))?;
        let mut tasks = Vec::new();
        for (part, operation) in parts {
            let Some(shard) = shards.get(part) else {
                return Err(Failure::internal("a part that there is not"));
            };
            let body = json!({"operations": [operation]});
            let change = self.part_change(shard, &body)?;
            // It goes on where who asked has left.
            let task = tokio::spawn(async move { change.run().await });
            tasks.push((shard.collection.as_str(), task));
        }
        let mut ends = Vec::with_capacity(tasks.len());
        for (name, task) in tasks {
            ends.push((name, task.await.map_err(Failure::internal)?));
        }
        let number = whole(ends)?;
        let status = if self.waits {
            "completed"
        } else {
            "acknowledged"
        };
        Ok(json!({"operation_id": number, "status": status}))
    }

    fn part_change(&self, shard: &Shard, body: &Value) -> Outcome<PartChange> {
        Ok(PartChange {
            cluster: Arc::clone(self.cluster),
            map: Arc::clone(&self.map),
            shard: shard.clone(),
            question: ShardQuestion::post("batch_update", "/points/batch", body)?,
            deadline: self.deadline,
            room: Arc::clone(self.room),
        })
    }
}

/// The number of a change that all partitions have done: the highest of theirs.
fn whole(ends: Vec<(&str, ShardEnd<u64>)>) -> Outcome<u64> {
    let (mut number, mut done, mut refused, mut missing) = (0, Vec::new(), None, Vec::new());
    for (name, end) in ends {
        match end {
            ShardEnd::Answered(own) => {
                number = number.max(own);
                done.push(name);
            }
            ShardEnd::Refused(failure) => refused = refused.or(Some((name, failure))),
            ShardEnd::Missing(why) => missing.push(format!("{name} ({why})")),
        }
    }
    let elsewhere = if done.is_empty() {
        "nothing was changed elsewhere".to_owned()
    } else {
        format!("done in {}", done.join(", "))
    };
    if !missing.is_empty() {
        let words = format!("not changed: {}; {elsewhere}", missing.join(", "));
        return Err(Failure::incomplete(words));
    }
    match refused {
        None => Ok(number),
        Some((_, failure)) if done.is_empty() => Err(failure),
        Some((name, failure)) => Err(failure.within(format_args!("{name}; {elsewhere}"))),
    }
}

impl PartChange {
    /// Asks who leads, as far as there is time.
    async fn run(&self) -> ShardEnd<u64> {
        let mut trouble = None;
        for _ in 0..TRIES {
            let Some(node) = self.leader().await else {
                trouble = trouble.or_else(|| Some(self.absence()));
                break;
            };
            let Some(address) = self.map.nodes.get(&node) else {
                break;
            };
            let left = self.deadline.saturating_sub(self.cluster.now());
            let name = &self.shard.collection;
            let need = ShardNeed {
                node: node.clone(),
                ..ShardNeed::default()
            };
            let request = self.question.of_shard(name, need, left);
            let end = self.asked((&node, address), &request, left).await;
            let now = self.cluster.now();
            match end {
                CallEnd::Failed(why) => {
                    self.cluster.pool().fail(&node, &why);
                    self.cluster.leaders().lose(name, &node);
                    let words = "nobody knows whether it was done";
                    return ShardEnd::Missing(format!("{node}: {why}: {words}"));
                }
                CallEnd::Unreached(why) => {
                    self.cluster.pool().fail(&node, &why);
                    self.cluster.leaders().lose(name, &node);
                    trouble = Some(format!("{node}: {why}: nothing was sent to it"));
                }
                CallEnd::Behind(why) => {
                    self.cluster.pool().succeed(&node, now);
                    self.cluster.leaders().lose(name, &node);
                    trouble = Some(format!("{node}: {why}"));
                }
                CallEnd::Refused(failure) => {
                    self.cluster.pool().succeed(&node, now);
                    return ShardEnd::Refused(failure);
                }
                CallEnd::Answered(all) => {
                    self.cluster.pool().succeed(&node, now);
                    let numbers = all.iter().map(|own| own.operation_id);
                    let number = numbers.max().unwrap_or(0);
                    self.cluster.leaders().acknowledge(name, number);
                    return ShardEnd::Answered(number);
                }
            }
        }
        ShardEnd::Missing(trouble.unwrap_or_else(|| self.absence()))
    }

    /// Why no node of the map can be asked.
    fn absence(&self) -> String {
        let name = &self.shard.collection;
        self.cluster.leaders().absence(name, &self.shard.nodes)
    }

    /// What a node answers, for as long as it gives signs of life.
    async fn asked(
        &self,
        (node, address): (&str, &str),
        request: &NodeRequest,
        left: Duration,
    ) -> CallEnd<Vec<Updated>> {
        let began = self.cluster.now();
        let (beat, attempt) = {
            let mut pool = self.cluster.pool();
            pool.begin(node);
            (pool.patience.heartbeat, pool.patience.attempt)
        };
        let asked = self
            .cluster
            .client
            .ask(address, request, (left, &self.room));
        let mut asked = std::pin::pin!(asked);
        loop {
            if let Ok(end) = timeout(beat, &mut asked).await {
                return end;
            }
            let now = self.cluster.now();
            // One that was out of rotation before has some time to show that it is not.
            if now > began + attempt && !self.cluster.pool().is_in(node, now) {
                return CallEnd::Failed("no sign of life".to_owned());
            }
        }
    }

    /// The node that leads, as far as is known; its nodes are asked where none is.
    async fn leader(&self) -> Option<String> {
        let name = &self.shard.collection;
        let known = || {
            let leaders = self.cluster.leaders();
            let known = leaders.of(name).map(str::to_owned);
            known.filter(|node| self.shard.nodes.contains(node))
        };
        if let Some(node) = known() {
            return Some(node);
        }
        let mut signs = JoinSet::new();
        for node in &self.shard.nodes {
            if let Some(address) = self.map.nodes.get(node) {
                signs.spawn(ask(
                    Arc::clone(&self.cluster),
                    node.clone(),
                    address.clone(),
                ));
            }
        }
        while signs.join_next().await.is_some() {
            if let Some(node) = known() {
                return Some(node);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_done_and_what_was_not_is_said() {
        let done = |number| ShardEnd::Answered(number);
        assert_eq!(whole(vec![("t-0", done(4)), ("t-1", done(7))]), Ok(7));
        let gone = ShardEnd::Missing("no node leads it".to_owned());
        let failure = whole(vec![("t-0", done(4)), ("t-1", gone.clone())]).unwrap_err();
        assert_eq!(failure.status, 503);
        for word in ["t-1 (no node leads it)", "done in t-0"] {
            assert!(failure.text.contains(word), "{}", failure.text);
        }
        let wrong = ShardEnd::Refused(Failure::wrong("x"));
        let alone = whole(vec![("t-0", wrong.clone())]).unwrap_err();
        assert_eq!(alone, Failure::wrong("x"));
        let some = whole(vec![("t-0", done(1)), ("t-1", wrong.clone())]).unwrap_err();
        assert!(some.status == 400 && some.text.contains("t-1; done in t-0"));
        let both = whole(vec![("t-0", wrong), ("t-1", gone)]).unwrap_err();
        assert!(both.status == 503 && both.text.contains("nothing was changed"));
    }
}
