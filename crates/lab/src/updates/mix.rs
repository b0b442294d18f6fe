//! Which operation is an insert, which a delete.

use std::ops::Range;
use std::str::FromStr;

use pageway::Error;

/// So many inserts to so many deletes, as in `9:1`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mix {
    inserts: u64,
    deletes: u64,
}

/// What an operation does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Operation {
    /// Puts a row in: its number among those that come.
    Insert(u64),
    /// Takes the oldest row that is left: its number among those that go.
    Delete(u64),
}

impl Mix {
    /// What an operation of this number does.
    pub(super) fn operation(self, number: u64) -> Operation {
        let (round, place) = (number / self.round(), number % self.round());
        match place.checked_sub(self.inserts) {
            None => Operation::Insert(round * self.inserts + place),
            Some(later) => Operation::Delete(round * self.deletes + later),
        }
    }

    /// Inserts among so many operations.
    pub(super) fn inserts(self, operations: u64) -> u64 {
        let (rounds, rest) = (operations / self.round(), operations % self.round());
        rounds * self.inserts + rest.min(self.inserts)
    }

    /// The numbers of inserts and of deletes among operations.
    pub(super) fn within(self, operations: &Range<u64>) -> (Range<u64>, Range<u64>) {
        let (from, to) = (self.inserts(operations.start), self.inserts(operations.end));
        (from..to, operations.start - from..operations.end - to)
    }

    const fn round(self) -> u64 {
        self.inserts + self.deletes
    }
}

impl FromStr for Mix {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let parts = text.split_once(':');
        let parts = parts.and_then(|(one, other)| Some((one.parse().ok()?, other.parse().ok()?)));
        match parts {
            Some((inserts @ 1..=1000, deletes @ 0..=1000)) => Ok(Self { inserts, deletes }),
            _ => Err(Error::invalid(format!(
                "'{text}': give inserts to deletes, as in 9:1, 1:1 or 1:0"
            ))),
        }
    }
}

impl std::fmt::Display for Mix {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.inserts, self.deletes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_come_in_rounds_and_each_is_done_once() {
        for (text, inserts) in [("9:1", 900), ("1:1", 500), ("1:0", 1000), ("2:3", 400)] {
            let mix: Mix = text.parse().unwrap();
            assert_eq!(mix.to_string(), text);
            let (mut came, mut went) = (Vec::new(), Vec::new());
            for number in 0..1000 {
                match mix.operation(number) {
                    Operation::Insert(row) => came.push(row),
                    Operation::Delete(row) => went.push(row),
                }
            }
            assert_eq!(came, (0..inserts).collect::<Vec<u64>>(), "{text}");
            assert_eq!(went, (0..1000 - inserts).collect::<Vec<u64>>(), "{text}");
            let ((first, then), all) = (
                (mix.within(&(0..333)), mix.within(&(333..1000))),
                mix.within(&(0..1000)),
            );
            assert_eq!((first.0.end, first.1.end), (then.0.start, then.1.start));
            assert_eq!(all, (0..inserts, 0..1000 - inserts));
            assert_eq!((then.0.end, then.1.end), (all.0.end, all.1.end));
        }
        for wrong in ["", "9", "0:1", "9:-1", "9:1:1", "2000:1"] {
            assert!(wrong.parse::<Mix>().is_err(), "{wrong}");
        }
    }
}
