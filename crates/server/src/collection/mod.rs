//! A collection: an index that changes for each dense vector, and what holds them together.
//!
//! ```text
//! DIR/v0, v1, ..   an index for each dense vector, in the order of their names
//! DIR/JOURNAL      where there are several: what is in all of them, or in none
//! ```
//!
//! The first index has a row for every point, with a vector of no meaning where the point has none
//! of that name; the others have those of the points that have their vector. Every row keeps the
//! payload, so that each index filters by itself.

mod change;
mod commit;
mod config;
mod diverse;
mod document;
mod edit;
mod facet;
mod fuse;
mod group;
mod journal;
mod known;
mod open;
mod order_by;
mod output;
mod point;
mod sample;
mod schema;
mod scroll;
mod search;
mod select;
mod snapshot;
mod trace;

pub(crate) use config::{created, patch, recall_of};
pub(crate) use edit::check_insert;
pub(crate) use facet::FacetHit;
pub(crate) use fuse::{Scored, among_points, fused, scored, set_scores, source_query};
pub(crate) use group::{GroupSearch, PointGroup, ids_of, set_lookups, values_of};
pub(crate) use open::{CollectionState, OpenCollection, OpenMemory};
pub(crate) use order_by::order_key;
pub(crate) use output::{OutputWish, PointOutput, ScrollOutput, ValueOutput, VectorOutput};
pub(crate) use schema::Schema;
pub(crate) use search::{SearchCounts, SearchSettings, in_time};
pub(crate) use trace::{SampledSearch, SearchPlan, SearchTotal, SearchTrace};
