//! Which segments are merged: as many of a size as make one of the next, and those that have mostly
//! died.

/// Segments of a size that are merged into one.
const FAN_IN: usize = 4;
/// A segment is made anew when one in so many of its rows died.
const DEAD_SHARE: u64 = 4;

/// A segment, as the choice sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Tier {
    /// Rows, dead ones included.
    pub(super) rows: u64,
    pub(super) dead: u64,
}

impl Tier {
    fn living(self) -> u64 {
        self.rows.saturating_sub(self.dead)
    }

    /// Sizes are classes of four times as many rows each.
    fn class(self) -> u32 {
        self.living().max(1).ilog2() / 2
    }
}

/// The segments to merge next, by their numbers; none when all is well.
pub(super) fn choose(tiers: &[Tier]) -> Vec<usize> {
    let mut classes: Vec<u32> = tiers.iter().map(|tier| tier.class()).collect();
    classes.sort_unstable();
    classes.dedup();
    for class in classes {
        let of_class = tiers.iter().filter(|tier| tier.class() == class);
        if of_class.count() >= FAN_IN {
            // Smaller ones cost little more.
            let own = tiers
                .iter()
                .enumerate()
                .filter(|(_, tier)| tier.class() <= class);
            return own.map(|(number, _)| number).collect();
        }
    }
    let dying = |tier: &&Tier| tier.dead * DEAD_SHARE >= tier.rows;
    let first = tiers.iter().position(|tier| dying(&tier));
    first.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tier(rows: u64, dead: u64) -> Tier {
        Tier { rows, dead }
    }

    #[test]
    fn four_of_a_size_and_smaller_ones_are_merged() {
        assert!(choose(&[]).is_empty());
        assert!(
            choose(&[
                tier(1_000_000, 0),
                tier(1000, 0),
                tier(1000, 0),
                tier(1100, 0)
            ])
            .is_empty()
        );
        let few = [
            tier(1_000_000, 10),
            tier(20, 0),
            tier(1040, 0),
            tier(1050, 0),
            tier(1100, 0),
        ];
        assert!(choose(&few).is_empty());
        let many = [&few[..], &[tier(1030, 0)]].concat();
        assert_eq!(choose(&many), [1, 2, 3, 4, 5]);
        assert_eq!(choose(&[tier(100, 0), tier(100, 25)]), [1]);
    }

    proptest! {
        #[test]
        fn merging_ends_and_leaves_few_segments(
            flushes in prop::collection::vec(1u64..3000, 1..300),
        ) {
            let mut tiers: Vec<Tier> = Vec::new();
            for rows in flushes {
                tiers.push(tier(rows, 0));
                for _ in 0..20 {
                    let chosen = choose(&tiers);
                    if chosen.is_empty() {
                        break;
                    }
                    let rows = chosen.iter().map(|number| tiers[*number].living()).sum();
                    let mut number = 0;
                    tiers.retain(|_| {
                        number += 1;
                        !chosen.contains(&(number - 1))
                    });
                    tiers.push(tier(rows, 0));
                }
                prop_assert!(choose(&tiers).is_empty());
                prop_assert!(tiers.len() <= 36, "{}", tiers.len());
            }
        }
    }
}
