//! Where in space the rows of a segment are: centres, and how many rows are around each.
//!
//! ```text
//! | rows u32 each | centres, f32 |
//! ```

/// The centres that the rows of a segment lie around.
///
/// Invariant: all centres are finite, of one dimension, and as many as there are counts.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Region {
    dimension: usize,
    rows: Vec<u32>,
    /// Rows of `f32`.
    centres: Vec<u8>,
}

impl Region {
    /// A region of vectors of this dimension, without a centre yet.
    pub(crate) const fn new(dimension: usize) -> Self {
        Self {
            dimension,
            rows: Vec::new(),
            centres: Vec::new(),
        }
    }

    /// Bytes of so many centres, in memory as in a file.
    pub(crate) const fn bytes(centres: u64, dimension: u64) -> u64 {
        centres * (dimension + 1) * size_of::<f32>() as u64
    }

    /// Centres that are in so many bytes.
    pub(crate) const fn centres_in(bytes: u64, dimension: u64) -> u64 {
        bytes / Self::bytes(1, dimension)
    }

    /// Adds a centre with so many rows around it.
    pub(crate) fn push(&mut self, centre: &[f32], rows: u32) {
        self.rows.push(rows);
        let values = centre.iter().flat_map(|value| value.to_le_bytes());
        self.centres.extend(values);
    }

    /// Number of centres.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Each centre, a row of `f32`.
    pub(crate) fn centres(&self) -> impl Iterator<Item = &[u8]> {
        let row_bytes = self.dimension.max(1) * size_of::<f32>();
        self.centres.chunks_exact(row_bytes)
    }

    /// Rows around all centres.
    pub(crate) fn row_count(&self) -> u64 {
        self.rows.iter().map(|rows| u64::from(*rows)).sum()
    }

    /// What a file holds.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let rows = self.rows.iter().flat_map(|rows| rows.to_le_bytes());
        rows.chain(self.centres.iter().copied()).collect()
    }

    /// Reads what `to_bytes` wrote; `None` where that is not what it is.
    pub(crate) fn from_bytes(bytes: &[u8], dimension: usize) -> Option<Self> {
        let row_bytes = dimension.checked_mul(size_of::<f32>())?;
        let count = Self::centres_in(bytes.len() as u64, dimension as u64) as usize;
        let (rows, centres) = bytes.split_at_checked(count * size_of::<u32>())?;
        let words = rows.as_chunks::<4>().0.iter();
        let is_finite = |word: &[u8; 4]| f32::from_le_bytes(*word).is_finite();
        let is_sound = centres.as_chunks::<4>().0.iter().all(is_finite);
        (is_sound && centres.len() == count * row_bytes).then(|| Self {
            dimension,
            rows: words.map(|word| u32::from_le_bytes(*word)).collect(),
            centres: centres.to_vec(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_comes_back_as_it_was_and_nothing_else_does() {
        let mut region = Region::new(3);
        region.push(&[1.0, 2.0, -3.5], 7);
        region.push(&[0.0, 1e30, 4.0], 1 << 20);
        let bytes = region.to_bytes();
        assert_eq!(bytes.len() as u64, Region::bytes(2, 3));
        assert_eq!(Region::from_bytes(&bytes, 3), Some(region.clone()));
        assert_eq!(region.row_count(), 7 + (1 << 20));
        let centres: Vec<_> = region
            .centres()
            .map(|centre| centre[8..].to_vec())
            .collect();
        assert_eq!(centres, [(-3.5f32).to_le_bytes(), 4f32.to_le_bytes()]);
        for length in 0..bytes.len() {
            let cut = Region::from_bytes(&bytes[..length], 3);
            assert!(cut.is_none_or(|cut| cut.rows.len() < 2), "{length}");
        }
        let mut damaged = bytes;
        let last = damaged.len() - 4..;
        damaged[last].copy_from_slice(&f32::NAN.to_le_bytes());
        assert_eq!(Region::from_bytes(&damaged, 3), None);
    }
}
