//! How often each value of a field is there: a pass over the documents of all points that match.

use std::collections::{BTreeMap, HashSet};
use std::time::Instant;

use pageway::FieldPath;
use pageway::server::{Scalar, visit_values};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::document::PointDocument;
use super::open::OpenCollection;
use crate::failure::{Failure, Outcome};
use crate::wire::{Facet, PointId};

/// Bytes of different values at most, and of each beside its text.
const MOST_BYTES: usize = 16 << 20;
const EACH_BYTES: usize = 64;

/// A value, and how many points have it.
#[derive(Serialize, Deserialize, PartialEq, Debug)]
pub(crate) struct FacetHit {
    pub(crate) value: Value,
    pub(crate) count: u64,
}

impl OpenCollection {
    /// The values that most of the points that match have.
    /// UUIDs are written in one way where the field has `uuids`.
    pub(crate) fn facet(
        &self,
        request: &Facet,
        (uuids, deadline): (bool, Instant),
    ) -> Outcome<Vec<FacetHit>> {
        let limit = request.limit()?;
        let path = FieldPath::parse(&request.key).map_err(Failure::wrong)?;
        let mut counts: BTreeMap<Scalar, u64> = BTreeMap::new();
        let mut bytes = 0;
        self.visit_documents(request.filter.as_ref(), deadline, &mut |_, document| {
            let payload = PointDocument::decode(document)?.payload;
            let mut own = HashSet::new();
            visit_values(&payload, &path, &mut |value| {
                own.extend(Scalar::of(value).map(|value| one_way(value, uuids)));
            });
            for value in own {
                let new = bytes_of(&value);
                let count = counts.entry(value).or_insert_with(|| {
                    bytes += new;
                    0
                });
                *count += 1;
            }
            if bytes > MOST_BYTES {
                let words = format!("`{}` has too many values to count them", request.key);
                return Err(Failure::wrong(words));
            }
            Ok(())
        })?;
        let mut hits: Vec<(Scalar, u64)> = counts.into_iter().collect();
        hits.sort_by(|one, next| next.1.cmp(&one.1).then_with(|| one.0.cmp(&next.0)));
        let first = hits.into_iter().take(limit);
        let hit = |(value, count): (Scalar, u64)| FacetHit {
            value: match value {
                Scalar::Bool(own) => own.into(),
                Scalar::Int(own) => own.into(),
                Scalar::Text(own) => own.into(),
            },
            count,
        };
        Ok(first.map(hit).collect())
    }
}

/// A UUID, where the field has those, in the one way of writing it; others as they are.
fn one_way(value: Scalar, uuids: bool) -> Scalar {
    let Scalar::Text(text) = &value else {
        return value;
    };
    match PointId::parse(text).filter(|_| uuids) {
        Some(id @ PointId::Uuid(_)) => Scalar::Text(id.to_string()),
        Some(PointId::Number(_)) | None => value,
    }
}

/// Bytes of a value that is counted, about.
fn bytes_of(value: &Scalar) -> usize {
    let text = match value {
        Scalar::Text(text) => text.len(),
        Scalar::Bool(_) | Scalar::Int(_) => 0,
    };
    EACH_BYTES + text
}
