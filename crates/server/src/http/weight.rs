//! What a body of JSON takes once it is read, told from its text.

/// Bytes that a value takes beside its text, about; an object, whose first entries have room
/// before they are there; and each of its entries.
const VALUE_BYTES: u64 = 40;
const OBJECT_BYTES: u64 = 640;
const ENTRY_BYTES: u64 = 80;
/// Bytes of a component of a vector, in a list that grows.
const COMPONENT_BYTES: u64 = 8;

/// Whose value text belongs to: the outermost of these names decides.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Vector,
    Other,
}

impl Part {
    fn of(key: &[u8]) -> Option<Self> {
        match key {
            b"vector" | b"vectors" | b"query" => Some(Self::Vector),
            b"payload" | b"payloads" | b"filter" | b"update_filter" | b"metadata"
            | b"with_payload" | b"with_vector" | b"with_vectors" | b"set_payload"
            | b"overwrite_payload" | b"delete_payload" | b"delete_vectors" => Some(Self::Other),
            // It may be any of those.
            _ => key.contains(&b'\\').then_some(Self::Other),
        }
    }
}

/// Bytes that the values of a body take beside its text, about: numbers of vectors little, since
/// they are read as such where the operation takes vectors, all else much. Text that is no JSON
/// weighs something, too.
pub(super) fn weight(body: &[u8], takes_vectors: bool) -> u64 {
    let (mut weight, mut depth, mut at) = (0, 0_usize, 0);
    let mut part = (!takes_vectors).then_some((0, Part::Other));
    let mut text: &[u8] = &[];
    while let Some(byte) = body.get(at) {
        at += 1;
        match byte {
            b'"' => {
                let end = string_end(body, at);
                text = body.get(at..end).unwrap_or_default();
                at = end + 1;
            }
            b':' => {
                weight += ENTRY_BYTES;
                if part.is_none() {
                    part = Part::of(text).map(|own| (depth, own));
                }
            }
            b'[' | b'{' => {
                depth += 1;
                let is_object = *byte == b'{';
                weight += if is_object { OBJECT_BYTES } else { VALUE_BYTES };
            }
            b']' | b'}' => {
                depth = depth.saturating_sub(1);
                part = part.filter(|(own, _)| depth >= *own);
            }
            b',' => {
                weight += VALUE_BYTES;
                part = part.filter(|(own, _)| depth > *own);
            }
            b'-' | b'0'..=b'9' => {
                let end = number_end(body, at);
                let digits = body.get(at..end).unwrap_or_default();
                let is_component = matches!(part, Some((_, Part::Vector)))
                    && digits.iter().any(|one| b".eE".contains(one));
                if is_component {
                    // Instead of what the comma or the bracket before it stood for.
                    weight = weight.saturating_sub(VALUE_BYTES) + COMPONENT_BYTES;
                }
                at = end;
            }
            _ => {}
        }
    }
    weight
}

/// Where a string ends that begins at `at`.
fn string_end(body: &[u8], mut at: usize) -> usize {
    while let Some(byte) = body.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => break,
            _ => at += 1,
        }
    }
    at
}

/// Where a number ends that began before `at`.
fn number_end(body: &[u8], at: usize) -> usize {
    let rest = body.get(at..).unwrap_or_default();
    let is_part = |byte: &u8| byte.is_ascii_digit() || b".eE+-".contains(byte);
    at + rest.iter().take_while(|byte| is_part(byte)).count()
}

#[cfg(test)]
mod tests {
    use serde::de::DeserializeOwned;

    use super::*;
    use crate::HEAP;
    use crate::wire::older::Search;
    use crate::wire::{Batch, Grouping, PointsInsert, Query, UpdateVectors};

