//! Runbooks by name, of any number of rows.

use std::ops::Range;
use std::str::FromStr;

use pageway::Error;

use super::runbook::{Runbook, RunbookStep};

/// Batches after which a row goes that expires: soon, later.
const EXPIRIES: [u64; 2] = [20, 100];
/// Batches of a window and of an expiration.
const BATCHES: u64 = 100;
/// Searches of a churn at most.
const MAX_CHURNS: u64 = 100;

/// What a runbook is like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// Batches come in, and from half of the data on the oldest goes for each.
    Window,
    /// Batches come in, and each goes after a time of its own.
    Expiration,
    /// Half of the data is in; at each step so many percent of it go, at random, and others come,
    /// until as many have gone as were in.
    Churn(u64),
    /// Half of the data is in, and its ids get the rows of the other half, a twentieth a step.
    Replace,
    /// Cluster by cluster comes in; every second goes, and comes back.
    Clusters,
}

impl FromStr for Shape {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "window" => Ok(Self::Window),
            "expiration" => Ok(Self::Expiration),
            "replace" => Ok(Self::Replace),
            "clusters" => Ok(Self::Clusters),
            other => {
                let percent = other
                    .strip_prefix("churn-")
                    .and_then(|text| text.parse().ok());
                let percent = percent.filter(|percent| (1..=50).contains(percent));
                percent.map(Self::Churn).ok_or_else(|| {
                    Error::invalid(format!(
                        "'{other}' is none of window, expiration, replace, clusters, churn-1 to \
                         churn-50"
                    ))
                })
            }
        }
    }
}

/// A runbook of this shape over `rows` rows, those of clusters over thirty-two of one size.
pub fn runbook(shape: Shape, name: &str, rows: u64) -> Runbook {
    let steps = match shape {
        Shape::Window => window(rows),
        Shape::Expiration => expiration(rows),
        Shape::Churn(percent) => churn(rows, percent),
        Shape::Replace => replace(rows),
        Shape::Clusters => {
            let bounds: Vec<u64> = (0..=32).map(|at| rows * at / 32).collect();
            return cluster_runbook(&bounds, name);
        }
    };
    of_steps(steps, name)
}

/// A runbook of clusters, which are the rows between neighbours of `bounds`: each comes in, every
/// second goes, and comes back.
pub fn cluster_runbook(bounds: &[u64], name: &str) -> Runbook {
    let clusters = || {
        let own = bounds.iter().zip(bounds.iter().skip(1));
        own.map(|(start, end)| *start..*end)
    };
    let each = |step: fn(Range<u64>) -> RunbookStep| move |rows| [step(rows), RunbookStep::Search];
    let come = clusters().flat_map(each(RunbookStep::Insert));
    let go = clusters().step_by(2).flat_map(each(RunbookStep::Delete));
    let back = clusters().step_by(2).flat_map(each(RunbookStep::Insert));
    of_steps(come.chain(go).chain(back).collect(), name)
}

fn of_steps(mut steps: Vec<RunbookStep>, name: &str) -> Runbook {
    if steps.last() != Some(&RunbookStep::Search) {
        steps.push(RunbookStep::Search);
    }
    Runbook {
        name: name.to_owned(),
        most_rows: most(&steps),
        steps,
    }
}

fn batch(rows: u64) -> u64 {
    (rows / BATCHES).max(1)
}

fn window(rows: u64) -> Vec<RunbookStep> {
    let each = batch(rows);
    let mut steps = Vec::new();
    for number in 0..rows / each {
        let own = number * each..(number + 1) * each;
        if let Some(old) = own.start.checked_sub(rows / 2) {
            steps.extend([RunbookStep::Search, RunbookStep::Delete(old..old + each)]);
        }
        steps.push(RunbookStep::Insert(own));
    }
    steps
}

