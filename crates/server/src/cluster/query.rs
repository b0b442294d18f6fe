//! Queries over shards: those of `collection::search` and `collection::fuse`, asked of nodes.

use std::collections::HashMap;
use std::pin::Pin;

use serde::Deserialize;
use serde_json::{Value, json};

use super::merge::{by_id, by_score, by_value, in_order_of};
use super::routed::{RoutedCall, ShardQuestion};
use crate::collection::{
    GroupSearch, PointGroup, PointOutput, Scored, ValueOutput, VectorOutput, among_points, fused,
    ids_of, scored, set_lookups, set_scores, source_query, values_of,
};
use crate::failure::{Failure, Outcome};
use crate::wire::{
    Batch, Examples, Fusion, GroupQuery, PayloadParts, PointId, Query, QueryKind, VectorParts,
};

/// What is answered some time.
type Later<'l, T> = Pin<Box<dyn Future<Output = Outcome<T>> + Send + 'l>>;

/// What a node found.
#[derive(Deserialize)]
pub(super) struct NodeAnswer {
    points: Vec<PointOutput>,
    #[serde(default)]
    pageway: Option<Value>,
}

/// A search for the nearest, ready to be asked of shards.
pub(super) struct NearestQuery {
    asked: Query,
    /// The points whose vectors it is of, which are no answers.
    own: Vec<PointId>,
    more_is_better: bool,
    range: (usize, usize),
}

