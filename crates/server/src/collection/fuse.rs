//! Queries over what other queries find.

use std::collections::HashMap;

use serde_json::json;

use super::edit::FILTER_IDS;
use super::open::OpenCollection;
use super::output::{OutputWish, PointOutput};
use super::search::SearchSettings;
use crate::failure::{Failure, Outcome};
use crate::wire::{Fusion, PayloadParts, PointId, Query, VectorParts};

/// A point of one of the queries below.
pub(crate) type Scored = (PointId, f32);

/// Standard deviations from the mean of its query at which a score becomes 0 or 1.
const DEVIATIONS: f64 = 3.0;

impl OpenCollection {
    /// Answers a query among the points that its prefetches find.
    pub(super) fn merged(
        &self,
        query: &Query,
        (limit, offset): (usize, usize),
        settings: SearchSettings<'_>,
    ) -> Outcome<Vec<PointOutput>> {
        let sources = self.sources(query, settings)?;
        let mut ids: Vec<PointId> = sources.iter().flatten().map(|(id, _)| *id).collect();
        ids.sort_unstable();
        ids.dedup();
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        self.query_range(&among_points(query, &ids), (limit, offset), settings)
    }

    /// Fuses what the prefetches of a query find.
    pub(super) fn fused(
        &self,
        (query, fusion): (&Query, &Fusion),
        (limit, offset): (usize, usize),
        settings: SearchSettings<'_>,
    ) -> Outcome<Vec<PointOutput>> {
        let none = (PayloadParts::All(false), VectorParts::All(false));
        let wish = OutputWish {
            payload: query.with_payload.as_ref().unwrap_or(&none.0),
            vector: query.with_vector.as_ref().unwrap_or(&none.1),
            room: settings.room,
        };
        let ask = |settings: SearchSettings<'_>| {
            let sources = self.sources(query, settings)?;
            fused((query, fusion), (limit, offset), &sources)
        };
        if !wish.payload.is_wanted() && !wish.vector.is_wanted() {
            let point = |(id, score)| PointOutput::scored(id, score);
            return Ok(ask(settings)?.into_iter().map(point).collect());
        }
        let ids = |shown: &Vec<Scored>| shown.iter().map(|(id, _)| *id).collect();
        let (shown, mut points) = self.settled((query, settings, wish), &ask, &ids)?;
        let output = shown.into_iter().filter_map(|(id, score)| {
            let own = points.remove(&id).flatten()?;
            let PointOutput {
                payload, vector, ..
            } = PointOutput::new(&self.schema, own, wish);
            let scored = PointOutput::scored(id, score);
            Some(PointOutput {
                payload,
                vector,
                ..scored
            })
        });
        Ok(output.collect())
    }

    /// What each prefetch of a query finds.
    fn sources(&self, query: &Query, settings: SearchSettings<'_>) -> Outcome<Vec<Vec<Scored>>> {
        let below = query.prefetch.iter();
        below
            .map(|below| self.source(below, query, settings))
            .collect()
    }

    /// What a prefetch finds. It skips none, and the filter of the query above holds for it too.
    fn source(
        &self,
        below: &Query,
        above: &Query,
        settings: SearchSettings<'_>,
    ) -> Outcome<Vec<Scored>> {
        let own = source_query(below, above);
        Ok(scored(self.query_range(
            &own,
            (own.limit()?, 0),
            settings,
        )?))
    }
}

/// A query of the vector alone, among some points, exactly.
pub(crate) fn among_points(query: &Query, ids: &[PointId]) -> Query {
    let lists = ids.chunks(FILTER_IDS).map(|ids| json!({"has_id": ids}));
    let among = json!({"should": lists.collect::<Vec<_>>()});
    let whole = match &query.filter {
        Some(filter) => json!({"must": [filter, among]}),
        None => json!({"must": [among]}),
    };
    let mut again = query.clone();
    again.prefetch.clear();
    again.filter = Some(whole);
    again.params = Some(query.params.clone().unwrap_or_default().exactly());
    again
}

