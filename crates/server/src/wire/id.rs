//! Ids of points: whole numbers, and UUIDs in any textual form.

use std::fmt;

use pageway::server::{is_name_id, name_id};
use pageway::{StoredRow, Uuid};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::failure::{Failure, Outcome};

/// An id. Numbers come before UUIDs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum PointId {
    Number(u64),
    Uuid(Uuid),
}

impl PointId {
    /// The id that a text stands for: that of a path, or of a name of a row.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if is_number && text.len() <= 20 {
            return text.parse().ok().map(Self::Number);
        }
        Uuid::parse(text).map(Self::Uuid)
    }

    /// The id in a path.
    pub(crate) fn of_path(text: &str) -> Outcome<Self> {
        Self::parse(text).ok_or_else(|| {
            Failure::wrong(format_args!(
                "Can not recognize \"{text}\" as point id: an unsigned integer or a UUID"
            ))
        })
    }

    /// The name of its row; none of numbers that the engine takes as they are.
    pub(crate) fn name(self) -> Option<String> {
        match self {
            Self::Number(number) if !is_name_id(number) => None,
            Self::Number(_) | Self::Uuid(_) => Some(self.to_string()),
        }
    }

    /// The number of its row.
    pub(crate) fn number(self) -> u64 {
        match (self, self.name()) {
            (Self::Number(number), None) => number,
            (_, name) => name_id(&name.unwrap_or_default()),
        }
    }

    /// The id of a row.
    pub(crate) fn of_row(row: &StoredRow) -> Option<Self> {
        Self::of(row.id, row.name.as_deref())
    }

    /// The id of a row of this number and name.
    pub(crate) fn of(number: u64, name: Option<&str>) -> Option<Self> {
        match name {
            None => Some(Self::Number(number)),
            Some(name) => Self::parse(name),
        }
    }
}

impl fmt::Display for PointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Uuid(own) => own.fmt(f),
        }
    }
}

impl Serialize for PointId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) => serializer.serialize_u64(*number),
            Self::Uuid(_) => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for PointId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(IdVisitor)
    }
}

struct IdVisitor;

impl Visitor<'_> for IdVisitor {
    type Value = PointId;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an id of a point: an unsigned integer or a UUID")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<PointId, E> {
        Ok(PointId::Number(number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<PointId, E> {
        let wrong = || {
            E::custom(format!(
                "value {text} is not a valid point ID, valid values are either an unsigned integer \
                 or a UUID"
            ))
        };
        Uuid::parse(text).map(PointId::Uuid).ok_or_else(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_have_many_forms_and_one() {
        let plain = "f47ac10b-58cc-4372-a567-0e02b2c3d479";
        for text in [
            plain,
            "F47AC10B-58CC-4372-A567-0E02B2C3D479",
            "f47ac10b58cc4372a5670e02b2c3d479",
            "{f47ac10b-58cc-4372-a567-0e02b2c3d479}",
            "urn:uuid:f47ac10b-58cc-4372-a567-0e02b2c3d479",
        ] {
            let id = PointId::parse(text).unwrap();
            assert_eq!(id.to_string(), plain, "{text}");
            assert_eq!(id.name().as_deref(), Some(plain));
        }
        for text in [
            "",
            "x",
            "f47ac10b",
            "f47ac10b-58cc-4372-a567-0e02b2c3d47",
            "-1",
            "1.0",
        ] {
            assert_eq!(PointId::parse(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_are_ids_up_to_the_last() {
        let read = |json: &str| serde_json::from_str::<PointId>(json);
        assert_eq!(read("7").unwrap(), PointId::Number(7));
        assert_eq!(
            read("18446744073709551615").unwrap(),
            PointId::Number(u64::MAX)
        );
        for json in ["-1", "1.0", "\"1\"", "null", "[1]", "18446744073709551616"] {
            assert!(read(json).is_err(), "{json}");
        }
        assert_eq!(PointId::Number(5).name(), None);
        let high = PointId::Number(u64::MAX);
        assert_eq!(PointId::of(1 << 63, high.name().as_deref()), Some(high));
        assert!(PointId::Number(u64::MAX) < PointId::Uuid(Uuid([0; 16])));
    }
}
