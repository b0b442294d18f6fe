//! Which segments are merged: several of a size class into one of the next, segments with many
//! dead rows, and all of them once much of the index is outside the largest.

use crate::execution::Segment;

/// Segments of a size class that are merged into one.
const FAN_IN: usize = 4;
/// Segments of a size class beside the largest, before they are merged.
pub(super) const USUAL_SEGMENTS: u32 = FAN_IN as u32 - 1;
/// A segment is made anew when one in so many of its rows died.
const DEAD_SHARE: u64 = 4;
/// All segments become one when this percentage of the living rows changed since the largest was
/// made. A higher one costs recall against a fresh build; a lower one writes more.
const CHANGED_PERCENT: u64 = 28;

/// The same where the lists of the largest are kept, which makes a merge cheaper.
const REWRITTEN_PERCENT: u64 = 38;
/// Segments of such a design, at most; if there are more, all are merged.
const MOST_SEGMENTS: usize = 12;

/// A segment that was patched is written anew when one in so many rows came or died since it was.
const PATCHED_SHARE: u64 = 5;

/// A segment, as the choice sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Tier {
    /// Rows, dead ones included.
    pub(super) rows: u64,
    pub(super) dead: u64,
}

impl Tier {
    pub(super) fn of(segment: &Segment) -> Self {
        Self {
            rows: segment.node_count().into(),
            dead: segment.dead.as_ref().map_or(0, |dead| dead.len().into()),
        }
    }

    fn living(self) -> u64 {
        self.rows.saturating_sub(self.dead)
    }

    /// Sizes are classes of four times as many rows each.
    fn class(self) -> u32 {
        self.living().max(1).ilog2() / 2
    }

    fn is_dying(self) -> bool {
        self.dead * DEAD_SHARE >= self.rows
    }
}

/// The numbers of the segments to merge next; empty if there is nothing to merge.
pub(super) fn choose(tiers: &[Tier]) -> Vec<usize> {
    if has_changed(tiers, CHANGED_PERCENT) {
        return (0..tiers.len()).collect();
    }
    let mut classes: Vec<u32> = tiers.iter().map(|tier| tier.class()).collect();
    classes.sort_unstable();
    classes.dedup();
    for class in classes {
        let of_class = tiers.iter().filter(|tier| tier.class() == class);
        if of_class.count() >= FAN_IN {
            // Smaller segments add little to the cost.
            let own = tiers
                .iter()
                .enumerate()
                .filter(|(_, tier)| tier.class() <= class);
            return own.map(|(number, _)| number).collect();
        }
    }
    let first = tiers.iter().position(|tier| tier.is_dying());
    first.into_iter().collect()
}

/// The same for designs that keep the lists of the largest segment: all segments, so that only new
/// rows are linked, or a segment with many dead rows.
pub(super) fn choose_all(tiers: &[Tier]) -> Vec<usize> {
    if tiers.len() > MOST_SEGMENTS || has_changed(tiers, REWRITTEN_PERCENT) {
        return (0..tiers.len()).collect();
    }
    let first = tiers.iter().position(|tier| tier.is_dying());
    first.into_iter().collect()
}

/// The same for designs that put new rows into the one segment, `built` of so many nodes: all
/// segments if there are several, or the one when a fifth of it is new or dead.
pub(super) fn choose_patched(tiers: &[Tier], built: u64) -> Vec<usize> {
    let [own] = tiers else {
        return (0..tiers.len()).collect();
    };
    let changed = own.rows.saturating_sub(built) + own.dead;
    if changed * PATCHED_SHARE >= own.living().max(1) && changed > 0 {
        return vec![0];
    }
    Vec::new()
}

/// Whether the first segment takes the rows of all others, because they are too few to write it
/// anew.
pub(super) fn is_absorbed(tiers: &[Tier], built: u64) -> bool {
    let [own, others @ ..] = tiers else {
        return false;
    };
    let came: u64 = others.iter().map(|tier| tier.living()).sum();
    let grown = Tier {
        rows: own.rows + came,
        ..*own
    };
    came > 0 && own.living() > 0 && choose_patched(&[grown], built).is_empty()
}

