//! Attributes of rows: documents, predicates over them, and the files that answer those.
//!
//! A row may have a document, an object of JSON. A [`Predicate`] says of a document whether it
//! matches ([`Predicate::matches`] is what it means), and comes from a filter of Qdrant's or from
//! an expression. [`Attributes`] gives the nodes that match as one bitmap: by terms, sorted on
//! disk,
//! where those tell, else by documents.
//!
//! Knows nodes as numbers, and no vectors and no graphs. Files are read and written through
//! `pageway-store` alone. What is open holds a block of each file, however many nodes there are.

mod compile;
mod documents;
mod edit;
mod error;
mod evaluate;
mod expression;
mod field;
mod geo;
mod id_bitmap;
mod instant;
mod kinds;
mod known;
mod leaf;
mod name;
mod number;
mod path;
mod predicate;
mod qdrant;
mod read;
mod schema;
mod stream;
mod term_file;
mod terms;
mod text;
mod uuid;
mod verify;

pub use compile::{Attributes, Matches, NodeIds, compile_bytes, matching_without, usual_bytes};
pub use documents::{DocumentFile, DocumentWriter, MAX_DOCUMENT_BYTES, VisitDocument};
pub use edit::Edit;
pub use error::{AttributeError, Result};
pub use evaluate::{Document, has_value, visit_values};
pub use field::{Field, fields_of};
pub use geo::{Area, Place};
pub use id_bitmap::ids_of_bitmap;
pub use instant::Moment;
pub use kinds::{Condition, Kinds};
pub use name::{
    MAX_ROW_NAME_BYTES, check_keys, check_row_name, is_name_id, name_id, put_row_name,
    split_row_name, take_row_name, with_row_name,
};
pub use number::Number;
pub use path::{MAX_NAME_BYTES, Path, Step};
pub use predicate::{Bounds, MAX_DEPTH, MAX_NODES, MAX_VALUES, Predicate, Scalar, Test, Words};
pub use read::read_document;
pub use schema::{FieldKind, Schema};
pub use term_file::{TermFile, TermWriter};
pub use terms::terms_of;
pub use text::tokens;
pub use uuid::Uuid;
