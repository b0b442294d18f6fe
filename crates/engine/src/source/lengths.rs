//! How long vectors are: the middle length, and how many are far beyond it.
//!
//! Squared norms are counted by exponent and three bits of their mantissa, so that one pass and
//! 16 KiB tell the median to a sixteenth and what lies beyond a multiple of it.

/// Classes of squared norms: the first 12 bits of a positive f32.
const CLASSES: usize = 1 << 11;
/// Bits of a squared norm that are not counted.
const DROPPED: u32 = 20;

/// Squared norms, counted.
pub(crate) struct Lengths {
    counts: Vec<u64>,
    all: u64,
}

impl Lengths {
    /// None yet.
    pub(crate) fn new() -> Self {
        Self {
            counts: vec![0; CLASSES],
            all: 0,
        }
    }

    /// Counts a squared norm.
    pub(crate) fn count(&mut self, squared: f32) {
        if let Some(count) = self.counts.get_mut(class_of(squared)) {
            *count += 1;
            self.all += 1;
        }
    }

    /// The middle squared norm, rounded down to its class.
    pub(crate) fn median(&self) -> f32 {
        let (mut seen, half) = (0, self.all / 2);
        let reaches = |count: &u64| {
            seen += count;
            seen > half
        };
        let class = self.counts.iter().position(reaches).unwrap_or(0);
        f32::from_bits((class as u32) << DROPPED)
    }

    /// Squared norms in classes beyond that of `squared`.
    pub(crate) fn beyond(&self, squared: f32) -> u64 {
        self.counts.iter().skip(class_of(squared) + 1).sum()
    }
}

fn class_of(squared: f32) -> usize {
    (squared.max(0.0).to_bits() >> DROPPED) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_and_what_lies_beyond_are_told() {
        let mut lengths = Lengths::new();
        assert_eq!(lengths.beyond(0.0), 0);
        (0..=100).for_each(|at| lengths.count(at as f32));
        lengths.count(1e36);
        assert!(
            (45.0..=51.0).contains(&lengths.median()),
            "{}",
            lengths.median()
        );
        assert_eq!(lengths.beyond(1e4), 1);
        assert_eq!(lengths.beyond(f32::MAX), 0);
        let mut faint = Lengths::new();
        faint.count(1e-39);
        assert!(faint.median() < 1e-38);
    }
}
