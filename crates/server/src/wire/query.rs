//! Bodies of queries.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::asked::Asked;
use super::example::Examples;
use super::limit::{MAX_LIMIT, checked_limit};
use super::parts::{PayloadParts, VectorParts};
use super::points::{Refused, refuse};
use super::prefetch::{Diversity, Fusion, LookupFrom, WithLookup, one_or_many};
use super::read::OrderBy;
use super::vector::VectorValue;
use crate::failure::{Failure, Outcome};

/// Groups of an answer and points of a group, at most together.
const GROUP_SIZE: usize = 3;
/// Queries below a query, at most.
const MAX_PREFETCHES: usize = 64;

/// A query; or one whose points another one is about, which skips none and shows none.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Query {
    #[serde(default, rename = "query")]
    pub(super) asked: Option<Asked>,
    #[serde(default)]
    pub(crate) using: Option<String>,
    #[serde(default)]
    pub(crate) filter: Option<Value>,
    #[serde(default)]
    pub(crate) params: Option<QueryParams>,
    #[serde(default)]
    pub(crate) score_threshold: Option<f32>,
    #[serde(default)]
    pub(crate) limit: Option<usize>,
    #[serde(default)]
    pub(crate) offset: Option<usize>,
    #[serde(default)]
    pub(crate) with_payload: Option<PayloadParts>,
    #[serde(default, alias = "with_vectors")]
    pub(crate) with_vector: Option<VectorParts>,
    /// Where there are some, what is searched is what they find.
    #[serde(default, deserialize_with = "one_or_many")]
    pub(crate) prefetch: Vec<Self>,
    #[serde(default)]
    pub(crate) lookup_from: Option<LookupFrom>,
    #[serde(default)]
    shard_key: Option<Refused>,
}

/// How to search.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct QueryParams {
    #[serde(default)]
    pub(crate) hnsw_ef: Option<u32>,
    #[serde(default)]
    pub(crate) exact: Option<bool>,
    #[serde(default)]
    pub(crate) pageway: Option<OwnParams>,
    #[serde(default)]
    idf: Option<Refused>,
}

impl QueryParams {
    /// The same of an exact search.
    pub(crate) fn exactly(mut self) -> Self {
        self.exact = Some(true);
        self
    }
}

/// What is ours to ask for.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OwnParams {
    #[serde(default)]
    pub(crate) recall: Option<f32>,
    /// Whether the answer says how it was searched.
    #[serde(default)]
    pub(crate) explain: Option<bool>,
}

impl OwnParams {
    fn check(&self) -> Outcome<()> {
        match self.recall.filter(|recall| !(0.0..=1.0).contains(recall)) {
            None => Ok(()),
            Some(recall) => Err(Failure::invalid(
                "params.pageway.recall",
                format!("value {recall} invalid, must be from 0.0 to 1.0"),
            )),
        }
    }
}

/// What a query asks for.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum QueryKind {
    /// Points in the order of their ids.
    Scroll,
    /// The nearest of what examples come to, and none of the points among those.
    Nearest(Examples),
    /// Points in the order of a field.
    OrderBy(OrderBy),
    /// Some points.
    Sample,
    /// What other queries find, in one order.
    Fusion(Fusion),
}

impl Query {
    /// What it asks for.
    ///
    /// # Errors
    /// For queries of kinds that there are not, naming the field.
    pub(crate) fn kind(&self) -> Outcome<QueryKind> {
        refuse("shard_key", self.shard_key)?;
        if let Some(params) = &self.params {
            refuse("params.idf", params.idf)?;
            params.pageway.unwrap_or_default().check()?;
        }
        let kind = self.asked.as_ref().map(Asked::kind).transpose()?;
        let kind = kind.unwrap_or(QueryKind::Scroll);
        self.check(&kind)?;
        Ok(kind)
    }

    /// Refuses what does not go together.
    fn check(&self, kind: &QueryKind) -> Outcome<()> {
        let refusal = match kind {
            QueryKind::Scroll if !self.prefetch.is_empty() => {
                "A query is needed to merge the prefetches. Can't have prefetches without defining \
                 a query."
            }
            QueryKind::Scroll if self.score_threshold.is_some() => {
                "A query is needed to use the score_threshold. Can't have score_threshold without \
                 defining a query."
            }
            QueryKind::OrderBy(_) if self.score_threshold.is_some() => {
                "Can't use score_threshold with an order_by query."
            }
            QueryKind::Fusion(_) if self.using.is_some() => {
                "Fusion queries cannot be combined with the 'using' field."
            }
            QueryKind::Fusion(_) if self.prefetch.is_empty() => {
                "A fusion query merges prefetches, and there is none."
            }
            QueryKind::Scroll
            | QueryKind::Nearest(_)
            | QueryKind::OrderBy(_)
            | QueryKind::Sample
            | QueryKind::Fusion(_) => {
                if self.prefetches() <= MAX_PREFETCHES {
                    return Ok(());
                }
                "More than 64 prefetches."
            }
        };
        Err(Failure::bad_request(refusal))
    }

