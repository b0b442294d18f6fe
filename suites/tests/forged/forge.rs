//! Changes to a file of an index, and the checksums that go with them.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pageway::Vfs;
use pageway_store::{
    FileEntry, IoBackend, OpenMode, PAGE_HEADER_BYTES, PageFile, PageReader, commit_manifest,
    read_manifest,
};
use pageway_testkit::SplitMix64;
use serde_json::Value;

use crate::common::contents;
use crate::subject::DIR;

/// Numbers that are often at the edge of something.
const WORDS: [u32; 8] = [
    0,
    1,
    0x7fff_ffff,
    u32::MAX,
    0x7fc0_0000,
    0x7f80_0000,
    0x7149_f2ca,
    2,
];

/// A page file that can be forged.
struct Target {
    path: PathBuf,
    name: String,
    bytes: Vec<u8>,
    reader: PageReader,
}

/// The files of one sound index.
pub(crate) struct Forge {
    vfs: Arc<dyn Vfs>,
    targets: Vec<Target>,
    manifest: Vec<u8>,
    node_count: u32,
}

/// What was done, and to which file.
pub(crate) struct Forgery {
    /// Name of the file without numbers: `records`, `MANIFEST`.
    pub(crate) file: String,
    target: Option<usize>,
    unit: u64,
    changes: Vec<String>,
}

impl fmt::Display for Forgery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} unit {}: {}",
            self.file,
            self.unit,
            self.changes.join(", ")
        )
    }
}

impl Forge {
    pub(crate) fn new(vfs: &Arc<dyn Vfs>, node_count: u32) -> Self {
        let dir = Path::new(DIR);
        let manifest = read_manifest(vfs.as_ref(), dir).unwrap();
        let json: Value = serde_json::from_slice(&manifest).unwrap();
        let segments = json["segments"].as_array().unwrap();
        let files = segments
            .iter()
            .flat_map(|one| one["files"].as_object().unwrap().values());
        // Attributes are two files under one name.
        let files = files.flat_map(|file| match file.get("terms") {
            None => vec![file],
            Some(terms) => vec![&file["documents"], terms],
        });
        let targets = files.filter(|file| !file.is_null()).map(|file| {
            let entry: FileEntry = serde_json::from_value(file.clone()).unwrap();
            let file = PageFile::open(vfs.as_ref(), dir, &entry, OpenMode::ReadOwn).unwrap();
            let path = dir.join(&entry.name);
            Target {
                bytes: contents(vfs.as_ref(), &path),
                path,
                name: entry.name.split("-1").next().unwrap().to_owned(),
                reader: PageReader::with_backend(file, IoBackend::Blocking),
            }
        });
        Self {
            vfs: Arc::clone(vfs),
            targets: targets.filter(|target| target.reader.units() > 0).collect(),
            manifest,
            node_count,
        }
    }

    /// Changes one file in one to three places.
    pub(crate) fn forge(&self, random: &mut SplitMix64) -> Forgery {
        // One in twenty is the manifest.
        if random.below(20) == 0 {
            return self.forge_manifest(random);
        }
        let at = random.below(self.targets.len() as u64) as usize;
        let target = &self.targets[at];
        let unit = random.below(target.reader.units());
        let mut bytes = target.unit(unit).to_vec();
        let mut changes = Vec::new();
        for _ in 0..=random.below(3) {
            let other = target.unit(random.below(target.reader.units()));
            changes.push(self.change(&mut bytes[PAGE_HEADER_BYTES..], other, random));
        }
        target.reader.seal_unit(unit, 0, &mut bytes);
        self.write(target, unit, &bytes);
        Forgery {
            file: target.name.clone(),
            target: Some(at),
            unit,
            changes,
        }
    }

    /// Makes the index what it was.
    pub(crate) fn undo(&self, forgery: &Forgery) {
        match forgery.target {
            None => commit_manifest(self.vfs.as_ref(), Path::new(DIR), &self.manifest).unwrap(),
            Some(at) => {
                let target = &self.targets[at];
                self.write(target, forgery.unit, target.unit(forgery.unit));
            }
        }
    }

    fn write(&self, target: &Target, unit: u64, bytes: &[u8]) {
        let file = self.vfs.open(&target.path, OpenMode::ReadWrite).unwrap();
        let offset = target.reader.geometry().unit_offset(unit);
        file.write_all_at(bytes, offset).unwrap();
    }

