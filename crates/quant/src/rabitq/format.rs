//! The codebook as bytes; `docs/format/codes.md` is the specification.
//!
//! ```text
//!    0        1        2        3        4        5        6        7
//! +--------+--------+--------+--------+--------+--------+--------+--------+
//! | magic "PWRQ"                      | version 1       | metric | turned |   0
//! | dimension d                       | code bytes                        |   8
//! | seed                                                                  |  16
//! | centroids c                       | energy f32                        |  24
//! | error unit f32                    | outside: share f32                |  32
//! | outside: common f32               | outside: spread f32               |  40
//! | prefix factors, 8 values f32                                          |  48
//! | factor | segs s |        0        | s segments of 16 bytes ...        |  80
//! | centroids, c rows of d values f32, then the matrix                    |
//! +--------+--------+--------+--------+--------+--------+--------+--------+
//! ```
//!
//! The matrix has d rows of k values f32 if turned is 1; if it is 2, the scales f32 of the narrow
//! axes, which are those behind the first 128, then d rows of 128 values i16 and others i8.
//!
//! Little-endian. The checksum belongs to the file that holds the codebook; what is checked here is
//! that no bytes whatever make the reader panic, over-allocate or yield a value that is not finite.

use pageway_kernels::{FixedMatrix, Isa, KernelSet};
use pageway_types::{Guide, VectorShape};

use super::RaBitQuantizer;
use super::allocation::MAX_BITS;
use super::centroids::Centroids;
use super::factors::FactorWidth;
use super::frame::Frame;
use super::layout::{Layout, Segment};
use super::quantizer::Outside;
use super::spec::RaBitQSpec;
use crate::QuantError;

const MAGIC: u32 = u32::from_le_bytes(*b"PWRQ");
const VERSION: u16 = 1;

/// Bytes in front of the segments.
pub(super) const HEADER_BYTES: usize = 84;

/// Most that 1 may stand for on a narrow axis, of length 1: a little more than a 127th.
const MOST_SCALE: f32 = 0.008;

/// Bytes of a segment.
pub(super) const SEGMENT_BYTES: usize = 16;

impl RaBitQuantizer {
    /// The first bytes of every codebook of this kind.
    pub const MAGIC: [u8; 4] = MAGIC.to_le_bytes();

    /// The codebook as bytes, always the same for the same quantizer.
    pub fn to_bytes(&self) -> Vec<u8> {
        let segments = &self.layout.segments;
        let centroids = self.centroids.values();
        let form = MatrixForm::of(&self.frame);
        let matrix = form.bytes(self.dimension(), self.axes());
        let beside = HEADER_BYTES + segments.len() * SEGMENT_BYTES;
        let length = beside + size_of_val(centroids) + matrix;
        let mut bytes = Vec::with_capacity(length);
        bytes.extend(Self::MAGIC);
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend([metric_code(self.metric), form.code()]);
        bytes.extend((self.dimension() as u32).to_le_bytes());
        bytes.extend((self.code_bytes() as u32).to_le_bytes());
        bytes.extend(self.seed.to_le_bytes());
        bytes.extend((self.centroids() as u32).to_le_bytes());
        let outside = &self.outside;
        let learnt = [
            self.energy,
            self.error_unit,
            outside.error_share,
            outside.common,
            outside.spread,
        ];
        for value in learnt.iter().chain(&self.prefixes) {
            bytes.extend(value.to_le_bytes());
        }
        let factors = factor_code(self.layout.factors);
        bytes.extend([factors, segments.len() as u8, 0, 0]);
        for segment in segments {
            bytes.extend((segment.width as u32).to_le_bytes());
            bytes.extend(u32::from(segment.bits).to_le_bytes());
            bytes.extend(segment.step.to_le_bytes());
            bytes.extend(segment.error_share.to_le_bytes());
        }
        for value in centroids {
            bytes.extend(value.to_le_bytes());
        }
        if let Some(matrix) = self.frame.matrix() {
            write_matrix(matrix, &mut bytes);
        }
        bytes
    }

