//! The memory contract: what the user wished (`wish`), and the ledger that keeps it (`ledger`).
//!
//! A budget in bytes covers everything the process holds for an index. Parts of an index *reserve*
//! their bytes before they allocate them; what does not fit is refused with the smallest budget
//! that would do.

mod largest;
mod ledger;
mod reservation;
mod room;
mod wish;

pub(crate) use largest::largest;
pub(crate) use ledger::Ledger;
pub use ledger::MemoryPart;
pub(crate) use reservation::Reservation;
pub(crate) use room::check_room;
pub(crate) use wish::format_budget;
pub use wish::{MemoryWish, format_bytes};