impl RoutedCall<'_> {
    /// Answers a query.
    pub(super) async fn query(&self, name: &str, query: &Query) -> Outcome<Vec<PointOutput>> {
        let range = query.range()?;
        self.query_range(name, query, range).await
    }

    /// Puts vectors in place of ids that are those of another collection.
    pub(super) fn look_up<'l>(&'l self, query: &'l mut Query) -> Later<'l, ()> {
        Box::pin(async move {
            if let Some(from) = query.lookup_from.take() {
                from.check()?;
                if let Some(examples) = query.asked_points()? {
                    let at = (from.collection.as_str(), from.vector.as_deref());
                    query.ask_vector(self.vector_asked(&examples, at).await?);
                }
            }
            for below in &mut query.prefetch {
                self.look_up(below).await?;
            }
            Ok(())
        })
    }

    /// Answers a query with so many points behind so many others.
    fn query_range<'l>(
        &'l self,
        name: &'l str,
        query: &'l Query,
        (limit, offset): (usize, usize),
    ) -> Later<'l, Vec<PointOutput>> {
        Box::pin(async move {
            if let Some(payload) = &query.with_payload {
                payload.check()?;
            }
            let kind = query.kind()?;
            if let QueryKind::Fusion(fusion) = &kind {
                return self.fused(name, (query, fusion), (limit, offset)).await;
            }
            if !query.prefetch.is_empty() {
                return self.merged(name, query, (limit, offset)).await;
            }
            match kind {
                QueryKind::Nearest(_) => {
                    let nearest = self.nearest(name, query, (limit, offset)).await?;
                    let answers = self.ask(name, &nearest.asked).await?;
                    Ok(nearest.merge(answers))
                }
                QueryKind::Scroll => {
                    let answers = self.ask(name, &query.of_shard(limit + offset)).await?;
                    Ok(by_id(answers, (limit, offset)))
                }
                QueryKind::OrderBy(order) => {
                    let answers = self.ask(name, &query.of_shard(limit + offset)).await?;
                    let direction = order.direction.unwrap_or_default();
                    Ok(by_value(answers, direction, (limit, offset)))
                }
                QueryKind::Sample => Err(Failure::unsupported("`query.sample` by a router")),
                // It was answered above.
                QueryKind::Fusion(_) => Ok(Vec::new()),
            }
        })
    }

    /// A search for the nearest as shards are asked.
    pub(super) async fn nearest(
        &self,
        name: &str,
        query: &Query,
        (limit, offset): (usize, usize),
    ) -> Outcome<NearestQuery> {
        if query.diversity()?.is_some() {
            return Err(Failure::unsupported("`query.nearest.mmr` by a router"));
        }
        let schema = self.schema(name).await?;
        let (_, field) = schema.using(query.using.as_deref())?;
        let QueryKind::Nearest(examples) = query.kind()? else {
            return Err(Failure::internal("a query of no vector"));
        };
        let at = (name, query.using.as_deref());
        let vector = self.vector_asked(&examples, at).await?;
        field.check(&vector, "query")?;
        let mut asked = query.clone();
        asked.ask_vector(vector);
        let own = examples.points();
        Ok(NearestQuery {
            asked: asked.of_shard(limit + offset + own.len()),
            own,
            more_is_better: field.distance.passes(1.0, 0.0),
            range: (limit, offset),
        })
    }

    /// What shards find.
    async fn ask(&self, name: &str, query: &Query) -> Outcome<Vec<Vec<PointOutput>>> {
        let question = ShardQuestion::post("query_points", "/points/query", query)?;
        let collection = self.collection(name)?;
        let answers: Vec<(usize, NodeAnswer)> = self.gather(collection, &question).await?;
        let mut lists = Vec::with_capacity(answers.len());
        for (number, answer) in answers {
            if let Some(Value::Object(mut own)) = answer.pageway {
                let shard = collection.shards.get(number);
                let shard = shard.map(|shard| shard.collection.as_str());
                own.insert("shard".to_owned(), shard.into());
                self.explained().push(own.into());
            }
            lists.push(answer.points);
        }
        Ok(lists)
    }

    /// What shards find for searches together, by search.
    pub(super) async fn ask_together(
        &self,
        name: &str,
        searches: &[NearestQuery],
    ) -> Outcome<Vec<Vec<PointOutput>>> {
        let body = Batch {
            searches: searches.iter().map(|own| &own.asked).collect(),
        };
        let question = ShardQuestion::post("query_batch", "/points/query/batch", &body)?;
        let collection = self.collection(name)?;
        let answers: Vec<(usize, Vec<NodeAnswer>)> = self.gather(collection, &question).await?;
        let answers = answers.into_iter().map(|(_, own)| own.into_iter());
        let mut answers: Vec<_> = answers.collect();
        let merged = searches.iter().map(|search| {
            let lists = answers.iter_mut().map(|own| {
                let short = || Failure::internal("a node that answers fewer queries than asked");
                own.next().map(|own| own.points).ok_or_else(short)
            });
            let lists: Outcome<Vec<_>> = lists.collect();
            Ok(search.merge(lists?))
        });
        merged.collect()
    }

    /// What examples come to, whose points are of a collection and a name of vectors.
    async fn vector_asked(
        &self,
        examples: &Examples,
        (name, using): (&str, Option<&str>),
    ) -> Outcome<Vec<f32>> {
        let mut known = HashMap::new();
        for id in examples.points() {
            let vector = self.vector_of(name, id, using).await?;
            self.room.take(4 * vector.len() as u64)?;
            known.insert(id, vector);
        }
        let absent = || Failure::internal("an example that was not read");
        examples.vector(|id| known.get(&id).cloned().ok_or_else(absent))
    }

    /// The vector of a point.
    async fn vector_of(&self, name: &str, id: PointId, using: Option<&str>) -> Outcome<Vec<f32>> {
        let schema = self.schema(name).await?;
        let (_, field) = schema.using(using)?;
        let parts = if schema.is_unnamed {
            VectorParts::All(true)
        } else {
            VectorParts::Names(vec![field.name.clone()])
        };
        let wish = (&PayloadParts::All(false), &parts);
        let point = self.points(name, &[id], wish).await?.pop();
        let absent = || Failure::not_found(format_args!("No point with id {id} found"));
        let point = point.ok_or_else(|| self.absent(absent()))?;
        let vector = match point.vector {
            Some(VectorOutput::Unnamed(own)) => Some(own),
            Some(VectorOutput::Named(mut own)) => match own.remove(&field.name) {
                Some(ValueOutput::Dense(own)) => Some(own),
                Some(ValueOutput::Sparse(_)) | None => None,
            },
            None => None,
        };
        vector.ok_or_else(|| {
            let name = &field.name;
            Failure::not_found(format_args!("Point {id} does not have vector {name:?}"))
        })
    }

    /// What is wanted of some points.
    pub(super) async fn points(
        &self,
        name: &str,
        ids: &[PointId],
        (payload, vector): (&PayloadParts, &VectorParts),
    ) -> Outcome<Vec<PointOutput>> {
        let body = json!({"ids": ids, "with_payload": payload, "with_vector": vector});
        let question = ShardQuestion::post("get_points", "/points", &body)?;
        let lists = self.gather(self.collection(name)?, &question).await?;
        let lists = lists.into_iter().map(|(_, own)| own).collect();
        Ok(in_order_of(ids, lists))
    }

    /// Answers a query among the points that its prefetches find.
    async fn merged(
        &self,
        name: &str,
        query: &Query,
        range: (usize, usize),
    ) -> Outcome<Vec<PointOutput>> {
        let sources = self.sources(name, query).await?;
        let mut ids: Vec<PointId> = sources.iter().flatten().map(|(id, _)| *id).collect();
        ids.sort_unstable();
        ids.dedup();
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let again = among_points(query, &ids);
        self.query_range(name, &again, range).await
    }

    /// Fuses what the prefetches of a query find.
    async fn fused(
        &self,
        name: &str,
        (query, fusion): (&Query, &Fusion),
        range: (usize, usize),
    ) -> Outcome<Vec<PointOutput>> {
        let sources = self.sources(name, query).await?;
        let shown = fused((query, fusion), range, &sources)?;
        let ids: Vec<PointId> = shown.iter().map(|(id, _)| *id).collect();
        let none = (PayloadParts::All(false), VectorParts::All(false));
        let payload = query.with_payload.as_ref().unwrap_or(&none.0);
        let vector = query.with_vector.as_ref().unwrap_or(&none.1);
        let mut points = self.points(name, &ids, (payload, vector)).await?;
        set_scores(&mut points, &shown);
        Ok(points)
    }

    /// What each prefetch of a query finds.
    async fn sources(&self, name: &str, query: &Query) -> Outcome<Vec<Vec<Scored>>> {
        let mut sources = Vec::with_capacity(query.prefetch.len());
        for below in &query.prefetch {
            let own = source_query(below, query);
            let found = self.query_range(name, &own, (own.limit()?, 0)).await?;
            sources.push(scored(found));
        }
        Ok(sources)
    }

    /// The best points of each of the best groups.
    pub(super) async fn groups(
        &self,
        name: &str,
        request: &GroupQuery,
    ) -> Outcome<Vec<PointGroup>> {
        let mut search = GroupSearch::new(request)?;
        let taken = self.room.taken();
        let groups = loop {
            self.room.return_to(taken);
            let range = (search.look, 0);
            let points = self.query_range(name, &search.query, range).await?;
            if let Some(groups) = search.look_at(points) {
                break groups;
            }
        };
        let mut loaded = Vec::new();
        if let Some(vectors) = &search.vectors {
            let wish = (&PayloadParts::All(false), vectors);
            loaded = self.points(name, &ids_of(&groups), wish).await?;
        }
        let mut groups = search.shown(groups, loaded);
        if let Some(lookup) = &request.grouping.with_lookup {
            let (payload, vector) = lookup.parts();
            let wish = (&payload, &vector);
            let ids = values_of(&groups);
            let points = self.points(lookup.collection(), &ids, wish).await?;
            set_lookups(&mut groups, &points);
        }
        Ok(groups)
    }
}

impl NearestQuery {
    /// The answer of answers of shards.
    fn merge(&self, mut lists: Vec<Vec<PointOutput>>) -> Vec<PointOutput> {
        for list in &mut lists {
            list.retain(|point| !self.own.contains(&point.id));
        }
        by_score(lists, self.more_is_better, self.range)
    }
}
