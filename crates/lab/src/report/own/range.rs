//! Range search: its average precision is what recall is elsewhere.

use serde_json::Value;

use crate::record::Record;

/// Records with their average precision in the place of recall, so that what is read off curves is
/// the same; those without are left out.
pub(super) fn precision_as_recall(records: &[&Record]) -> Vec<Record> {
    let scored = records.iter().filter_map(|record| {
        let precision = record.number("average_precision")?;
        let mut record = (*record).clone();
        let fields = record.result.as_object_mut()?;
        fields.insert("recall".to_owned(), Value::from(precision));
        Some(record)
    });
    scored.collect()
}
