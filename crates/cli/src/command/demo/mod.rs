//! `pageway demo`: an index over 10,000 dictionary definitions, and what it shows.
//!
//! ```text
//! arguments  what was typed, and the story in order
//! library    the data: vectors, their texts, and where they are kept
//! example    five sentences and their nearest definitions
//! sweep      recall, speed and page reads at targets and over a range of list sizes
//! plot       the curve as text            picture   the curves as SVG
//! words      what is said
//! ```

mod arguments;
mod example;
mod library;
mod picture;
mod plot;
mod sweep;
mod words;

pub(crate) use arguments::DemoArguments;
