//! What one published version names: files, and by what hash and checksums they are known.

use std::collections::BTreeMap;
use std::io;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::Objects;

/// The pointer to the current version.
pub(crate) const CURRENT: &str = "CURRENT";
/// Folder of what is named by hashes.
pub(crate) const OBJECTS: &str = "objects";
/// Folder of versions.
pub(crate) const VERSIONS: &str = "versions";
/// Layout that this build writes and reads.
const LAYOUT: u32 = 1;

/// What `CURRENT` holds.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub(crate) struct Pointer {
    pub(crate) layout: u32,
    pub(crate) number: u64,
    /// Of the bytes of the version.
    pub(crate) sha256: String,
}

/// A file of an index.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub(crate) struct RemoteFile {
    pub(crate) bytes: u64,
    /// Names its object.
    pub(crate) sha256: String,
    /// Names the object of the checksums of its blocks, 4 bytes each.
    pub(crate) sums: String,
}

/// One published version.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub(crate) struct Version {
    pub(crate) layout: u32,
    pub(crate) number: u64,
    /// By name in the directory of the index.
    pub(crate) files: BTreeMap<String, RemoteFile>,
}

impl Version {
    /// A version of these files.
    pub(crate) fn new(number: u64, files: BTreeMap<String, RemoteFile>) -> Self {
        let layout = LAYOUT;
        Self {
            layout,
            number,
            files,
        }
    }

    /// The pointer to this version, whose bytes these are.
    pub(crate) fn pointer(&self, bytes: &[u8]) -> Pointer {
        Pointer {
            layout: LAYOUT,
            number: self.number,
            sha256: hash_of(bytes),
        }
    }

    /// The version of a pointer.
    pub(crate) fn read(objects: &Objects, pointer: &Pointer) -> io::Result<Self> {
        let name = version_name(pointer);
        let url = objects.url();
        let Some((bytes, _)) = objects.get(&name)? else {
            let words = format!("{url}/{name}: CURRENT names it, and it is not there");
            return Err(io::Error::other(words));
        };
        if hash_of(&bytes) != pointer.sha256 {
            let words = format!("{url}/{name}: its bytes are not those that CURRENT names");
            return Err(io::Error::other(words));
        }
        let version: Self = parse(objects, &name, &bytes)?;
        known(objects, &name, version.layout)?;
        Ok(version)
    }

    /// Every object it names.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.files
            .values()
            .flat_map(|file| [file.sha256.as_str(), file.sums.as_str()])
    }
}

impl Pointer {
    /// The current pointer, or none where nothing was published.
    pub(crate) fn read(
        objects: &Objects,
    ) -> io::Result<Option<(Self, object_store::UpdateVersion)>> {
        let Some((bytes, seen)) = objects.get(CURRENT)? else {
            return Ok(None);
        };
        let pointer: Self = parse(objects, CURRENT, &bytes)?;
        known(objects, CURRENT, pointer.layout)?;
        Ok(Some((pointer, seen)))
    }
}

/// Where a version lies: writers that lose a race leave one of another hash.
pub(crate) fn version_name(pointer: &Pointer) -> String {
    format!("{VERSIONS}/{:010}-{}", pointer.number, pointer.sha256)
}

/// Where what has this hash lies.
pub(crate) fn object_name(sha256: &str) -> String {
    format!("{OBJECTS}/{sha256}")
}

/// SHA-256 in hexadecimal digits.
pub(crate) fn hash_of(bytes: &[u8]) -> String {
    digits(Sha256::digest(bytes).as_slice())
}

/// Hexadecimal digits.
pub(crate) fn digits(bytes: &[u8]) -> String {
    let half = |half: u8| char::from_digit(u32::from(half), 16);
    let both = bytes
        .iter()
        .flat_map(|byte| [half(byte >> 4), half(byte & 15)]);
    both.flatten().collect()
}

fn parse<T: for<'a> Deserialize<'a>>(objects: &Objects, name: &str, bytes: &[u8]) -> io::Result<T> {
    serde_json::from_slice(bytes).map_err(|error| {
        let words = format!("{}/{name}: not what pageway wrote: {error}", objects.url());
        io::Error::other(words)
    })
}

fn known(objects: &Objects, name: &str, layout: u32) -> io::Result<()> {
    if layout == LAYOUT {
        return Ok(());
    }
    let url = objects.url();
    Err(io::Error::other(format!(
        "{url}/{name}: layout {layout}, but this build reads {LAYOUT}: update pageway"
    )))
}
