//! SplitMix64: the only source of randomness of this crate, so that a seed fixes every byte.

/// A stream of pseudo-random numbers.
pub(crate) struct SplitMix64(u64);

impl SplitMix64 {
    const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

    /// Stream number `stream` of a seed; streams of one seed are unrelated to each other.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        let mut base = Self(seed);
        let offset = base.next();
        let mut own = Self(stream ^ offset);
        Self(own.next())
    }

    /// The next 64 bits.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(Self::GAMMA);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Uniform in `[0, 1)`.
    pub(crate) fn unit(&mut self) -> f64 {
        const SCALE: f64 = 1.0 / (1u64 << 53) as f64;
        (self.next() >> 11) as f64 * SCALE
    }

    /// Uniform in `0..bound`; `bound` must not be 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_the_published_sequence_of_seed_zero() {
        let mut rng = SplitMix64(0);
        assert_eq!(rng.next(), 0xe220_a839_7b1d_cdaf);
        assert_eq!(rng.next(), 0x6e78_9e6a_a1b9_65f4);
    }

    #[test]
    fn stays_in_range_and_differs_by_stream() {
        let mut first = SplitMix64::new(7, 0);
        let mut second = SplitMix64::new(7, 1);
        assert_ne!(first.next(), second.next());
        for _ in 0..1000 {
            assert!(first.below(3) < 3);
            assert!((0.0..1.0).contains(&first.unit()));
        }
    }
}
