//! The cell that stands for a design where values at a recall are not read off between cells: of
//! those that reach the recall the one that exceeds it least, else the one that comes nearest.

use super::group;
use crate::record::Record;

/// Repetitions of that cell; none of no records.
pub(crate) fn reaching<'r>(records: &[&'r Record], recall: f64) -> Vec<&'r Record> {
    let of = |cell: &[&Record]| cell.iter().find_map(|record| record.number("recall"));
    let mut cells: Vec<(f64, Vec<&Record>)> = group::by_cell(records)
        .into_iter()
        .filter_map(|cell| Some((of(&cell)?, cell)))
        .collect();
    cells.sort_by(|a, b| a.0.total_cmp(&b.0));
    let above = cells.iter().position(|(found, _)| *found >= recall);
    let at = above.unwrap_or(cells.len().saturating_sub(1));
    cells
        .into_iter()
        .nth(at)
        .map_or_else(Vec::new, |(_, cell)| cell)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture::search;

    #[test]
    fn the_least_recall_that_suffices() {
        let records = [
            search("k", "a", "diskann", 40, 0.99),
            search("k", "a", "diskann", 10, 0.9),
            search("k", "a", "diskann", 20, 0.96),
        ];
        let records: Vec<&Record> = records.iter().collect();
        let list_size = |recall: f64| reaching(&records, recall)[0].axis("list_size");
        assert_eq!(list_size(0.95), Some(20.0));
        assert_eq!(list_size(0.999), Some(40.0));
        assert_eq!(list_size(0.5), Some(10.0));
        assert!(reaching(&[], 0.9).is_empty());
    }
}
