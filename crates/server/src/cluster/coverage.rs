//! Which shards have answered, and what that makes of the answer: whole, in part, or none.

use std::collections::BTreeMap;

use super::fan_out::ShardEnd;
use crate::failure::{Failure, Outcome};

/// Shards that did not answer, by the names that nodes know them by, and why.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Missing(pub(crate) BTreeMap<String, String>);

impl Missing {
    /// Whether every shard has answered.
    pub(crate) fn is_none(&self) -> bool {
        self.0.is_empty()
    }

    /// What a request is refused with that wants every shard.
    pub(crate) fn failure(&self) -> Failure {
        let shards: Vec<String> = self
            .0
            .iter()
            .map(|(shard, why)| format!("{shard} ({why})"))
            .collect();
        Failure::incomplete(format_args!("no answer of {}", shards.join(", ")))
    }
}

/// The answers of shards, each with its number, and what is missing beside them.
///
/// # Errors
/// The refusal of the first shard that refuses; 503 where a shard is missing and none may be, or
/// where all are.
pub(crate) fn cover<A>(
    ends: Vec<ShardEnd<A>>,
    names: &[&str],
    (allows_part, missing): (bool, &mut Missing),
) -> Outcome<Vec<(usize, A)>> {
    let mut answers = Vec::with_capacity(ends.len());
    let mut own = Missing::default();
    for (number, end) in ends.into_iter().enumerate() {
        match end {
            ShardEnd::Answered(answer) => answers.push((number, answer)),
            ShardEnd::Refused(failure) => return Err(failure),
            ShardEnd::Missing(why) => {
                let name = names.get(number).copied().unwrap_or_default();
                own.0.insert(name.to_owned(), why);
            }
        }
    }
    if !own.is_none() && (!allows_part || answers.is_empty()) {
        return Err(own.failure());
    }
    missing.0.extend(own.0);
    Ok(answers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_in_part_is_one_only_where_that_is_allowed() {
        let ends = |second: ShardEnd<u8>| vec![ShardEnd::Answered(1), second];
        let gone = || ShardEnd::Missing("a: gone".to_owned());
        let names = ["x-0", "x-1"];
        let mut missing = Missing::default();
        let whole = cover(ends(ShardEnd::Answered(2)), &names, (false, &mut missing));
        assert_eq!(whole.unwrap(), [(0, 1), (1, 2)]);
        assert!(missing.is_none());
        let refused = cover(ends(gone()), &names, (false, &mut missing)).unwrap_err();
        assert_eq!(refused.status, 503);
        assert!(refused.text.contains("x-1 (a: gone)") && missing.is_none());
        let part = cover(ends(gone()), &names, (true, &mut missing));
        assert_eq!(part.unwrap(), [(0, 1)]);
        assert_eq!(missing.0.keys().collect::<Vec<_>>(), ["x-1"]);
        let none = cover::<u8>(vec![gone(), gone()], &names, (true, &mut missing));
        assert_eq!(none.unwrap_err().status, 503);
        let wrong = Failure::wrong("y");
        let refused = cover(
            ends(ShardEnd::Refused(wrong.clone())),
            &names,
            (true, &mut missing),
        );
        assert_eq!(refused.unwrap_err(), wrong);
    }
}
