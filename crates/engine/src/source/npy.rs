//! NumPy's `.npy` header: a magic, a version, a length and a Python literal such as
//! `{'descr': '<f4', 'fortran_order': False, 'shape': (1000, 128), }`.
//!
//! The parser accepts exactly what NumPy writes (keys in any order) and reads at most
//! `HEADER_BYTES_MAX` bytes, so a damaged length can not make it allocate.

use pageway_store::VfsFile;
use pageway_types::{ElementType, VectorShape};

use super::error::SourceError;
use super::layout::{Number, length_of, read_of};
use crate::error::Error;

const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// Bytes up to the end of a version 1 length field.
const START_BYTES_MIN: u64 = 10;
/// Plain arrays need 128 bytes; the rest is room for structured types, which are refused with
/// their own sentence.
const HEADER_BYTES_MAX: u64 = 64 * 1024;
/// Length of the headers we write, whatever the row count: the count can be patched at the end.
const WRITTEN_BYTES: usize = 128;

/// Why a `.npy` file cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NpyProblem {
    /// The magic is missing.
    #[error("does not begin with the NumPy magic, so it is no .npy file")]
    Magic,
    /// A version this reader does not know.
    #[error("is a .npy file of version {0}.{1}; versions 1 to 3 are known")]
    Version(u8, u8),
    /// The literal cannot be read.
    #[error("has a .npy header that cannot be read (field {0})")]
    Literal(&'static str),
    /// Column-major arrays.
    #[error("is in Fortran order; save it with numpy.save(path, numpy.ascontiguousarray(array))")]
    Fortran,
    /// Element type out of reach.
    #[error("has elements of type {descr}, {problem}; {advice}")]
    Element {
        /// NumPy's name of the type.
        descr: String,
        /// What is wrong with it.
        problem: &'static str,
        /// How to convert.
        advice: &'static str,
    },
    /// Wrong number of axes.
    #[error("is an array of {found} axes; {expected}")]
    Axes {
        /// Axes of the array.
        found: usize,
        /// What is accepted.
        expected: &'static str,
    },
}

/// A parsed header.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct NpyHeader {
    /// Element type in NumPy's words, such as `<f4`.
    pub(crate) descr: String,
    /// Column-major order.
    pub(crate) fortran_order: bool,
    /// Axes, outermost first.
    pub(crate) shape: Vec<u64>,
    /// Offset of the first element.
    pub(crate) payload_offset: u64,
}

impl NpyHeader {
    /// Reads the header of `file`.
    ///
    /// # Errors
    /// Cut or damaged headers and failing reads.
    pub(crate) fn read(file: &dyn VfsFile, name: &str) -> Result<Self, Error> {
        let file_bytes = length_of(file, name)?;
        let bytes = read_header_bytes(file, name, file_bytes)?;
        let refuse = |problem| SourceError::Npy {
            file: name.to_owned(),
            problem,
        };
        let text = std::str::from_utf8(&bytes.literal);
        let text = text.map_err(|_| refuse(NpyProblem::Literal("text")))?;
        let mut header = parse_literal(text).map_err(refuse)?;
        header.payload_offset = bytes.payload_offset;
        Ok(header)
    }

    /// Refuses column-major order and element types that never fit, for vectors and ids alike.
    pub(crate) fn check_order(&self) -> Result<(), NpyProblem> {
        if self.fortran_order && self.shape.len() > 1 {
            return Err(NpyProblem::Fortran);
        }
        if self.descr.starts_with('>') {
            return Err(self.element_problem(
                "which is big-endian",
                "convert it with array.astype(array.dtype.newbyteorder('<'))",
            ));
        }
        Ok(())
    }

    /// What an array of vectors is in memory, and its numbers where these are others.
    pub(crate) fn vector_element(&self) -> Result<(ElementType, Option<Number>), NpyProblem> {
        match self.descr.as_str() {
            "<f4" => Ok((ElementType::F32, None)),
            "<f8" => Ok((ElementType::F32, Some(Number::F64))),
            "<f2" => Ok((ElementType::F16, None)),
            "<V2" | "|V2" => Ok((ElementType::Bf16, None)),
            "|u1" | "<u1" => Ok((ElementType::U8, None)),
            "|i1" | "<i1" => Ok((ElementType::I8, None)),
            "|V1" | "<V1" => Ok((ElementType::Bit, None)),
            "|b1" | "<b1" => Ok((ElementType::Bit, Some(Number::Of(ElementType::U8)))),
            "|O" | "O" => Err(self.element_problem(
                "which is Python objects",
                "convert it with numpy.stack(array).astype(numpy.float32)",
            )),
            _ => Err(self.element_problem(
                "which no index holds",
                "convert it with array.astype(numpy.float32), or to float16, uint8, int8 or bool",
            )),
        }
    }

