//! Formats of vectors: what is read, what is refused, what is written.

mod malformed;
mod reading;
mod writing;
