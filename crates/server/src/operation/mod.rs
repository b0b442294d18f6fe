//! The operations of the server: a table from method and path to what is done, and their answers.

mod alias;
mod call;
mod collection;
mod point;
mod read;
mod snapshot;
pub(crate) mod system;
mod table;

pub(crate) use call::{Call, Parameters, RESULT, Reply};
pub(crate) use read::{GroupAnswer, MOST_QUERIES};
pub(crate) use table::{Access, BodyKind, OPERATIONS, Operation};
