//! What every index must do, whatever it is made of.

use std::path::Path;
use std::sync::Arc;

use pageway::{BuildReport, Index, NoProgress, OpenOptions, OsVfs, Vfs, verify};

use crate::arrangement::{check_interleaved, check_memory};
use crate::common::{contents, names};
use crate::found::{
    check_answers, check_held_out, check_pages_read_once, check_range, check_vectors,
};
use crate::late::LateVfs;
use crate::subject::{LIST_SIZE, Subject, check_equal, digest, search};

/// What is expected beside correctness.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    /// Mean recall@10 at list size 100.
    pub recall: f64,
    /// Mean share of the rows within a radius that a range search finds from a short list, and from
    /// one of size 100.
    pub range: [f64; 2],
    /// Whether answers are the same however pages arrive.
    pub repeatable: bool,
    /// Whether they are the same whatever nodes are cached.
    pub cache_blind: bool,
}

/// Recall of searches and of range searches, for the record.
pub type Measured = (f64, f64);

/// All checks. Returns what was measured, and the digest where answers are repeatable.
pub fn check(subject: &Subject<'_>, expected: &Expected) -> (Measured, Option<String>) {
    let name = &subject.name;
    let report = subject
        .build()
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    check_report(subject, &report);
    check_rebuilt(subject);
    let verdict = verify(&subject.dir, &NoProgress).unwrap();
    assert!(verdict.is_sound(), "{name}: {:?}", verdict.problems);
    assert_eq!(verdict.records, subject.data.base.count() as u64, "{name}");
    let vfs: Arc<dyn Vfs> = Arc::new(OsVfs);
    let index = Index::open(&subject.dir, &OpenOptions::default()).unwrap();
    check_vectors(subject, &index);
    let answers = search(&index, &subject.data.queries, 0).unwrap();
    let recall = check_answers(subject, &index, &answers);
    let range = [20, LIST_SIZE].map(|list_size| check_range(subject, list_size));
    let found = [recall, range[0], range[1]];
    let floors = [expected.recall, expected.range[0], expected.range[1]];
    assert!(
        found
            .iter()
            .zip(floors)
            .all(|(found, floor)| *found >= floor),
        "{name}: recall {recall}, range recall {range:?}"
    );
    check_held_out(subject, &index, expected);
    check_pages_read_once(subject, &vfs);
    let least = check_memory(subject, &vfs, expected);
    if !expected.repeatable {
        return ((recall, range[0]), None);
    }
    check_interleaved(subject, &vfs, least, expected);
    let told = digest(&vfs, &subject.dir, &subject.data.queries).unwrap();
    let again = digest(&vfs, &subject.dir, &subject.data.queries).unwrap();
    check_equal(&told, &again, &format!("{name}: a second run"));
    let late: Arc<dyn Vfs> = Arc::new(LateVfs);
    let other = digest(&late, &subject.dir, &subject.data.queries).unwrap();
    check_equal(&told, &other, &format!("{name}: late reads"));
    ((recall, range[0]), Some(told))
}

fn check_report(subject: &Subject<'_>, report: &BuildReport) {
    let name = &subject.name;
    let rows = subject.data.base.count() as u64;
    assert_eq!(report.nodes, rows, "{name}");
    assert_eq!(report.shards, 1, "{name}");
    let description = pageway::describe(&subject.dir).unwrap();
    assert_eq!(description.nodes, rows, "{name}");
    let pages = description.page_utilisation;
    assert!(pages > 0.0 && pages <= 1.0, "{name}: filled {pages}");
    let has_lists = description.spec.graph.max_degree() > 0;
    assert_eq!(description.overlap.is_some(), has_lists, "{name}");
    let overlap = description.overlap.unwrap_or(0.0);
    assert!((0.0..=1.0).contains(&overlap), "{name}: OR(G) {overlap}");
    let bytes: u64 = description.files.iter().map(|file| file.bytes).sum();
    assert_eq!(description.index_bytes, bytes, "{name}");
}

/// One thread builds the same bytes as several.
fn check_rebuilt(subject: &Subject<'_>) {
    let dir = subject.dir.with_file_name("again");
    let again = Subject {
        name: subject.name.clone(),
        dir: dir.clone(),
        options: subject.options.clone().with_threads(1),
        ..*subject
    };
    again.build().unwrap();
    let names = |dir: &Path| names(&OsVfs, dir);
    assert_eq!(names(&dir), names(&subject.dir), "{}", subject.name);
    for name in names(&dir) {
        let read = |dir: &Path| contents(&OsVfs, &dir.join(&name));
        let same = read(&dir) == read(&subject.dir);
        assert!(same, "{}: {name} of one thread is another", subject.name);
    }
}