    /// One change to a payload; `other` is a unit of the same file.
    fn change(&self, payload: &mut [u8], other: &[u8], random: &mut SplitMix64) -> String {
        let used = payload
            .iter()
            .rposition(|byte| *byte != 0)
            .map_or(1, |last| last + 1);
        // What comes first says how to read the rest.
        let end = if random.below(4) == 0 {
            used.min(64)
        } else {
            used
        };
        let at = random.below(end as u64) as usize;
        let word = at / 4 * 4;
        match random.below(8) {
            0 => {
                payload[at] ^= 1 << random.below(8);
                format!("bit of {at}")
            }
            1 => {
                payload[at] = [0, 1, 0x7f, 0x80, 0xff][random.below(5) as usize];
                format!("byte {at}")
            }
            2 | 3 => {
                let value = self.number(random);
                put(payload, word, &value.to_le_bytes());
                format!("{value:#x} at {word}")
            }
            4 => {
                let value = self.number(random) as u16;
                put(payload, at / 2 * 2, &value.to_le_bytes());
                format!("{value:#x} at {}", at / 2 * 2)
            }
            5 => {
                let (from, length) = (random.below(used as u64) as usize, 4 << random.below(6));
                let run = payload[from..used.min(from + length)].to_vec();
                put(payload, word, &run);
                format!("{} bytes of {from} at {word}", run.len())
            }
            6 => {
                let length = 1 << random.below(8);
                let end = payload.len().min(at + length);
                payload[at..end].fill([0, 0xff][random.below(2) as usize]);
                format!("{at}..{end} filled")
            }
            _ => {
                payload.copy_from_slice(&other[PAGE_HEADER_BYTES..]);
                "another unit".to_owned()
            }
        }
    }

    fn number(&self, random: &mut SplitMix64) -> u32 {
        match random.below(4) {
            0 => random.below(u64::from(self.node_count)) as u32,
            1 => self.node_count - 1 + random.below(3) as u32,
            2 => random.next_u64() as u32,
            _ => WORDS[random.below(WORDS.len() as u64) as usize],
        }
    }

    /// Another number in place of one of the JSON.
    fn forge_manifest(&self, random: &mut SplitMix64) -> Forgery {
        let mut json: Value = serde_json::from_slice(&self.manifest).unwrap();
        let mut places = Vec::new();
        collect(&json, &mut String::new(), &mut places);
        let place = &places[random.below(places.len() as u64) as usize];
        let value = match random.below(5) {
            0 => Value::from(self.number(random)),
            1 => Value::from(random.next_u64()),
            2 => Value::from(-1.5),
            3 => Value::Null,
            _ => Value::from(random.below(100)),
        };
        let change = format!("{place} = {value}");
        *json.pointer_mut(place).unwrap() = value;
        let payload = serde_json::to_vec(&json).unwrap();
        commit_manifest(self.vfs.as_ref(), Path::new(DIR), &payload).unwrap();
        Forgery {
            file: "MANIFEST".to_owned(),
            target: None,
            unit: 0,
            changes: vec![change],
        }
    }
}

impl Target {
    fn unit(&self, unit: u64) -> &[u8] {
        let geometry = self.reader.geometry();
        let start = geometry.unit_offset(unit) as usize;
        &self.bytes[start..start + geometry.unit_bytes()]
    }
}

/// Puts as much of `bytes` as there is room for.
fn put(payload: &mut [u8], at: usize, bytes: &[u8]) {
    let length = bytes.len().min(payload.len() - at);
    payload[at..at + length].copy_from_slice(&bytes[..length]);
}

/// Pointers to all values of a JSON that are neither lists nor objects.
fn collect(value: &Value, path: &mut String, places: &mut Vec<String>) {
    let length = path.len();
    let mut visit = |key: &str, value: &Value| {
        path.push('/');
        path.push_str(key);
        collect(value, path, places);
        path.truncate(length);
    };
    match value {
        Value::Array(values) => {
            let numbered = values.iter().enumerate();
            numbered.for_each(|(at, value)| visit(&at.to_string(), value));
        }
        Value::Object(fields) => fields.iter().for_each(|(key, value)| visit(key, value)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            places.push(path.clone());
        }
    }
}