    /// An element problem of this array.
    pub(crate) fn element_problem(
        &self,
        problem: &'static str,
        advice: &'static str,
    ) -> NpyProblem {
        NpyProblem::Element {
            descr: self.descr.clone(),
            problem,
            advice,
        }
    }
}

/// Header of a two-dimensional C-order array; the same length for every row count. Bits are packed
/// in columns of bytes.
pub(crate) fn render_header(rows: u64, shape: VectorShape) -> Vec<u8> {
    let descr = match shape.element {
        ElementType::F32 => "<f4",
        ElementType::F16 => "<f2",
        ElementType::Bf16 => "<V2",
        ElementType::U8 | ElementType::Bit => "|u1",
        ElementType::I8 => "|i1",
    };
    let columns = if shape.element == ElementType::Bit {
        shape.row_bytes()
    } else {
        shape.dimension as usize
    };
    let literal =
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
    let room = WRITTEN_BYTES - MAGIC.len() - 4;
    let mut bytes = MAGIC.to_vec();
    bytes.extend([1, 0]);
    bytes.extend((room as u16).to_le_bytes());
    bytes.extend(format!("{literal:<width$}\n", width = room - 1).into_bytes());
    bytes
}

struct HeaderBytes {
    literal: Vec<u8>,
    payload_offset: u64,
}

fn read_header_bytes(
    file: &dyn VfsFile,
    name: &str,
    file_bytes: u64,
) -> Result<HeaderBytes, Error> {
    let cut = |expected_bytes| SourceError::HeaderCut {
        file: name.to_owned(),
        field: ".npy header",
        expected_bytes,
        found_bytes: file_bytes,
    };
    if file_bytes < START_BYTES_MIN {
        return Err(cut(START_BYTES_MIN).into());
    }
    let mut start = [0_u8; 12];
    let (present, _) = start.split_at_mut(file_bytes.min(12) as usize);
    read_of(file, name, present, 0)?;
    let (offset, length) = literal_range(start).map_err(|problem| {
        let file = name.to_owned();
        SourceError::Npy { file, problem }
    })?;
    let payload_offset = offset + length;
    if payload_offset > file_bytes {
        return Err(cut(payload_offset).into());
    }
    let mut literal = vec![0; length as usize];
    read_of(file, name, &mut literal, offset)?;
    Ok(HeaderBytes {
        literal,
        payload_offset,
    })
}

/// Offset and length of the literal, from magic, version and length field.
fn literal_range(start: [u8; 12]) -> Result<(u64, u64), NpyProblem> {
    let [magic @ .., major, minor, l0, l1, l2, l3] = start;
    if &magic != MAGIC {
        return Err(NpyProblem::Magic);
    }
    let (offset, length) = match major {
        1 => (10, u64::from(u16::from_le_bytes([l0, l1]))),
        2 | 3 => (12, u64::from(u32::from_le_bytes([l0, l1, l2, l3]))),
        _ => return Err(NpyProblem::Version(major, minor)),
    };
    if length > HEADER_BYTES_MAX {
        return Err(NpyProblem::Literal("length"));
    }
    Ok((offset, length))
}

fn parse_literal(text: &str) -> Result<NpyHeader, NpyProblem> {
    let mut scan = HeaderScan { rest: text };
    let (mut descr, mut fortran_order, mut shape) = (None, None, None);
    scan.symbol('{')
        .ok_or(NpyProblem::Literal("opening brace"))?;
    while scan.symbol('}').is_none() {
        let key = scan.quoted().ok_or(NpyProblem::Literal("key"))?;
        scan.symbol(':').ok_or(NpyProblem::Literal("colon"))?;
        match key {
            "descr" => descr = Some(scan.descr().ok_or(NpyProblem::Literal("descr"))?),
            "fortran_order" => {
                fortran_order = Some(scan.truth().ok_or(NpyProblem::Literal("fortran_order"))?);
            }
            "shape" => shape = Some(scan.tuple().ok_or(NpyProblem::Literal("shape"))?),
            _ => return Err(NpyProblem::Literal("key")),
        }
        if scan.symbol(',').is_none() && !scan.rest.trim_start().starts_with('}') {
            return Err(NpyProblem::Literal("comma"));
        }
    }
    Ok(NpyHeader {
        descr: descr.ok_or(NpyProblem::Literal("descr"))?,
        fortran_order: fortran_order.ok_or(NpyProblem::Literal("fortran_order"))?,
        shape: shape.ok_or(NpyProblem::Literal("shape"))?,
        payload_offset: 0,
    })
}

