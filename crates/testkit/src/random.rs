//! Repeatable choices of what breaks.

/// The numbers of [`pageway_types::SplitMix64`], drawn by remainder: a seed that once found a fault
/// finds it again.
#[derive(Clone, Debug)]
pub struct SplitMix64(pageway_types::SplitMix64);

impl SplitMix64 {
    /// A generator that always gives the same numbers for the same seed.
    pub const fn new(seed: u64) -> Self {
        Self(pageway_types::SplitMix64::new(seed))
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `limit`, or 0 when the limit is 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.next_u64() % limit.max(1)
    }

    /// True `eighths` times out of eight.
    pub fn chance(&mut self, eighths: u64) -> bool {
        self.below(8) < eighths
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_give_equal_numbers_and_limits_hold() {
        let (mut a, mut b) = (SplitMix64::new(7), SplitMix64::new(7));
        for _ in 0..1000 {
            assert_eq!(a.next_u64(), b.next_u64());
            assert!(a.below(5) < 5);
            b.below(5);
        }
        assert_eq!(a.below(0), 0);
        assert!(!a.chance(0) && a.chance(8));
    }
}