/// Three of nineteen batches go after a hundred others, fifteen after twenty, and one stays.
fn expiration(rows: u64) -> Vec<RunbookStep> {
    let each = batch(rows);
    let mut steps = Vec::new();
    let drawn = |number: u64| number.wrapping_mul(7919) % 19;
    for number in 0..rows / each {
        steps.push(RunbookStep::Insert(number * each..(number + 1) * each));
        for old in 0..number {
            let [soon, later] = EXPIRIES;
            let expiry = match drawn(old) {
                0 => continue,
                1..=3 => later,
                _ => soon,
            };
            if old + expiry == number {
                steps.push(RunbookStep::Delete(old * each..(old + 1) * each));
            }
        }
        steps.push(RunbookStep::Search);
    }
    steps
}

/// Rows are taken to lie in no order: what goes is a stretch, drawn without repetition.
fn churn(rows: u64, percent: u64) -> Vec<RunbookStep> {
    let half = rows / 2;
    let each = (half * percent / 100).max(1);
    let turns = (half / each).min(MAX_CHURNS);
    let mut steps = vec![RunbookStep::Insert(0..half), RunbookStep::Search];
    for turn in 0..turns {
        // A stride that meets every stretch once.
        let stretch = turn.wrapping_mul(stride(turns)) % turns;
        let (old, new) = (stretch * each, half + turn * each);
        steps.push(RunbookStep::Delete(old..old + each));
        steps.push(RunbookStep::Insert(new..new + each));
        steps.push(RunbookStep::Search);
    }
    steps
}

/// A number without a divisor in common with `count`, far from 1.
fn stride(count: u64) -> u64 {
    let common = |mut a: u64, mut b: u64| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let first = count * 5 / 13 + 1;
    (first..first + count)
        .find(|at| common(*at, count) == 1)
        .unwrap_or(1)
}

fn replace(rows: u64) -> Vec<RunbookStep> {
    let half = rows / 2;
    let each = (half / 20).max(1);
    let mut steps = vec![RunbookStep::Insert(0..half), RunbookStep::Search];
    for turn in 0..half / each {
        let tags = turn * each..(turn + 1) * each;
        let rows = half + tags.start..half + tags.end;
        steps.extend([RunbookStep::Replace { tags, rows }, RunbookStep::Search]);
    }
    steps
}

fn most(steps: &[RunbookStep]) -> u64 {
    let (mut now, mut most) = (0u64, 0);
    for step in steps {
        match step {
            RunbookStep::Insert(rows) => now += rows.end - rows.start,
            RunbookStep::Delete(ids) => now = now.saturating_sub(ids.end - ids.start),
            RunbookStep::Replace { .. } | RunbookStep::Search => {}
        }
        most = most.max(now);
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::live::Live;

    #[test]
    fn every_shape_can_be_lived_and_stays_within_what_it_says() {
        for name in [
            "window",
            "expiration",
            "replace",
            "clusters",
            "churn-1",
            "churn-5",
            "churn-10",
        ] {
            let shape: Shape = name.parse().unwrap();
            for rows in [200, 1000, 8000] {
                let runbook = runbook(shape, name, rows);
                let (mut live, mut most, mut searches) = (Live::default(), 0, 0);
                for step in &runbook.steps {
                    live.take(step).unwrap();
                    most = most.max(live.len() as u64);
                    searches += u32::from(*step == RunbookStep::Search);
                }
                assert!(runbook.rows() <= rows, "{name}");
                assert_eq!(most, runbook.most_rows, "{name} {rows}");
                assert!(searches >= 10, "{name}: {searches}");
            }
        }
        assert!("churn-0".parse::<Shape>().is_err() && "circle".parse::<Shape>().is_err());
    }

    #[test]
    fn a_churn_of_ten_percent_changes_every_row() {
        let runbook = runbook(Shape::Churn(10), "x", 1000);
        let mut live = Live::default();
        runbook
            .steps
            .iter()
            .for_each(|step| live.take(step).unwrap());
        assert_eq!(live.rows().min(), Some(500));
    }
}
