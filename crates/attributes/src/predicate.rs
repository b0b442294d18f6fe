//! A predicate over documents: one tree, whatever it was written in.
//!
//! In canonical form there is no `All` below an `And`, no `And` in an `And` and no `Or` in an `Or`,
//! a `Not` stands before a test, a nested predicate or a count of some, and branches are sorted and
//! different: equal predicates are equal trees, whatever order they were written in.

use std::collections::BTreeSet;

use sha2::{Digest, Sha256};

use crate::error::{Result, invalid};
use crate::geo::Area;
use crate::instant::Moment;
use crate::number::Number;
use crate::path::Path;

/// Nodes of a tree at most.
pub const MAX_NODES: usize = 1000;
/// Nodes from the root to a leaf at most.
pub const MAX_DEPTH: usize = 32;
/// Values of a list at most.
pub const MAX_VALUES: usize = 10_000;

/// What a document must be.
#[derive(Clone, PartialEq, Debug)]
pub enum Predicate {
    /// Anything.
    All,
    /// All of these.
    And(Vec<Predicate>),
    /// One of these at least; none of nothing.
    Or(Vec<Predicate>),
    /// Not this.
    Not(Box<Predicate>),
    /// So many of these at least.
    AtLeast {
        /// How many.
        count: usize,
        /// Of which.
        of: Vec<Predicate>,
    },
    /// A value at a path is as the test says.
    Field {
        /// Where.
        path: Path,
        /// What.
        test: Test,
    },
    /// An element of the array at a path, an object, meets all of it by itself.
    Nested {
        /// The array.
        path: Path,
        /// What one of its elements must be.
        of: Box<Predicate>,
    },
    /// The row has one of these ids.
    HasId(BTreeSet<u64>),
}

/// What a value, or all values at a path, must be.
#[derive(Clone, PartialEq, Debug)]
pub enum Test {
    /// A value is one of these.
    In(BTreeSet<Scalar>),
    /// A value is not null and none of these.
    Except(BTreeSet<Scalar>),
    /// A value is a number between these.
    Range(Bounds<Number>),
    /// A value is a text that names a moment between these.
    Time(Bounds<Moment>),
    /// A value is a text with these words.
    Words(Words, Vec<String>),
    /// A value is a text that begins so.
    Prefix(String),
    /// A value has so many elements: a single one has one, null and what is missing none.
    Count(Bounds<u64>),
    /// There is no value but nulls and empty arrays.
    Empty,
    /// A value is null, or an array with a null.
    Null,
    /// A value is a place in this area.
    Geo(Area),
}

/// How words are to stand in a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Words {
    /// All of them, anywhere.
    All,
    /// One of them.
    Any,
    /// In a row.
    Phrase,
}

/// A value that can be equal to another.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Scalar {
    /// True or false.
    Bool(bool),
    /// An integer; no float is equal to it.
    Int(i64),
    /// A text.
    Text(String),
}

/// Bounds of a value: each may be missing, and all that are given hold.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bounds<T> {
    /// Greater than.
    pub gt: Option<T>,
    /// Greater or equal.
    pub gte: Option<T>,
    /// Less than.
    pub lt: Option<T>,
    /// Less or equal.
    pub lte: Option<T>,
}

impl<T> Bounds<T> {
    /// Whether a value lies within, by how it compares to a bound.
    pub fn hold(&self, compare: impl Fn(&T) -> std::cmp::Ordering) -> bool {
        let bound = |bound: &Option<T>, fits: fn(std::cmp::Ordering) -> bool| {
            bound.as_ref().is_none_or(|bound| fits(compare(bound)))
        };
        bound(&self.gt, std::cmp::Ordering::is_gt)
            && bound(&self.gte, std::cmp::Ordering::is_ge)
            && bound(&self.lt, std::cmp::Ordering::is_lt)
            && bound(&self.lte, std::cmp::Ordering::is_le)
    }
}

impl Predicate {
    /// Nothing.
    pub(crate) const fn none() -> Self {
        Self::Or(Vec::new())
    }

    /// The same in canonical form.
    ///
    /// # Errors
    /// Where the tree is too large or too deep, or a list too long.
    pub fn canonical(self) -> Result<Self> {
        let mut nodes = 0;
        self.measure(1, &mut nodes)?;
        Ok(self.settled(false))
    }

    fn measure(&self, depth: usize, nodes: &mut usize) -> Result<()> {
        *nodes += 1;
        if *nodes > MAX_NODES {
            return Err(invalid(
                "filter",
                format!("more than {MAX_NODES} conditions"),
            ));
        }
        if depth > MAX_DEPTH {
            return Err(invalid("filter", format!("more than {MAX_DEPTH} levels")));
        }
        let mut values = 0;
        if let Self::Field {
            test: Test::In(of) | Test::Except(of),
            ..
        } = self
        {
            values = of.len();
        }
        if let Self::HasId(ids) = self {
            values = ids.len();
        }
        if values > MAX_VALUES {
            return Err(invalid(
                "filter",
                format!("a list of more than {MAX_VALUES} values"),
            ));
        }
        self.children()
            .try_for_each(|child| child.measure(depth + 1, nodes))
    }

    /// The trees below.
    fn children(&self) -> impl Iterator<Item = &Self> {
        let (many, one) = match self {
            Self::And(of) | Self::Or(of) | Self::AtLeast { of, .. } => (of.as_slice(), None),
            Self::Not(of) | Self::Nested { of, .. } => (&[][..], Some(&**of)),
            Self::All | Self::Field { .. } | Self::HasId(_) => (&[][..], None),
        };
        many.iter().chain(one)
    }

