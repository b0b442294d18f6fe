//! Files and wishes in, a plan out.

use std::path::Path;

use pageway::{Result, Sizes, VectorRead};
use pageway_advisor::{Pins, Plan, PlanInput, Wish, plan};
use pageway_formats::Wish as FileWish;

use crate::design::ChoiceArguments;
use crate::session::Session;
use crate::system;

/// What a plan is made of.
pub(crate) struct PlanFiles<'f> {
    pub(crate) vectors: &'f Path,
    pub(crate) queries: Option<&'f Path>,
    /// How vectors lie, and queries.
    pub(crate) tables: [FileWish; 2],
    /// A directory on the disk of the index.
    pub(crate) scratch: &'f Path,
}

/// What is settled before a plan: sizes, `key=value` each, and choices of those sizes.
///
/// # Errors
/// `InvalidInput` for what cannot be read, with what could be.
pub(crate) fn pinned(sizes: &[String], choices: &ChoiceArguments) -> Result<Pins> {
    let mut pins = Pins::default();
    for pair in sizes {
        pins.set(pair)?;
    }
    let usual = Sizes::default();
    let sizes = Sizes {
        max_degree: pins.degree.unwrap_or(usual.max_degree),
        beam: pins.beam,
        ..usual
    };
    pins.overrides = choices.overrides(&sizes)?;
    Ok(pins)
}

/// Plans.
pub(crate) fn make(files: &PlanFiles<'_>, wish: &Wish, session: &Session) -> Result<Plan> {
    let ([wish_of_data, wish_of_queries], progress) = (&files.tables, &session.progress);
    let vectors = system::open_vectors(files.vectors, wish_of_data, progress)?;
    let among = vectors.shape().element;
    let open = |path| system::open_vectors_among(among, path, wish_of_queries, progress);
    let queries = files.queries.map(open).transpose()?;
    let input = PlanInput {
        vectors: &vectors,
        queries: queries.as_ref().map(|queries| queries as _),
        scratch: files.scratch,
    };
    plan(&input, wish, &session.progress)
}
