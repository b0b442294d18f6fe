//! Indexes that hnswlib saved.
//!
//! ```text
//! u64  0, room, elements, bytes of an element, offset of the label, offset of the vector
//! i32  top level, entry     u64  max degree, that of level 0, M    f64    u64
//! elements:  u16 degree, flags, neighbours | vector | u64 label
//! links of the upper levels: u32 bytes of each element, and as many
//! ```
//!
//! The file says neither metric nor element type; those of Python are f32.

use pageway::{ElementType, Error, Result};

use super::fields::Fields;
use super::found::{Found, origin, shape};
use super::runs::{Grid, Runs};

const HEAD_BYTES: u64 = 96;
const WORD: u64 = 8;
/// Bit of the third byte of an element that was deleted.
const DELETED: u8 = 1;

/// Where the parts of an element are.
struct Head {
    elements: u64,
    stride: u64,
    label: u64,
    vector: u64,
}

impl Head {
    /// The head of a file, if it can be one of hnswlib.
    fn read(fields: &mut Fields) -> Result<Option<Self>> {
        if fields.length() < HEAD_BYTES {
            return Ok(None);
        }
        let (zero, room) = (fields.u64("head")?, fields.u64("head")?);
        let head = Self {
            elements: fields.u64("head")?,
            stride: fields.u64("head")?,
            label: fields.u64("head")?,
            vector: fields.u64("head")?,
        };
        fields.skip(WORD, "head")?;
        let (_, lowest) = (fields.u64("head")?, fields.u64("head")?);
        let links = lowest.checked_mul(4).and_then(|bytes| bytes.checked_add(4));
        let whole = head.label.checked_add(WORD);
        let fits = zero == 0
            && head.elements <= room
            && links == Some(head.vector)
            && head.vector < head.label
            && whole == Some(head.stride);
        Ok(fits.then_some(head))
    }
}

/// Whether a file can be one of hnswlib.
pub(super) fn claims(fields: &mut Fields) -> Result<bool> {
    Ok(Head::read(fields)?.is_some())
}

/// The vectors of a file, with labels as ids, without those that were deleted.
///
/// # Errors
/// `InvalidInput` for what is cut short, contradicts itself or goes on behind its end.
pub(super) fn read(mut fields: Fields, element: ElementType) -> Result<Found> {
    let head = Head::read(&mut fields)?;
    let head = head.ok_or_else(|| fields.refuse("is no index of hnswlib"))?;
    let bytes = head.label - head.vector;
    let dimension = element.components_in(bytes as usize);
    let whole = element.bytes_of(dimension) as u64 == bytes;
    let shape = shape(dimension as u64, element).filter(|_| whole);
    let words = || {
        fields.refuse(format!(
            "vectors of {bytes} bytes are none of {element}: if its space is one of bytes, give \
             the element type, u8 or i8"
        ))
    };
    let shape = shape.ok_or_else(words)?;
    let mut all = Runs::new(&fields, Grid::even(head.stride, head.stride));
    all.add(HEAD_BYTES, head.elements)?;
    let mut rows = Runs::new(&fields, Grid::even(bytes, head.stride));
    let mut ids = Runs::new(&fields, Grid::even(WORD, head.stride));
    let (mut first, mut deleted) = (0, 0);
    for element in 0..=head.elements {
        let ends = element == head.elements;
        if ends || is_deleted(&fields, HEAD_BYTES + element * head.stride)? {
            let offset = HEAD_BYTES + first * head.stride;
            rows.add(offset + head.vector, element - first)?;
            ids.add(offset + head.label, element - first)?;
            first = element + 1;
            deleted += u64::from(!ends);
        }
    }
    check_end(&mut fields, &head)?;
    let mut origin = origin("hnswlib", None);
    origin.deleted = deleted;
    Ok(Found {
        name: fields.name().to_owned(),
        origin,
        shape,
        rows,
        ids: Some(ids),
    })
}

/// Refuses a file that does not end with the links of its last element.
fn check_end(fields: &mut Fields, head: &Head) -> Result<()> {
    fields.skip(HEAD_BYTES - fields.at(), "head")?;
    fields.skip(head.elements * head.stride, "elements")?;
    for _ in 0..head.elements {
        let bytes = fields.u32("links")?;
        fields.skip(bytes.into(), "links")?;
    }
    fields.finish()
}

fn is_deleted(fields: &Fields, element: u64) -> Result<bool> {
    let mut flags = [0];
    let read = fields.file().read_exact_at(&mut flags, element + 2);
    read.map_err(|error| Error::from(error).within(fields.name()))?;
    Ok(flags.iter().any(|flags| flags & DELETED != 0))
}