    /// Queries below this one.
    fn prefetches(&self) -> usize {
        let below = self.prefetch.iter().map(Self::prefetches);
        self.prefetch.len() + below.sum::<usize>()
    }

    /// How unlike one another its points are to be, where it says so.
    pub(crate) fn diversity(&self) -> Outcome<Option<Diversity>> {
        let own = self.asked.as_ref().and_then(Asked::diversity);
        own.as_ref().map(Diversity::check).transpose()?;
        Ok(own)
    }

    /// Whether the answer is to say how it was searched.
    pub(crate) fn wants_explanation(&self) -> bool {
        let own = self.params.as_ref().and_then(|params| params.pageway);
        own.and_then(|own| own.explain).unwrap_or(false)
    }

    /// Whether it, or one below it, searches vectors of a name.
    pub(crate) fn uses(&self, name: &str) -> bool {
        let own = self.using.as_deref().unwrap_or("");
        own == name || self.prefetch.iter().any(|below| below.uses(name))
    }

    /// The examples of what is searched for, where points are among them.
    pub(crate) fn asked_points(&self) -> Outcome<Option<Examples>> {
        Ok(match self.kind()? {
            QueryKind::Nearest(examples) => Some(examples).filter(|own| !own.points().is_empty()),
            QueryKind::Scroll
            | QueryKind::OrderBy(_)
            | QueryKind::Sample
            | QueryKind::Fusion(_) => None,
        })
    }

    /// The same for so many points from the first on, as a shard is asked.
    pub(crate) fn of_shard(&self, limit: usize) -> Self {
        let mut own = self.clone();
        (own.limit, own.offset) = (Some(limit.min(MAX_LIMIT)), None);
        own
    }

    /// Searches for a vector in place of examples.
    pub(crate) fn ask_vector(&mut self, vector: Vec<f32>) {
        let vector = Asked::Vector(VectorValue::Dense(vector));
        match &mut self.asked {
            Some(Asked::Object(object)) if object.nearest.is_some() => {
                object.nearest = Some(vector);
            }
            asked => *asked = Some(vector),
        }
    }

    /// Points of the answer, and before it.
    pub(crate) fn range(&self) -> Outcome<(usize, usize)> {
        let limit = self.limit()?;
        let offset = self.offset.unwrap_or(0);
        if limit.saturating_add(offset) > MAX_LIMIT {
            let words = format!("value {offset} invalid, limit and offset are at most {MAX_LIMIT}");
            return Err(Failure::invalid("offset", words));
        }
        Ok((limit, offset))
    }

    /// Has the queries below it find so many points at least.
    pub(crate) fn prefetch_more(&mut self, least: usize) {
        for below in &mut self.prefetch {
            // One that is wrong is told of where it is answered.
            if let Ok(own) = below.limit() {
                below.limit = Some(own.max(least));
            }
            below.prefetch_more(least);
        }
    }

    /// Points of the answer.
    pub(crate) fn limit(&self) -> Outcome<usize> {
        // So the path is called where clients know it from.
        checked_limit("internal.limit", self.limit)
    }
}

/// Bodies together.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Batch<T> {
    pub(crate) searches: Vec<T>,
}

/// A query whose answers are put into groups.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct GroupQuery {
    pub(crate) query: Query,
    pub(crate) grouping: Grouping,
}

/// By which field, and how many; what a body has beside its query, from which it is read apart.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub(crate) struct Grouping {
    pub(crate) group_by: String,
    #[serde(default)]
    group_size: Option<usize>,
    #[serde(default)]
    pub(crate) with_lookup: Option<WithLookup>,
}