/// A cursor over the literal. Each verb skips blanks, consumes what it names, or gives `None`.
struct HeaderScan<'t> {
    rest: &'t str,
}

impl<'t> HeaderScan<'t> {
    fn symbol(&mut self, symbol: char) -> Option<()> {
        self.rest = self.rest.trim_start().strip_prefix(symbol)?;
        Some(())
    }

    fn quoted(&mut self) -> Option<&'t str> {
        let rest = self.rest.trim_start();
        let quote = rest.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
        let (text, rest) = rest.strip_prefix(quote)?.split_once(quote)?;
        self.rest = rest;
        Some(text)
    }

    /// A quoted type; a structured type is a list and is kept as its text, to be refused by name.
    fn descr(&mut self) -> Option<String> {
        if self.symbol('[').is_none() {
            return self.quoted().map(str::to_owned);
        }
        let (inside, rest) = self.rest.rsplit_once(']')?;
        self.rest = rest;
        Some(format!("[{inside}]"))
    }

    fn truth(&mut self) -> Option<bool> {
        let rest = self.rest.trim_start();
        let (value, rest) = match rest.strip_prefix("True") {
            Some(rest) => (true, rest),
            None => (false, rest.strip_prefix("False")?),
        };
        self.rest = rest;
        Some(value)
    }

    fn tuple(&mut self) -> Option<Vec<u64>> {
        self.symbol('(')?;
        let (inside, rest) = self.rest.split_once(')')?;
        self.rest = rest;
        let inside = inside.trim().trim_end_matches(',');
        if inside.is_empty() {
            return Some(Vec::new());
        }
        inside
            .split(',')
            .map(|axis| axis.trim().parse().ok())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_parse_in_any_order_and_spacing() {
        let header =
            parse_literal("{ \"shape\":(3 , 4),'fortran_order':False , 'descr': '<f4'}   \n");
        let header = header.unwrap();
        assert_eq!((header.descr.as_str(), header.shape), ("<f4", vec![3, 4]));
        let one = parse_literal("{'descr': '<u8', 'fortran_order': True, 'shape': (7,), }");
        let one = one.unwrap();
        assert!(one.fortran_order);
        assert_eq!(one.shape, [7]);
    }

    #[test]
    fn broken_literals_are_refused_by_field() {
        let cases = [
            ("", "opening brace"),
            ("{", "key"),
            ("{'descr' '<f4'}", "colon"),
            ("{'descr': <f4}", "descr"),
            ("{'descr': '<f4', 'fortran_order': 0}", "fortran_order"),
            (
                "{'descr': '<f4', 'fortran_order': False, 'shape': (3, x)}",
                "shape",
            ),
            (
                "{'descr': '<f4', 'fortran_order': False, 'shape': (-3, 4)}",
                "shape",
            ),
            ("{'descr': '<f4', 'fortran_order': False}", "shape"),
            ("{'descr': '<f4' 'shape': (3, 4)}", "comma"),
            ("{'colour': 'red'}", "key"),
        ];
        for (text, field) in cases {
            assert_eq!(
                parse_literal(text),
                Err(NpyProblem::Literal(field)),
                "{text}"
            );
        }
    }

    #[test]
    fn written_headers_have_one_length_and_parse_back() {
        let shape = VectorShape {
            dimension: 16_384,
            element: ElementType::F16,
        };
        for rows in [1, 1_000_000_000_000] {
            let bytes = render_header(rows, shape);
            assert_eq!(bytes.len(), WRITTEN_BYTES);
            assert_eq!(bytes.len() % 64, 0, "NumPy aligns the payload");
            let text = std::str::from_utf8(&bytes[10..]).unwrap();
            let header = parse_literal(text).unwrap();
            assert_eq!(header.shape, [rows, 16_384]);
            assert_eq!(header.vector_element(), Ok((ElementType::F16, None)));
        }
    }
}
