//! What the router answers: the reads of a server, over all shards. What shards cannot answer
//! together is refused by its name.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::merge;
use super::routed::{RoutedCall, ShardQuestion};
use crate::collection::{FacetHit, PointOutput, ScrollOutput};
use crate::failure::{Failure, Outcome};
use crate::operation::{Access, GroupAnswer, MOST_QUERIES, Operation, Reply, system};
use crate::wire::older::{Older, Search};
use crate::wire::{
    Batch, Count, Facet, GroupQuery, Grouping, MAX_LIMIT, OrderBy, PayloadParts, PointId, Query,
    QueryKind, Recommend, Retrieve, Scroll, VectorParts, older, parts_of,
};

/// What a query found, and how, where that is asked for.
#[derive(Serialize)]
struct QueryAnswer {
    points: Vec<PointOutput>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pageway: Option<Value>,
}

impl RoutedCall<'_> {
    /// Answers an operation.
    pub(super) async fn answer(&self, operation: &Operation) -> Outcome<Reply> {
        let name = self.name("collection");
        match operation.name {
            "root" => system::title(),
            "healthz" | "livez" => Ok(system::health()),
            "readyz" => self.ready(),
            "list_collections" => {
                let all = self.map.collections.keys();
                let all: Vec<Value> = all.map(|name| json!({"name": name})).collect();
                Reply::of(&json!({"collections": all}))
            }
            "collection_exists" => {
                crate::registry::check_name(name)?;
                Reply::of(&json!({"exists": self.map.collections.contains_key(name)}))
            }
            "list_aliases" | "collection_aliases" => Reply::of(&json!({"aliases": []})),
            "get_collection" => self.describe_whole(name).await,
            "get_points" => self.retrieve(name).await,
            "get_point" => self.point(name).await,
            "scroll_points" => self.scroll(name).await,
            "count_points" => self.count(name).await,
            "facet" => self.facet(name).await,
            "query_points" => self.one_query(name).await,
            "query_batch" => self.batch(name).await,
            "query_groups" => self.grouped(name, self.read()?).await,
            "search_points" => self.older_query::<Search>(name).await,
            "search_batch" => self.older_batch::<Search>(name).await,
            "search_groups" => self.older_groups::<Search>(name).await,
            "recommend_points" => self.older_query::<Recommend>(name).await,
            "recommend_batch" => self.older_batch::<Recommend>(name).await,
            "recommend_groups" => self.older_groups::<Recommend>(name).await,
            "create_collection" => self.make(name).await,
            "create_index" | "delete_index" => self.index(operation.name, name).await,
            "batch_update" => self.change_all(name).await,
            other if operation.access == Access::Write => match self.change(operation)? {
                Some(change) => self.change_one(name, change).await,
                None => Err(Failure::routed_change(other)),
            },
            other => Err(Failure::unsupported(format_args!(
                "the operation `{other}` by a router: ask a node"
            ))),
        }
    }

    /// Whether each shard has a node in rotation.
    fn ready(&self) -> Outcome<Reply> {
        let now = self.cluster.now();
        let pool = self.cluster.pool();
        let collections = self.map.collections.values();
        let mut shards = collections.flat_map(|own| &own.shards);
        let is_out = |node: &String| !pool.is_in(node, now);
        match shards.find(|shard| shard.nodes.iter().all(is_out)) {
            None => Ok(system::readiness()),
            Some(shard) => Err(Failure::incomplete(format_args!(
                "{} has no node that answers",
                shard.collection
            ))),
        }
    }

    /// What a collection is, with the sums of its shards.
    async fn describe_whole(&self, name: &str) -> Outcome<Reply> {
        let answers = self.describe(name).await?;
        let mut shards = answers.into_iter().map(|(_, own)| own);
        let none = || Failure::internal("a shard that does not say what it is");
        let mut whole = shards.next().filter(Value::is_object).ok_or_else(none)?;
        for shard in shards {
            if differs(&whole, &shard) {
                let words = format!("the shards of {name} have other vectors than one another");
                return Err(Failure::internal(words));
            }
            for count in ["points_count", "indexed_vectors_count", "segments_count"] {
                add(&mut whole, &shard, &[count]);
            }
            let fields = shard.get("payload_schema").and_then(Value::as_object);
            for field in fields.into_iter().flat_map(Map::keys) {
                add(&mut whole, &shard, &["payload_schema", field, "points"]);
            }
            let worst = worse(whole.get("status"), shard.get("status")).cloned();
            if let (Some(own), Some(worst)) = (whole.get_mut("status"), worst) {
                *own = worst;
            }
        }
        if let Some(Value::Object(params)) = whole.pointer_mut("/config/params") {
            let count = self.collection(name)?.shards.len();
            params.insert("shard_number".to_owned(), count.into());
        }
        Reply::of(&whole)
    }

    async fn retrieve(&self, name: &str) -> Outcome<Reply> {
        let request: Retrieve = self.read()?;
        request.check()?;
        let (payload, vector) =
            parts_of(request.with_payload.as_ref(), request.with_vector.as_ref());
        let wish = (&payload, &vector);
        Reply::of(&self.points(name, &request.ids, wish).await?)
    }

    async fn point(&self, name: &str) -> Outcome<Reply> {
        let id = PointId::of_path(self.name("id"))?;
        let wish = (&PayloadParts::All(true), &VectorParts::All(true));
        let found = self.points(name, &[id], wish).await?.pop();
        let absent = || Failure::not_found(format_args!("Point with id {id} does not exists!"));
        Reply::of(&found.ok_or_else(|| self.absent(absent()))?)
    }

    async fn scroll(&self, name: &str) -> Outcome<Reply> {
        let request: Scroll = self.read()?;
        let limit = request.limit()?;
        let question = ShardQuestion::post("scroll_points", "/points/scroll", &request)?;
        let pages = self.gather(self.collection(name)?, &question).await?;
        let pages: Vec<ScrollOutput> = pages.into_iter().map(|(_, own)| own).collect();
        let Some(order) = request.order_by else {
            return Reply::of(&merge::scroll(pages, limit));
        };
        let direction = OrderBy::from(order).direction.unwrap_or_default();
        let lists = pages.into_iter().map(|page| page.points).collect();
        Reply::of(&ScrollOutput {
            points: merge::by_value(lists, direction, (limit, 0)),
            next_page_offset: None,
        })
    }

    async fn count(&self, name: &str) -> Outcome<Reply> {
        let request: Count = self.read()?;
        request.check()?;
        let question = ShardQuestion::post("count_points", "/points/count", &request)?;
        let counts: Vec<(usize, Value)> = self.gather(self.collection(name)?, &question).await?;
        let counts = counts.iter().map(|(_, own)| own["count"].as_u64());
        let sum: Option<u64> = counts.sum();
        let none = || Failure::internal("a node that counts and tells no number");
        Reply::of(&json!({"count": sum.ok_or_else(none)?}))
    }

    /// Counts of values add up where each shard tells all of its own.
    async fn facet(&self, name: &str) -> Outcome<Reply> {
        let request: Facet = self.read()?;
        let limit = request.limit()?;
        let question = ShardQuestion::post("facet", "/facet", &request.of_shard())?;
        let answers: Vec<(usize, FacetAnswer)> =
            self.gather(self.collection(name)?, &question).await?;
        let lists = answers.into_iter().map(|(_, own)| own.hits);
        let lists: Vec<Vec<FacetHit>> = lists.collect();
        if lists.iter().any(|own| own.len() >= MAX_LIMIT) {
            return Err(Failure::unsupported(format_args!(
                "`facet` of `{}` by a router: a shard has {MAX_LIMIT} values or more",
                request.key
            )));
        }
        Reply::of(&json!({"hits": merge::facets(lists, limit)}))
    }

    async fn older_query<T: Older>(&self, name: &str) -> Outcome<Reply> {
        let mut query = older::query::<T>(self.read()?, self.read()?)?;
        self.look_up(&mut query).await?;
        Reply::of(&self.query(name, &query).await?)
    }

    async fn older_batch<T: Older>(&self, name: &str) -> Outcome<Reply> {
        let batch = older::batch::<T>(self.read()?, self.read()?)?;
        Reply::of(&self.queries(name, batch).await?)
    }

    async fn older_groups<T: Older>(&self, name: &str) -> Outcome<Reply> {
        let query = older::query::<T>(self.read()?, self.read()?)?;
        self.grouped(name, query).await
    }

    async fn grouped(&self, name: &str, mut query: Query) -> Outcome<Reply> {
        let grouping: Grouping = self.read()?;
        self.look_up(&mut query).await?;
        let groups = self.groups(name, &GroupQuery { query, grouping }).await?;
        Reply::of(&GroupAnswer { groups })
    }

    async fn one_query(&self, name: &str) -> Outcome<Reply> {
        let mut query: Query = self.read()?;
        self.look_up(&mut query).await?;
        let points = self.query(name, &query).await?;
        let explained = std::mem::take(&mut *self.explained());
        let pageway = query
            .wants_explanation()
            .then(|| json!({"shards": explained}));
        Reply::of(&QueryAnswer { points, pageway })
    }

    /// Queries together: one request for each shard where all are searches for the nearest, and
    /// otherwise one after the other.
    async fn queries(&self, name: &str, batch: Batch<Query>) -> Outcome<Vec<Vec<PointOutput>>> {
        let Batch { mut searches } = batch;
        if searches.len() > MOST_QUERIES {
            let words = format!("{} searches, {MOST_QUERIES} are possible", searches.len());
            return Err(Failure::invalid("searches", words));
        }
        for search in &mut searches {
            self.look_up(search).await?;
        }
        let within =
            |at: usize| move |failure: Failure| failure.within(format_args!("searches[{at}]"));
        let mut together = Vec::with_capacity(searches.len());
        let mut lists = Vec::with_capacity(searches.len());
        for (at, search) in searches.iter().enumerate() {
            if !is_vector(search).map_err(within(at))? {
                break;
            }
            let range = search.range().map_err(within(at))?;
            let nearest = self.nearest(name, search, range).await;
            together.push(nearest.map_err(within(at))?);
        }
        if together.len() == searches.len() && !searches.is_empty() {
            lists = self.ask_together(name, &together).await?;
        } else {
            for (at, search) in searches.iter().enumerate() {
                lists.push(self.query(name, search).await.map_err(within(at))?);
            }
        }
        Ok(lists)
    }

    async fn batch(&self, name: &str) -> Outcome<Reply> {
        let lists = self.queries(name, self.read()?).await?;
        let answer = |points| QueryAnswer {
            points,
            pageway: None,
        };
        let answers: Vec<QueryAnswer> = lists.into_iter().map(answer).collect();
        Reply::of(&answers)
    }

    /// An answer that says whether it is whole, where one in part would do.
    pub(super) fn told(&self, reply: Reply) -> Outcome<Reply> {
        let missing = self.missing();
        match reply {
            Reply::Json(mut bytes) if self.allows_part => {
                let shards: Vec<&String> = missing.0.keys().collect();
                let own = json!({"complete": missing.is_none(), "missing": shards});
                bytes.extend_from_slice(b",\"pageway\":");
                serde_json::to_writer(&mut bytes, &own).map_err(Failure::internal)?;
                Ok(Reply::Json(bytes))
            }
            reply @ (Reply::Json(_)
            | Reply::Bare(_)
            | Reply::Text(_)
            | Reply::Accepted
            | Reply::File(..)) => Ok(reply),
        }
    }

    /// The state of the cluster.
    pub(super) fn state(&self) -> Outcome<Reply> {
        let now = self.cluster.now();
        let pool = self.cluster.pool();
        let node = |(name, state, is_in): (&str, &super::pool::NodeState, bool)| {
            let (calls, failed) = state.calls;
            json!({
                "name": name, "address": self.map.nodes.get(name), "in_rotation": is_in,
                "in_flight": state.in_flight, "calls": calls, "failed": failed,
                "trouble": state.trouble,
            })
        };
        let nodes: Vec<Value> = pool.states(now).into_iter().map(node).collect();
        let (leaders, contents) = (self.cluster.leaders(), self.cluster.contents());
        let mut collections = Map::new();
        for (name, own) in &self.map.collections {
            let shards = own.shards.iter().map(|shard| {
                let ready = shard.nodes.iter().filter(|node| pool.is_in(node, now));
                json!({
                    "collection": shard.collection, "nodes": shard.nodes,
                    "sequence": shard.sequence, "ready": ready.collect::<Vec<_>>(),
                    "differs": contents.differing(shard),
                    "leader": leaders.of(&shard.collection),
                })
            });
            collections.insert(name.clone(), shards.collect());
        }
        Reply::of(&json!({
            "version": self.map.version, "nodes": nodes, "collections": collections,
        }))
    }
}

