//! Rows in the element type that they are stored in: `f32` rows as f16 if that holds them exactly.

use pageway_types::{ElementType, Progress};

use crate::error::Result;
use crate::options::{BuildInput, BuildOptions};
use crate::source::{NarrowedVectors, exact_element};

/// The element type that the rows of an input are stored in.
///
/// # Errors
/// As reading them does; it takes a whole pass if f16 holds all.
pub(super) fn stored_element(
    input: &BuildInput<'_>,
    options: &BuildOptions,
    progress: &dyn Progress,
) -> Result<ElementType> {
    if options.store_as_given {
        return Ok(input.vectors.shape().element);
    }
    exact_element(input.vectors, progress)
}

/// The rows of an input in the element type that they are stored in.
pub(super) struct StoredRows<'i> {
    input: BuildInput<'i>,
    narrowed: Option<NarrowedVectors<'i>>,
}

impl<'i> StoredRows<'i> {
    /// The rows as rows of `element`, which keeps them.
    pub(super) fn new(input: &BuildInput<'i>, element: ElementType) -> Result<Self> {
        let (input, vectors) = (*input, input.vectors);
        let narrow = || NarrowedVectors::new(Box::new(vectors), input.name, element);
        let is_other = vectors.shape().element != element;
        let narrowed = is_other.then(narrow).transpose()?;
        Ok(Self { input, narrowed })
    }

    /// The input with these rows.
    pub(super) fn input(&self) -> BuildInput<'_> {
        match &self.narrowed {
            Some(vectors) => BuildInput {
                vectors,
                ..self.input
            },
            None => self.input,
        }
    }
}
