//! What a document says of its row, as terms that can be looked up.
//!
//! ```text
//! term  = path, tag, value         in the order of bytes, values of a tag in their own order
//! path  = { 1, length u16, name  |  2 } 0         a name, or every element of an array
//! ```
//!
//! For each value at each path there is a term that says what it is, and more that say what it
//! counts as. `docs/format/attributes.md`.

use serde_json::Value;

use crate::error::{Result, invalid};
use crate::evaluate::{Document, count, is_empty};
use crate::instant::Moment;
use crate::name::is_hidden_key;
use crate::number::Number;
use crate::path::{MAX_NAME_BYTES, Path, Step};
use crate::predicate::Scalar;
use crate::text::tokens;

/// Bytes of a text in a term; longer ones are cut.
pub(crate) const MAX_TEXT_BYTES: usize = 128;
/// Objects and arrays in one another at most.
const MAX_LEVELS: usize = 32;

/// What a term says.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub(crate) enum Tag {
    Null = 1,
    /// From here to `EmptyList`: a value that is not null.
    Bool = 2,
    Int = 3,
    Float = 4,
    /// A text, whole.
    Text = 5,
    /// The beginning of a text that is too long.
    LongText = 6,
    Object = 7,
    List = 8,
    EmptyList = 9,
    /// A word of a text.
    Word = 10,
    /// The moment that a text names.
    Moment = 11,
    /// How many elements there are.
    Count = 12,
    /// A value is there that is not empty.
    Filled = 13,
}

impl Tag {
    /// The tag of a number.
    pub(crate) const fn of(number: u8) -> Option<Self> {
        Some(match number {
            1 => Self::Null,
            2 => Self::Bool,
            3 => Self::Int,
            4 => Self::Float,
            5 => Self::Text,
            6 => Self::LongText,
            7 => Self::Object,
            8 => Self::List,
            9 => Self::EmptyList,
            10 => Self::Word,
            11 => Self::Moment,
            12 => Self::Count,
            13 => Self::Filled,
            _ => return None,
        })
    }
}

/// The bytes of a path, every index standing for all of them.
pub(crate) fn path_key(path: &Path) -> Vec<u8> {
    let mut key = Vec::new();
    for step in path.steps() {
        match step {
            Step::Key(name) => push_name(&mut key, name),
            Step::Each | Step::At(_) => key.push(2),
        }
    }
    key.push(0);
    key
}

fn push_name(key: &mut Vec<u8>, name: &str) {
    key.push(1);
    key.extend((name.len() as u16).to_be_bytes());
    key.extend(name.as_bytes());
}

/// The path of a term, its tag, and its value.
pub(crate) fn parts(term: &[u8]) -> Option<(Path, Tag, &[u8])> {
    let mut rest = term;
    let mut text = None;
    loop {
        let (kind, behind) = rest.split_first()?;
        rest = behind;
        match kind {
            0 => break,
            1 => {
                let (length, behind) = rest.split_first_chunk()?;
                let (name, behind) = behind.split_at_checked(u16::from_be_bytes(*length).into())?;
                let step = Step::Key(std::str::from_utf8(name).ok()?.to_owned());
                text = Some(Path::extended(text, step));
                rest = behind;
            }
            2 => text = Some(Path::extended(Some(text?), Step::Each)),
            _ => return None,
        }
    }
    let (tag, value) = rest.split_first()?;
    Some((text?, Tag::of(*tag)?, value))
}

/// The first term of a path and a tag.
pub(crate) fn tag_key(path: &[u8], tag: Tag) -> Vec<u8> {
    path.iter().copied().chain([tag as u8]).collect()
}

/// A term of a path, a tag and a value.
pub(crate) fn term(path: &[u8], tag: Tag, value: &[u8]) -> Vec<u8> {
    let mut key = tag_key(path, tag);
    key.extend(value);
    key
}

/// Bytes that sort as integers do.
pub(crate) fn int_bytes(int: i64) -> [u8; 8] {
    ((int as u64) ^ 1 << 63).to_be_bytes()
}

/// Bytes that sort as floats do.
pub(crate) fn float_bytes(float: f64) -> [u8; 8] {
    let bits = (float + 0.0).to_bits();
    let sortable = if bits >> 63 == 1 {
        !bits
    } else {
        bits | 1 << 63
    };
    sortable.to_be_bytes()
}

/// Bytes that sort as moments do.
pub(crate) fn moment_bytes(moment: Moment) -> [u8; 10] {
    let mut bytes = [0; 10];
    let own = int_bytes(moment.micros)
        .into_iter()
        .chain(moment.nanos.to_be_bytes());
    bytes.iter_mut().zip(own).for_each(|(to, from)| *to = from);
    bytes
}

/// As much of a text as a term holds, and whether that is all.
pub(crate) fn text_bytes(text: &str) -> (&[u8], bool) {
    let bytes = text.as_bytes();
    let cut = bytes.get(..MAX_TEXT_BYTES);
    (cut.unwrap_or(bytes), bytes.len() <= MAX_TEXT_BYTES)
}

