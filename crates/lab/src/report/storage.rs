//! What the builds of a run say about their indexes: where codes lie, and other facts.

use serde_json::Value;

use super::group;
use crate::record::{Record, Run, Task};

/// The description (see `pageway inspect --json`) of the index that a search went over: that of
/// the build of the same data and design that shares the most settings with it.
pub(crate) fn description<'r>(run: &'r Run, search: &Record) -> Option<&'r Value> {
    let mut best: Option<(usize, &Value)> = None;
    for build in builds(run, &search.data, &search.design) {
        let Some(description) = described(build) else {
            continue;
        };
        if build.axes.get("segments") != search.axes.get("segments") {
            continue;
        }
        let shared = shared_settings(build, search);
        if best.is_none_or(|(most, _)| shared > most) {
            best = Some((shared, description));
        }
    }
    best.map(|(_, description)| description)
}

/// Whether all that grows with the vectors lies on disk, codes too; nothing where it is unknown.
pub(crate) fn all_on_disk(run: &Run, data: &str, design: &str) -> Option<bool> {
    let mut descriptions = builds(run, data, design).filter_map(|build| {
        let description = described(build)?;
        codes_on_disk(description)
    });
    descriptions.next()
}

/// Whether a description says that codes lie in the pages and nowhere else.
pub(crate) fn codes_on_disk(description: &Value) -> Option<bool> {
    let codes = description.pointer("/spec/storage/codes")?;
    Some(codes.as_str() == Some("in_page"))
}

/// Whether the answers of a search may depend on which read completes first.
pub(crate) fn takes_pages_as_they_come(run: &Run, search: &Record) -> bool {
    description(run, search)
        .and_then(|description| description.pointer("/spec/execution/schedule/completion"))
        .is_some_and(|completion| completion.as_str() == Some("as_they_come"))
}

fn builds<'r>(run: &'r Run, data: &str, design: &str) -> impl Iterator<Item = &'r Record> {
    run.records
        .iter()
        .filter(|record| record.task == Task::Build && group::succeeded(record))
        .filter(move |record| record.data == data && record.design == design)
}

/// The description in the record of a build.
fn described(build: &Record) -> Option<&Value> {
    let description = build.result.get("description");
    description.filter(|description| description.is_object())
}

/// How many settings of a build a search has. What a build calls its memory is what the search says
/// that its index was built for.
fn shared_settings(build: &Record, search: &Record) -> usize {
    let of_search = |name: &str| {
        let built_for = search.axes.get("built_for_ratio");
        let built_for = built_for.filter(|_| name == "memory_ratio");
        built_for.or_else(|| search.axes.get(name))
    };
    build
        .axes
        .iter()
        .filter(|(name, value)| of_search(name) == Some(value))
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture::{build, run, search, set};

    #[test]
    fn codes_lie_where_the_description_says() {
        let run = run(vec![
            build("a", "diskann", "memory"),
            build("a", "aisaq", "in_page"),
        ]);
        assert_eq!(all_on_disk(&run, "a", "diskann"), Some(false));
        assert_eq!(all_on_disk(&run, "a", "aisaq"), Some(true));
        assert_eq!(all_on_disk(&run, "b", "aisaq"), None);
    }

    #[test]
    fn a_search_belongs_to_the_build_with_its_settings() {
        let mut large = set(build("a", "diskann", "memory"), "page_size", 16384);
        large.result["description"]["index_bytes"] = serde_json::json!(7);
        let run = run(vec![build("a", "diskann", "memory"), large]);
        let bytes = |page_size: u64| {
            let search = set(
                search("space", "a", "diskann", 40, 0.9),
                "page_size",
                page_size,
            );
            description(&run, &search).unwrap()["index_bytes"].as_u64()
        };
        assert_eq!(bytes(16384), Some(7));
        assert_eq!(bytes(4096), Some(4_000_000));
        assert!(description(&run, &search("space", "b", "diskann", 40, 0.9)).is_none());
        let segment = set(search("space", "a", "diskann", 40, 0.9), "segments", 2);
        assert!(description(&run, &segment).is_none());
    }
}
