//! SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): the only source of randomness of the workspace,
//! so that a seed fixes every byte.
//!
//! Invariant: the numbers of a seed are part of what builds promise. They are the same on every
//! machine and in every version; a test holds them to the published sequence.

/// A stream of pseudo-random numbers: one word of state, all 2^64 values once per period.
///
/// ```
/// use pageway_types::SplitMix64;
///
/// let mut random = SplitMix64::new(0);
/// assert_eq!(random.next_u64(), 0xe220_a839_7b1d_cdaf);
/// assert!(random.below(6) < 6);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    /// The stream of a seed.
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Stream number `stream` of a seed; streams of one seed are unrelated to each other. For work
    /// that is split over threads: a stream per part, not per thread.
    pub const fn stream(seed: u64, stream: u64) -> Self {
        let offset = Self::new(seed).next_u64();
        Self::new(Self::new(stream ^ offset).next_u64())
    }

    /// The next 64 bits.
    #[inline]
    pub const fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        Self::mix(self.state)
    }

    /// What the stream makes of its state: a bijection whose bits all depend on all of `value`. A
    /// hash of integers without a seed.
    #[inline]
    pub const fn mix(value: u64) -> u64 {
        let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }

    /// Uniform in `0..bound`, and 0 when the bound is 0. No value is likelier than another by more
    /// than `bound` parts in 2^64.
    #[inline]
    pub const fn below(&mut self, bound: u64) -> u64 {
        ((self.next_u64() as u128 * bound as u128) >> 64) as u64
    }

    /// Uniform in `[0, 1)`, in steps of 2^-53.
    #[inline]
    pub const fn unit(&mut self) -> f64 {
        const STEP: f64 = 1.0 / (1_u64 << 53) as f64;
        (self.next_u64() >> 11) as f64 * STEP
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_the_published_sequences() {
        let first = |seed| {
            let mut random = SplitMix64::new(seed);
            [(); 3].map(|()| random.next_u64())
        };
        let zero = [
            0xe220_a839_7b1d_cdaf,
            0x6e78_9e6a_a1b9_65f4,
            0x06c4_5d18_8009_454f,
        ];
        assert_eq!(first(0), zero);
        let other = [
            6457827717110365317,
            3203168211198807973,
            9817491932198370423,
        ];
        assert_eq!(first(1_234_567), other);
    }

    #[test]
    fn streams_differ_from_each_other_and_from_the_seed_and_never_change() {
        let first = |mut random: SplitMix64| random.next_u64();
        assert_eq!(first(SplitMix64::stream(7, 0)), 0x9c01_4791_61bc_5d78);
        assert_eq!(first(SplitMix64::stream(7, 1)), 0x7010_c70c_013e_27ec);
        let mut firsts: Vec<u64> = (0..1000).map(|s| first(SplitMix64::stream(7, s))).collect();
        firsts.push(first(SplitMix64::new(7)));
        firsts.sort_unstable();
        firsts.dedup();
        assert_eq!(firsts.len(), 1001);
    }

    #[test]
    fn numbers_fill_their_range_evenly() {
        let mut random = SplitMix64::new(7);
        let mut counts = [0; 5];
        let mut sum = 0.0;
        for _ in 0..10_000 {
            counts[random.below(5) as usize] += 1;
            let unit = random.unit();
            assert!((0.0..1.0).contains(&unit));
            sum += unit;
        }
        assert!(
            counts.iter().all(|count| (1850..2150).contains(count)),
            "{counts:?}"
        );
        assert!((4900.0..5100.0).contains(&sum), "{sum}");
        let mut random = SplitMix64::new(0);
        // 0xe220_a839... and 0x6e78_9e6a... as parts of 2^64.
        assert_eq!(random.below(1_000_000), 883_310);
        assert_eq!(random.unit(), 0.43152799704850997);
        assert_eq!((random.below(0), random.below(1)), (0, 0));
    }
}
