//! What a graph looks like on its pages: lengths of lists, and how far neighbours share pages.

use pageway_store::OpenMode;
use pageway_types::{NodeId, PageId, Progress};
use serde::Serialize;

use crate::error::Result;
use crate::layout::{PageCodec, PageError, PageView, UnpackedList};
use crate::resolve::{self, AnyCodec, Source};
use crate::storage::{TRANSFER_BYTES, scan};

/// Pages read between two looks at cancellation.
const PAGES_PER_STEP: u64 = 4096;

/// Classes of the share of a page that a node names: none, up to a tenth, .. up to all.
pub const OVERLAP_CLASSES: usize = 11;

/// Lists of an index, counted.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct GraphSurvey {
    /// Nodes by the length of their list, from 0 on.
    pub degrees: Vec<u64>,
    /// Nodes by the share of the others on their page that they name; nodes alone on a page are
    /// left out.
    pub overlaps: [u64; OVERLAP_CLASSES],
    /// Pages by the number of nodes whose lists they hold, from 0 on.
    pub nodes_per_page: Vec<u64>,
}

impl GraphSurvey {
    fn count(&mut self, neighbors: &[NodeId], page: &std::ops::Range<u32>) {
        add_at(&mut self.degrees, neighbors.len());
        let Some(others) = page.len().checked_sub(1).filter(|others| *others > 0) else {
            return;
        };
        let named = neighbors.iter().filter(|one| page.contains(&one.0)).count();
        let class = (named * (OVERLAP_CLASSES - 1)).div_ceil(others);
        if let Some(count) = self.overlaps.get_mut(class.min(OVERLAP_CLASSES - 1)) {
            *count += 1;
        }
    }
}

fn add_at(counts: &mut Vec<u64>, at: usize) {
    if counts.len() <= at {
        counts.resize(at + 1, 0);
    }
    if let Some(count) = counts.get_mut(at) {
        *count += 1;
    }
}

/// Counts the lists of a segment, in one pass over its record pages.
///
/// # Errors
/// `Corrupt` or `Io` as the pages are; `Cancelled`.
pub(crate) fn survey_lists(
    source: Source<'_>,
    survey: &mut GraphSurvey,
    progress: &dyn Progress,
) -> Result<()> {
    let segment = source.segment;
    let records = resolve::record_pages(source, OpenMode::ReadDirect)?.records;
    let codec = resolve::segment_codec(segment)?;
    let pages = u64::from(codec.map().page_count());
    progress.stage("read lists", pages);
    let mut first = 0;
    while first < pages {
        progress.check()?;
        let end = pages.min(first + PAGES_PER_STEP);
        let own = (first..end, TRANSFER_BYTES);
        scan(&records, own, &mut |page, payload| {
            match &codec {
                AnyCodec::Record(codec) => survey_page(codec, (page, payload), survey),
                AnyCodec::PageNode(codec) => survey_page(codec, (page, payload), survey),
            }?;
            Ok(())
        })?;
        progress.advance(end - first);
        first = end;
    }
    Ok(())
}

fn survey_page<C: PageCodec>(
    codec: &C,
    (page, payload): (PageId, &[u8]),
    survey: &mut GraphSurvey,
) -> std::result::Result<(), PageError> {
    let map = codec.map();
    if map.holds_vectors_alone(page) {
        return Ok(());
    }
    let view = codec.view(page, payload)?;
    let nodes = map.nodes_of(page);
    add_at(&mut survey.nodes_per_page, nodes.len());
    let (mut unpacked, mut neighbors) = (UnpackedList::new(), Vec::new());
    for node in nodes.clone() {
        let record = view.record(NodeId(node))?;
        let (list, _) = record.list.unpack(&mut unpacked)?;
        neighbors.clear();
        neighbors.extend(list.iter());
        survey.count(&neighbors, &nodes);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_a_page_fall_into_tenths() {
        let mut survey = GraphSurvey::default();
        let list = |named: u32| -> Vec<NodeId> { (100..100 + named).map(NodeId).collect() };
        for (named, class) in [(0, 0), (1, 1), (2, 1), (3, 2), (20, 10)] {
            survey.overlaps = [0; OVERLAP_CLASSES];
            survey.count(&list(named), &(100..121));
            assert_eq!(survey.overlaps.get(class), Some(&1), "{named} of 20");
        }
        survey.overlaps = [0; OVERLAP_CLASSES];
        survey.count(&list(3), &(7..8));
        assert_eq!(survey.overlaps, [0; OVERLAP_CLASSES], "alone on its page");
        assert_eq!(survey.degrees.iter().sum::<u64>(), 6);
    }
}