    /// Levels of the tree.
    pub fn depth(&self) -> usize {
        1 + self.children().map(Self::depth).max().unwrap_or(0)
    }

    /// The canonical form of this, or of its negation.
    fn settled(self, negated: bool) -> Self {
        match self {
            Self::All if negated => Self::none(),
            Self::All => Self::All,
            Self::Not(of) => of.settled(!negated),
            Self::And(of) => Self::joined(of, negated, !negated),
            Self::Or(of) => Self::joined(of, negated, negated),
            Self::AtLeast { count, of } => Self::some_of(count, of, negated),
            Self::Nested { path, of } => {
                let of = Box::new(of.settled(false));
                Self::Nested { path, of }.negated_if(negated)
            }
            Self::Field { .. } | Self::HasId(_) => self.negated_if(negated),
        }
    }

    fn negated_if(self, negated: bool) -> Self {
        if negated {
            Self::Not(Box::new(self))
        } else {
            self
        }
    }

    /// Branches that all must hold, or one of which: flat, sorted, each once.
    fn joined(of: Vec<Self>, negated: bool, all: bool) -> Self {
        let mut branches = Vec::with_capacity(of.len());
        for branch in of {
            let branch = branch.settled(negated);
            let joins = matches!((&branch, all), (Self::And(_), true) | (Self::Or(_), false));
            match branch {
                Self::And(of) | Self::Or(of) if joins => branches.extend(of),
                Self::All if all => {}
                Self::All => return Self::All,
                Self::And(_)
                | Self::Or(_)
                | Self::Not(_)
                | Self::AtLeast { .. }
                | Self::Field { .. }
                | Self::Nested { .. }
                | Self::HasId(_) => branches.push(branch),
            }
        }
        if all && branches.contains(&Self::none()) {
            return Self::none();
        }
        branches.retain(|branch| *branch != Self::none());
        branches.sort_by_cached_key(|branch| format!("{branch:?}"));
        branches.dedup();
        match (branches.len(), all) {
            (0, true) => Self::All,
            (1, _) => branches.pop().unwrap_or(Self::All),
            (_, true) => Self::And(branches),
            (_, false) => Self::Or(branches),
        }
    }

    fn some_of(count: usize, of: Vec<Self>, negated: bool) -> Self {
        match count {
            0 => return Self::All.settled(negated),
            1 => return Self::joined(of, negated, negated),
            _ if count == of.len() => return Self::joined(of, negated, !negated),
            _ if count > of.len() => return Self::none().settled(negated),
            _ => {}
        }
        let mut of: Vec<_> = of.into_iter().map(|branch| branch.settled(false)).collect();
        of.sort_by_cached_key(|branch| format!("{branch:?}"));
        Self::AtLeast { count, of }.negated_if(negated)
    }

    /// Tells it from others: the SHA-256 of its words.
    pub fn digest(&self) -> [u8; 32] {
        Sha256::digest(format!("{self:?}")).into()
    }

    /// Ids that it names.
    pub fn ids(&self) -> BTreeSet<u64> {
        if let Self::HasId(ids) = self {
            return ids.clone();
        }
        self.children().flat_map(Self::ids).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(name: &str) -> Predicate {
        Predicate::Field {
            path: Path::parse(name).unwrap(),
            test: Test::Null,
        }
    }

    #[test]
    fn equal_predicates_become_equal_trees() {
        let (a, b, c) = (field("a"), field("b"), field("c"));
        let not = |of: &Predicate| Predicate::Not(Box::new(of.clone()));
        let left = Predicate::And(vec![
            b.clone(),
            Predicate::And(vec![c.clone(), a.clone(), Predicate::All]),
            b.clone(),
        ]);
        let right = not(&Predicate::Or(vec![not(&c), not(&a), not(&b)]));
        let canonical = left.canonical().unwrap();
        assert_eq!(canonical, right.canonical().unwrap());
        assert_eq!(
            canonical,
            Predicate::And(vec![a.clone(), b.clone(), c.clone()])
        );
        assert_eq!(canonical.clone().canonical().unwrap(), canonical);
        let all = Predicate::AtLeast {
            count: 3,
            of: vec![b.clone(), a.clone(), c.clone()],
        };
        assert_eq!(all.canonical().unwrap(), canonical);
        let none = Predicate::And(vec![a.clone(), Predicate::Or(vec![])]);
        assert_eq!(none.canonical().unwrap(), Predicate::none());
        assert_eq!(
            Predicate::Or(vec![a, Predicate::All]).canonical().unwrap(),
            Predicate::All
        );
    }

    #[test]
    fn trees_have_limits() {
        let wide = |count| Predicate::And((0..count).map(|at| field(&format!("f{at}"))).collect());
        assert!(wide(MAX_NODES - 1).canonical().is_ok());
        assert!(wide(MAX_NODES).canonical().is_err());
        let deep = |levels| (1..levels).fold(field("a"), |of, _| Predicate::Not(Box::new(of)));
        assert!(deep(MAX_DEPTH).canonical().is_ok());
        assert!(deep(MAX_DEPTH + 1).canonical().is_err());
        let ids = |count: u64| Predicate::HasId((0..count).collect());
        assert!(ids(MAX_VALUES as u64).canonical().is_ok());
        assert!(ids(MAX_VALUES as u64 + 1).canonical().is_err());
    }
}
