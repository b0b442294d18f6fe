//! What a query asks for, as it comes: read as what it is, since numbers of vectors are most of a
//! body.

use std::fmt;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Error, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::example::{Example, Examples, Recommend};
use super::id::PointId;
use super::points::{Refused, refuse};
use super::prefetch::{Diversity, FusionName, RankParams};
use super::query::QueryKind;
use super::read::OrderByInput;
use super::vector::VectorValue;
use crate::failure::{Failure, Outcome};

/// A list of numbers is a vector, a number or text an id; an object says what it asks for.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Asked {
    Vector(VectorValue),
    Point(PointId),
    Object(Box<AskedObject>),
}

/// One of what can be asked for; the first of these counts.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(super) struct AskedObject {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) nearest: Option<Asked>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mmr: Option<Diversity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    order_by: Option<OrderByInput>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sample: Option<Sample>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fusion: Option<FusionName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rrf: Option<RankParams>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recommend: Option<Recommend>,
    #[serde(skip_serializing)]
    discover: Option<Refused>,
    #[serde(skip_serializing)]
    context: Option<Refused>,
    #[serde(skip_serializing)]
    formula: Option<Refused>,
    #[serde(skip_serializing)]
    relevance_feedback: Option<Refused>,
    /// Of a sparse vector, or what a text or an image is to become a vector by.
    #[serde(skip_serializing, alias = "model")]
    indices: Option<Refused>,
}

#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Sample {
    Random,
}

impl Asked {
    /// That of a recommendation.
    pub(super) fn recommend(own: Recommend) -> Self {
        Self::Object(Box::new(AskedObject {
            recommend: Some(own),
            ..AskedObject::default()
        }))
    }

    /// What it asks for.
    ///
    /// # Errors
    /// For kinds that there are not, naming the field.
    pub(super) fn kind(&self) -> Outcome<QueryKind> {
        match self {
            Self::Object(object) => match object.kind()? {
                Some(kind) => Ok(kind),
                None => self.nearest("query"),
            },
            Self::Vector(_) | Self::Point(_) => self.nearest("query"),
        }
    }

    /// How unlike one another the nearest are to be, where it says so.
    pub(super) fn diversity(&self) -> Option<Diversity> {
        match self {
            Self::Object(object) if object.nearest.is_some() => object.mmr,
            Self::Vector(_) | Self::Point(_) | Self::Object(_) => None,
        }
    }

    fn nearest(&self, path: &str) -> Outcome<QueryKind> {
        Ok(QueryKind::Nearest(self.example(path)?.into()))
    }

    /// The example that it is.
    ///
    /// # Errors
    /// For what is no vector and no id, naming the path.
    pub(super) fn example(&self, path: &str) -> Outcome<Example> {
        let lacks = match self {
            Self::Point(id) => return Ok(Example::Point(*id)),
            Self::Vector(VectorValue::Dense(own)) => return Ok(Example::Vector(own.clone())),
            Self::Vector(VectorValue::Multi) => "vectors of several vectors",
            Self::Vector(VectorValue::Sparse(_)) => "sparse vectors",
            Self::Object(own) if own.indices.is_some() => "sparse vectors, texts and images",
            Self::Object(_) => {
                let words = format!("{path}: data did not match any variant of a query");
                return Err(Failure::format(words));
            }
        };
        Err(Failure::unsupported(format!("`{path}`: {lacks}")))
    }
}

impl AskedObject {
    /// What it asks for; none where it is an example, or nothing.
    fn kind(&self) -> Outcome<Option<QueryKind>> {
        let kind = if let Some(nearest) = &self.nearest {
            nearest.nearest("query.nearest")
        } else if let Some(order) = &self.order_by {
            Ok(QueryKind::OrderBy(order.clone().into()))
        } else if let Some(Sample::Random) = self.sample {
            Ok(QueryKind::Sample)
        } else if let Some(fusion) = self.fusion {
            fusion.fusion().map(QueryKind::Fusion)
        } else if let Some(ranks) = &self.rrf {
            ranks.fusion().map(QueryKind::Fusion)
        } else if let Some(recommend) = &self.recommend {
            Examples::of(recommend).map(QueryKind::Nearest)
        } else {
            refuse("query.discover", self.discover)?;
            refuse("query.context", self.context)?;
            refuse("query.formula", self.formula)?;
            refuse("query.relevance_feedback", self.relevance_feedback)?;
            return Ok(None);
        };
        kind.map(Some)
    }
}

impl<'de> Deserialize<'de> for Asked {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AskedVisitor)
    }
}

struct AskedVisitor;

impl<'de> Visitor<'de> for AskedVisitor {
    type Value = Asked;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a vector, an id of a point, or an object")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Asked, A::Error> {
        VectorValue::deserialize(SeqAccessDeserializer::new(seq)).map(Asked::Vector)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Asked, E> {
        PointId::deserialize(number.into_deserializer()).map(Asked::Point)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Asked, E> {
        PointId::deserialize(text.into_deserializer()).map(Asked::Point)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Asked, A::Error> {
        Box::deserialize(MapAccessDeserializer::new(map)).map(Asked::Object)
    }
}
