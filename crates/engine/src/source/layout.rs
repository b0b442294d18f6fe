//! Where the rows of a file lie, worked out from its header and checked against its size.
//!
//! Invariant of a `Layout`: `rows >= 1`, the dimension is legal, and the file has exactly the bytes
//! that the layout says, so no later read can run past the end of an unchanged file.

use pageway_store::VfsFile;
use pageway_types::{ElementType, VectorShape};

use super::error::SourceError;
use super::format::FormatFamily;
use super::npy::{NpyHeader, NpyProblem};
use super::shape::legal_shape;
use crate::error::Error;

/// Bytes of the `u32 rows, u32 dimension` header of the bin family.
pub(crate) const BIN_HEADER_BYTES: u64 = 8;
/// Bytes of the `i32 dimension` in front of each row of the vecs family.
pub(crate) const ROW_PREFIX_BYTES: usize = 4;

/// Where rows lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Layout {
    /// Number of rows.
    pub(crate) rows: u64,
    /// Dimension and element type.
    pub(crate) shape: VectorShape,
    /// Offset of row 0, or of its prefix.
    pub(crate) first_offset: u64,
    /// The dimension in front of every row, where there is one.
    pub(crate) prefix: Option<u32>,
    /// What the components are in the file, where they become others in memory.
    pub(crate) numbers: Option<Number>,
}

/// What a component is in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Number {
    /// One of the types that indexes hold.
    Of(ElementType),
    /// A double, which becomes the nearest f32.
    F64,
}

impl Number {
    /// Bytes of `count` components.
    const fn bytes_of(self, count: usize) -> usize {
        match self {
            Self::Of(element) => element.bytes_of(count),
            Self::F64 => count * size_of::<f64>(),
        }
    }
}

impl Layout {
    /// Bytes from one row to the next.
    pub(crate) const fn stride(&self) -> usize {
        let prefix = if self.prefix.is_some() {
            ROW_PREFIX_BYTES
        } else {
            0
        };
        match self.numbers {
            None => prefix + self.shape.row_bytes(),
            Some(number) => prefix + number.bytes_of(self.shape.dimension as usize),
        }
    }

    /// Offset of a row, or of its prefix.
    pub(crate) const fn offset(&self, row: u64) -> u64 {
        self.first_offset + row * self.stride() as u64
    }

    /// The same rows as `asked`: bytes as the bits that are packed in them, other numbers as the
    /// nearest of that type. Bits are nothing else.
    pub(crate) fn taken_as(mut self, asked: ElementType, name: &str) -> Result<Self, SourceError> {
        let VectorShape { dimension, element } = self.shape;
        if asked == element {
            return Ok(self);
        }
        if element == ElementType::Bit {
            return Err(SourceError::ElementMismatch {
                file: name.to_owned(),
                stated: element,
                asked,
            });
        }
        if (element, asked) == (ElementType::U8, ElementType::Bit) {
            self.shape = legal_shape(name, i64::from(dimension) * 8, asked)?;
        } else {
            self.shape = legal_shape(name, dimension.into(), asked)?;
            self.numbers = self.numbers.or(Some(Number::Of(element)));
        }
        Ok(self)
    }

    /// Reads the layout of `file`. `element` is what it holds; the header of an array tells itself.
    pub(crate) fn read(
        file: &dyn VfsFile,
        name: &str,
        family: FormatFamily,
        element: Option<ElementType>,
    ) -> Result<Self, Error> {
        let needed = || SourceError::ElementNeeded {
            file: name.to_owned(),
        };
        match family {
            FormatFamily::Bin => read_bin(file, name, element.ok_or_else(needed)?),
            FormatFamily::Vecs => read_vecs(file, name, element.ok_or_else(needed)?),
            FormatFamily::Npy => read_npy(file, name),
        }
    }

    /// The one gate: counts, dimension and file size agree.
    fn checked(self, name: &str, file_bytes: u64) -> Result<Self, SourceError> {
        let file = || name.to_owned();
        let stated = format!("{} rows of {}", self.rows, self.shape);
        if self.rows == 0 {
            return Err(SourceError::Empty { file: file() });
        }
        let expected_bytes = (self.stride() as u64)
            .checked_mul(self.rows)
            .and_then(|bytes| bytes.checked_add(self.first_offset))
            .filter(|bytes| i64::try_from(*bytes).is_ok())
            .ok_or_else(|| SourceError::Overflow {
                file: file(),
                stated: stated.clone(),
            })?;
        if expected_bytes != file_bytes {
            return Err(SourceError::SizeMismatch {
                file: file(),
                stated,
                expected_bytes,
                found_bytes: file_bytes,
            });
        }
        Ok(self)
    }
}

