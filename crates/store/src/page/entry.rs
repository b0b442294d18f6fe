//! What the manifest says about a file.

use serde::{Deserialize, Serialize};

use super::{FileUuid, PageGeometry};
use crate::StoreError;

/// Every file of an index except the manifest and the lock ends in this, and only such files are
/// ever removed as orphans.
pub const DATA_EXTENSION: &str = ".pw";

const MAX_NAME_BYTES: usize = 100;

/// A page file as the manifest records it. A file is opened only if its header and its length
/// agree with all of this.
///
/// A growable file may be longer: what lies behind its units was never committed, and belongs to
/// the next writer. Its header says how many units it was created with, and stays as it is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileEntry {
    /// Name inside the index directory, ending in [`DATA_EXTENSION`].
    pub name: String,
    /// What the file holds; the engine's enumeration.
    pub kind: u16,
    /// Identity, 32 hexadecimal digits.
    pub uuid: FileUuid,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Pages of a unit.
    pub span: u32,
    /// Units behind the header page.
    pub units: u64,
    /// Payload bytes in all units, padding not counted.
    pub payload_bytes: u64,
    /// Whether units may be written over and added. Left out of manifests where it is false.
    #[serde(default, skip_serializing_if = "is_false")]
    pub growable: bool,
    /// The newest epoch of any unit, 0 until one is written over. Left out where it is 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub epoch: u32,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_false(value: &bool) -> bool {
    !*value
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(value: &u32) -> bool {
    *value == 0
}

impl FileEntry {
    /// Page and unit sizes, or `Invalid`.
    pub fn geometry(&self) -> Result<PageGeometry, StoreError> {
        PageGeometry::new(self.page_bytes, self.span)
    }

    /// Length of the file in bytes, up to its last unit: a growable one may be longer. `Invalid`
    /// when name, sizes or epoch are impossible.
    pub fn file_bytes(&self) -> Result<u64, StoreError> {
        check_name(&self.name)?;
        let geometry = self.geometry()?;
        let capacity = self.units.checked_mul(geometry.payload_bytes() as u64);
        if self.units > u64::from(u32::MAX) || capacity.is_none_or(|c| self.payload_bytes > c) {
            return Err(StoreError::invalid(format!(
                "file {}: {} units cannot hold {} bytes",
                self.name, self.units, self.payload_bytes
            )));
        }
        if self.epoch > 0 && !self.growable {
            return Err(StoreError::invalid(format!(
                "file {}: epoch {} in a file that never changes",
                self.name, self.epoch
            )));
        }
        Ok(geometry.unit_offset(self.units))
    }
}

/// Refuses every name that could leave the directory or hide in it.
pub(super) fn check_name(name: &str) -> Result<(), StoreError> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    let stem = name.strip_suffix(DATA_EXTENSION).unwrap_or_default();
    let good = !stem.is_empty()
        && !stem.starts_with('.')
        && name.len() <= MAX_NAME_BYTES
        && name.bytes().all(plain);
    if good {
        return Ok(());
    }
    Err(StoreError::invalid(format!(
        "file name {name:?}: use up to {MAX_NAME_BYTES} of A-Z a-z 0-9 - _ . and end in \
         {DATA_EXTENSION}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> FileEntry {
        FileEntry {
            name: "codes-1.pw".into(),
            kind: 3,
            uuid: FileUuid([7; 16]),
            page_bytes: 4096,
            span: 2,
            units: 10,
            payload_bytes: 81_000,
            growable: false,
            epoch: 0,
        }
    }

    #[test]
    fn names_stay_inside_the_directory() {
        for bad in [
            "", ".pw", "..pw", "../a.pw", "/a.pw", "a/b.pw", "a.txt", "MANIFEST", "é.pw",
        ] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
        assert!(check_name(&format!("{}.pw", "a".repeat(97))).is_ok());
        assert!(check_name(&format!("{}.pw", "a".repeat(98))).is_err());
    }

    #[test]
    fn impossible_sizes_are_refused() {
        assert_eq!(entry().file_bytes().unwrap(), 4096 + 10 * 8192);
        assert!(
            FileEntry {
                payload_bytes: 81_841,
                ..entry()
            }
            .file_bytes()
            .is_err()
        );
        assert!(
            FileEntry {
                units: u64::MAX,
                ..entry()
            }
            .file_bytes()
            .is_err()
        );
        assert!(
            FileEntry {
                page_bytes: 5000,
                ..entry()
            }
            .file_bytes()
            .is_err()
        );
    }

    #[test]
    fn json_form_is_stable_and_strict() {
        let json = serde_json::to_string(&entry()).unwrap();
        assert_eq!(
            json,
            r#"{"name":"codes-1.pw","kind":3,"uuid":"07070707070707070707070707070707","page_bytes":4096,"span":2,"units":10,"payload_bytes":81000}"#
        );
        assert_eq!(serde_json::from_str::<FileEntry>(&json).unwrap(), entry());
        let extra = json.replace("\"kind\":3", "\"kind\":3,\"x\":1");
        assert!(serde_json::from_str::<FileEntry>(&extra).is_err());
    }

    #[test]
    fn a_growable_file_says_so_and_only_then_has_an_epoch() {
        let growable = FileEntry {
            growable: true,
            epoch: 4,
            ..entry()
        };
        let json = serde_json::to_string(&growable).unwrap();
        assert!(
            json.ends_with(r#","payload_bytes":81000,"growable":true,"epoch":4}"#),
            "{json}"
        );
        assert_eq!(serde_json::from_str::<FileEntry>(&json).unwrap(), growable);
        assert_eq!(
            growable.file_bytes().unwrap(),
            entry().file_bytes().unwrap()
        );
        let never = FileEntry {
            growable: false,
            ..growable
        };
        assert!(never.file_bytes().is_err());
    }
}
