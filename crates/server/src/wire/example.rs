//! What a search is near to: vectors, and points by their vectors.

use serde::{Deserialize, Serialize};

use super::asked::Asked;
use super::id::PointId;
use crate::failure::{Failure, Outcome};

/// Examples of a query at most.
const MOST: usize = 1000;

/// A vector, or the point whose vector it is.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Example {
    Vector(Vec<f32>),
    Point(PointId),
}

/// Examples of what is looked for, and of what is not.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Examples {
    positive: Vec<Example>,
    negative: Vec<Example>,
}

/// The same as they come.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Recommend {
    positive: Option<Box<[Asked]>>,
    negative: Option<Box<[Asked]>>,
    strategy: Option<Strategy>,
}

/// How examples come to one search.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Strategy {
    #[default]
    AverageVector,
    BestScore,
    SumScores,
}

impl From<Example> for Examples {
    fn from(one: Example) -> Self {
        Self {
            positive: vec![one],
            negative: Vec::new(),
        }
    }
}

impl Examples {
    /// Those of a recommendation.
    ///
    /// # Errors
    /// Where there is no positive one, or they are to count otherwise than by their mean.
    pub(super) fn of(recommend: &Recommend) -> Outcome<Self> {
        let name = match recommend.strategy.unwrap_or_default() {
            Strategy::AverageVector => None,
            Strategy::BestScore => Some("best_score"),
            Strategy::SumScores => Some("sum_scores"),
        };
        if let Some(name) = name {
            return Err(Failure::unsupported(format_args!(
                "`query.recommend.strategy`: `{name}`"
            )));
        }
        let own = Self {
            positive: examples(recommend.positive.as_deref(), "positive")?,
            negative: examples(recommend.negative.as_deref(), "negative")?,
        };
        let count = own.positive.len() + own.negative.len();
        if !(1..=MOST).contains(&count) {
            let words = format!("{count} examples, 1 to {MOST} are possible");
            return Err(Failure::invalid("query.recommend", words));
        }
        if own.positive.is_empty() {
            return Err(Failure::bad_request(
                "The average of vectors needs a positive one at least: query.recommend.positive",
            ));
        }
        Ok(own)
    }

    /// The points among them.
    pub(crate) fn points(&self) -> Vec<PointId> {
        let all = self.positive.iter().chain(&self.negative);
        let id = |example: &Example| match example {
            Example::Point(id) => Some(*id),
            Example::Vector(_) => None,
        };
        all.filter_map(id).collect()
    }

    /// The vector that is searched for: of one example its own; of several the mean of the
    /// positive ones, moved away from the mean of the negative ones.
    ///
    /// # Errors
    /// Where a point has no vector, or vectors have lengths of their own.
    pub(crate) fn vector(
        &self,
        vector_of: impl Fn(PointId) -> Outcome<Vec<f32>>,
    ) -> Outcome<Vec<f32>> {
        let wanted = mean(&self.positive, &vector_of)?;
        let moved = if self.negative.is_empty() {
            wanted
        } else {
            let unwanted = mean(&self.negative, &vector_of)?;
            if unwanted.len() != wanted.len() {
                return Err(differ(wanted.len(), unwanted.len()));
            }
            let pairs = wanted.iter().zip(&unwanted);
            pairs.map(|(one, other)| one + one - other).collect()
        };
        Ok(moved.into_iter().map(|own| own as f32).collect())
    }
}

/// The examples of a name.
fn examples(all: Option<&[Asked]>, name: &str) -> Outcome<Vec<Example>> {
    let path = format!("query.recommend.{name}");
    let all = all.unwrap_or_default().iter();
    all.map(|own| own.example(&path)).collect()
}

fn mean(
    examples: &[Example],
    vector_of: impl Fn(PointId) -> Outcome<Vec<f32>>,
) -> Outcome<Vec<f64>> {
    let mut sums: Vec<f64> = Vec::new();
    let mut add = |numbers: &[f32]| {
        if sums.is_empty() {
            sums.resize(numbers.len(), 0.0);
        }
        if sums.len() != numbers.len() {
            return Err(differ(sums.len(), numbers.len()));
        }
        for (sum, number) in sums.iter_mut().zip(numbers) {
            *sum += f64::from(*number);
        }
        Ok(())
    };
    for example in examples {
        match example {
            Example::Vector(own) => add(own)?,
            Example::Point(id) => add(&vector_of(*id)?)?,
        }
    }
    let count = examples.len() as f64;
    Ok(sums.into_iter().map(|sum| sum / count).collect())
}

fn differ(one: usize, other: usize) -> Failure {
    Failure::wrong(format_args!(
        "Vector dimension error: expected dim: {one}, got {other}"
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn examples(recommend: &Value) -> Outcome<Examples> {
        Examples::of(&Recommend::deserialize(recommend).map_err(Failure::format)?)
    }

    fn vector(recommend: &Value) -> Outcome<Vec<f32>> {
        examples(recommend)?.vector(|id| match id {
            PointId::Number(number) => Ok(vec![number as f32, 1.0]),
            PointId::Uuid(_) => Err(Failure::not_found("no such point")),
        })
    }

    #[test]
    fn examples_come_to_their_mean_away_from_others() {
        for (recommend, expected) in [
            (json!({"positive": [3]}), [3.0, 1.0]),
            (json!({"positive": [1, 3, [5, 4]]}), [3.0, 2.0]),
            (json!({"positive": [3], "negative": [[1, 0]]}), [5.0, 2.0]),
        ] {
            assert_eq!(vector(&recommend).unwrap(), expected, "{recommend}");
        }
        let own = examples(&json!({"positive": [1, [2.0]], "negative": [3]})).unwrap();
        assert_eq!(own.points(), [PointId::Number(1), PointId::Number(3)]);
    }

    #[test]
    fn what_is_no_recommendation_is_told() {
        let many: Vec<u64> = (0..1001).collect();
        for (recommend, status, word) in [
            (json!(1), 400, "expected struct Recommend"),
            (json!({}), 422, "0 examples"),
            (json!({"positive": [], "negative": [1]}), 400, "positive"),
            (json!({"positive": 1}), 400, "expected a sequence"),
            (json!({"positive": [true]}), 400, "expected a vector, an id"),
            (json!({"positive": [{}]}), 400, "query.recommend.positive"),
            (
                json!({"positive": [1], "strategy": "best_score"}),
                400,
                "best_score",
            ),
            (json!({"positive": [1], "strategy": "worst"}), 400, "worst"),
            (
                json!({"positive": [[1, 2], [1]]}),
                400,
                "expected dim: 2, got 1",
            ),
            (
                json!({"positive": [1], "negative": [[1]]}),
                400,
                "expected dim: 2, got 1",
            ),
            (json!({"positive": many}), 422, "1001 examples"),
        ] {
            let failure = vector(&recommend).unwrap_err();
            assert_eq!(failure.status, status, "{failure:?}");
            assert!(failure.text.contains(word), "{failure:?}");
        }
    }
}