/// What a node counts.
#[derive(serde::Deserialize)]
struct FacetAnswer {
    hits: Vec<FacetHit>,
}

/// Whether a query is one for the nearest of a vector, without others below it.
fn is_vector(query: &Query) -> Outcome<bool> {
    let is_plain = query.prefetch.is_empty() && query.diversity()?.is_none();
    let kind = query.kind()?;
    Ok(is_plain && matches!(kind, QueryKind::Nearest(_)))
}

/// Whether two shards have other vectors.
fn differs(one: &Value, other: &Value) -> bool {
    let vectors = |of: &Value| of.pointer("/config/params/vectors").cloned();
    vectors(one) != vectors(other)
}

/// Adds a number of one shard to that of all, at a path.
fn add(whole: &mut Value, shard: &Value, path: &[&str]) {
    let number = path.iter().try_fold(shard, |at, name| at.get(name));
    let number = number.and_then(Value::as_u64).unwrap_or(0);
    let place = path.iter().try_fold(whole, |at, name| at.get_mut(name));
    if let Some(place) = place {
        *place = (place.as_u64().unwrap_or(0) + number).into();
    }
}

/// The worse of two states.
fn worse<'s>(one: Option<&'s Value>, other: Option<&'s Value>) -> Option<&'s Value> {
    let rank = |state: Option<&Value>| {
        let state = state.and_then(Value::as_str);
        let known = ["green", "yellow", "red"];
        known.iter().position(|own| state == Some(own))
    };
    if rank(other) > rank(one) { other } else { one }
}
