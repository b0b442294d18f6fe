//! Runs the built program, and makes the files it reads.

#![allow(dead_code, reason = "every test program uses its own part")]
#![expect(
    clippy::disallowed_methods,
    reason = "tests make and damage files directly"
)]

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// A directory that goes away with the test.
pub(crate) struct Place {
    directory: tempfile::TempDir,
}

/// What a run of the program gave.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    fn new(output: &Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// What a successful run said to people.
    #[track_caller]
    pub(crate) fn text_of_success(&self) -> &str {
        assert_eq!(self.code, 0, "{self:?}");
        &self.stdout
    }

    /// The object of a successful run with `--json`.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.code, 0, "{self:?}");
        serde_json::from_str(&self.stdout).expect("one JSON object")
    }
}

impl Place {
    pub(crate) fn new() -> Self {
        Self {
            directory: tempfile::tempdir().expect("a temporary directory"),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Runs `pageway` in the directory.
    pub(crate) fn run<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Run {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pageway"));
        command.args(arguments).current_dir(self.directory.path());
        Run::new(&command.output().expect("the program runs"))
    }

    /// Runs `pageway` with the words of a line.
    pub(crate) fn line(&self, line: &str) -> Run {
        self.run(line.split_whitespace())
    }

    /// Runs `pageway` with the words of a line, and an environment variable if it has a value.
    pub(crate) fn line_with(&self, variable: &str, value: Option<&str>, line: &str) -> Run {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pageway"));
        command.args(line.split_whitespace());
        command.current_dir(self.directory.path());
        if let Some(value) = value {
            command.env(variable, value);
        }
        Run::new(&command.output().expect("the program runs"))
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), bytes).expect("a file");
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).expect("a file")
    }

    pub(crate) fn remove(&self, name: &str) {
        std::fs::remove_file(self.path(name)).expect("a file to remove");
    }

    pub(crate) fn exists(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    /// Names and bytes of the files of a directory, sorted by name.
    pub(crate) fn files(&self, name: &str) -> Vec<(String, Vec<u8>)> {
        files(&self.path(name))
    }
}

fn files(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found: Vec<(String, Vec<u8>)> = std::fs::read_dir(directory)
        .expect("a directory")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_file())
        .map(|path| {
            let name = path
                .file_name()
                .expect("a name")
                .to_string_lossy()
                .into_owned();
            (name, std::fs::read(&path).expect("a file"))
        })
        .collect();
    found.sort();
    found
}

/// Bytes that look random and are the same every time.
pub(crate) struct Bytes(pub(crate) u64);

impl Bytes {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

/// Bytes of a bin file: header and rows.
pub(crate) fn bin(rows: u32, dimension: u32, elements: &[u8]) -> Vec<u8> {
    let mut bytes = [rows.to_le_bytes(), dimension.to_le_bytes()].concat();
    bytes.extend_from_slice(elements);
    bytes
}

/// A `.u8bin` file of `rows` vectors around a few centres, as real data lie.
pub(crate) fn clustered(rows: u32, dimension: u32, seed: u64) -> Vec<u8> {
    const CENTRES: u64 = 64;
    let mut centres = Bytes(7);
    let centres: Vec<u8> = (0..CENTRES * u64::from(dimension))
        .map(|_| 40 + (centres.next() % 176) as u8)
        .collect();
    let mut random = Bytes(seed);
    let mut elements = Vec::with_capacity(rows as usize * dimension as usize);
    for _ in 0..rows {
        let first = (random.next() % CENTRES) as usize * dimension as usize;
        let centre = centres.iter().skip(first).take(dimension as usize);
        elements.extend(centre.map(|centre| centre - 40 + (random.next() % 80) as u8));
    }
    bin(rows, dimension, &elements)
}

/// A `.fbin` file.
pub(crate) fn fbin(rows: u32, dimension: u32, values: &[f32]) -> Vec<u8> {
    let elements: Vec<u8> = values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    bin(rows, dimension, &elements)
}

/// A `.fbin` file of `rows` small vectors, all different.
pub(crate) fn small_fbin(rows: u32, dimension: u32) -> Vec<u8> {
    let mut random = Bytes(11);
    let values: Vec<f32> = (0..rows * dimension)
        .map(|_| (random.next() % 2000) as f32 / 1000.0 - 1.0)
        .collect();
    fbin(rows, dimension, &values)
}

/// One number per line.
pub(crate) fn lines(numbers: impl Iterator<Item = u64>) -> String {
    numbers
        .map(|number| number.to_string())
        .collect::<Vec<_>>()
        .join("\n")
        + "\n"
}

/// The number of bytes that a refusal names as the smallest that works.
pub(crate) fn smallest(stderr: &str) -> u64 {
    let (_, after) = stderr
        .split_once("smallest that works is ")
        .expect("the smallest budget");
    after
        .split_whitespace()
        .next()
        .expect("a word")
        .parse()
        .expect("a number of bytes")
}