    #[test]
    fn numbers_of_vectors_weigh_little_and_all_else_much() {
        let light = |text: &str| weight(text.as_bytes(), true);
        let floats = vec!["-0.25"; 1000].join(",");
        for (body, each) in [
            (format!(r#"{{"query": [{floats}]}}"#), COMPONENT_BYTES),
            (
                format!(r#"{{"vector": {{"a": [{floats}]}}}}"#),
                COMPONENT_BYTES,
            ),
            (
                format!(r#"{{"payload": {{"vector": [{floats}]}}}}"#),
                VALUE_BYTES,
            ),
            (
                format!(r#"{{"filter": {{"query": [{floats}]}}}}"#),
                VALUE_BYTES,
            ),
            (format!(r#"{{"a": [{floats}]}}"#), VALUE_BYTES),
            (
                format!(r#"{{"vector": [1], "a": [{floats}]}}"#),
                VALUE_BYTES,
            ),
            (
                format!(r#"{{"points": [{{"vector": [1]}}, [{floats}]]}}"#),
                VALUE_BYTES,
            ),
            (
                format!(r#"{{"payload": {{}}, "query": [{floats}]}}"#),
                COMPONENT_BYTES,
            ),
            (
                format!(r#"{{"f\u0069lter": {{"query": [{floats}]}}}}"#),
                VALUE_BYTES,
            ),
            (
                format!(r#"{{"set_payload": {{"query": [{floats}]}}}}"#),
                VALUE_BYTES,
            ),
            (format!(r#"{{"query": "[{floats}"}}"#), 0),
        ] {
            let own = light(&body) as f64 / 1000.0;
            assert!((own - each as f64).abs() < 3.0, "{own} {}", &body[..30]);
        }
        let settings = format!(r#"{{"a": 1, "vectors": [{floats}]}}"#);
        assert!(weight(settings.as_bytes(), false) >= 1000 * VALUE_BYTES);
        let integers = vec!["7"; 1000].join(",");
        assert!(light(&format!(r#"{{"query": [{integers}]}}"#)) >= 1000 * VALUE_BYTES);
        let conditions = vec![r#"{"key":"a"}"#; 100].join(",");
        assert!(light(&format!("[{conditions}]")) >= 100 * (OBJECT_BYTES + ENTRY_BYTES));
    }

    #[test]
    fn any_bytes_are_weighed() {
        for text in [
            "",
            "\"",
            "\"\\",
            "]]]",
            "{\"a\\\":1,\"query\":1.5",
            "-",
            ":::",
            "1.5",
        ] {
            assert!(
                weight(text.as_bytes(), true) <= OBJECT_BYTES + 6 * ENTRY_BYTES,
                "{text}"
            );
        }
    }

    /// The most that reading a body takes at a time; the least of several, as other tests run too.
    fn most_taken<T>(read: impl Fn() -> T) -> u64 {
        let once = || {
            let before = HEAP.current_usage();
            HEAP.reset_peak_usage();
            drop(read());
            HEAP.peak_usage().saturating_sub(before) as u64
        };
        (0..8).map(|_| once()).min().unwrap()
    }

    fn check<T: DeserializeOwned>(body: &str) {
        let counted = weight(body.as_bytes(), true);
        let most = most_taken(|| serde_json::from_str::<T>(body).is_ok());
        assert!(most <= counted, "{most} of {counted}: {}", &body[..40]);
    }

    #[test]
    fn bodies_take_no_more_than_they_weigh() {
        let vector = format!("[{}]", vec!["-0.25"; 1536].join(","));
        let list = |one: &str| vec![one; 20].join(",");
        let vectors = list(&vector);
        let queries = list(&format!(r#"{{"query":{vector}}}"#));
        let nearest = list(&format!(r#"{{"query":{{"nearest":{vector}}}}}"#));
        let older = list(&format!(r#"{{"vector":{vector},"limit":1}}"#));
        let named = list(&format!(r#"{{"vector":{{"name":"a","vector":{vector}}}}}"#));
        let points = list(&format!(r#"{{"id":1,"vector":{{"a":{vector}}}}}"#));
        let ids = list("1");
        for searches in [queries.as_str(), &nearest] {
            check::<Batch<Query>>(&format!(r#"{{"searches":[{searches}]}}"#));
            check::<Query>(&format!(r#"{{"query":1,"prefetch":[{searches}]}}"#));
        }
        for searches in [older, named] {
            let body = format!(r#"{{"searches":[{searches}]}}"#);
            check::<Batch<Query>>(&body);
            check::<Batch<Search>>(&body);
        }
        let like = format!(r#"{{"positive":[{vectors}],"negative":[{vectors}]}}"#);
        let like = format!(r#"{{"query":{{"recommend":{like}}},"group_by":"a","limit":1}}"#);
        check::<Query>(&like);
        check::<Grouping>(&like);
        check::<PointsInsert>(&format!(r#"{{"points":[{points}]}}"#));
        check::<UpdateVectors>(&format!(r#"{{"points":[{points}]}}"#));
        for columns in [format!("[{vectors}]"), format!(r#"{{"a":[{vectors}]}}"#)] {
            let body = format!(r#"{{"batch":{{"ids":[{ids}],"vectors":{columns}}}}}"#);
            check::<PointsInsert>(&body);
        }
        for wrong in [
            format!(r#"{{"order_by":{{"key":"a","start_from":{vector}}}}}"#),
            format!(r#"{{"formula":[{vectors}]}}"#),
            format!("[{vectors}]"),
        ] {
            let body = format!(r#"{{"shard_key":{{"query":{vector}}},"query":{wrong}}}"#);
            check::<Query>(&body);
        }
    }
}
