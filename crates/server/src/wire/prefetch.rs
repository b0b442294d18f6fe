//! What a query says of other queries and other collections: how the points that several find come
//! into one order, and where vectors and payloads are looked up.

use serde::{Deserialize, Deserializer, Serialize};

use super::either::Either;
use super::parts::{PayloadParts, VectorParts};
use super::points::{Refused, refuse};
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

/// The name of a fusion.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum FusionName {
    Rrf,
    Dbsf,
}

/// How ranks count.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(super) struct RankParams {
    #[serde(default)]
    k: Option<u32>,
    #[serde(default)]
    weights: Option<Vec<f32>>,
}

impl FusionName {
    /// The fusion, as it is where nothing else is said.
    pub(super) fn fusion(self) -> Outcome<Fusion> {
        match self {
            Self::Rrf => RankParams::default().fusion(),
            Self::Dbsf => Ok(Fusion::Scores),
        }
    }
}

impl RankParams {
    /// The fusion by ranks.
    ///
    /// # Errors
    /// 422 where the first ranks would count for all.
    pub(super) fn fusion(&self) -> Outcome<Fusion> {
        if self.k == Some(0) {
            let words = "value 0 invalid, must be 1 or larger";
            return Err(Failure::invalid("query.rrf.k", words));
        }
        Ok(Fusion::Ranks {
            offset: self.k.unwrap_or(RANK_OFFSET),
            weights: self.weights.clone(),
        })
    }
}

/// How unlike one another the points of an answer are to be (maximal marginal relevance, Carbonell
/// and Goldstein 1998).
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Diversity {
    #[serde(default)]
    diversity: Option<f32>,
    #[serde(default)]
    candidates_limit: Option<usize>,
}

impl Diversity {
    /// Refuses what is no share.
    pub(super) fn check(&self) -> Outcome<()> {
        if (0.0..=1.0).contains(&self.share()) {
            return Ok(());
        }
        let words = "value invalid, must be from 0.0 to 1.0";
        Err(Failure::invalid("query.mmr.diversity", words))
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
    shard_key: Option<Refused>,
}

impl LookupFrom {
    /// Refuses what is not supported.
    pub(crate) fn check(&self) -> Outcome<()> {
        refuse("lookup_from.shard_key", self.shard_key)
    }
}

/// The collection whose points the ids of groups are, and what is wanted of those.
pub(crate) type WithLookup = Either<String, LookupParts>;

/// The same where it says what is wanted.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub(crate) struct LookupParts {
    collection: String,
    #[serde(default)]
    with_payload: Option<PayloadParts>,
    #[serde(default, alias = "with_vector")]
    with_vectors: Option<VectorParts>,
}

impl WithLookup {
    /// The name of the collection.
    pub(crate) fn collection(&self) -> &str {
        match self {
            Self::Plain(name) => name,
            Self::Object(own) => &own.collection,
        }
    }

    /// What is wanted of a point: its payload, unless something else is said.
    pub(crate) fn parts(&self) -> (PayloadParts, VectorParts) {
        match self {
            Self::Plain(_) => super::parts_of(None, None),
            Self::Object(own) => {
                super::parts_of(own.with_payload.as_ref(), own.with_vectors.as_ref())
            }
        }
    }
}

/// Reads one query, several, or none.
pub(super) fn one_or_many<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<Query>, D::Error> {
    Ok(match Option::deserialize(input)? {
        None => Vec::new(),
        Some(Either::Plain(all)) => all,
        Some(Either::Object(one)) => vec![one],
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::query::QueryKind;
    use super::*;

    #[test]
    fn fusions_are_told_apart() {
        let of = |query: Value| {
            let query = json!({"query": query, "prefetch": {}});
            let query: Query = serde_json::from_value(query).map_err(Failure::format)?;
            query.kind()
        };
        let ranks = |offset, weights| QueryKind::Fusion(Fusion::Ranks { offset, weights });
        assert_eq!(of(json!({"fusion": "rrf"})).unwrap(), ranks(2, None));
        let scores = QueryKind::Fusion(Fusion::Scores);
        assert_eq!(of(json!({"fusion": "dbsf"})).unwrap(), scores);
        let weighted = of(json!({"rrf": {"k": 60, "weights": [3, 1]}})).unwrap();
        assert_eq!(weighted, ranks(60, Some(vec![3.0, 1.0])));
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