impl GroupQuery {
    /// Points of a group, and groups.
    pub(crate) fn sizes(&self) -> Outcome<(usize, usize)> {
        let size = self.grouping.group_size.unwrap_or(GROUP_SIZE);
        if size == 0 {
            return Err(Failure::invalid(
                "group_size",
                "value 0 invalid, must be 1 or larger",
            ));
        }
        let groups = checked_limit("limit", self.query.limit)?;
        if groups.saturating_mul(size) > MAX_LIMIT {
            let words = format!("value {size} invalid, groups hold {MAX_LIMIT} points at most");
            return Err(Failure::invalid("group_size", words));
        }
        Ok((size, groups))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::example::Example;
    use super::super::id::PointId;
    use super::*;

    fn kind(query: Value) -> Outcome<QueryKind> {
        let body = json!({"query": query}).to_string();
        let query: Query = serde_json::from_str(&body).map_err(Failure::format)?;
        query.kind()
    }

    #[test]
    fn kinds_of_queries_are_told_apart() {
        assert_eq!(kind(Value::Null).unwrap(), QueryKind::Scroll);
        let one = |example: Example| QueryKind::Nearest(example.into());
        let vector = one(Example::Vector(vec![1.0, 0.5]));
        assert_eq!(kind(json!([1, 0.5])).unwrap(), vector);
        assert_eq!(kind(json!({"nearest": [1, 0.5]})).unwrap(), vector);
        let point = one(Example::Point(PointId::Number(7)));
        assert_eq!(kind(json!(7)).unwrap(), point);
        let like = json!({"recommend": {"positive": [7]}});
        assert_eq!(kind(like).unwrap(), point);
        assert_eq!(
            kind(json!({"sample": "random"})).unwrap(),
            QueryKind::Sample
        );
        assert!(matches!(
            kind(json!({"order_by": "a"})).unwrap(),
            QueryKind::OrderBy(_)
        ));
    }

    #[test]
    fn what_is_not_there_is_named() {
        for (query, word) in [
            (json!({"discover": {"target": 1}}), "`query.discover`"),
            (json!([[1.0]]), "vectors of several"),
            (json!({"indices": [1], "values": [1]}), "`query`: sparse"),
            (json!({"nearest": {"model": "m"}}), "texts and images"),
            (json!({}), "query: data did not match any variant"),
            (json!({"nearest": {}}), "query.nearest: data did not match"),
            (
                json!(["a"]),
                "invalid type: string \"a\", expected a number",
            ),
            (json!(true), "expected a vector, an id"),
            (json!(-1), "expected a vector, an id"),
            (json!("a"), "a is not a valid point ID"),
            (json!({"sample": "a"}), "expected `random`"),
            (json!({"order_by": 1}), "expected a string"),
            (
                json!({"order_by": {"key": "a", "start_from": []}}),
                "a number or a date",
            ),
        ] {
            let failure = kind(query).unwrap_err();
            assert_eq!(failure.status, 400, "{failure:?}");
            assert!(failure.text.contains(word), "{failure:?}");
        }
        let inner = (0..65).fold(
            json!({"limit": 3}),
            |inner, _| json!({"prefetch": inner, "query": 1}),
        );
        for (query, word) in [
            (json!({"prefetch": {"limit": 3}}), "to merge the prefetches"),
            (json!({"score_threshold": 1}), "to use the score_threshold"),
            (json!({"query": {"fusion": "rrf"}}), "there is none"),
            (inner, "64 prefetches"),
        ] {
            let query: Query = serde_json::from_value(query).unwrap();
            let failure = query.kind().unwrap_err();
            assert!(failure.text.contains(word), "{failure:?}");
        }
    }

    #[test]
    fn a_vector_takes_the_place_of_examples_and_leaves_the_rest() {
        let asked = |query: Value| {
            let mut query: Query = serde_json::from_value(json!({"query": query})).unwrap();
            query.ask_vector(vec![0.5]);
            query.asked.unwrap()
        };
        let read = |asked: Value| serde_json::from_value::<Asked>(asked).unwrap();
        let vector = read(json!([0.5]));
        assert_eq!(asked(json!(7)), vector);
        assert_eq!(asked(json!({"recommend": {"positive": [7]}})), vector);
        let diverse = asked(json!({"nearest": 7, "mmr": {"diversity": 0.25}}));
        let expected = json!({"nearest": [0.5], "mmr": {"diversity": 0.25}});
        assert_eq!(diverse, read(expected));
    }

    #[test]
    fn nodes_are_sent_what_was_asked() {
        for query in [
            json!([1.0, 0.5, 3e38]),
            json!({"nearest": [1.0, 0.5]}),
            json!({"order_by": "a"}),
            json!({"order_by": {"key": "a", "direction": "desc", "start_from": 7}}),
            json!({"fusion": "rrf"}),
            Value::Null,
        ] {
            let asked: Option<Asked> = serde_json::from_value(query.clone()).unwrap();
            let sent = serde_json::to_string(&asked).unwrap();
            assert_eq!(serde_json::from_str::<Value>(&sent).unwrap(), query);
        }
    }

    #[test]
    fn queries_within_queries_end() {
        for begin in [r#"{"prefetch":"#, r#"{"nearest":"#] {
            let read = |levels| {
                let inner = [&begin.repeat(levels), "{}", &"}".repeat(levels)].concat();
                let body = format!(r#"{{"query":{inner},"prefetch":{inner}}}"#);
                serde_json::from_str::<Query>(&body)
            };
            assert!(read(120).is_ok());
            let error = read(10_000).unwrap_err().to_string();
            assert!(error.starts_with("recursion limit exceeded"), "{error}");
        }
    }

    #[test]
    fn limits_hold() {
        let range = |json: Value| serde_json::from_value::<Query>(json).unwrap().range();
        assert_eq!(range(json!({})).unwrap(), (10, 0));
        assert_eq!(range(json!({"limit": 10_000})).unwrap(), (10_000, 0));
        assert_eq!(range(json!({"limit": 0})).unwrap_err().status, 422);
        assert_eq!(range(json!({"limit": 10_001})).unwrap_err().status, 422);
        assert_eq!(range(json!({"offset": 9_991})).unwrap_err().status, 422);
    }
}