    /// Reads what [`RaBitQuantizer::to_bytes`] wrote.
    ///
    /// # Errors
    /// The `Codebook...` errors, and `Dimension` or `Centroids` when a header holds impossible
    /// sizes. Allocates a small multiple of the length of `bytes`, once that was checked.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, QuantError> {
        let mut reader = Reader {
            rest: bytes,
            length: bytes.len(),
        };
        let header = Header::read(&mut reader)?;
        let layout = header.read_layout(&mut reader)?;
        let axes = layout.axes();
        let centroids = header.centroids as usize * header.dimension;
        let matrix = header.form.bytes(header.dimension, axes);
        reader.expect(centroids * size_of::<f32>() + matrix)?;
        let centroids = Centroids::new(header.dimension, reader.values(centroids)?);
        let widths: Vec<usize> = layout.segments.iter().map(|s| s.width).collect();
        let frame = match header.form {
            MatrixForm::None => Frame::random(header.dimension, header.seed),
            MatrixForm::Single => {
                let matrix = reader.values(axes * header.dimension)?;
                Frame::principal(header.dimension, &matrix, &widths, header.seed)
            }
            MatrixForm::Narrow => {
                let matrix = reader.matrix((header.dimension, axes))?;
                Frame::of_matrix(matrix, &widths, header.seed)
            }
        };
        let mut quantizer = Self {
            metric: header.metric,
            seed: header.seed,
            frame,
            layout,
            energy: header.energy,
            centroids,
            offsets: Vec::new(),
            prefixes: header.prefixes,
            error_unit: header.error_unit,
            outside: header.outside,
        };
        if let Ok(kernels) = KernelSet::for_isa(Isa::Scalar) {
            quantizer.place_centroids(kernels);
        }
        Ok(quantizer)
    }
}

/// What the header says.
struct Header {
    metric: Guide,
    form: MatrixForm,
    dimension: usize,
    code_bytes: usize,
    seed: u64,
    centroids: u32,
    energy: f32,
    error_unit: f32,
    outside: Outside,
    prefixes: [f32; MAX_BITS],
    factors: FactorWidth,
    segments: usize,
}

impl Header {
    fn read(reader: &mut Reader<'_>) -> Result<Self, QuantError> {
        field("magic", reader.u32()?, |found| {
            (found == MAGIC).then_some(())
        })?;
        let version = u32::from(VERSION);
        let [v0, v1, metric, turned] = reader.bytes()?;
        let found = u32::from(u16::from_le_bytes([v0, v1]));
        field("version", found, |found| (found == version).then_some(()))?;
        // Fields are read in the order in which they stand here.
        let mut header = Self {
            metric: field("metric", u32::from(metric), metric_of)?,
            form: field("rotation", u32::from(turned), MatrixForm::of_code)?,
            dimension: reader.u32()? as usize,
            code_bytes: reader.u32()? as usize,
            seed: u64::from_le_bytes(reader.bytes()?),
            centroids: reader.u32()?,
            energy: reader.value()?,
            error_unit: reader.value()?,
            outside: Outside {
                error_share: reader.value()?,
                common: reader.value()?,
                spread: reader.value()?,
            },
            prefixes: [0.0; MAX_BITS],
            factors: FactorWidth::Half,
            segments: 0,
        };
        for prefix in &mut header.prefixes {
            *prefix = reader.value()?;
        }
        let [factors, segments, r0, r1] = reader.bytes()?;
        let reserved = u32::from(u16::from_le_bytes([r0, r1]));
        field("reserved", reserved, |found| (found == 0).then_some(()))?;
        header.factors = field("factors", u32::from(factors), factors_of)?;
        header.segments = usize::from(segments);
        header.check()?;
        Ok(header)
    }

