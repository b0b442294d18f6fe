//! What a query says of other queries and other collections: how the points that several find come
//! into one order, and where vectors and payloads are looked up.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::parts::{PayloadParts, VectorParts};
use super::points::refuse;
use super::query::Query;
use crate::failure::{Failure, Outcome};

/// How much the first ranks count for, where nobody says.
const RANK_OFFSET: u32 = 2;
/// Points that unlike ones are chosen from, at most, unless more are wanted.
const MAX_CANDIDATES: usize = 1000;

/// How the points of several queries come into one order.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Fusion {
    /// By their ranks (Cormack, Clarke and Büttcher 2009), each query with its weight.
    Ranks {
        offset: u32,
        weights: Option<Vec<f32>>,
    },
    /// By their scores, within three standard deviations of those of their query.
    Scores,
}

#[derive(Deserialize)]
struct RankParams {
    #[serde(default)]
    k: Option<u32>,
    #[serde(default)]
    weights: Option<Vec<f32>>,
}

impl Fusion {
    /// The fusion that a query asks for; none where it asks for something else.
    pub(super) fn of(query: &Map<String, Value>) -> Outcome<Option<Self>> {
        if let Some(name) = query.get("fusion") {
            return match name.as_str() {
                Some("rrf") => Ok(Some(Self::Ranks {
                    offset: RANK_OFFSET,
                    weights: None,
                })),
                Some("dbsf") => Ok(Some(Self::Scores)),
                _ => Err(Failure::format(format_args!(
                    "query.fusion: unknown variant {name}, expected `rrf` or `dbsf`"
                ))),
            };
        }
        let Some(params) = query.get("rrf") else {
            return Ok(None);
        };
        let params: RankParams = serde_json::from_value(params.clone()).map_err(Failure::format)?;
        if params.k == Some(0) {
            let words = "value 0 invalid, must be 1 or larger";
            return Err(Failure::invalid("query.rrf.k", words));
        }
        Ok(Some(Self::Ranks {
            offset: params.k.unwrap_or(RANK_OFFSET),
            weights: params.weights,
        }))
    }
}

/// How unlike one another the points of an answer are to be (maximal marginal relevance, Carbonell
/// and Goldstein 1998).
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
pub(crate) struct Diversity {
    #[serde(default)]
    diversity: Option<f32>,
    #[serde(default)]
    candidates_limit: Option<usize>,
}

impl Diversity {
    /// That of a query for the nearest; none where it does not say.
    pub(super) fn of(query: &Map<String, Value>) -> Outcome<Option<Self>> {
        let Some(own) = query.get("mmr").filter(|own| !own.is_null()) else {
            return Ok(None);
        };
        let own: Self = serde_json::from_value(own.clone()).map_err(Failure::format)?;
        if !(0.0..=1.0).contains(&own.share()) {
            let words = "value invalid, must be from 0.0 to 1.0";
            return Err(Failure::invalid("query.mmr.diversity", words));
        }
        Ok(Some(own))
    }

    /// How much it counts that a point is unlike those before it, against that it is near.
    pub(crate) fn share(&self) -> f32 {
        self.diversity.unwrap_or(0.5)
    }

    /// Points to choose from, for so many that are wanted.
    pub(crate) fn candidates(&self, wanted: usize) -> usize {
        let own = self.candidates_limit.unwrap_or(wanted);
        own.clamp(1, MAX_CANDIDATES.max(wanted))
    }
}

/// The collection whose points the ids of a query are.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct LookupFrom {
    pub(crate) collection: String,
    /// The name of the vector there.
    #[serde(default)]
    pub(crate) vector: Option<String>,
    #[serde(default)]
    shard_key: Option<Value>,
}

impl LookupFrom {
    /// Refuses what is not supported.
    pub(crate) fn check(&self) -> Outcome<()> {
        refuse("lookup_from.shard_key", self.shard_key.as_ref())
    }
}

/// The collection whose points the ids of groups are, and what is wanted of those.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum WithLookup {
    Name(String),
    Parts {
        collection: String,
        #[serde(default)]
        with_payload: Option<PayloadParts>,
        #[serde(default, alias = "with_vector")]
        with_vectors: Option<VectorParts>,
    },
}

impl WithLookup {
    /// The name of the collection.
    pub(crate) fn collection(&self) -> &str {
        match self {
            Self::Name(name) => name,
            Self::Parts { collection, .. } => collection,
        }
    }

    /// What is wanted of a point: its payload, unless something else is said.
    pub(crate) fn parts(&self) -> (PayloadParts, VectorParts) {
        match self {
            Self::Name(_) => super::parts_of(None, None),
            Self::Parts {
                with_payload,
                with_vectors,
                ..
            } => super::parts_of(with_payload.as_ref(), with_vectors.as_ref()),
        }
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    Many(Vec<Query>),
    One(Box<Query>),
}

/// Reads one query, several, or none.
pub(super) fn one_or_many<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<Query>, D::Error> {
    Ok(match Option::<OneOrMany>::deserialize(input)? {
        None => Vec::new(),
        Some(OneOrMany::Many(all)) => all,
        Some(OneOrMany::One(one)) => vec![*one],
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fusions_are_told_apart() {
        let of = |query: Value| Fusion::of(query.as_object().unwrap());
        let ranks = |offset, weights| Some(Fusion::Ranks { offset, weights });
        assert_eq!(of(json!({"fusion": "rrf"})).unwrap(), ranks(2, None));
        assert_eq!(of(json!({"fusion": "dbsf"})).unwrap(), Some(Fusion::Scores));
        let weighted = of(json!({"rrf": {"k": 60, "weights": [3, 1]}})).unwrap();
        assert_eq!(weighted, ranks(60, Some(vec![3.0, 1.0])));
        assert_eq!(of(json!({"nearest": [1]})).unwrap(), None);
        assert_eq!(of(json!({"fusion": "x"})).unwrap_err().status, 400);
        assert_eq!(of(json!({"rrf": {"k": 0}})).unwrap_err().status, 422);
    }

    #[test]
    fn prefetches_come_alone_or_in_lists() {
        let count = |json: Value| {
            serde_json::from_value::<Query>(json)
                .unwrap()
                .prefetch
                .len()
        };
        assert_eq!(count(json!({})) + count(json!({"prefetch": null})), 0);
        assert_eq!(count(json!({"prefetch": {"query": 3}})), 1);
        assert_eq!(count(json!({"prefetch": [{"query": 3}, {}]})), 2);
    }
}
