//! The leading digits of codes in tables: of most codes they tell that these are too far.
//!
//! A walk keeps the nearest nodes it has met, and most neighbours lie far behind the last of them.
//! The first bytes of a code have four bits of each of the widest axes. With what the digits behind
//! them count at most, they give an estimate that the whole code hardly ever falls below; the rest
//! of a code is looked at, and brought from memory, only where that lies within the limit.
//!
//! ```text
//! factors | 256 digits of four bits | the other digits
//! looked at of every code           | of those that may lie within the limit
//! ```
//!
//! Digits are taken to be spread evenly, as which few are spread farther, and the sum of those
//! behind to lie within [`DEVIATIONS`] of its mean. A code that is like the query on the narrow
//! axes, too, lies farther out than chance has it.

use pageway_kernels::{DigitWeights, Rounded};
use pageway_types::Place;

use super::RaBitQScorer;
use super::digits::DigitScorer;
use super::scorer::{BLOCK, estimate};

/// Blocks of leading digits.
const BLOCKS: usize = 2;
/// Bytes behind them that are worth a look of their own.
const LEAST_BEHIND: usize = 64;
/// Share of the variance of all digits that those behind may have for others to tell something.
const MOST_BEHIND: f64 = 0.125;
/// Standard deviations that the sum of the digits behind may be above its mean.
const DEVIATIONS: f64 = 5.0;

/// What a query makes of leading digits.
pub(super) struct LeadingDigits {
    weights: DigitWeights,
    /// The unit of these weights, and the most that all else counts; none where that is too much.
    behind: Option<(i32, i32)>,
}

impl LeadingDigits {
    /// Bytes of leading digits.
    const CODE_BYTES: usize = BLOCKS * DigitWeights::BLOCK_BYTES;
    /// Leading digits.
    pub(super) const COUNT: usize = 2 * Self::CODE_BYTES;

    /// Of codes with so many bytes of digits of four, two and one bits; none where these are short.
    pub(super) fn new([fours, twos, ones]: [usize; 3]) -> Option<Box<Self>> {
        let has_some = fours >= Self::CODE_BYTES && Self::may_lead(fours + twos + ones);
        has_some.then(|| {
            Box::new(Self {
                weights: DigitWeights::new([Self::CODE_BYTES, 0, 0]),
                behind: None,
            })
        })
    }

    /// Whether codes with so many bytes of digits may have some.
    const fn may_lead(digit_bytes: usize) -> bool {
        digit_bytes >= Self::CODE_BYTES + LEAST_BEHIND
    }

    /// Bytes of memory that those of codes with so many bytes of digits hold at most.
    pub(super) const fn bytes(digit_bytes: usize) -> usize {
        if Self::may_lead(digit_bytes) {
            DigitWeights::bytes(Self::CODE_BYTES) + size_of::<Self>()
        } else {
            0
        }
    }

    /// Takes the weights of a query, and what is known of the sums of leading digits and of those
    /// behind them.
    pub(super) fn take(&mut self, weights: &DigitWeights, [leading, behind]: [DigitSums; 2]) {
        let all = leading.variance() + behind.variance();
        self.behind = (behind.variance() <= MOST_BEHIND * all).then(|| {
            let rounded = self.weights.round_first(weights);
            let rest = behind.and(&rounded);
            let most = rest.mean() + DEVIATIONS * rest.variance().sqrt();
            // Saturates.
            (rounded.unit, most.ceil() as i32)
        });
    }

    /// Takes what another of the same layout made of its query.
    pub(super) fn take_over(&mut self, other: &Self) {
        self.weights.copy_from(&other.weights);
        self.behind = other.behind;
    }
}

/// Of the sum of digits times weights, where digits are spread evenly.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct DigitSums {
    greatest: i64,
    squares: i64,
}

impl DigitSums {
    /// Adds a digit of so many bits.
    #[inline]
    pub(super) fn add(&mut self, weight: i16, bits: u8) {
        let (weight, most) = (i64::from(weight), (1 << bits) - 1);
        self.greatest += weight * most;
        self.squares += weight * weight * most * (most + 2);
    }

    /// The same with what was left of the weights of digits of four bits.
    fn and(mut self, rounded: &Rounded) -> Self {
        self.greatest += i64::from(rounded.left) * 15;
        self.squares += rounded.squares * 15 * 17;
        self
    }

    fn mean(self) -> f64 {
        self.greatest as f64 / 2.0
    }

    fn variance(self) -> f64 {
        self.squares as f64 / 12.0
    }
}

impl RaBitQScorer {
    /// Codes that are screened at a time.
    pub const SCREENED: usize = BLOCK;

    /// Which of up to [`RaBitQScorer::SCREENED`] codes of a table may lie within `limit`, as their
    /// first bytes tell: bit `i` says it of code `i`. All may where these tell nothing.
    ///
    /// # Panics
    /// As [`CodeScorer::score`](crate::CodeScorer::score).
    pub fn screen(&self, codes: &[u8], places: &[Place], limit: f32) -> u64 {
        let Some((digits, leading, (unit, behind))) = self.leading() else {
            return u64::MAX;
        };
        let (stride, head) = (self.layout.code_bytes(), self.layout.head_bytes());
        let mut sums = [0; BLOCK];
        let (sums, _) = sums.split_at_mut(places.len());
        let bits = codes.get(head..).unwrap_or(&[]);
        self.kernels.digit_sums_gather()(&leading.weights, bits, stride, places, sums);
        let is_beyond = |(place, sum): (&Place, &i32)| {
            let code = codes.get(place.index() * stride..).unwrap_or(&[]);
            let (factors, centroid) = self.read(code);
            let most = (sum * unit).saturating_add(behind);
            estimate(&digits.estimator, factors, centroid, most) > limit
        };
        let pairs = places.iter().zip(&*sums).rev();
        pairs.fold(0, |marks, pair| marks << 1 | u64::from(!is_beyond(pair)))
    }

    /// Bytes of a code in a table that [`RaBitQScorer::screen`] looks at; all where these tell
    /// nothing.
    pub fn screened_bytes(&self) -> usize {
        if self.leading().is_some() {
            self.layout.head_bytes() + LeadingDigits::CODE_BYTES
        } else {
            self.layout.code_bytes()
        }
    }

    /// Leading digits that tell something, with their unit and what all else counts at most.
    fn leading(&self) -> Option<(&DigitScorer, &LeadingDigits, (i32, i32))> {
        let digits = self.digits.as_deref()?;
        let leading = digits.leading.as_deref()?;
        Some((digits, leading, leading.behind?))
    }
}
