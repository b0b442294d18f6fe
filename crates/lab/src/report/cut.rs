//! Names of data without their cuts: what an experiment over cuts draws as one curve.
//!
//! A cut of rows ends in `-first20000` or says their number in the name (`sift-300k`); a cut of
//! dimensions ends in `-96d`.

use super::group;
use crate::record::Record;

/// A name without any cut.
pub(crate) fn family(data: &str) -> String {
    without(&without(data, is_rows), is_dimensions)
}

/// Records by data, cuts of rows together.
pub(crate) fn by_rows<'r>(records: &[&'r Record]) -> Vec<(String, Vec<&'r Record>)> {
    group::by(records, |record| Some(without(&record.data, is_rows)))
}

/// Records by data, cuts of dimensions together.
pub(crate) fn by_dimensions<'r>(records: &[&'r Record]) -> Vec<(String, Vec<&'r Record>)> {
    group::by(records, |record| Some(without(&record.data, is_dimensions)))
}

/// A name without its words that say a cut; the first word stays.
fn without(data: &str, is_cut: fn(&str) -> bool) -> String {
    let mut words = data.split('-');
    let first = words.next().into_iter();
    let rest = words.filter(|word| !is_cut(word));
    first.chain(rest).collect::<Vec<&str>>().join("-")
}

fn is_rows(word: &str) -> bool {
    word.strip_prefix("first").is_some_and(is_number)
        || ["k", "m", "b"]
            .iter()
            .any(|unit| word.strip_suffix(unit).is_some_and(is_number))
}

fn is_dimensions(word: &str) -> bool {
    word.strip_suffix('d').is_some_and(is_number)
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_the_cut_asked_for() {
        for (data, name) in [
            ("photo-sift-first20000", "photo-sift"),
            ("photo-sift-300k", "photo-sift"),
            ("sift-1m-first1000-96d", "sift-96d"),
            ("demo", "demo"),
            ("openai-3072", "openai-3072"),
        ] {
            assert_eq!(without(data, is_rows), name);
        }
        assert_eq!(
            without("demo-first1000-96d", is_dimensions),
            "demo-first1000"
        );
        assert_eq!(without("96d", is_dimensions), "96d");
    }
}
