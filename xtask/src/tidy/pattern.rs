//! Finds where Rust code takes values apart or compares them, as against where it makes them.
//!
//! Reads the code layer, as rustfmt leaves it: the arms of a `match`, the second half of a
//! `matches!`, what stands between a `let` and its `=`, and either side of `==` and `!=`.

use std::ops::Range;

use super::function::group_end;
use super::word;

/// Offsets at which `code` matches on a variant of `name`, or compares with one.
pub(crate) fn sites(code: &str, name: &str) -> Vec<usize> {
    let path = format!("{name}::");
    let found = code.match_indices(&path).map(|(at, _)| at);
    let found: Vec<usize> = found
        .filter(|at| is_variant(code, *at, path.len()))
        .collect();
    if found.is_empty() {
        return found;
    }
    let patterns = patterns(code);
    let is_site = |at: &usize| {
        let in_pattern = patterns.iter().any(|pattern| pattern.contains(at));
        in_pattern || is_compared(code, *at)
    };
    found.into_iter().filter(is_site).collect()
}

/// Whether the path at `at` is a word of its own and names a variant, no function and no constant.
fn is_variant(code: &str, at: usize, length: usize) -> bool {
    let before = code.get(..at).and_then(|before| before.chars().next_back());
    let rest = code.get(at + length..).unwrap_or("");
    let variant = word::words(rest).next().unwrap_or("");
    let named = rest.starts_with(char::is_uppercase)
        && (variant.len() == 1 || variant.contains(char::is_lowercase));
    named && !before.is_some_and(word::is_word_char)
}

fn patterns(code: &str) -> Vec<Range<usize>> {
    let arms = code
        .match_indices("=>")
        .map(|(end, _)| arm_start(code, end)..end);
    let macros = code.match_indices("matches!(").filter_map(|(at, found)| {
        let open = at + found.len() - 1;
        let end = group_end(code, open)?;
        Some(first_comma(code, open + 1..end)?..end)
    });
    let lets = code.match_indices("let ").filter_map(|(at, _)| {
        let before = code.get(..at)?.chars().next_back();
        let is_word = !before.is_some_and(word::is_word_char);
        is_word
            .then(|| assigned(code, at))
            .flatten()
            .map(|end| at..end)
    });
    arms.chain(macros).chain(lets).collect()
}

/// Where the pattern of the arm begins whose arrow stands at `arrow`.
fn arm_start(code: &str, arrow: usize) -> usize {
    let bytes = code.as_bytes();
    let (mut at, mut depth) = (arrow, 0_usize);
    while let Some(before) = at.checked_sub(1) {
        match bytes.get(before) {
            Some(b'}') if depth == 0 && !closes_pattern(code, before) => return at,
            Some(b')' | b']' | b'}') => depth += 1,
            Some(b'(' | b'[' | b'{' | b',' | b';') if depth == 0 => return at,
            Some(b'(' | b'[' | b'{') => depth -= 1,
            _ => {}
        }
        at = before;
    }
    at
}

/// Whether the brace that closes at `close` is that of a struct, not of a block: a name stands
/// before it.
fn closes_pattern(code: &str, close: usize) -> bool {
    let mut depth = 0_usize;
    for (at, byte) in code
        .bytes()
        .enumerate()
        .take(close + 1)
        .collect::<Vec<_>>()
        .iter()
        .rev()
    {
        match byte {
            b'}' => depth += 1,
            b'{' => depth = depth.saturating_sub(1),
            _ => continue,
        }
        if depth == 0 {
            let before = code.get(..*at).unwrap_or("").trim_end();
            return before.ends_with(word::is_word_char);
        }
    }
    false
}

/// The first comma of a list outside its brackets.
fn first_comma(code: &str, list: Range<usize>) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, byte) in code.bytes().enumerate().take(list.end).skip(list.start) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => return Some(at),
            _ => {}
        }
    }
    None
}

/// The `=` of the `let` at `at`; none where its statement ends before.
fn assigned(code: &str, at: usize) -> Option<usize> {
    let rest = code.get(at..)?;
    let end = rest
        .find(" = ")
        .into_iter()
        .chain(rest.find(" =\n"))
        .min()?;
    let statement = rest.get(..end)?;
    (!statement.contains(';')).then_some(at + end)
}

/// Whether what begins at `at` stands on one side of a comparison.
fn is_compared(code: &str, at: usize) -> bool {
    let before = code
        .get(..at)
        .unwrap_or("")
        .trim_end_matches(['&', '(', '*'])
        .trim_end();
    let rest = code.get(at..).unwrap_or("");
    let is_path = |c: char| word::is_word_char(c) || c == ':';
    let mut after = rest.trim_start_matches(is_path);
    if let Some(open) = ["(", " {"].into_iter().find(|open| after.starts_with(open)) {
        let end = group_end(after, open.len() - 1);
        after = end.and_then(|end| after.get(end + 1..)).unwrap_or("");
    }
    let after = after.trim_start();
    let compares = |text: &str| text.starts_with("==") || text.starts_with("!=");
    before.ends_with("==") || before.ends_with("!=") || compares(after)
}

#[cfg(test)]
mod tests {
    use super::sites;

    fn count(code: &str) -> usize {
        sites(code, "Spec").len()
    }

    #[test]
    fn what_takes_apart_or_compares_is_found() {
        for (code, expected) in [
            (
                "match a { Spec::A => 1, Spec::B { c, .. } | Spec::D => 2 }",
                3,
            ),
            (
                "match a {\n Spec::A => {\n 1\n }\n Spec::B { c } => d,\n}",
                2,
            ),
            (
                "match (a, b) { (Spec::A, _) | (_, Spec::B) => 1, _ => 2 }",
                2,
            ),
            ("match a { x if y == Spec::A => 1, _ => 2 }", 1),
            ("matches!(a, Spec::A | Spec::B { .. })", 2),
            ("if let Spec::A { b } = c {}", 1),
            ("let Some(Spec::A { b }) = c else { return };", 1),
            ("a == Spec::A || Spec::B != b", 2),
            ("a == &Spec::A(b)", 1),
        ] {
            assert_eq!(count(code), expected, "{code}");
        }
    }

    #[test]
    fn what_makes_values_is_not() {
        for code in [
            "let a = Spec::A;",
            "f(Spec::A { b: 1 }, Spec::B)",
            "match a { b => Spec::A, c => Spec::B { d }, e => { Spec::C } }",
            "[Spec::A, Spec::B]",
            "a.map(Spec::of)",
            "Spec::ALL == b",
            "MySpec::A == b",
        ] {
            assert_eq!(count(code), 0, "{code}");
        }
    }
}