/// What a prefetch asks for below a query, whose filter holds for it too.
pub(crate) fn source_query(below: &Query, above: &Query) -> Query {
    let filter = match (&above.filter, &below.filter) {
        (Some(above), Some(below)) => Some(json!({"must": [above, below]})),
        (one, other) => one.clone().or_else(|| other.clone()),
    };
    let mut own = below.clone();
    (own.filter, own.with_payload, own.with_vector) = (filter, None, None);
    own
}

/// What was found, by ids and scores.
pub(crate) fn scored(found: Vec<PointOutput>) -> Vec<Scored> {
    let scored = |point: PointOutput| (point.id, point.score.unwrap_or_default());
    found.into_iter().map(scored).collect()
}

/// What a query shows of the points of its prefetches.
pub(crate) fn fused(
    (query, fusion): (&Query, &Fusion),
    (limit, offset): (usize, usize),
    sources: &[Vec<Scored>],
) -> Outcome<Vec<Scored>> {
    let mut fused = fuse(fusion, sources)?;
    fused.truncate(limit + offset);
    let least = query.score_threshold.unwrap_or(f32::NEG_INFINITY);
    let shown = fused.into_iter().skip(offset);
    Ok(shown.filter(|(_, score)| *score >= least).collect())
}

/// Gives points the scores that they have come to.
pub(crate) fn set_scores(points: &mut [PointOutput], scored: &[Scored]) {
    let scores: HashMap<PointId, f32> = scored.iter().copied().collect();
    for point in points {
        point.score = scores.get(&point.id).copied();
        point.version = Some(0);
    }
}

/// The points of several queries in one order, best first, equal ones by id.
fn fuse(fusion: &Fusion, sources: &[Vec<Scored>]) -> Outcome<Vec<Scored>> {
    let mut sums: HashMap<PointId, f32> = HashMap::new();
    for (at, source) in sources.iter().enumerate() {
        let scores = match fusion {
            Fusion::Ranks { offset, weights } => {
                let weight = weight_of(weights.as_deref(), (at, sources.len()))?;
                by_rank(source.len(), *offset, weight)
            }
            Fusion::Scores => by_distribution(source),
        };
        for ((id, _), score) in source.iter().zip(scores) {
            *sums.entry(*id).or_default() += score;
        }
    }
    let mut fused: Vec<Scored> = sums.into_iter().collect();
    fused.sort_unstable_by(|one, next| next.1.total_cmp(&one.1).then(one.0.cmp(&next.0)));
    Ok(fused)
}

fn weight_of(weights: Option<&[f32]>, (at, count): (usize, usize)) -> Outcome<f32> {
    let Some(weights) = weights else {
        return Ok(1.0);
    };
    match weights.get(at) {
        Some(weight) if weights.len() == count => Ok(*weight),
        _ => Err(Failure::bad_request(format_args!(
            "query.rrf.weights: {} weights for {count} prefetches",
            weights.len()
        ))),
    }
}

/// Scores by rank alone: `1 / ((rank + 1) / weight + offset - 1)`, ranks from 0.
fn by_rank(count: usize, offset: u32, weight: f32) -> Vec<f32> {
    let score = |rank: usize| {
        let place = (rank as f32 + 1.0) / weight + offset as f32 - 1.0;
        if weight > 0.0 { place.recip() } else { 0.0 }
    };
    (0..count).map(score).collect()
}

