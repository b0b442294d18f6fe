//! Points as they are sent.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::point::Point;
use super::schema::Schema;
use crate::failure::Outcome;
use crate::room::AnswerRoom;
use crate::wire::{PayloadParts, PointId, SparseVector, VectorParts};

/// What is wanted of points, and the room that it takes.
#[derive(Clone, Copy)]
pub(crate) struct OutputWish<'w> {
    pub(crate) payload: &'w PayloadParts,
    pub(crate) vector: &'w VectorParts,
    pub(crate) room: &'w AnswerRoom,
}

/// Bytes of a number of a vector: in memory, and as text.
const NUMBER_BYTES: u64 = 4 + 12;
/// Times the bytes of a document that its values and their text take, about.
pub(super) const DOCUMENT_TIMES: u64 = 6;

impl OutputWish<'_> {
    /// Takes room for points whose documents have so many bytes.
    pub(super) fn take_room(self, points: &[Point], documents: u64) -> Outcome<()> {
        let numbers = points.iter().flat_map(|point| &point.vectors).flatten();
        let numbers: usize = numbers.map(Vec::len).sum();
        let times = if self.payload.is_wanted() {
            DOCUMENT_TIMES
        } else {
            0
        };
        self.room
            .take(NUMBER_BYTES * numbers as u64 + times * documents)
    }
}

/// A point of an answer.
#[derive(Clone, Serialize, Deserialize, Debug)]
pub(crate) struct PointOutput {
    pub(crate) id: PointId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) score: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) payload: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) vector: Option<VectorOutput>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) order_value: Option<Value>,
}

/// Points and where those are that follow.
#[derive(Serialize, Deserialize, Debug)]
pub(crate) struct ScrollOutput {
    pub(crate) points: Vec<PointOutput>,
    pub(crate) next_page_offset: Option<PointId>,
}

/// The vectors of a point.
#[derive(Clone, Serialize, Deserialize, Debug)]
#[serde(untagged)]
pub(crate) enum VectorOutput {
    Unnamed(Vec<f32>),
    Named(BTreeMap<String, ValueOutput>),
}

/// One of them.
#[derive(Clone, Serialize, Deserialize, Debug)]
#[serde(untagged)]
pub(crate) enum ValueOutput {
    Dense(Vec<f32>),
    Sparse(SparseVector),
}

impl PointOutput {
    /// A point and its score alone.
    pub(super) fn scored(id: PointId, score: f32) -> Self {
        Self {
            id,
            version: Some(0),
            score: Some(score),
            payload: None,
            vector: None,
            order_value: None,
        }
    }

    /// What is wanted of a point.
    pub(super) fn new(schema: &Schema, point: Point, wish: OutputWish<'_>) -> Self {
        let OutputWish {
            payload, vector, ..
        } = wish;
        let id = point.id;
        let vector = vector.is_wanted().then(|| vectors(schema, &point, vector));
        let own = point.document.payload;
        Self {
            id,
            version: None,
            score: None,
            payload: payload.is_wanted().then(|| payload.of(own)),
            vector,
            order_value: None,
        }
    }
}

fn vectors(schema: &Schema, point: &Point, wanted: &VectorParts) -> VectorOutput {
    let fields = schema.dense.iter().zip(&point.vectors);
    let dense = fields.filter(|(field, _)| wanted.wants(&field.name));
    let dense = dense.filter_map(|(field, own)| Some((field.name.clone(), own.clone()?)));
    let mut dense: Vec<(String, Vec<f32>)> = dense.collect();
    let sparse = point.sparse().iter().filter(|(name, _)| wanted.wants(name));
    let sparse: Vec<(&String, &SparseVector)> = sparse.collect();
    if schema.is_unnamed && sparse.is_empty() && dense.len() == 1 {
        let (_, own) = dense.remove(0);
        return VectorOutput::Unnamed(own);
    }
    let dense = dense
        .into_iter()
        .map(|(name, own)| (name, ValueOutput::Dense(own)));
    let sparse = sparse
        .into_iter()
        .map(|(name, own)| (name.clone(), ValueOutput::Sparse(own.clone())));
    VectorOutput::Named(dense.chain(sparse).collect())
}
