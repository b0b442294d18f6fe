//! Bodies of requests that read points without a query.

use std::cmp::Ordering;
use std::fmt;

use pageway::server::Number;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::either::Either;
use super::id::PointId;
use super::limit::{MAX_LIMIT, checked_limit};
use super::parts::{PayloadParts, VectorParts};
use super::points::{Refused, refuse};
use crate::failure::Outcome;

/// Points by their ids.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Retrieve {
    pub(crate) ids: Vec<PointId>,
    #[serde(default)]
    pub(crate) with_payload: Option<PayloadParts>,
    #[serde(default, alias = "with_vectors")]
    pub(crate) with_vector: Option<VectorParts>,
    #[serde(default)]
    shard_key: Option<Refused>,
}

impl Retrieve {
    /// Refuses what is not supported.
    pub(crate) fn check(&self) -> Outcome<()> {
        refuse("shard_key", self.shard_key)
    }
}

/// How many points match.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Count {
    #[serde(default)]
    pub(crate) filter: Option<Value>,
    #[serde(default)]
    shard_key: Option<Refused>,
}

impl Count {
    /// Refuses what is not supported.
    pub(crate) fn check(&self) -> Outcome<()> {
        refuse("shard_key", self.shard_key)
    }
}

/// How often each value of a field is there.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Facet {
    pub(crate) key: String,
    #[serde(default)]
    pub(crate) filter: Option<Value>,
    #[serde(default)]
    limit: Option<usize>,
    #[serde(default)]
    shard_key: Option<Refused>,
}

impl Facet {
    /// The same for all values that can be asked for.
    pub(crate) fn of_shard(&self) -> Self {
        let limit = Some(MAX_LIMIT);
        Self {
            limit,
            ..self.clone()
        }
    }

    /// Values at most.
    pub(crate) fn limit(&self) -> Outcome<usize> {
        refuse("shard_key", self.shard_key)?;
        checked_limit("limit", self.limit)
    }
}

/// From low to high, or the other way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Direction {
    #[default]
    Asc,
    Desc,
}

impl Direction {
    /// The order of two points by what they have in the field, and then by their ids.
    pub(crate) fn compare(self, one: (Number, PointId), next: (Number, PointId)) -> Ordering {
        let order = one.0.compare(next.0).then(one.1.cmp(&next.1));
        match self {
            Self::Asc => order,
            Self::Desc => order.reverse(),
        }
    }
}

/// An order by the values of a field.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct OrderBy {
    pub(crate) key: String,
    #[serde(default)]
    pub(crate) direction: Option<Direction>,
    #[serde(default)]
    pub(crate) start_from: Option<Start>,
}

/// A number or a date.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(crate) struct Start(pub(crate) Value);

impl<'de> Deserialize<'de> for Start {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StartVisitor)
    }
}

struct StartVisitor;

impl Visitor<'_> for StartVisitor {
    type Value = Start;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number or a date")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Start, E> {
        Ok(Start(number.into()))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Start, E> {
        Ok(Start(number.into()))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Start, E> {
        Ok(Start(number.into()))
    }

    fn visit_str<E: Error>(self, date: &str) -> Result<Start, E> {
        Ok(Start(date.into()))
    }
}

/// The same as it comes: the field alone, or all of it.
pub(crate) type OrderByInput = Either<String, OrderBy>;

impl From<OrderByInput> for OrderBy {
    fn from(input: OrderByInput) -> Self {
        match input {
            Either::Object(order) => order,
            Either::Plain(key) => Self {
                key,
                direction: None,
                start_from: None,
            },
        }
    }
}

/// Points in the order of their ids, or of a field.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Scroll {
    #[serde(default)]
    pub(crate) filter: Option<Value>,
    #[serde(default)]
    pub(crate) limit: Option<usize>,
    #[serde(default)]
    pub(crate) offset: Option<PointId>,
    #[serde(default)]
    pub(crate) with_payload: Option<PayloadParts>,
    #[serde(default, alias = "with_vectors")]
    pub(crate) with_vector: Option<VectorParts>,
    #[serde(default)]
    pub(crate) order_by: Option<OrderByInput>,
    #[serde(default)]
    shard_key: Option<Refused>,
}

impl Scroll {
    /// Points at most.
    pub(crate) fn limit(&self) -> Outcome<usize> {
        refuse("shard_key", self.shard_key)?;
        checked_limit("limit", self.limit)
    }
}
