//! Documents as they are given, which hold no number that would be rounded without a word.

use serde_json::Value;

use crate::error::{Result, invalid};
use crate::evaluate::Document;

/// 2^63: no float below it stands for a whole number of more than 64 bits.
const LEAST: f64 = 9_223_372_036_854_775_808.0;

/// The document that a JSON text stands for.
///
/// # Errors
/// For what is no object, and for a whole number that 64 bits do not hold.
pub fn read_document(json: &[u8]) -> Result<Document> {
    let parsed = serde_json::from_slice(json);
    let document: Document = parsed.map_err(|error| invalid("document", error.to_string()))?;
    if document.values().any(holds_large_float) {
        let text = String::from_utf8_lossy(json);
        if let Some((key, number)) = too_long_number(&text) {
            let what = format!(
                "{number} is a whole number of more than 64 bits: give it as a text, or as a float"
            );
            return Err(invalid(format!("field {key:?}"), what));
        }
    }
    Ok(document)
}

fn holds_large_float(value: &Value) -> bool {
    match value {
        Value::Number(own) => own.is_f64() && own.as_f64().is_some_and(|own| own.abs() >= LEAST),
        Value::Array(all) => all.iter().any(holds_large_float),
        Value::Object(fields) => fields.values().any(holds_large_float),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

/// The first number of a valid JSON text that is written as a whole one and is none of 64 bits,
/// behind the key before it.
fn too_long_number(json: &str) -> Option<(String, &str)> {
    let (mut rest, mut key) = (json, "\"\"");
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '"' => text_bytes(rest),
            '-' | '0'..='9' => rest.find([',', ']', '}']).unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        let (token, behind) = rest.split_at(length);
        rest = behind;
        if first == '"' && rest.trim_start().starts_with(':') {
            key = token;
        }
        let number = token.trim_end();
        let whole = number.len() > 1 && !number.contains(['"', '.', 'e', 'E']);
        if whole && number.parse::<i64>().is_err() && number.parse::<u64>().is_err() {
            return Some((serde_json::from_str(key).unwrap_or_default(), number));
        }
    }
    None
}

/// Bytes of the text in quotes that JSON begins with.
fn text_bytes(json: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in json.bytes().enumerate().skip(1) {
        match byte {
            b'"' if !escaped => return at + 1,
            b'\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    json.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_beyond_64_bits_are_refused_by_their_field() {
        for (json, key, number) in [
            (
                r#"{"n": 18446744073709551616}"#,
                "n",
                "18446744073709551616",
            ),
            (
                r#"{"a":1,"n":-9223372036854775809 }"#,
                "n",
                "-9223372036854775809",
            ),
            (
                r#"{"a": {"b\"": [1, 99999999999999999999, 2]}}"#,
                "b\\\"",
                "99999999999999999999",
            ),
            (
                r#"{"x": 1e300, "é": "1:", "n": 100000000000000000000}"#,
                "n",
                "100000000000000000000",
            ),
        ] {
            let error = read_document(json.as_bytes()).unwrap_err().to_string();
            let words = format!("field \"{key}\": {number} is a whole number of more than 64 bits");
            assert!(error.starts_with(&words), "{error}");
        }
    }

    #[test]
    fn numbers_of_64_bits_floats_and_texts_are_read() {
        for json in [
            r#"{"n": 18446744073709551615, "m": -9223372036854775808}"#,
            r#"{"n": 1e300, "m": 18446744073709551616.0, "text": "18446744073709551616"}"#,
            r#"{"n": [2e19, "a\\", "99999999999999999999,"], "99999999999999999999": 1E20}"#,
        ] {
            assert!(read_document(json.as_bytes()).is_ok(), "{json}");
        }
        // What was read once is written so that it is read again.
        let document = read_document(br#"{"n": 1e20, "m": 36893488147419103232.0}"#).unwrap();
        assert_eq!(
            read_document(&serde_json::to_vec(&document).unwrap()).unwrap(),
            document
        );
        assert!(read_document(b"[1]").is_err());
    }
}
