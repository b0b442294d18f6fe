//! What the builds of a run say about their indexes: where codes lie, and other facts.

use serde_json::Value;

use super::group;
use crate::record::{Record, Run, Task};

/// The description of an index (see `pageway inspect --json`) that the run built of a data set
/// with a design; the first of several.
pub(crate) fn description<'r>(run: &'r Run, data: &str, design: &str) -> Option<&'r Value> {
    run.records
        .iter()
        .filter(|record| record.task == Task::Build && group::succeeded(record))
        .filter(|record| record.data == data && record.design == design)
        .find_map(of_build)
}

/// The description in the record of a build.
pub(crate) fn of_build(record: &Record) -> Option<&Value> {
    record.result.get("description")
}

/// Whether all that grows with the vectors lies on disk, codes too; nothing where it is unknown.
pub(crate) fn all_on_disk(run: &Run, data: &str, design: &str) -> Option<bool> {
    codes_on_disk(description(run, data, design)?)
}

/// Whether a description says that codes lie in the pages and nowhere else.
pub(crate) fn codes_on_disk(description: &Value) -> Option<bool> {
    let codes = description.pointer("/spec/storage/codes")?;
    Some(codes.as_str() == Some("in_page"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture::{build, run};

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
}
