//! What clients send and are sent, as types; nothing here knows a collection.

mod asked;
mod condition;
mod deal;
mod either;
mod example;
mod id;
mod limit;
pub(crate) mod older;
mod parts;
mod points;
mod prefetch;
mod query;
mod read;
mod vector;

pub(crate) use condition::{absence, filter_of, presence, without_vector};
pub(crate) use example::{Examples, Recommend};
pub(crate) use id::PointId;
pub(crate) use limit::MAX_LIMIT;
pub(crate) use parts::{PayloadParts, VectorParts, parts_of};
pub(crate) use points::{
    BatchOperation, DeletePayload, DeleteVectors, Operations, PointInsert, PointsInsert, Selector,
    SetPayload, UpdateMode, UpdateVectors,
};
pub(crate) use prefetch::{Fusion, WithLookup};
pub(crate) use query::{Batch, GroupQuery, Grouping, Query, QueryKind, QueryParams};
pub(crate) use read::{Count, Direction, Facet, OrderBy, Retrieve, Scroll, Start};
pub(crate) use vector::{SparseVector, VectorInput, VectorValue};
