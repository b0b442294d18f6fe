//! Recorded searches replayed over many machines: segments by arrival, segments by space, one graph
//! over all.
//!
//! ```text
//! design     how rows are cut, and where the parts lie
//! recording  an index built, searched and recorded: counts, and the walks of its queries
//! walk       a recorded query as rounds of reads, segment by segment
//! law        a count by rows or by segments: what was measured -> what was not
//! grow       walks as they might be over more rows and more segments
//! site       nodes, disks, processors, network, object store
//! course     a walk at a site: stages of messages, computing and reads
//! simulate   courses in virtual time -> queries per second, latency, bytes
//! check      what is predicted for a number of segments, against what was measured there
//! suite      all of it, a record at a time          record   what is kept
//! ```
//!
//! Invariants: virtual time only; the same recordings, site and seed give the same figures; what
//! was extrapolated says so; no speed without the recall of the search that was recorded.

mod check;
mod course;
mod design;
mod grow;
mod law;
mod record;
mod recording;
mod simulate;
mod site;
mod suite;
mod walk;

pub use check::{Checked, CountCheck};
pub use design::ClusterDesign;
pub use law::CountLaw;
pub use record::{ClusterRecord, ClusterSummary, RowLaws};
pub use recording::{ClusterCell, QueryCounts};
pub use simulate::Simulated;
pub use site::{Network, Site, SiteLoad};
pub use suite::{ClusterSuite, IndexWish};
