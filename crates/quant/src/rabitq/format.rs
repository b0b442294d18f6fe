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
//! | centroids, c rows of d values f32, then the matrix, d rows of k axes  |
//! +--------+--------+--------+--------+--------+--------+--------+--------+
//! ```
//!
//! Little-endian. The checksum belongs to the file that holds the codebook; what is checked here is
//! that no bytes whatever make the reader panic, over-allocate or yield a value that is not finite.

use pageway_kernels::{Isa, KernelSet};
use pageway_types::{Guide, VectorShape};

use super::RaBitQuantizer;
use super::allocation::MAX_BITS;
use super::centroids::Centroids;
use super::factors::FactorWidth;
use super::frame::Frame;
use super::layout::{Layout, Segment};
use super::quantizer::Outside;
use super::spec::{RaBitQSpec, Rotation};
use crate::QuantError;

const MAGIC: u32 = u32::from_le_bytes(*b"PWRQ");
const VERSION: u16 = 1;

/// Bytes in front of the segments.
pub(super) const HEADER_BYTES: usize = 84;

/// Bytes of a segment.
pub(super) const SEGMENT_BYTES: usize = 16;

impl RaBitQuantizer {
    /// The first bytes of every codebook of this kind.
    pub const MAGIC: [u8; 4] = MAGIC.to_le_bytes();

    /// The codebook as bytes, always the same for the same quantizer.
    pub fn to_bytes(&self) -> Vec<u8> {
        let segments = &self.layout.segments;
        let centroids = self.centroids.values();
        let values = centroids.len() + self.frame.matrix().count();
        let length = HEADER_BYTES + segments.len() * SEGMENT_BYTES + values * size_of::<f32>();
        let mut bytes = Vec::with_capacity(length);
        bytes.extend(Self::MAGIC);
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend([metric_code(self.metric), rotation_code(self.rotation())]);
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
        for value in centroids.iter().copied().chain(self.frame.matrix()) {
            bytes.extend(value.to_le_bytes());
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
        let matrix = match header.rotation {
            Rotation::Hadamard => 0,
            Rotation::Principal => axes * header.dimension,
        };
        let centroids = header.centroids as usize * header.dimension;
        reader.expect((centroids + matrix) * size_of::<f32>())?;
        let centroids = Centroids::new(header.dimension, reader.values(centroids)?);
        let frame = match header.rotation {
            Rotation::Hadamard => Frame::random(header.dimension, header.seed),
            Rotation::Principal => {
                let widths: Vec<usize> = layout.segments.iter().map(|s| s.width).collect();
                let matrix = reader.values(matrix)?;
                Frame::principal(header.dimension, &matrix, &widths, header.seed)
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
    rotation: Rotation,
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
        let [v0, v1, metric, rotation] = reader.bytes()?;
        let found = u32::from(u16::from_le_bytes([v0, v1]));
        field("version", found, |found| (found == version).then_some(()))?;
        // Fields are read in the order in which they stand here.
        let mut header = Self {
            metric: field("metric", u32::from(metric), metric_of)?,
            rotation: field("rotation", u32::from(rotation), rotation_of)?,
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
        let limit = match self.rotation {
            Rotation::Hadamard => VectorShape::MAX_DIMENSION as usize,
            Rotation::Principal => RaBitQSpec::MAX_PRINCIPAL_DIMENSION,
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
        if self.rotation == Rotation::Hadamard {
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

const fn rotation_code(rotation: Rotation) -> u8 {
    match rotation {
        Rotation::Hadamard => 0,
        Rotation::Principal => 1,
    }
}

fn rotation_of(code: u32) -> Option<Rotation> {
    [Rotation::Hadamard, Rotation::Principal]
        .into_iter()
        .find(|&rotation| u32::from(rotation_code(rotation)) == code)
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
