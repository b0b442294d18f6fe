//! Copying vectors from any source to a file of any format: all of them, some rows, some
//! dimensions, in the same or another element type.
//!
//! Widening is exact. Narrowing happens only when the target asks for it by extension or by
//! element: to f16 and bf16 it rounds to nearest and refuses overflow, to i8, and to u8 from other
//! numbers than bits, every value must be an integer in range. Bits and u8 are one another's bytes.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use pageway_kernels::WidenFn;
use pageway_store::Vfs;
use pageway_types::{ElementType, Progress, VectorRead, VectorShape};

use super::blocks::{BLOCK_BYTES, RowBlocks};
use super::check::kernels;
use super::element::encode;
use super::error::SourceError;
use super::format::VectorFormat;
use super::shape::legal_shape;
use super::writer::VectorFileWriter;
use crate::error::Error;

/// Rows and dimensions of a set of vectors that are to be copied.
#[derive(Clone)]
pub struct Selection<'v> {
    /// The vectors.
    pub vectors: &'v dyn VectorRead,
    /// File or array that errors name.
    pub name: &'v str,
    /// Rows to copy.
    pub rows: Range<u64>,
    /// Dimensions to copy.
    pub dimensions: Range<u32>,
}

impl<'v> Selection<'v> {
    /// All rows and dimensions. Narrow the fields to slice.
    pub fn whole(vectors: &'v dyn VectorRead, name: &'v str) -> Self {
        let (rows, dimensions) = (0..vectors.count(), 0..vectors.shape().dimension);
        Self {
            vectors,
            name,
            rows,
            dimensions,
        }
    }

    /// What it is as vectors of `element`: bytes and bits are those that are packed in the others.
    pub fn shape_as(&self, element: ElementType) -> VectorShape {
        let count = self.dimensions.len() as u32;
        let dimension = match (self.vectors.shape().element, element) {
            (ElementType::U8, ElementType::Bit) => count.saturating_mul(8),
            (ElementType::Bit, ElementType::U8) => count / 8,
            _ => count,
        };
        VectorShape { dimension, element }
    }

    fn check(&self) -> Result<(), SourceError> {
        let refuse = |what, first, end, count| {
            Err(SourceError::Range {
                name: self.name.to_owned(),
                what,
                first,
                end,
                count,
            })
        };
        let (rows, dimensions) = (&self.rows, &self.dimensions);
        let (count, dimension) = (self.vectors.count(), self.vectors.shape().dimension);
        if rows.is_empty() || rows.end > count {
            return refuse("rows", rows.start, rows.end, count);
        }
        if dimensions.is_empty() || dimensions.end > dimension {
            let (first, end) = (dimensions.start.into(), dimensions.end.into());
            return refuse("dimensions", first, end, dimension.into());
        }
        let element = self.vectors.shape().element;
        if dimensions.end < dimension || dimensions.start > 0 {
            legal_shape(self.name, dimensions.start.max(8).into(), element)?;
            legal_shape(self.name, dimensions.len() as i64, element)?;
        }
        Ok(())
    }
}

/// Copies `from` to the file `to` and returns the number of rows.
///
/// The element type of the target is `element`, or what the extension stands for, or that of the
/// source. Holds a few blocks of [`BLOCK_BYTES`]; the target appears when it is complete.
///
/// # Errors
/// `InvalidInput` with row and component for a value that the target cannot hold, for ranges
/// outside of the source, and as [`VectorFileWriter::create`]; `NoSpace`; `Io`; `Cancelled`.
pub fn convert(
    vfs: &Arc<dyn Vfs>,
    from: &Selection<'_>,
    to: &Path,
    element: Option<ElementType>,
    progress: &dyn Progress,
) -> Result<u64, Error> {
    from.check()?;
    let stated = VectorFormat::of(to)?.element;
    let element = element.or(stated).unwrap_or(from.vectors.shape().element);
    let shape = from.shape_as(element);
    let rows = from.rows.end - from.rows.start;
    let mut writer = VectorFileWriter::create(vfs, to, shape, rows)?;
    let mut cast = Cast::new(from, element)?;
    progress.stage("copy rows", rows);
    let mut blocks = RowBlocks::new(from.vectors, from.rows.clone(), BLOCK_BYTES);
    while let Some(block) = blocks.next_block()? {
        progress.check()?;
        writer.write(cast.apply(block.first, block.rows)?)?;
        progress.advance((block.rows.len() / from.vectors.shape().row_bytes()) as u64);
    }
    writer.finish()
}

/// Turns rows of the source into rows of the target.
struct Cast<'s> {
    from: &'s Selection<'s>,
    to: ElementType,
    widen: WidenFn,
    /// Rows with the selected dimensions only.
    narrow: Vec<u8>,
    values: Vec<f32>,
    encoded: Vec<u8>,
}

impl<'s> Cast<'s> {
    fn new(from: &'s Selection<'s>, to: ElementType) -> Result<Self, Error> {
        let widen = kernels()?.widen(from.vectors.shape().element);
        let (narrow, encoded) = (Vec::new(), Vec::new());
        Ok(Self {
            from,
            to,
            widen,
            narrow,
            values: Vec::new(),
            encoded,
        })
    }

    fn apply<'b>(&'b mut self, first: u64, rows: &'b [u8]) -> Result<&'b [u8], SourceError> {
        let shape = self.from.vectors.shape();
        let rows = if self.from.dimensions == (0..shape.dimension) {
            rows
        } else {
            select(&self.from.dimensions, shape, rows, &mut self.narrow);
            &self.narrow
        };
        let packed = [ElementType::U8, ElementType::Bit];
        if self.to == shape.element || [self.to, shape.element].iter().all(|e| packed.contains(e)) {
            return Ok(rows);
        }
        self.values
            .resize(shape.element.components_in(rows.len()), 0.0);
        (self.widen)(rows, &mut self.values);
        match encode(self.to, &self.values, &mut self.encoded) {
            Ok(()) => Ok(&self.encoded),
            Err(position) => Err(SourceError::NotRepresentable {
                name: self.from.name.to_owned(),
                row: first + (position / self.from.dimensions.len()) as u64,
                component: position % self.from.dimensions.len()
                    + self.from.dimensions.start as usize,
                value: self.values.get(position).copied().unwrap_or(f32::NAN),
                element: self.to,
            }),
        }
    }
}

/// Copies the bytes of the wanted dimensions of every row into `out`.
fn select(dimensions: &Range<u32>, shape: VectorShape, rows: &[u8], out: &mut Vec<u8>) {
    let skip = shape.element.bytes_of(dimensions.start as usize);
    let take = shape.element.bytes_of(dimensions.len());
    out.clear();
    for row in rows.chunks_exact(shape.row_bytes()) {
        out.extend(row.iter().skip(skip).take(take));
    }
}
