//! The same answers by every way of reading: a second process is told by `PAGEWAY_IO` how to read,
//! opens every index again, and must tell the same as the first.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use pageway::lab::OpenMode;
use pageway::{OsVfs, Vfs, describe};

use crate::check::{Expected, check};
use crate::embeddings::Rows;
use crate::subject::{Subject, check_equal, digest};

const QUERIES: &str = "queries";
const ROOT: &str = "PAGEWAY_CONFORMANCE_ROOT";

/// Indexes under one directory, and what a search over each told.
pub struct Replay {
    root: PathBuf,
    told: Vec<(String, PathBuf, String)>,
    failed: Vec<String>,
}

impl Replay {
    pub fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            told: Vec::new(),
            failed: Vec::new(),
        }
    }

    /// Checks an index, and keeps it for other processes. One that fails does not keep the others
    /// from being checked.
    pub fn judge(&mut self, subject: &Subject<'_>, expected: &Expected, also: impl Fn()) {
        let checked = catch_unwind(AssertUnwindSafe(|| {
            let told = check(subject, expected);
            also();
            told
        }));
        let name = &subject.name;
        let Ok(((recall, range), told)) = checked else {
            self.failed.push(name.clone());
            return;
        };
        println!("conformance: recall@10 {recall:.3}, range {range:.3}: {name}");
        if let Some(told) = told {
            self.add(subject, told);
        }
    }

    fn add(&mut self, subject: &Subject<'_>, told: String) {
        let place = subject.dir.parent().unwrap().to_owned();
        write(&place.join(QUERIES), &subject.data.queries.bytes);
        self.told.push((subject.name.clone(), place, told));
    }

    /// Runs the other processes and compares.
    pub fn check(&self) {
        self.replay();
        assert!(self.failed.is_empty(), "{:#?}", self.failed);
    }

    fn replay(&self) {
        let list: Vec<String> = self
            .told
            .iter()
            .map(|(_, place, _)| place.display().to_string())
            .collect();
        write(&self.root.join("list"), list.join("\n").as_bytes());
        for backend in ["uring", "threads", "blocking"] {
            let mut child = Command::new(std::env::current_exe().unwrap());
            child.args(["--exact", "replay::tell_again", "--ignored", "--nocapture"]);
            child.env("PAGEWAY_IO", backend).env(ROOT, &self.root);
            let done = child.output().unwrap();
            let text =
                String::from_utf8_lossy(&done.stdout) + String::from_utf8_lossy(&done.stderr);
            if backend == "uring" && text.contains("PAGEWAY_IO=uring:") {
                println!("conformance: no io_uring here");
                continue;
            }
            assert!(done.status.success(), "{backend}: {text}");
            for (name, place, told) in &self.told {
                let again = String::from_utf8(read(&place.join(backend))).unwrap();
                check_equal(told, &again, &format!("{name}: {backend}"));
            }
            println!(
                "conformance: {} indexes tell the same by {backend}",
                self.told.len()
            );
        }
    }
}

/// What another process does.
#[test]
#[ignore = "run by the others, which say how to read"]
fn tell_again() {
    let root = PathBuf::from(std::env::var_os(ROOT).unwrap());
    let backend = std::env::var("PAGEWAY_IO").unwrap();
    let list = String::from_utf8(read(&root.join("list"))).unwrap();
    let vfs: Arc<dyn Vfs> = Arc::new(OsVfs);
    for place in list.lines().map(PathBuf::from) {
        let dir = place.join("index");
        let shape = describe(&dir).unwrap().spec.shape.vectors();
        let queries = Rows::of_bytes(&read(&place.join(QUERIES)), shape);
        let told = digest(&vfs, &dir, &queries).unwrap_or_else(|error| panic!("{error}"));
        write(&place.join(&backend), told.as_bytes());
    }
}

fn write(path: &Path, bytes: &[u8]) {
    let file = OsVfs.open(path, OpenMode::CreateNew).unwrap();
    file.write_all_at(bytes, 0).unwrap();
}

fn read(path: &Path) -> Vec<u8> {
    let file = OsVfs.open(path, OpenMode::Read).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    bytes
}
