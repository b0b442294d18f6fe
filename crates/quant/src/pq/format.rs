//! The codebook as bytes; `docs/format/codes.md` is the specification.
//!
//! ```text
//!    0        1        2        3        4        5        6        7
//! +--------+--------+--------+--------+--------+--------+--------+--------+
//! | magic "PWPQ"                      | version 1       | metric | 0      |
//! +--------+--------+--------+--------+--------+--------+--------+--------+
//! | dimension d                       | code bytes m                      |
//! +--------+--------+--------+--------+--------+--------+--------+--------+
//! | mean, d values f32, then centroids, d rows of 256 values f32 ...      |
//! ```
//!
//! Little-endian. The checksum belongs to the file that holds the blob; what is checked here is that
//! no bytes whatever make the reader panic, over-allocate or yield a value that is not finite.

use pageway_types::Metric;

use super::sub_spaces::SubSpaces;
use super::{CENTROIDS, ProductQuantizer};
use crate::QuantError;

const MAGIC: u32 = u32::from_le_bytes(*b"PWPQ");
const VERSION: u16 = 1;
const HEADER_BYTES: usize = 16;

impl ProductQuantizer {
    /// Bytes of the codebook of such a quantizer, in memory as on disk but for the header.
    pub const fn codebook_bytes(dimension: usize) -> usize {
        let values = dimension.saturating_mul(CENTROIDS + 1);
        values
            .saturating_mul(size_of::<f32>())
            .saturating_add(HEADER_BYTES)
    }

    /// The codebook as bytes, always the same for the same quantizer.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(Self::codebook_bytes(self.dimension()));
        bytes.extend(MAGIC.to_le_bytes());
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend([metric_code(self.metric), 0]);
        bytes.extend((self.dimension() as u32).to_le_bytes());
        bytes.extend((self.code_bytes() as u32).to_le_bytes());
        for value in self.mean.iter().chain(&self.centroids) {
            bytes.extend(value.to_le_bytes());
        }
        bytes
    }

    /// Reads what [`ProductQuantizer::to_bytes`] wrote.
    ///
    /// # Errors
    /// The `Codebook...` errors, and `Dimension` or `CodeBytes` when a header holds impossible sizes.
    /// Allocates no more than the length of `bytes`, and nothing before that length is checked.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, QuantError> {
        let (metric, sub_spaces, values) = read_header(bytes)?;
        let mut numbers = values.iter().map(|value| f32::from_le_bytes(*value));
        if let Some(index) = numbers.clone().position(|value| !value.is_finite()) {
            return Err(QuantError::CodebookValue { index });
        }
        let mean = numbers.by_ref().take(sub_spaces.dimension()).collect();
        Ok(Self {
            metric,
            sub_spaces,
            mean,
            centroids: numbers.collect(),
        })
    }
}

/// Checks the header and the length of the blob; returns the raw values behind the header.
fn read_header(bytes: &[u8]) -> Result<(Metric, SubSpaces, &[[u8; 4]]), QuantError> {
    let short = QuantError::CodebookLength {
        expected: HEADER_BYTES,
        found: bytes.len(),
    };
    let (header, values) = bytes.split_first_chunk::<HEADER_BYTES>().ok_or(short)?;
    let [a, b, c, d, v0, v1, metric, zero, sizes @ ..] = *header;
    let [d0, d1, d2, d3, m0, m1, m2, m3] = sizes;
    field("magic", u32::from_le_bytes([a, b, c, d]), MAGIC)?;
    field(
        "version",
        u32::from(u16::from_le_bytes([v0, v1])),
        u32::from(VERSION),
    )?;
    field("reserved", u32::from(zero), 0)?;
    let unknown = QuantError::CodebookField {
        field: "metric",
        found: u32::from(metric),
    };
    let metric = metric_of(metric).ok_or(unknown)?;
    let dimension = u32::from_le_bytes([d0, d1, d2, d3]) as usize;
    let code_bytes = u32::from_le_bytes([m0, m1, m2, m3]) as usize;
    let sub_spaces = SubSpaces::new(dimension, code_bytes)?;
    let expected = ProductQuantizer::codebook_bytes(dimension);
    if bytes.len() != expected {
        return Err(QuantError::CodebookLength {
            expected,
            found: bytes.len(),
        });
    }
    let (values, _) = values.as_chunks();
    Ok((metric, sub_spaces, values))
}

fn field(field: &'static str, found: u32, expected: u32) -> Result<(), QuantError> {
    if found == expected {
        Ok(())
    } else {
        Err(QuantError::CodebookField { field, found })
    }
}

const fn metric_code(metric: Metric) -> u8 {
    match metric {
        Metric::L2 => 0,
        Metric::InnerProduct => 1,
        Metric::Cosine => 2,
    }
}

fn metric_of(code: u8) -> Option<Metric> {
    [Metric::L2, Metric::InnerProduct, Metric::Cosine]
        .into_iter()
        .find(|&metric| metric_code(metric) == code)
}
