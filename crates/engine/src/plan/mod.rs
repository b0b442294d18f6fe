//! Plans what an index takes before it is built or opened: memory by parts, workers of searches,
//! and disk. Every byte that an open index holds is planned here.

mod disk;
mod footprint;
mod memory;
mod share;
mod workers;

pub(crate) use disk::index_bytes;
pub use footprint::Footprint;
pub(crate) use memory::{
    Extent, FOR_SEARCHES, beside_bytes, least_memory, least_with_lists, more_queries,
    quantizer_bytes, reserve_fixed, room_for_queries,
};
pub(crate) use share::share;
pub use workers::MAX_INTERLEAVE;
pub(crate) use workers::{WorkerPlan, calibrated_list, list_size, sizes};