/// Scores moved and scaled so that three standard deviations around their mean become 0 to 1.
fn by_distribution(source: &[Scored]) -> Vec<f32> {
    let count = source.len() as f64;
    let mean = source
        .iter()
        .map(|(_, score)| f64::from(*score))
        .sum::<f64>()
        / count;
    let squares = source
        .iter()
        .map(|(_, score)| (f64::from(*score) - mean).powi(2));
    let deviation = (squares.sum::<f64>() / (count - 1.0)).sqrt();
    let scaled = |score: f32| {
        let from_mean = (f64::from(score) - mean) / deviation;
        if from_mean.is_finite() {
            ((from_mean + DEVIATIONS) / (2.0 * DEVIATIONS)) as f32
        } else {
            0.5
        }
    };
    source.iter().map(|(_, score)| scaled(*score)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(all: &[&[(u64, f32)]]) -> Vec<Vec<Scored>> {
        let source = |one: &&[(u64, f32)]| {
            let scored = |(id, score): &(u64, f32)| (PointId::Number(*id), *score);
            one.iter().map(scored).collect()
        };
        all.iter().map(source).collect()
    }

    fn fused(fusion: &Fusion, all: &[&[(u64, f32)]]) -> Vec<(u64, f32)> {
        let fused = fuse(fusion, &sources(all)).unwrap().into_iter();
        let number = |(id, score)| match id {
            PointId::Number(number) => (number, score),
            PointId::Uuid(_) => (u64::MAX, score),
        };
        fused.map(number).collect()
    }

    fn ranks(offset: u32, weights: Option<&[f32]>) -> Fusion {
        let weights = weights.map(<[f32]>::to_vec);
        Fusion::Ranks { offset, weights }
    }

    #[test]
    fn a_query_is_among_any_number_of_points() {
        let ids = (0..=FILTER_IDS as u64).map(PointId::Number);
        let ids: Vec<PointId> = ids.collect();
        let filter = among_points(&Query::default(), &ids).filter.unwrap();
        crate::wire::filter_of(&filter, &|_| None).unwrap();
    }

    #[test]
    fn ranks_add_up() {
        let all: [&[(u64, f32)]; 2] = [&[(1, 9.0), (2, 8.0)], &[(2, 0.3), (3, 0.2)]];
        let found = fused(&ranks(2, None), &all);
        // 2: 1/3 + 1/2, 1: 1/2, 3: 1/3.
        assert_eq!(found.iter().map(|own| own.0).collect::<Vec<_>>(), [2, 1, 3]);
        assert!((found[0].1 - 5.0 / 6.0).abs() < 1e-6, "{found:?}");
        let weighted = fused(&ranks(2, Some(&[3.0, 0.0])), &all);
        // 1: 1/(1/3 + 1), 2: 1/(2/3 + 1), 3: nothing.
        assert!((weighted[0].1 - 0.75).abs() < 1e-6 && weighted[0].0 == 1);
        assert!((weighted[1].1 - 0.6).abs() < 1e-6 && weighted[2].1 == 0.0);
        let wrong = fuse(&ranks(2, Some(&[1.0])), &sources(&all)).unwrap_err();
        assert!(wrong.status == 400 && wrong.text.contains("1 weights for 2"));
    }

    #[test]
    fn scores_are_scaled_by_their_distribution() {
        let all: [&[(u64, f32)]; 3] = [&[(1, 3.0), (2, 1.0)], &[(2, 7.0)], &[]];
        let found = fused(&Fusion::Scores, &all);
        // Mean 2, deviation sqrt(2): (1 / sqrt(2) + 3) / 6 and (3 - 1 / sqrt(2)) / 6 + 0.5.
        assert_eq!((found[0].0, found[1].0), (2, 1));
        let first = (3.0 - 0.5_f32.sqrt()) / 6.0 + 0.5;
        assert!((found[0].1 - first).abs() < 1e-6, "{found:?}");
        assert!((found[1].1 - (3.0 + 0.5_f32.sqrt()) / 6.0).abs() < 1e-6);
        let same: [&[(u64, f32)]; 1] = [&[(5, 2.0), (4, 2.0)]];
        assert_eq!(fused(&Fusion::Scores, &same), [(4, 0.5), (5, 0.5)]);
    }
}
