//! What must not depend on memory, on queries beside each other, or on threads.

use std::sync::Arc;

use pageway::{Answers, Effort, ErrorKind, Index, MemoryPart, Queries, SearchOptions, Vfs};

use crate::check::Expected;
use crate::common::smallest_that_works;
use crate::embeddings::Rows;
use crate::found::check_answers;
use crate::subject::{
    K, LIST_SIZE, Subject, check_equal, least_memory, lines_of, open_options, open_with, search,
};

/// The smallest memory that a refusal names works, one byte less does not, and what is reserved is
/// never more than was granted. Returns the smallest.
pub fn check_memory(subject: &Subject<'_>, vfs: &Arc<dyn Vfs>, expected: &Expected) -> u64 {
    let (dir, queries, name) = (&subject.dir, &subject.data.queries, &subject.name);
    let mut options = open_options(1);
    for list_size in [1, LIST_SIZE] {
        options.effort = Some(Effort::ListSize(list_size));
        let least = least_memory(vfs, dir, &options);
        let refused = open_with(vfs, dir, &options, least - 1).err().unwrap();
        assert_eq!(refused.kind(), ErrorKind::InvalidInput, "{name}");
        assert_eq!(smallest_that_works(&refused), least, "{name}");
        for more in [0, 1, 20_000, 5_000_000] {
            let index = open_with(vfs, dir, &options, least + more).unwrap();
            check_ledger(&index, name);
            let call = SearchOptions::nearest(1).with_effort(Effort::ListSize(list_size));
            let few = Queries::new(queries.row(0), queries.shape);
            index.search(&few, &call).unwrap();
            check_ledger(&index, name);
        }
    }
    let least = least_memory(vfs, dir, &options);
    let index = open_with(vfs, dir, &options, least).unwrap();
    let answers = search(&index, queries, 0).unwrap();
    check_ledger(&index, name);
    let recall = check_answers(subject, &index, &answers);
    assert!(recall >= expected.recall, "{name}: least memory, {recall}");
    least
}

fn check_ledger(index: &Index, name: &str) {
    let memory = index.memory();
    let reserved: u64 = memory.parts.iter().map(|(_, bytes)| bytes).sum();
    assert!(reserved <= memory.budget_bytes, "{name}: {memory:?}");
    let searches = [MemoryPart::OneQuery, MemoryPart::MoreQueries];
    let set_aside: u64 = searches.map(|part| memory.bytes_of(part)).iter().sum();
    assert!(
        memory.searches_peak_bytes <= set_aside,
        "{name}: {memory:?}"
    );
}

/// What was found, without what it cost.
fn answers(lines: &str) -> String {
    let before = |line: &str| line.split_once('(').map(|(head, _)| format!("{head}\n"));
    lines.lines().filter_map(before).collect()
}

/// Queries beside each other change nothing; nor does a cache that is bigger, where it should not.
pub fn check_interleaved(
    subject: &Subject<'_>,
    vfs: &Arc<dyn Vfs>,
    least: u64,
    expected: &Expected,
) {
    let (dir, queries) = (&subject.dir, &subject.data.queries);
    let small = open_with(vfs, dir, &open_options(1), least).unwrap();
    let alone = lines_of(&small, &search(&small, queries, 1).unwrap());
    let roomy = open_with(vfs, dir, &open_options(8), least + 40_000_000).unwrap();
    let one = search(&roomy, queries, 1).unwrap();
    let eight = search(&roomy, queries, 8).unwrap();
    assert_eq!(eight.settings.interleave, 8, "{}", subject.name);
    let what = format!("{}: 8 queries in flight", subject.name);
    check_equal(&lines_of(&roomy, &one), &lines_of(&roomy, &eight), &what);
    let tight = open_with(vfs, dir, &open_options(8), least + 100_000).unwrap();
    let few = search(&tight, queries, 8).unwrap();
    if expected.cache_blind {
        let what = format!("{}: few page buffers", subject.name);
        check_equal(&answers(&alone), &answers(&lines_of(&tight, &few)), &what);
    }
    let threads = search_on(&roomy, queries, 3);
    assert_eq!(threads.settings.threads, 3, "{}", subject.name);
    let what = format!("{}: 3 threads", subject.name);
    check_equal(&lines_of(&roomy, &one), &lines_of(&roomy, &threads), &what);
    if expected.cache_blind {
        let what = format!("{}: another memory", subject.name);
        check_equal(&answers(&alone), &answers(&lines_of(&roomy, &one)), &what);
    }
}

fn search_on(index: &Index, queries: &Rows, threads: usize) -> Answers {
    let options = SearchOptions::nearest(K)
        .with_effort(Effort::ListSize(LIST_SIZE))
        .with_threads(threads)
        .with_interleave(2);
    index
        .search(&Queries::new(&queries.bytes, queries.shape), &options)
        .unwrap()
}
