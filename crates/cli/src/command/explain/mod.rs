//! `pageway explain`: a design in words: what each choice means and costs. The words are those of
//! the engine, beside each choice.
//!
//! ```text
//! arguments   what was typed, and the run        sizes   what it takes for vectors of a shape
//! ```

mod arguments;
mod sizes;

pub(crate) use arguments::ExplainArguments;