    fn check(&self) -> Result<(), QuantError> {
        let limit = match self.form {
            MatrixForm::None => VectorShape::MAX_DIMENSION as usize,
            MatrixForm::Single | MatrixForm::Narrow => RaBitQSpec::MAX_PRINCIPAL_DIMENSION,
        };
        if !(1..=limit).contains(&self.dimension) {
            return Err(QuantError::Dimension {
                found: self.dimension,
                limit,
            });
        }
        let limit = RaBitQSpec::MAX_CENTROIDS;
        if !(1..=limit).contains(&self.centroids) {
            return Err(QuantError::Centroids {
                found: self.centroids,
                limit,
            });
        }
        let is_positive = |value: u32| (f32::from_bits(value) > 0.0).then_some(());
        field("energy", self.energy.to_bits(), is_positive)?;
        field("error unit", self.error_unit.to_bits(), is_positive)?;
        let segments = self.segments as u32;
        field("segments", segments, |found| {
            (1..=MAX_BITS as u32).contains(&found).then_some(())
        })
    }

    /// Reads the segments and checks that they make the code that the header names.
    fn read_layout(&self, reader: &mut Reader<'_>) -> Result<Layout, QuantError> {
        let mut segments: Vec<Segment> = Vec::with_capacity(self.segments);
        let mut left = self.dimension as u32;
        let mut most = MAX_BITS as u32;
        for _ in 0..self.segments {
            let width = field("segment width", reader.u32()?, |found| {
                (1..=left).contains(&found).then_some(found)
            })?;
            let bits = field("segment bits", reader.u32()?, |found| {
                (1..=most).contains(&found).then_some(found)
            })?;
            (left, most) = (left - width, bits - 1);
            let step = field("segment step", reader.value()?.to_bits(), |found| {
                Some(f32::from_bits(found)).filter(|step| *step > 0.0)
            })?;
            segments.push(Segment {
                width: width as usize,
                bits: bits as u8,
                step,
                error_share: reader.value()?,
            });
        }
        if self.form == MatrixForm::None {
            field("axes", left, |left| (left == 0).then_some(()))?;
        }
        let spec = RaBitQSpec {
            centroids: self.centroids,
            ..RaBitQSpec::new(0)
        };
        let layout = Layout {
            segments,
            factors: self.factors,
            centroid_bytes: spec.centroid_bytes(),
        };
        field("code bytes", self.code_bytes as u32, |found| {
            (found as usize == layout.code_bytes()).then_some(())
        })?;
        Ok(layout)
    }
}

/// What a reader has not read yet.
struct Reader<'a> {
    rest: &'a [u8],
    length: usize,
}

impl Reader<'_> {
    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], QuantError> {
        let short = QuantError::CodebookLength {
            expected: self.length - self.rest.len() + N,
            found: self.length,
        };
        let (bytes, rest) = self.rest.split_first_chunk().ok_or(short)?;
        self.rest = rest;
        Ok(*bytes)
    }

    fn u32(&mut self) -> Result<u32, QuantError> {
        self.bytes().map(u32::from_le_bytes)
    }

    /// A value that is finite.
    fn value(&mut self) -> Result<f32, QuantError> {
        let index = (self.length - self.rest.len()) / size_of::<f32>();
        let value = f32::from_le_bytes(self.bytes()?);
        if value.is_finite() {
            Ok(value)
        } else {
            Err(QuantError::CodebookValue { index })
        }
    }

    fn values(&mut self, count: usize) -> Result<Vec<f32>, QuantError> {
        (0..count).map(|_| self.value()).collect()
    }

    /// A matrix with narrow columns: all that is left, which is as much as it takes.
    fn matrix(&mut self, (rows, columns): (usize, usize)) -> Result<FixedMatrix, QuantError> {
        let wide = Frame::wide_axes(rows, columns);
        field("narrow axes", (columns - wide) as u32, |found| {
            (found > 0).then_some(())
        })?;
        let mut scales = Vec::with_capacity(columns - wide);
        for _ in wide..columns {
            let scale = field("scale", self.value()?.to_bits(), |found| {
                Some(f32::from_bits(found)).filter(|scale| (0.0..=MOST_SCALE).contains(scale))
            })?;
            scales.push(scale);
        }
        let row_bytes = columns + wide;
        let own = std::mem::take(&mut self.rest);
        let all = own.chunks_exact(row_bytes).map(|row| integers(row, wide));
        for (mut wide, mut narrow) in all.clone() {
            wide.try_for_each(|own| symmetric(own, i16::MIN))?;
            narrow.try_for_each(|own| symmetric(own, i16::from(i8::MIN)))?;
        }
        let all = all.flat_map(|(wide, narrow)| wide.chain(narrow));
        Ok(FixedMatrix::from_integers((rows, columns), scales, all))
    }

    /// Refuses any number of bytes left but this one.
    fn expect(&self, bytes: usize) -> Result<(), QuantError> {
        if self.rest.len() == bytes {
            return Ok(());
        }
        Err(QuantError::CodebookLength {
            expected: self.length - self.rest.len() + bytes,
            found: self.length,
        })
    }
}

