//! Names of rows: texts, such as UUIDs, in place of numbers.
//!
//! A row that has a name has the id that the name gives, and its document keeps the name under a
//! key that no attribute can have. It is the first key, since keys are sorted.

use std::borrow::Cow;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::error::{Result, invalid};
use crate::evaluate::Document;

/// Bytes of a name at most.
pub const MAX_ROW_NAME_BYTES: usize = 256;
/// The key of the name.
const KEY: &str = "\0";
/// How the document of a row with a name begins.
const HEAD: &[u8] = br#"{"\u0000":"#;
/// The key as it is written in JSON.
const ESCAPED_KEY: &[u8] = br"\u0000";
/// The bit that ids of names have.
const NAME_BIT: u64 = 1 << 63;

/// The id of a name: the first eight bytes of its SHA-256, big-endian, with the highest bit set;
/// never `u64::MAX`.
pub fn name_id(name: &str) -> u64 {
    let digest = Sha256::digest(name.as_bytes());
    let first = digest
        .first_chunk()
        .map_or(0, |bytes| u64::from_be_bytes(*bytes));
    (first | NAME_BIT).min(u64::MAX - 1)
}

/// Whether an id may be that of a name.
pub const fn is_name_id(id: u64) -> bool {
    id & NAME_BIT != 0
}

/// Refuses what is no name.
///
/// # Errors
/// For one that is empty or too long.
pub fn check_row_name(name: &str) -> Result<()> {
    let what = match name.len() {
        0 => "is empty".to_owned(),
        length if length > MAX_ROW_NAME_BYTES => {
            format!("has {length} bytes, {MAX_ROW_NAME_BYTES} are possible")
        }
        _ => return Ok(()),
    };
    Err(invalid("name", what))
}

/// Refuses a document, as JSON, with the key of names among its attributes.
///
/// # Errors
/// For that.
pub fn check_keys(json: &[u8]) -> Result<()> {
    let may_have = json
        .windows(ESCAPED_KEY.len())
        .any(|part| part == ESCAPED_KEY);
    let parsed = may_have.then(|| serde_json::from_slice(json));
    match parsed {
        Some(Ok(document)) => check_fields(&document),
        Some(Err(_)) | None => Ok(()),
    }
}

/// The same of a document that was read.
pub(crate) fn check_fields(document: &Document) -> Result<()> {
    if document.contains_key(KEY) {
        return Err(invalid("document", "a key that is the character U+0000"));
    }
    Ok(())
}

/// The document of a row with a name, as JSON.
pub fn with_row_name(json: &[u8], name: &str) -> Vec<u8> {
    let fields = json.trim_ascii_start().strip_prefix(b"{");
    let fields = fields.unwrap_or_default().trim_ascii_start();
    let name = Value::String(name.to_owned()).to_string();
    let comma: &[u8] = if fields.starts_with(b"}") { b"" } else { b"," };
    [HEAD, name.as_bytes(), comma, fields].concat()
}

/// The name that the document of a row keeps, and the document without it, as JSON.
///
/// # Errors
/// For a key of names with something else.
pub fn split_row_name(json: &[u8]) -> Result<(Option<String>, Cow<'_, [u8]>)> {
    let Some(rest) = json.strip_prefix(HEAD) else {
        return Ok((None, Cow::Borrowed(json)));
    };
    let mut names = serde_json::Deserializer::from_slice(rest).into_iter::<String>();
    let name = names.next().and_then(std::result::Result::ok);
    let name = name.ok_or_else(|| invalid("document", "a name that is no text"))?;
    let fields = rest.get(names.byte_offset()..).unwrap_or_default();
    let fields = fields.strip_prefix(b",").unwrap_or(fields);
    Ok((Some(name), Cow::Owned([b"{", fields].concat())))
}

/// Takes the name out of a document.
pub fn take_row_name(document: &mut Document) -> Option<Value> {
    document.remove(KEY)
}

/// Puts the name of a row back into its document.
pub fn put_row_name(document: &mut Document, name: Value) {
    document.insert(KEY.to_owned(), name);
}

/// Whether a key of a document is kept from filters: that of the name of the row, and all others
/// that begin with the character U+0000, under which rows may keep what is no attribute.
pub(crate) fn is_hidden_key(key: &str) -> bool {
    key.starts_with(KEY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_names_are_what_they_have_always_been() {
        // The first eight bytes of SHA-256("abc") are ba7816bf 8f01cfea.
        assert_eq!(name_id("abc"), 0xba78_16bf_8f01_cfea);
        assert_eq!(name_id("") >> 63, 1);
        assert!(is_name_id(name_id("x")) && !is_name_id(7));
    }

    #[test]
    fn documents_keep_names_and_give_them_back() {
        for json in ["{}", " { } ", r#"{"a":1}"#, "{ \"a\" : [2] , \"b\":{}}"] {
            for name in ["x", "a \"b\"\\\n\u{0}", "é"] {
                let named = with_row_name(json.as_bytes(), name);
                let mut document: Document = serde_json::from_slice(&named).unwrap();
                assert_eq!(
                    serde_json::to_vec(&document).unwrap().get(..HEAD.len()),
                    Some(HEAD)
                );
                let (own, rest) = split_row_name(&named).unwrap();
                assert_eq!(own.as_deref(), Some(name));
                let rest: Document = serde_json::from_slice(&rest).unwrap();
                let name = take_row_name(&mut document).unwrap();
                assert_eq!((name.as_str(), &document), (own.as_deref(), &rest));
                assert_eq!(rest, serde_json::from_str::<Document>(json).unwrap());
            }
        }
        assert!(split_row_name(br#"{"\u0000":5}"#).is_err());
        assert_eq!(split_row_name(b"{}").unwrap().0, None);
    }

    #[test]
    fn attributes_cannot_pass_for_names() {
        assert!(is_hidden_key("\0") && is_hidden_key("\0kept") && !is_hidden_key("a\0"));
        assert!(check_keys(br#"{"\u0000kept":"x"}"#).is_ok());
        assert!(check_keys(br#"{"\u0000":"x"}"#).is_err());
        assert!(check_keys(br#"{"a":"\u0000","b":{"\u0000":1}}"#).is_ok());
        assert!(check_row_name("").is_err() && check_row_name(&"n".repeat(257)).is_err());
        assert!(check_row_name(&"n".repeat(256)).is_ok());
    }
}
