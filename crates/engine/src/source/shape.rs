//! Which shapes vectors may have, with an error that says what is wrong with others.

use pageway_types::{ElementType, VectorShape};

use super::error::SourceError;

/// The shape of vectors of `dimension` components, of the file or array that errors call `name`.
///
/// # Errors
/// A dimension that is not 1 to [`VectorShape::MAX_DIMENSION`], and bits that fill no whole bytes.
pub fn legal_shape(
    name: &str,
    dimension: i64,
    element: ElementType,
) -> Result<VectorShape, SourceError> {
    let file = || name.to_owned();
    let found = dimension;
    let in_range = |dimension: &u32| (1..=VectorShape::MAX_DIMENSION).contains(dimension);
    let Some(dimension) = u32::try_from(found).ok().filter(in_range) else {
        return Err(SourceError::Dimension {
            file: file(),
            found,
        });
    };
    let shape = VectorShape { dimension, element };
    if !shape.is_legal() {
        return Err(SourceError::PartialByte {
            file: file(),
            dimension,
        });
    }
    Ok(shape)
}