/// The `u32 rows, u32 dimension` header of the bin family.
pub(crate) fn read_bin_header(file: &dyn VfsFile, name: &str) -> Result<(u32, u32), Error> {
    let mut header = [0_u8; BIN_HEADER_BYTES as usize];
    read_header(file, name, "header (u32 rows, u32 dimension)", &mut header)?;
    let [r0, r1, r2, r3, d0, d1, d2, d3] = header;
    Ok((
        u32::from_le_bytes([r0, r1, r2, r3]),
        u32::from_le_bytes([d0, d1, d2, d3]),
    ))
}

/// The `i32 dimension` in front of row 0.
pub(crate) fn read_first_prefix(file: &dyn VfsFile, name: &str) -> Result<i32, Error> {
    let mut prefix = [0_u8; ROW_PREFIX_BYTES];
    read_header(file, name, "dimension of row 0 (i32)", &mut prefix)?;
    Ok(i32::from_le_bytes(prefix))
}

/// Reads the first bytes of `file`; a shorter file is reported by field.
fn read_header(
    file: &dyn VfsFile,
    name: &str,
    field: &'static str,
    out: &mut [u8],
) -> Result<(), Error> {
    let (expected_bytes, found_bytes) = (out.len() as u64, length_of(file, name)?);
    if found_bytes < expected_bytes {
        let file = name.to_owned();
        return Err(SourceError::HeaderCut {
            file,
            field,
            expected_bytes,
            found_bytes,
        }
        .into());
    }
    read_of(file, name, out, 0)
}

/// Reads from `file`; a failure is reported under its name.
pub(crate) fn read_of(
    file: &dyn VfsFile,
    name: &str,
    out: &mut [u8],
    offset: u64,
) -> Result<(), Error> {
    file.read_exact_at(out, offset)
        .map_err(|error| Error::from(error).within(name))
}

/// The length of `file`; a failure is reported under its name.
pub(crate) fn length_of(file: &dyn VfsFile, name: &str) -> Result<u64, Error> {
    file.len().map_err(|error| Error::from(error).within(name))
}

fn read_bin(file: &dyn VfsFile, name: &str, element: ElementType) -> Result<Layout, Error> {
    let (rows, dimension) = read_bin_header(file, name)?;
    let layout = Layout {
        rows: rows.into(),
        shape: legal_shape(name, dimension.into(), element)?,
        first_offset: BIN_HEADER_BYTES,
        prefix: None,
        numbers: None,
    };
    Ok(layout.checked(name, length_of(file, name)?)?)
}

/// The vecs family has no row count: it follows from the file size.
fn read_vecs(file: &dyn VfsFile, name: &str, element: ElementType) -> Result<Layout, Error> {
    let file_bytes = length_of(file, name)?;
    if file_bytes == 0 {
        return Err(SourceError::Empty {
            file: name.to_owned(),
        }
        .into());
    }
    let shape = legal_shape(name, read_first_prefix(file, name)?.into(), element)?;
    let mut layout = Layout {
        rows: 1,
        shape,
        first_offset: 0,
        prefix: Some(shape.dimension),
        numbers: None,
    };
    layout.rows = file_bytes.div_ceil(layout.stride() as u64);
    Ok(layout.checked(name, file_bytes)?)
}

fn read_npy(file: &dyn VfsFile, name: &str) -> Result<Layout, Error> {
    let header = NpyHeader::read(file, name)?;
    let refuse = |problem| SourceError::Npy {
        file: name.to_owned(),
        problem,
    };
    header.check_order().map_err(refuse)?;
    let (element, numbers) = header.vector_element().map_err(refuse)?;
    let &[rows, dimension] = header.shape.as_slice() else {
        return Err(refuse(NpyProblem::Axes {
            found: header.shape.len(),
            expected: "vectors come as an array of 2 axes, rows and dimensions",
        })
        .into());
    };
    let bits = if (element, numbers) == (ElementType::Bit, None) {
        8
    } else {
        1
    };
    let dimension = i64::try_from(dimension)
        .unwrap_or(i64::MAX)
        .saturating_mul(bits);
    let layout = Layout {
        rows,
        shape: legal_shape(name, dimension, element)?,
        first_offset: header.payload_offset,
        prefix: None,
        numbers,
    };
    Ok(layout.checked(name, length_of(file, name)?)?)
}