/// The wide and the narrow integers of a row.
fn integers(row: &[u8], wide: usize) -> (impl Iterator<Item = i16>, impl Iterator<Item = i16>) {
    let (wide, narrow) = row.split_at((wide * size_of::<i16>()).min(row.len()));
    let (wide, _) = wide.as_chunks();
    (
        wide.iter().map(|own| i16::from_le_bytes(*own)),
        narrow.iter().map(|own| i16::from(own.cast_signed())),
    )
}

/// Refuses the one integer that has no opposite.
fn symmetric(integer: i16, least: i16) -> Result<(), QuantError> {
    let found = u32::from(integer.cast_unsigned());
    field("value of an axis", found, |_| {
        (integer > least).then_some(())
    })
}

fn field<T>(
    field: &'static str,
    found: u32,
    read: impl FnOnce(u32) -> Option<T>,
) -> Result<T, QuantError> {
    read(found).ok_or(QuantError::CodebookField { field, found })
}

const fn metric_code(metric: Guide) -> u8 {
    match metric {
        Guide::L2 => 0,
        Guide::InnerProduct => 1,
        Guide::Cosine => 2,
    }
}

fn metric_of(code: u32) -> Option<Guide> {
    [Guide::L2, Guide::InnerProduct, Guide::Cosine]
        .into_iter()
        .find(|&metric| u32::from(metric_code(metric)) == code)
}

/// How the matrix of a codebook is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MatrixForm {
    None,
    /// Values of single precision.
    Single,
    /// Integers, most of a byte.
    Narrow,
}

impl MatrixForm {
    const ALL: [Self; 3] = [Self::None, Self::Single, Self::Narrow];

    fn of(frame: &Frame) -> Self {
        match frame.matrix() {
            None => Self::None,
            Some(matrix) if matrix.scales().is_empty() => Self::Single,
            Some(_) => Self::Narrow,
        }
    }

    const fn code(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Single => 1,
            Self::Narrow => 2,
        }
    }

    fn of_code(code: u32) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|form| u32::from(form.code()) == code)
    }

    /// Bytes of a matrix of so many axes.
    fn bytes(self, dimension: usize, axes: usize) -> usize {
        match self {
            Self::None => 0,
            Self::Single => dimension * axes * size_of::<f32>(),
            Self::Narrow => {
                let wide = Frame::wide_axes(dimension, axes);
                (axes - wide) * (size_of::<f32>() + dimension) + dimension * wide * size_of::<i16>()
            }
        }
    }
}

fn write_matrix(matrix: &FixedMatrix, bytes: &mut Vec<u8>) {
    for scale in matrix.scales() {
        bytes.extend(scale.to_le_bytes());
    }
    for row in 0..matrix.rows() {
        for column in 0..matrix.columns() {
            if matrix.scales().is_empty() {
                bytes.extend(matrix.value(row, column).to_le_bytes());
            } else if column < matrix.wide() {
                bytes.extend(matrix.integer(row, column).to_le_bytes());
            } else {
                bytes.extend((matrix.integer(row, column) as i8).to_le_bytes());
            }
        }
    }
}

/// Bytes of `add` and of `rescale`.
const fn factor_code(factors: FactorWidth) -> u8 {
    match factors {
        FactorWidth::Half => 2,
        FactorWidth::Single => 4,
    }
}

fn factors_of(code: u32) -> Option<FactorWidth> {
    [FactorWidth::Half, FactorWidth::Single]
        .into_iter()
        .find(|&factors| u32::from(factor_code(factors)) == code)
}
