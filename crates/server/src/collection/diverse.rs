//! Points that are near a vector and unlike one another.

use std::collections::HashMap;

use super::open::OpenCollection;
use super::output::OutputWish;
use super::search::{Hit, Using};
use crate::failure::Outcome;
use crate::room::AnswerRoom;
use crate::wire::{PayloadParts, PointId, VectorParts};

impl OpenCollection {
    /// Chooses so many of the hits, nearest first, each for being near and unlike those before it:
    /// maximal marginal relevance (Carbonell and Goldstein 1998). Reads the vectors of all hits.
    pub(super) fn diverse(
        &self,
        hits: Vec<Hit>,
        (number, field, vector): Using<'_>,
        ((diversity, wanted), room): ((f32, usize), &AnswerRoom),
    ) -> Outcome<Vec<Hit>> {
        let ids: Vec<PointId> = hits.iter().map(|hit| hit.id).collect();
        let wish = OutputWish {
            payload: &PayloadParts::All(false),
            vector: &VectorParts::All(true),
            room,
        };
        let mut vectors: HashMap<PointId, Vec<f32>> = HashMap::new();
        self.visit_points(&ids, &|own| own == number, &mut |points, documents| {
            wish.take_room(&points, documents)?;
            let own = points.into_iter();
            let own = own.map(|point| (point.id, point.vectors.into_iter().nth(number)));
            vectors.extend(own.filter_map(|(id, vector)| Some((id, vector.flatten()?))));
            Ok(())
        })?;
        let similar = |one: &[f32], other: &[f32]| field.distance.similarity(one, other);
        let known = hits.into_iter().filter_map(|hit| {
            let own = vectors.get(&hit.id)?;
            Some((hit, own, similar(vector, own)))
        });
        let (mut hits, mut rows) = (Vec::new(), Vec::new());
        for (hit, own, relevance) in known {
            hits.push(Some(hit));
            rows.push((own.as_slice(), relevance));
        }
        let order = choose(&rows, (diversity, wanted), similar);
        let taken = order
            .into_iter()
            .filter_map(|at| hits.get_mut(at).and_then(Option::take));
        Ok(taken.collect())
    }
}

/// Places of the rows that are chosen, in order. The first row is the first.
fn choose(
    rows: &[(&[f32], f32)],
    (diversity, wanted): (f32, usize),
    similar: impl Fn(&[f32], &[f32]) -> f32,
) -> Vec<usize> {
    // How like those that were chosen each is, at most.
    let mut likeness = vec![f32::NEG_INFINITY; rows.len()];
    let mut pending: Vec<usize> = (0..rows.len()).collect();
    let mut chosen = Vec::with_capacity(wanted.min(rows.len()));
    let mut next = 0;
    while chosen.len() < wanted && !pending.is_empty() {
        let at = pending.remove(next);
        chosen.push(at);
        let mut best = (f32::NEG_INFINITY, 0);
        for (place, other) in pending.iter().enumerate() {
            let (Some((last, _)), Some((own, relevance))) = (rows.get(at), rows.get(*other)) else {
                continue;
            };
            let Some(most) = likeness.get_mut(*other) else {
                continue;
            };
            *most = most.max(similar(own, last));
            let score = (1.0 - diversity) * relevance - diversity * *most;
            if score > best.0 {
                best = (score, place);
            }
        }
        next = best.1;
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unlike_points_come_before_like_ones() {
        let rows: [&[f32]; 4] = [&[1.0, 0.0], &[0.99, 0.1], &[0.6, 0.8], &[0.0, 1.0]];
        let similar = |one: &[f32], other: &[f32]| one[0] * other[0] + one[1] * other[1];
        let rows = rows.map(|own| (own, similar(&[1.0, 0.0], own)));
        let chosen = |diversity, wanted| choose(&rows, (diversity, wanted), similar);
        assert_eq!(chosen(0.0, 4), [0, 1, 2, 3], "by nearness alone");
        assert_eq!(chosen(1.0, 2), [0, 3], "by unlikeness alone");
        assert_eq!(chosen(0.6, 3)[..2], [0, 3]);
        assert!(choose(&[], (0.5, 3), similar).is_empty());
    }
}
