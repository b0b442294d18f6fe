//! `pageway explain`: a design in words: what each choice means and costs.
//!
//! ```text
//! arguments   what was typed, and the run        sizes   what it takes for vectors of a shape
//! words       a sentence per choice, by axis
//! ```

mod arguments;
mod sizes;
mod words;

pub(crate) use arguments::ExplainArguments;
