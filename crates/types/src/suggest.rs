//! The name that somebody who mistyped one may have meant.

/// The name of `known` that is nearest to `typed`, if it is near: at most one edit in three
/// letters.
pub fn suggestion<'n>(typed: &str, known: &[&'n str]) -> Option<&'n str> {
    let typed = typed.to_ascii_lowercase();
    let near = known.iter().map(|name| (edits(&typed, name), *name));
    let (edits, name) = near.min_by_key(|(edits, _)| *edits)?;
    let longest = typed.len().max(name.len());
    (edits <= longest.div_ceil(3)).then_some(name)
}

/// A sentence that offers the nearest name, or nothing.
pub fn did_you_mean(typed: &str, known: &[&str]) -> String {
    let meant = suggestion(typed, known);
    meant.map_or_else(String::new, |name| format!("; did you mean '{name}'?"))
}

/// Letters to insert, delete, replace or swap with the next one.
fn edits(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for (row, letter) in from.iter().enumerate() {
        let mut next = vec![row + 1];
        for (column, other) in to.iter().enumerate() {
            let at =
                |line: &[usize], place: usize| line.get(place).copied().unwrap_or(usize::MAX / 2);
            let replaced = at(&last, column) + usize::from(letter != other);
            let mut least = replaced
                .min(at(&last, column + 1) + 1)
                .min(at(&next, column) + 1);
            let crossed = row > 0
                && column > 0
                && from.get(row - 1) == Some(other)
                && to.get(column - 1) == Some(letter);
            if crossed {
                least = least.min(at(&before, column - 1) + 1);
            }
            next.push(least);
        }
        before = std::mem::replace(&mut last, next);
    }
    last.last().copied().unwrap_or(from.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_offered_and_far_ones_are_not() {
        let known = ["starling", "diskann", "cosine", "l2"];
        for (typed, meant) in [
            ("startling", Some("starling")),
            ("DiskANN", Some("diskann")),
            ("cosnie", Some("cosine")),
            ("l3", Some("l2")),
            ("hnsw", None),
            ("", None),
        ] {
            assert_eq!(suggestion(typed, &known), meant, "{typed}");
        }
        assert_eq!(did_you_mean("cosin", &known), "; did you mean 'cosine'?");
    }

    #[test]
    fn edits_are_counted() {
        for (from, to, count) in [
            ("", "abc", 3),
            ("ab", "ba", 1),
            ("abc", "abd", 1),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(edits(from, to), count);
            assert_eq!(edits(to, from), count);
        }
    }
}
