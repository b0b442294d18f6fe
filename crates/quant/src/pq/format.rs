//! The codebook as bytes; `docs/format/codes.md` is the specification.
//!
//! ```text
//!    0        1        2        3        4        5        6        7
//! +--------+--------+--------+--------+--------+--------+--------+--------+
//! | magic "PWPQ"                      | version 1 or 2  | metric | order  |
//! +--------+--------+--------+--------+--------+--------+--------+--------+
//! | dimension d                       | code bytes m                      |
//! +--------+--------+--------+--------+--------+--------+--------+--------+
//! | mean, d values f32, then centroids, d rows of 256 values f32 ...      |   both sorted
//! ```
//!
//! Little-endian. The checksum belongs to the file that holds the codebook; what is checked here is
//! that no bytes whatever make the reader panic, over-allocate or yield a value that is not finite.

use pageway_types::Guide;

use super::sub_spaces::{ComponentOrder, SubSpaces};
use super::{CENTROIDS, ProductQuantizer};
use crate::QuantError;

const MAGIC: u32 = u32::from_le_bytes(*b"PWPQ");
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
        let (version, order) = order_code(self.order());
        bytes.extend(version.to_le_bytes());
        bytes.extend([metric_code(self.metric), order]);
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
    /// The `Codebook...` errors, and `Dimension` or `CodeBytes` when a header holds impossible
    /// sizes. Allocates no more than the length of `bytes`, and nothing before it is checked.
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
fn read_header(bytes: &[u8]) -> Result<(Guide, SubSpaces, &[[u8; 4]]), QuantError> {
    let short = QuantError::CodebookLength {
        expected: HEADER_BYTES,
        found: bytes.len(),
    };
    let (header, values) = bytes.split_first_chunk::<HEADER_BYTES>().ok_or(short)?;
    let [a, b, c, d, v0, v1, metric, order, sizes @ ..] = *header;
    let [d0, d1, d2, d3, m0, m1, m2, m3] = sizes;
    field("magic", u32::from_le_bytes([a, b, c, d]), MAGIC)?;
    let order = order_of(u16::from_le_bytes([v0, v1]), order)?;
    let unknown = QuantError::CodebookField {
        field: "metric",
        found: u32::from(metric),
    };
    let metric = metric_of(metric).ok_or(unknown)?;
    let dimension = u32::from_le_bytes([d0, d1, d2, d3]) as usize;
    let code_bytes = u32::from_le_bytes([m0, m1, m2, m3]) as usize;
    let sub_spaces = SubSpaces::new(dimension, code_bytes, order)?;
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

/// Version and order field: the oldest version that can say it, so that older readers understand
/// all they can and refuse the rest by its version.
const fn order_code(order: ComponentOrder) -> (u16, u8) {
    match order {
        ComponentOrder::Natural => (1, 0),
        ComponentOrder::Strided => (2, 1),
    }
}

fn order_of(version: u16, code: u8) -> Result<ComponentOrder, QuantError> {
    let known = [ComponentOrder::Natural, ComponentOrder::Strided];
    let order = known
        .into_iter()
        .find(|&order| order_code(order).0 == version);
    let unknown = QuantError::CodebookField {
        field: "version",
        found: u32::from(version),
    };
    let order = order.ok_or(unknown)?;
    field("order", u32::from(code), u32::from(order_code(order).1))?;
    Ok(order)
}

const fn metric_code(metric: Guide) -> u8 {
    match metric {
        Guide::L2 => 0,
        Guide::InnerProduct => 1,
        Guide::Cosine => 2,
    }
}

fn metric_of(code: u8) -> Option<Guide> {
    [Guide::L2, Guide::InnerProduct, Guide::Cosine]
        .into_iter()
        .find(|&metric| metric_code(metric) == code)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::pq::TrainingSample;
    use crate::pq::tests::{METRICS, ORDERS, clustered, train, train_ordered};

    fn small(order: ComponentOrder) -> ProductQuantizer {
        let sample = TrainingSample {
            values: &[1.0, 2.0, 3.0, 4.0, 5.0],
            dimension: 5,
            metric: Guide::L2,
        };
        train_ordered(&sample, 2, order)
    }

    #[test]
    fn codebook_bytes_read_back() {
        let values = clustered(300, 10, 14);
        for (metric, order) in METRICS
            .into_iter()
            .flat_map(|m| ORDERS.map(|order| (m, order)))
        {
            let sample = TrainingSample {
                values: &values,
                dimension: 10,
                metric,
            };
            let quantizer = train_ordered(&sample, 3, order);
            let bytes = quantizer.to_bytes();
            assert_eq!(ProductQuantizer::from_bytes(&bytes).unwrap(), quantizer);
            for length in 0..bytes.len() {
                let cut = ProductQuantizer::from_bytes(&bytes[..length]);
                assert!(
                    matches!(cut, Err(QuantError::CodebookLength { .. })),
                    "{length}"
                );
            }
        }
    }

    #[test]
    fn codebook_header_has_the_documented_bytes() {
        let quantizer = train(&[1.0, 2.0, 3.0], 3, Guide::Cosine, 2);
        let header = [b'P', b'W', b'P', b'Q', 1, 0, 2, 0, 3, 0, 0, 0, 2, 0, 0, 0];
        let bytes = quantizer.to_bytes();
        assert_eq!(bytes[..16], header);
        assert_eq!(bytes[16..20], quantizer.mean[0].to_le_bytes());
        assert_eq!(bytes[28..32], quantizer.centroids[0].to_le_bytes());
        let read = |at: usize, value: u8| {
            let mut bytes = bytes.clone();
            bytes[at] = value;
            ProductQuantizer::from_bytes(&bytes).unwrap_err()
        };
        let field = |field, found| QuantError::CodebookField { field, found };
        assert_eq!(read(4, 0), field("version", 0));
        assert_eq!(read(4, 2), field("order", 0));
        assert_eq!(read(4, 3), field("version", 3));
        assert_eq!(read(6, 3), field("metric", 3));
        assert_eq!(read(7, 1), field("order", 1));
        assert_eq!(
            read(12, 4),
            QuantError::CodeBytes {
                code_bytes: 4,
                dimension: 3
            }
        );
        assert_eq!(
            read(10, 1),
            QuantError::Dimension {
                found: 65_539,
                limit: 16_384
            }
        );
        assert_eq!(
            read(8, 4),
            QuantError::CodebookLength {
                expected: 4 * 4 * 257 + 16,
                found: 3100
            }
        );
    }

    #[test]
    fn strided_codebooks_say_so_and_hold_sorted_rows() {
        let quantizer = small(ComponentOrder::Strided);
        let bytes = quantizer.to_bytes();
        let header = [b'P', b'W', b'P', b'Q', 2, 0, 0, 1, 5, 0, 0, 0, 2, 0, 0, 0];
        assert_eq!(bytes[..16], header);
        let mean = [1.0f32, 3.0, 5.0, 2.0, 4.0].map(f32::to_le_bytes);
        assert_eq!(bytes[16..36], *mean.as_flattened());
        assert_eq!(ProductQuantizer::from_bytes(&bytes).unwrap(), quantizer);
        for (at, value, field) in [
            (4, 1, "order"),
            (4, 3, "version"),
            (7, 0, "order"),
            (7, 2, "order"),
        ] {
            let mut bytes = bytes.clone();
            bytes[at] = value;
            let error = ProductQuantizer::from_bytes(&bytes).unwrap_err();
            let found = u32::from(bytes[if field == "order" { 7 } else { 4 }]);
            assert_eq!(error, QuantError::CodebookField { field, found });
        }
    }

    proptest! {
        #[test]
        fn mutated_codebooks_are_refused_or_finite(
            edits in prop::collection::vec((0usize..5156, any::<u8>()), 1..6),
            extra in 0usize..3,
            order in prop::sample::select(&ORDERS[..]),
        ) {
            let quantizer = small(order);
            let mut bytes = quantizer.to_bytes();
            for (at, value) in edits {
                bytes[at] = value;
            }
            bytes.extend(vec![0; extra]);
            if let Ok(read) = ProductQuantizer::from_bytes(&bytes) {
                let mut values = read.mean.iter().chain(&read.centroids);
                prop_assert!(values.all(|value| value.is_finite()));
                prop_assert_eq!(read.to_bytes(), bytes);
            }
        }

        #[test]
        fn garbage_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(ProductQuantizer::from_bytes(&bytes).is_err());
        }
    }
}
