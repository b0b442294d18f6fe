//! A set of choices in which every two values of different axes that can stand together do so at
//! least once. Greedy and repeatable.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use pageway_testkit::SplitMix64;

use crate::axes::{AXES, Choice, RULED, value_count};

/// An axis with one of its values, and another one with one of its own.
pub type Pair = ((usize, usize), (usize, usize));

const SEED: u64 = 0xc0fe;
/// Choices drawn before the best of them is taken.
const DRAWS: usize = 40;

/// The legal pairs, and a set of choices that covers them.
pub struct Cover {
    pub legal: Vec<Pair>,
    pub chosen: Vec<Choice>,
}

/// Found once for all tests.
pub static COVER: LazyLock<Cover> = LazyLock::new(|| {
    let cores = legal_cores();
    let legal = legal_pairs(&cores);
    let chosen = covering(&cores, &legal);
    Cover { legal, chosen }
});

/// Every pair of values.
pub fn pairs() -> Vec<Pair> {
    let values = |axis: usize| (0..value_count(axis)).map(move |value| (axis, value));
    let axes = (0..AXES.len()).flat_map(|one| (one + 1..AXES.len()).map(move |two| (one, two)));
    axes.flat_map(|(one, two)| {
        values(one).flat_map(move |first| values(two).map(move |second| (first, second)))
    })
    .collect()
}

fn has(choice: &Choice, pair: &Pair) -> bool {
    let is = |(axis, value): (usize, usize)| usize::from(choice.0[axis]) == value;
    is(pair.0) && is(pair.1)
}

fn set(choice: Choice, pair: &Pair) -> Choice {
    choice.with(pair.0.0, pair.0.1).with(pair.1.0, pair.1.1)
}

/// All legal choices on the axes that rules speak of; the first value on the others.
fn legal_cores() -> Vec<Choice> {
    let mut cores = vec![Choice::default()];
    for axis in 0..RULED {
        let values = 0..value_count(axis);
        cores = cores
            .iter()
            .flat_map(|core| values.clone().map(|value| core.with(axis, value)))
            .collect();
    }
    let base = Choice::default().spec(96);
    cores.retain(|core| core.is_legal_in(base.clone()));
    cores
}

/// Which pairs some legal choice has.
fn legal_pairs(cores: &[Choice]) -> Vec<Pair> {
    let mut known = BTreeSet::new();
    for core in cores {
        for one in 0..RULED {
            for two in one + 1..RULED {
                let value = |axis: usize| (axis, usize::from(core.0[axis]));
                known.insert((value(one), value(two)));
            }
        }
    }
    let possible =
        |pair: &Pair| known.contains(pair) || cores.iter().any(|core| set(*core, pair).is_legal());
    pairs().into_iter().filter(possible).collect()
}

/// A covering set of the legal pairs.
fn covering(cores: &[Choice], legal: &[Pair]) -> Vec<Choice> {
    let mut random = SplitMix64::new(SEED);
    let mut open: Vec<Pair> = legal.to_vec();
    let mut chosen = Vec::new();
    while let Some(first) = open.first().copied() {
        let suited: Vec<Choice> = cores
            .iter()
            .map(|core| set(*core, &first))
            .filter(Choice::is_legal)
            .collect();
        let best = (0..DRAWS)
            .map(|_| {
                let core = suited[random.below(suited.len() as u64) as usize];
                improved(set(drawn(core, &mut random), &first), &first, &open)
            })
            .max_by_key(|choice| gain(choice, &open));
        let best = best.expect("at least one draw");
        open.retain(|pair| !has(&best, pair));
        chosen.push(best);
    }
    chosen
}

fn gain(choice: &Choice, open: &[Pair]) -> usize {
    open.iter().filter(|pair| has(choice, pair)).count()
}

/// Any values on the axes that no rule speaks of.
fn drawn(core: Choice, random: &mut SplitMix64) -> Choice {
    (RULED..AXES.len()).fold(core, |choice, axis| {
        choice.with(axis, random.below(value_count(axis) as u64) as usize)
    })
}

/// The choice with every axis in turn at the value that covers the most open pairs; as it is where
/// no other value covers more.
fn improved(mut choice: Choice, first: &Pair, open: &[Pair]) -> Choice {
    for axis in 0..AXES.len() {
        let others = (0..value_count(axis)).map(|value| choice.with(axis, value));
        let kept = others.filter(|other| has(other, first) && other.is_legal());
        choice = kept
            .chain([choice])
            .max_by_key(|other| gain(other, open))
            .unwrap_or(choice);
    }
    choice
}
