//! A set of the ids of rows, to be asked for each row.

/// A set of ids.
///
/// Holds a bit for each number up to the largest where that takes no more than the ids, else eight
/// bytes for each.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IdSet(Held);

#[derive(Clone, PartialEq, Eq, Debug)]
enum Held {
    Bits(Vec<u64>),
    /// Ascending.
    Listed(Vec<u64>),
}

impl IdSet {
    /// The numbers at which a mask is true, from 0 on.
    pub fn of_mask(mask: &[bool]) -> Self {
        let word = |bits: &[bool]| (0..).zip(bits).map(|(at, bit)| u64::from(*bit) << at).sum();
        Self(Held::Bits(mask.chunks(64).map(word).collect()))
    }

    /// Whether it has an id. A look-up by bit, or a binary search.
    #[inline]
    pub fn contains(&self, id: u64) -> bool {
        match &self.0 {
            Held::Bits(words) => {
                let word = usize::try_from(id / 64).ok().and_then(|at| words.get(at));
                word.is_some_and(|word| word >> (id % 64) & 1 == 1)
            }
            Held::Listed(ids) => ids.binary_search(&id).is_ok(),
        }
    }
}

impl FromIterator<u64> for IdSet {
    fn from_iter<T: IntoIterator<Item = u64>>(ids: T) -> Self {
        let mut ids: Vec<u64> = ids.into_iter().collect();
        ids.sort_unstable();
        ids.dedup();
        let words = ids.last().map_or(0, |last| last / 64 + 1);
        if words > ids.len() as u64 {
            return Self(Held::Listed(ids));
        }
        let mut bits = vec![0; words as usize];
        for id in ids {
            if let Some(word) = bits.get_mut((id / 64) as usize) {
                *word |= 1 << (id % 64);
            }
        }
        Self(Held::Bits(bits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_what_was_put_in_and_nothing_else() {
        let listed = [5, 900, u64::MAX, 5, 0];
        let dense = (0..500).filter(|id| id % 3 == 1);
        let mask: Vec<bool> = (0..500).map(|id| id % 3 == 1).collect();
        let empty: IdSet = [].into_iter().collect();
        let sets = [
            listed.into_iter().collect(),
            dense.collect(),
            IdSet::of_mask(&mask),
        ];
        for id in (0..1000).chain([u64::MAX - 1, u64::MAX]) {
            let is_dense = id < 500 && id % 3 == 1;
            let wanted = [listed.contains(&id), is_dense, is_dense];
            let found: Vec<bool> = sets.iter().map(|set: &IdSet| set.contains(id)).collect();
            assert_eq!(found, wanted, "{id}");
            assert!(!empty.contains(id) && !IdSet::of_mask(&[]).contains(id));
        }
    }
}