/// Whether this percentage of the living rows came or died since the largest of several segments
/// was made.
fn has_changed(tiers: &[Tier], percent: u64) -> bool {
    let Some(largest) = tiers.iter().max_by_key(|tier| tier.living()) else {
        return false;
    };
    let living: u64 = tiers.iter().map(|tier| tier.living()).sum();
    let changed = living - largest.living() + largest.dead;
    tiers.len() > 1 && changed * 100 >= living * percent
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
        assert_eq!(choose(&[tier(1000, 0), tier(100, 25)]), [1]);
    }

    #[test]
    fn all_become_one_once_much_has_changed() {
        assert!(choose(&[tier(1000, 100), tier(200, 0)]).is_empty());
        assert_eq!(choose(&[tier(1000, 110), tier(200, 0)]), [0, 1]);
        assert_eq!(
            choose(&[tier(180, 0), tier(200, 0), tier(1000, 0)]).len(),
            0
        );
        assert_eq!(
            choose(&[tier(190, 0), tier(210, 0), tier(1000, 0)]),
            [0, 1, 2]
        );
        // One alone is made anew for its dead rows only.
        assert!(choose(&[tier(1000, 240)]).is_empty());
        assert_eq!(choose(&[tier(1000, 250)]), [0]);
    }

    #[test]
    fn where_lists_are_kept_all_segments_become_one() {
        let large = vec![tier(100_000, 0)];
        let mut tiers = [large, vec![tier(1000, 0); 11]].concat();
        assert!(choose_all(&tiers).is_empty());
        tiers.push(tier(10, 0));
        assert_eq!(choose_all(&tiers).len(), 13);
        assert_eq!(choose_all(&[tier(1000, 100), tier(400, 0)]), [0, 1]);
        assert_eq!(choose_all(&[tier(1000, 0), tier(100, 25)]), [1]);
        assert!(choose_all(&[]).is_empty());
    }

    #[test]
    fn few_rows_are_put_in_and_many_are_written_with_the_rest() {
        let large = tier(1000, 20);
        assert!(is_absorbed(&[large, tier(60, 0), tier(50, 10)], 980));
        assert!(!is_absorbed(&[large, tier(200, 0)], 980));
        assert!(!is_absorbed(&[tier(1000, 200), tier(10, 0)], 1000));
        assert!(!is_absorbed(&[large], 980) && !is_absorbed(&[large, tier(5, 5)], 980));
        assert!(!is_absorbed(&[tier(1000, 1000), tier(5, 0)], 1000));
    }

    /// Merges until all is well; rows that were written.
    fn settle(tiers: &mut Vec<Tier>) -> u64 {
        let mut written = 0;
        loop {
            let chosen = choose(tiers);
            if chosen.is_empty() {
                return written;
            }
            let rows = chosen.iter().map(|number| tiers[*number].living()).sum();
            written += rows;
            let mut number = 0;
            tiers.retain(|_| {
                number += 1;
                !chosen.contains(&(number - 1))
            });
            // Of dead rows alone nothing is made.
            tiers.extend((rows > 0).then_some(tier(rows, 0)));
        }
    }

    proptest! {
        #[test]
        fn merging_ends_and_leaves_few_segments(
            flushes in prop::collection::vec(1u64..3000, 1..300),
        ) {
            let (mut tiers, mut written) = (Vec::new(), 0);
            for rows in &flushes {
                tiers.push(tier(*rows, 0));
                written += settle(&mut tiers);
                prop_assert!(tiers.len() <= 36, "{}", tiers.len());
            }
            prop_assert!(written <= 6 * flushes.iter().sum::<u64>());
        }

        #[test]
        fn rows_that_are_replaced_are_written_a_few_times(
            percent in 1u64..10,
            places in prop::collection::vec(0usize..1000, 200),
        ) {
            let (each, mut written) = (1000 * percent, 0);
            let mut tiers = vec![tier(100_000, 0)];
            for place in &places {
                let mut left = each;
                let mut at = place % tiers.len();
                while left > 0 {
                    let own = left.min(tiers[at].living());
                    tiers[at].dead += own;
                    left -= own;
                    at = (at + 1) % tiers.len();
                }
                tiers.push(tier(each, 0));
                written += settle(&mut tiers);
                prop_assert!(!has_changed(&tiers, CHANGED_PERCENT) && tiers.len() <= 36, "{tiers:?}");
            }
            prop_assert!(written <= 9 * each * places.len() as u64);
        }
    }
}
