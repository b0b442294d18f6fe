//! Identity of a file.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::StoreError;

/// 16 bytes that tell one file from any other that was ever written under its name.
///
/// The caller chooses them: a deterministic build derives them from its inputs. Two files with
/// different contents must not share one, or a stale page of the first would pass in the second.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct FileUuid(pub [u8; 16]);

impl fmt::Display for FileUuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for FileUuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FileUuid({self})")
    }
}

impl From<FileUuid> for String {
    fn from(uuid: FileUuid) -> Self {
        uuid.to_string()
    }
}

impl TryFrom<String> for FileUuid {
    type Error = StoreError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl FromStr for FileUuid {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let canonical = |text: &str| text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        match u128::from_str_radix(text, 16) {
            Ok(value) if text.len() == 32 && canonical(text) => Ok(Self(value.to_be_bytes())),
            _ => Err(StoreError::invalid(
                "a file uuid is 32 lower-case hexadecimal digits",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_form_round_trips_and_is_strict() {
        let uuid = FileUuid(*b"\x00\x01\xfe0123456789abc");
        let text = uuid.to_string();
        assert_eq!(text.len(), 32);
        assert!(text.starts_with("0001fe"));
        assert_eq!(text.parse::<FileUuid>().unwrap(), uuid);
        for bad in [
            "",
            "00",
            &text.to_uppercase(),
            &format!("+{}", &text[1..]),
            &text[1..],
        ] {
            assert!(bad.parse::<FileUuid>().is_err(), "{bad}");
        }
        let json = serde_json::to_string(&uuid).unwrap();
        assert_eq!(serde_json::from_str::<FileUuid>(&json).unwrap(), uuid);
    }
}
