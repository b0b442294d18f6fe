//! Parameters of a hash table.

use crate::error::GraphError;

/// Planes that a key has bits for.
pub(super) const MAX_BITS: u32 = u32::BITS;

/// Bits that a look-up flips at most.
const MAX_RADIUS: u32 = 2;

/// How a hash table is built and looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashSpec {
    /// Hyperplanes, one bit of a key each, 1 to 32; see
    /// [`HashTable::default_bits`](super::HashTable::default_bits).
    pub bits: u32,
    /// Nodes that are sampled, at least 1.
    pub sample: u32,
    /// Bits in which the keys that a look-up visits differ from the key of the query, 0 to 2.
    pub radius: u32,
    /// Fixes the sample and the planes.
    pub seed: u64,
}

impl HashSpec {
    pub(super) fn validate(&self) -> Result<(), GraphError> {
        let refuse = |name, value: u32, expected| GraphError::Parameter {
            name,
            value: value.to_string(),
            expected,
        };
        if !(1..=MAX_BITS).contains(&self.bits) {
            return Err(refuse("bits", self.bits, "1 to 32"));
        }
        if self.radius > MAX_RADIUS {
            return Err(refuse("radius", self.radius, "0 to 2"));
        }
        Ok(())
    }
}
