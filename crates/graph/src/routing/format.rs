//! A hash table as bytes.
//!
//! ```text
//!    0        1        2        3        4        5        6        7
//! +--------+--------+--------+--------+--------+--------+--------+--------+
//! | magic "PWHT"                      | version 1       | radius          |
//! +--------+--------+--------+--------+--------+--------+--------+--------+
//! | dimension d                       | planes p                          |
//! +--------+--------+--------+--------+--------+--------+--------+--------+
//! | nodes n                           | keys k                            |
//! +--------+--------+--------+--------+--------+--------+--------+--------+
//! | mean, d f32, then normals, p d f32, then k keys, k ends, n node ids,  |
//! | each u32                                                              |
//! ```
//! Little-endian. The checksum belongs to the file that holds the bytes; what is checked here is
//! that no bytes whatever make the reader panic or yield a table that breaks its invariants.

use pageway_types::{NodeId, VectorShape};

use super::planes::Planes;
use super::{HashSpec, HashTable};
use crate::bytes::ByteReader;
use crate::error::GraphError;

const MAGIC: u32 = u32::from_le_bytes(*b"PWHT");
const VERSION: u16 = 1;
const HEADER_BYTES: u64 = 24;

impl HashTable {
    /// The table as bytes, always the same for the same table; about
    /// [`resident_bytes`](Self::resident_bytes) of them.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity((self.resident_bytes() + HEADER_BYTES) as usize);
        bytes.extend(MAGIC.to_le_bytes());
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend((self.radius as u16).to_le_bytes());
        let sizes = [
            self.planes.mean.len() as u32,
            self.planes.count(),
            self.nodes.len() as u32,
            self.keys.len() as u32,
        ];
        let values = self.planes.mean.iter().chain(&self.planes.normals);
        let numbers = self.keys.iter().chain(&self.ends).copied();
        let words = sizes
            .into_iter()
            .chain(values.map(|value| value.to_bits()))
            .chain(numbers)
            .chain(self.nodes.iter().map(|node| node.0));
        for word in words {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// Reads what [`to_bytes`](Self::to_bytes) wrote. Node ids are taken as they are: see
    /// [`nodes`](Self::nodes).
    ///
    /// # Errors
    /// When the bytes are not those of a table over vectors of `shape`. Allocates no more than
    /// they are, and nothing before it is checked.
    pub fn from_bytes(bytes: &[u8], shape: VectorShape) -> Result<Self, GraphError> {
        let mut reader = ByteReader::new("hash table", bytes);
        if (reader.u32()?, reader.u16()?) != (MAGIC, VERSION) {
            return Err(reader.refuse("it begins with another magic or version"));
        }
        let radius = u32::from(reader.u16()?);
        let (dimension, bits) = (reader.u32()?, reader.u32()?);
        let (count, keys) = (reader.u32()? as usize, reader.u32()? as usize);
        let spec = HashSpec {
            bits,
            sample: 1,
            radius,
            seed: 0,
        };
        if spec.validate().is_err() {
            return Err(reader.refuse("its parameters are out of range"));
        }
        if dimension != shape.dimension || dimension == 0 {
            return Err(reader.refuse("its vectors have another shape"));
        }
        let normals = (dimension as usize).saturating_mul(bits as usize);
        let table = Self {
            planes: Planes {
                mean: reader.words(dimension as usize, f32::from_le_bytes)?,
                normals: reader.words(normals, f32::from_le_bytes)?,
            },
            radius,
            keys: reader.words(keys, u32::from_le_bytes)?,
            ends: reader.words(keys, u32::from_le_bytes)?,
            nodes: reader.words(count, |bytes| NodeId(u32::from_le_bytes(bytes)))?,
        };
        reader.end()?;
        if table.is_sound() {
            Ok(table)
        } else {
            Err(reader.refuse("its buckets or planes do not fit together"))
        }
    }

    fn is_sound(&self) -> bool {
        let ascend = |numbers: &[u32]| numbers.is_sorted_by(|a, b| a < b);
        let bits = self.planes.count();
        let mut values = self.planes.mean.iter().chain(&self.planes.normals);
        values.all(|value| value.is_finite())
            && ascend(&self.keys)
            && self
                .keys
                .last()
                .is_none_or(|key| u64::from(*key) >> bits == 0)
            && ascend(&self.ends)
            && self.ends.first() != Some(&0)
            && self.ends.last().map(|end| *end as usize) == Some(self.nodes.len())
    }
}
