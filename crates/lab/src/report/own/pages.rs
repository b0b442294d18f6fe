//! Pages: how much of what is read is used, and which designs small pages do not hold.

use super::truth;
use crate::record::Record;
use crate::report::case::Case;
use crate::report::figure::Sight;
use crate::report::quantity::{At, TARGETS};
use crate::report::{group, method, number};

/// Share of the nodes on a page from which on the page is used as a whole.
const WHOLE: f64 = 0.9;
/// Recall at which that is looked at.
const TARGET: f64 = 0.95;
/// Dimensions from which designs may not fit small pages.
const HIGH_DIMENSIONS: f64 = 900.0;

/// The highest utilisation of the layouts that use nodes one by one.
pub(super) fn highest_utilisation(sight: Sight<'_>, records: &[&Record]) -> Vec<Case> {
    let at = |name: &str, records: &[&Record], recall| {
        sight
            .book
            .quantity(name)
            .at(sight.run, records, At::Recall(recall))
    };
    let by_one = |records: &[&Record]| {
        let nodes = sight
            .book
            .quantity("nodes_per_page")
            .median(sight.run, records);
        let whole = at("vertices", records, TARGET).is_some_and(|share| share > WHOLE);
        !(whole && nodes.is_some_and(|nodes| nodes > 1.0))
    };
    let case = |(data, records): (&str, Vec<&Record>)| {
        let designs = group::by_design(&records)
            .into_iter()
            .filter(|(_, records)| by_one(records));
        let values = designs.flat_map(|(design, records)| {
            TARGETS.map(|recall| Some((design, at("utilisation", &records, recall)?)))
        });
        let (design, value) = values.flatten().max_by(|a, b| a.1.total_cmp(&b.1))?;
        let words = format!("{data}: {} at most ({design})", number::percent(value));
        Some((vec![value], words))
    };
    group::by_data(records)
        .into_iter()
        .filter_map(case)
        .collect()
}

/// Whether designs were refused with small pages on data of many dimensions.
pub(super) fn refused_when_small(sight: Sight<'_>, records: &[&Record]) -> Vec<Case> {
    let failed = group::at_axis(
        &group::failed(sight.run, sight.experiment),
        "page_size",
        4096.0,
    );
    let case = |(data, records): (&str, Vec<&Record>)| {
        let many = method::dimensions(&records).is_some_and(|many| many >= HIGH_DIMENSIONS);
        let mut refused = failed.clone();
        refused.retain(|record| record.data == data);
        let designs = group::designs(&refused);
        let names = if designs.is_empty() {
            "none".to_owned()
        } else {
            designs.join(", ")
        };
        many.then(|| {
            (
                truth(!designs.is_empty()),
                format!("{data}: refused with 4096 bytes: {names}"),
            )
        })
    };
    group::by_data(records)
        .into_iter()
        .filter_map(case)
        .collect()
}
