//! Data sets by name: where they come from, how they are fetched, cut and given a truth.
//!
//! ```text
//! entry      DataSet: what is known of a set      registry  names -> sets; cuts by name
//! place      Place: directory, programs, limits   files     the door to the file system
//! fetch      addresses -> files, resumed, pinned  import    HDF5 and Parquet -> plain files
//! obtain     a file of a set -> a plain file      prepare   plain files -> cut, with exact truth
//! range      results within a radius              segments  equal parts of a base
//! listing    what there is, and what is here          identity  is a name what it was before
//! grow       a larger set from a real one
//! ```
//!
//! Invariants: a file that this module wrote appears whole or not at all; what is made is made
//! again when what it came from changed; bytes that were fetched are checked against the checksum
//! that was published, or else against that of the first time.

mod cut;
mod entry;
mod fetch;
mod grow;
mod header;
mod identity;
mod import;
mod listing;
mod obtain;
mod place;
mod prepare;
mod range;
mod registry;
mod segments;

pub use cut::Cut;
pub use entry::{DataSet, QuerySource, SetFile};
pub use grow::{Grown, grow};
pub use header::{Header, header};
pub use identity::Identity;
pub use listing::{Listed, list};
pub use obtain::fetch;
pub use place::Place;
pub use prepare::{Prepared, Workload, first_queries, missing_bytes, prepare};
pub use range::{USUAL_RESULTS, prepare_range, radius_for};
pub use registry::Registry;
pub use segments::prepare_segments;
