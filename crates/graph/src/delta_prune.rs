//! Which neighbour a full list gives up for one more, in a distance for each: the delta prune of
//! OdinANN (Guo and Lu, 2026). A whole prune takes a distance for each pair.
//!
//! A list that was pruned has no pair of neighbours of which one occludes the other, so the only
//! pairs to look at are those of the newcomer.

/// Growth of the tolerated occlusion from one round to the next, as in [`crate::Pruner`].
const ROUND_FACTOR: f32 = 1.2;

/// Chooses which of the neighbours of a node goes for a newcomer: its place, or that of the
/// newcomer, which is the length of the list.
///
/// `from_node[i]` is the distance of neighbour i from the node, `from_newcomer[i]` that from the
/// newcomer, `distance` that between the two. From the farthest to the nearest: a neighbour that
/// the newcomer occludes goes, or the newcomer, where a neighbour occludes it; first with an
/// occlusion above `alpha`, then with less and less of it; where there is none, the farthest.
pub fn delta_prune(from_node: &[f32], from_newcomer: &[f32], distance: f32, alpha: f32) -> usize {
    let own = from_node.len().min(from_newcomer.len());
    let at = |place: usize| from_node.get(place).copied().unwrap_or(distance);
    let mut order: Vec<usize> = (0..=own).collect();
    order.sort_by(|left, right| at(*right).total_cmp(&at(*left)).then(right.cmp(left)));
    let is_occluded = |place: usize, tolerated: f32| {
        let occludes = |pair: f32, far: f32, near: f32| far > near && far > tolerated * pair;
        match from_newcomer.get(place) {
            Some(pair) if place < own => occludes(*pair, at(place), distance),
            _ => (0..own).any(|other| {
                let pair = from_newcomer.get(other).copied().unwrap_or(f32::INFINITY);
                occludes(pair, distance, at(other))
            }),
        }
    };
    let mut tolerated = alpha.max(1.0);
    loop {
        if let Some(place) = order.iter().find(|place| is_occluded(**place, tolerated)) {
            return *place;
        }
        if tolerated <= 1.0 {
            return order.first().copied().unwrap_or(own);
        }
        tolerated = (tolerated / ROUND_FACTOR).max(1.0);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn squared(a: [i16; 2], b: [i16; 2]) -> f32 {
        let [x, y] = [a[0] - b[0], a[1] - b[1]].map(f32::from);
        x * x + y * y
    }

    fn choose(node: [i16; 2], list: &[[i16; 2]], newcomer: [i16; 2]) -> usize {
        let from = |place: [i16; 2]| -> Vec<f32> {
            list.iter().map(|other| squared(place, *other)).collect()
        };
        delta_prune(&from(node), &from(newcomer), squared(node, newcomer), 1.2)
    }

    #[test]
    fn the_farthest_that_the_newcomer_leads_to_goes() {
        let list = [[10, 0], [0, 10], [-20, 0], [30, 0]];
        assert_eq!(choose([0, 0], &list, [25, 0]), 3);
        assert_eq!(choose([0, 0], &list, [0, 12]), 4);
        assert_eq!(choose([0, 0], &list, [0, -5]), 3);
        assert_eq!(choose([0, 0], &[], [1, 1]), 0);
    }

    proptest! {
        /// What goes is occluded, or nothing is and it is the farthest.
        #[test]
        fn what_goes_is_reached_through_what_stays(
            points in prop::collection::vec([-50i16..50, -50i16..50], 3..20),
        ) {
            let (node, newcomer, list) = (points[0], points[1], &points[2..]);
            let gone = choose(node, list, newcomer);
            let all: Vec<[i16; 2]> = list.iter().copied().chain([newcomer]).collect();
            let near = |other: &[i16; 2]| squared(node, *other);
            let occluded = |place: usize| all.iter().enumerate().any(|(other, by)| {
                let about = place == list.len() || other == list.len();
                other != place && about && near(by) < near(&all[place])
                    && squared(*by, all[place]) < near(&all[place])
            });
            let farthest = all.iter().map(near).fold(0.0, f32::max);
            let none = (0..all.len()).all(|place| !occluded(place));
            prop_assert!(occluded(gone) || (none && near(&all[gone]) == farthest));
        }
    }
}