/// The term of a scalar, and whether it stands for no other.
pub(crate) fn scalar_term(path: &[u8], scalar: &Scalar) -> (Vec<u8>, bool) {
    match scalar {
        Scalar::Bool(own) => (term(path, Tag::Bool, &[u8::from(*own)]), true),
        Scalar::Int(own) => (term(path, Tag::Int, &int_bytes(*own)), true),
        Scalar::Text(own) => match text_bytes(own) {
            (bytes, true) => (term(path, Tag::Text, bytes), true),
            (bytes, false) => (term(path, Tag::LongText, bytes), false),
        },
    }
}

/// The terms of a document, each once, in order; none of what is kept from filters.
///
/// # Errors
/// For names that are too long and documents that are too deep.
pub fn terms_of(document: &Document) -> Result<Vec<Vec<u8>>> {
    let mut found = Vec::new();
    describe_fields(document, &mut Vec::new(), &mut found, 0)?;
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

fn describe_fields(
    object: &Document,
    path: &mut Vec<u8>,
    found: &mut Vec<Vec<u8>>,
    level: usize,
) -> Result<()> {
    for (name, value) in object {
        if level == 0 && is_hidden_key(name) {
            continue;
        }
        if name.len() > MAX_NAME_BYTES {
            let what = format!(
                "a name of {} bytes, {MAX_NAME_BYTES} are possible",
                name.len()
            );
            return Err(invalid("document", what));
        }
        let before = path.len();
        push_name(path, name);
        describe(value, path, found, level + 1)?;
        path.truncate(before);
    }
    Ok(())
}

fn describe(
    value: &Value,
    path: &mut Vec<u8>,
    found: &mut Vec<Vec<u8>>,
    level: usize,
) -> Result<()> {
    if level > MAX_LEVELS {
        return Err(invalid(
            "document",
            format!("more than {MAX_LEVELS} levels"),
        ));
    }
    path.push(0);
    describe_here(value, path, found);
    path.pop();
    match value {
        Value::Object(object) => describe_fields(object, path, found, level),
        Value::Array(elements) => {
            path.push(2);
            let all = elements.iter();
            let outcome = all
                .into_iter()
                .try_for_each(|element| describe(element, path, found, level + 1));
            path.pop();
            outcome
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

/// The terms of one value.
fn describe_here(value: &Value, path: &[u8], found: &mut Vec<Vec<u8>>) {
    let mut say = |tag, bytes: &[u8]| found.push(term(path, tag, bytes));
    say(Tag::Count, &count(value).to_be_bytes());
    if !is_empty(value) {
        say(Tag::Filled, &[]);
    }
    match value {
        Value::Null => say(Tag::Null, &[]),
        Value::Bool(own) => say(Tag::Bool, &[u8::from(*own)]),
        Value::Number(_) => match Number::of(value) {
            Some(Number::Int(own)) => say(Tag::Int, &int_bytes(own)),
            Some(Number::Large(own)) => say(Tag::Float, &float_bytes(own as f64)),
            Some(Number::Float(own)) => say(Tag::Float, &float_bytes(own)),
            None => {}
        },
        Value::String(own) => {
            let (bytes, whole) = text_bytes(own);
            say(if whole { Tag::Text } else { Tag::LongText }, bytes);
            if let Some(moment) = Moment::parse(own) {
                say(Tag::Moment, &moment_bytes(moment));
            }
            for word in tokens(own) {
                say(Tag::Word, text_bytes(&word).0);
            }
        }
        Value::Object(_) => say(Tag::Object, &[]),
        Value::Array(elements) if elements.is_empty() => say(Tag::EmptyList, &[]),
        Value::Array(_) => say(Tag::List, &[]),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    proptest! {
        #[test]
        fn bytes_sort_as_values_do(a: i64, b: i64, x: f64, y: f64) {
            prop_assert_eq!(a.cmp(&b), int_bytes(a).cmp(&int_bytes(b)));
            if !x.is_nan() && !y.is_nan() {
                prop_assert_eq!(x.partial_cmp(&y), Some(float_bytes(x).cmp(&float_bytes(y))));
            }
        }
    }

    #[test]
    fn terms_can_be_taken_apart() {
        let Value::Object(document) = json!({"a": [{"b.c": "Ab"}], "n": null}) else {
            unreachable!()
        };
        let terms = terms_of(&document).unwrap();
        let shown: Vec<_> = terms
            .iter()
            .map(|term| {
                let (path, tag, value) = parts(term).unwrap();
                (path.to_string(), tag, value.len())
            })
            .collect();
        assert!(shown.contains(&("a[].\"b.c\"".to_owned(), Tag::Text, 2)));
        assert!(shown.contains(&("a[].\"b.c\"".to_owned(), Tag::Word, 2)));
        assert!(shown.contains(&("a".to_owned(), Tag::List, 0)));
        assert!(shown.contains(&("n".to_owned(), Tag::Null, 0)));
        assert!(!shown.contains(&("n".to_owned(), Tag::Filled, 0)));
        assert_eq!(parts(b"\x01\x00"), None);
        assert_eq!(parts(b"\x02\x00\x05"), None);
    }

    #[test]
    fn documents_have_limits() {
        let deep = (0..40).fold(json!(1), |value, _| json!({"a": value}));
        assert!(terms_of(deep.as_object().unwrap()).is_err());
        let long = json!({"n".repeat(MAX_NAME_BYTES + 1): 1});
        assert!(terms_of(long.as_object().unwrap()).is_err());
    }
}
