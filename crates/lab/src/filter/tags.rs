//! Filters as the filter track of big-ann-benchmarks has them: each row has tags, and so has each
//! query; what has all of those of the query matches.

use std::collections::BTreeMap;

use pageway::source::TextRead;
use pageway::{Error, Progress, Result};
use serde_json::Value;

use super::axes::{Correlation, Selectivity};
use super::cell::{Asked, FilterCell, FilterCells, FilterQuestion, RowAttributes};
use crate::in_memory::InMemory;

/// Tags of rows, ascending, and the rows of each tag.
pub(super) struct RowTags {
    by_row: Vec<Vec<u32>>,
    by_tag: BTreeMap<u32, Vec<u32>>,
}

impl RowTags {
    fn new(by_row: Vec<Vec<u32>>) -> Self {
        let mut by_tag: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (row, tags) in (0..).zip(&by_row) {
            for tag in tags {
                by_tag.entry(*tag).or_default().push(row);
            }
        }
        Self { by_row, by_tag }
    }

    /// A JSON object a row.
    pub(super) fn documents(&self) -> Vec<String> {
        let document = |tags: &Vec<u32>| format!("{{\"tags\": {tags:?}}}");
        self.by_row.iter().map(document).collect()
    }

    /// Whether a row has all of some tags.
    pub(super) fn has_all(&self, row: u32, tags: &[u32]) -> bool {
        let own = self.by_row.get(row as usize);
        own.is_some_and(|own| tags.iter().all(|tag| own.binary_search(tag).is_ok()))
    }

    /// Rows that have all of some tags, ascending.
    fn rows_with(&self, tags: &[u32]) -> Vec<u32> {
        let rows_of = |tag| self.by_tag.get(tag).map_or(&[][..], Vec::as_slice);
        match tags.iter().map(rows_of).min_by_key(|rows| rows.len()) {
            None => (0..self.by_row.len() as u32).collect(),
            Some(rarest) => {
                let own = rarest.iter().copied();
                own.filter(|row| self.has_all(*row, tags)).collect()
            }
        }
    }
}

impl FilterCells {
    /// Filters that come with the data: a first cell of all queries without one, then a cell for
    /// each band of selectivity, with the `k` nearest that match.
    ///
    /// Costs a distance for each query and row that matches, and one for each query and row.
    ///
    /// # Errors
    /// `InvalidInput` for `k` of 0, for tags that are no numbers, and where there are not as many
    /// documents as rows, or fewer than queries; `Cancelled`.
    pub fn of_tags(
        data: InMemory<'_>,
        (of_rows, of_queries): (&dyn TextRead, &dyn TextRead),
        k: usize,
        progress: &dyn Progress,
    ) -> Result<Self> {
        if k == 0 {
            return Err(Error::invalid("the nearest 0 rows: give a k of at least 1"));
        }
        let (count, asked) = (data.count() as usize, data.query_count());
        let tags = RowTags::new(read(of_rows, count)?);
        let mut by_tags: BTreeMap<Vec<u32>, Vec<u32>> = BTreeMap::new();
        for (query, own) in (0..).zip(read(of_queries, asked)?) {
            by_tags.entry(own).or_default().push(query);
        }
        let everything = (Vec::new(), (0..asked as u32).collect());
        let first = std::iter::once((true, everything));
        let others = by_tags.into_iter().map(|own| (false, own));
        let bands = std::iter::once(Selectivity::Share(1.0)).chain(Selectivity::BANDS);
        let mut cells: Vec<FilterCell> = bands.map(empty).collect();
        for (is_whole, (own, queries_of)) in first.chain(others) {
            progress.check()?;
            let matching = tags.rows_with(&own);
            let mut question = FilterQuestion {
                asked: Asked::Tags(own),
                matches: matching.len() as u64,
                queries: queries_of,
                truth: None,
            };
            question.answer(data, (&matching, k), progress)?;
            let is_own = |cell: &&mut FilterCell| match cell.selectivity {
                Selectivity::Share(_) => is_whole,
                Selectivity::Rows(_) | Selectivity::Band(..) => {
                    !is_whole && cell.selectivity.holds(question.matches, count as u64)
                }
            };
            if let Some(cell) = cells.iter_mut().find(is_own) {
                cell.questions.push(question);
            }
        }
        cells.retain_mut(|cell| {
            let sum: u64 = cell.questions.iter().map(|one| one.matches).sum();
            cell.matches = sum / cell.questions.len().max(1) as u64;
            !cell.questions.is_empty()
        });
        Ok(Self {
            cells,
            attributes: RowAttributes::Tags(tags),
        })
    }
}

fn empty(selectivity: Selectivity) -> FilterCell {
    FilterCell {
        selectivity,
        correlation: Correlation::Given,
        matches: 0,
        questions: Vec::new(),
    }
}

/// The tags of the first `count` documents, ascending.
fn read(documents: &dyn TextRead, count: usize) -> Result<Vec<Vec<u32>>> {
    let name = documents.name();
    if documents.count() < count as u64 {
        return Err(Error::invalid(format!(
            "{name}: {} rows of tags for {count} vectors",
            documents.count()
        )));
    }
    let mut all = Vec::with_capacity(count);
    documents.visit(0, count as u64, &mut |text| {
        let row = all.len();
        let own = tags_of(text).ok_or_else(|| {
            Error::invalid(format!(
                "{name}: row {row}: tags are a list of whole numbers"
            ))
        })?;
        all.push(own);
        Ok(())
    })?;
    Ok(all)
}

/// The tags of a document, none where it has no such field; `None` where they are no numbers.
fn tags_of(text: &[u8]) -> Option<Vec<u32>> {
    let document: Value = serde_json::from_slice(text).ok()?;
    let Some(tags) = document.as_object()?.get("tags") else {
        return Some(Vec::new());
    };
    let tag = |value: &Value| u32::try_from(value.as_u64()?).ok();
    let mut own = tags
        .as_array()?
        .iter()
        .map(tag)
        .collect::<Option<Vec<u32>>>()?;
    own.sort_unstable();
    own.dedup();
    Some(own)
}

#[cfg(test)]
mod tests {
    use pageway::NoProgress;
    use pageway::source::TextSlice;

    use super::*;
    use crate::in_memory::tests::of_bytes;

    fn cells(of_rows: &[String], of_queries: &[String], rows: usize) -> Result<FilterCells> {
        let vectors: Vec<u8> = (0..2 * rows).map(|at| (at * 37 % 251) as u8).collect();
        let queries: Vec<u8> = (0..8).map(|at| (at * 53 % 251) as u8).collect();
        let documents = (
            TextSlice::attributes(of_rows),
            TextSlice::attributes(of_queries),
        );
        FilterCells::of_tags(
            of_bytes(&vectors, &queries, 2),
            (&documents.0, &documents.1),
            3,
            &NoProgress,
        )
    }

    fn documents(count: usize, tags: impl Fn(usize) -> String) -> Vec<String> {
        let own = (0..count).map(|row| format!("{{\"tags\": [{}]}}", tags(row)));
        own.collect()
    }

    #[test]
    fn rows_that_have_all_tags_of_a_query_match() {
        let of_rows = documents(100, |row| {
            format!("{}, {}, {}", row % 2, 10 + row % 5, row + 50)
        });
        let of_queries = ["0", "10, 0", "77", "999"].map(|own| format!("{{\"tags\": [{own}]}}"));
        let cells = cells(&of_rows, &of_queries, 100).unwrap();
        let found: Vec<(String, u64, usize)> = cells
            .cells
            .iter()
            .map(|cell| {
                (
                    cell.selectivity.to_string(),
                    cell.matches,
                    cell.questions.len(),
                )
            })
            .collect();
        let expected = [
            ("1", 100, 1),
            ("from 0.1", 30, 2),
            ("0.01 to 0.1", 1, 1),
            ("0 rows", 0, 1),
        ];
        assert_eq!(found, expected.map(|own| (own.0.to_owned(), own.1, own.2)));
        for cell in &cells.cells {
            for question in &cell.questions {
                let own = (0..100).filter(|row| cells.matches(question, *row));
                assert_eq!(own.count() as u64, question.matches, "{}", question.text());
                let ids = question.truth.as_ref().map_or(&[][..], |truth| &truth.ids);
                assert!(ids.iter().all(|row| cells.matches(question, *row)));
                assert_eq!(ids.is_empty(), question.matches == 0);
                question.filter().unwrap();
            }
        }
        assert_eq!(cells.cells[1].questions[1].text(), "tags = 0 and tags = 10");
        assert_eq!(cells.documents()[3], "{\"tags\": [1, 13, 53]}");
    }

    #[test]
    fn documents_that_do_not_fit_are_refused() {
        let of_queries = documents(4, |_| "1".to_owned());
        let refused = |of_rows: &[String], rows| {
            let found = cells(of_rows, &of_queries, rows);
            found
                .err()
                .map(|error| error.to_string())
                .unwrap_or_default()
        };
        let few = refused(&documents(9, |_| "1".to_owned()), 10);
        assert!(few.contains("9 rows of tags for 10 vectors"), "{few}");
        for wrong in ["-1", "\"red\"", "1.5"] {
            let words = refused(&documents(10, |_| wrong.to_owned()), 10);
            assert!(words.contains("row 0: tags are a list of whole"), "{words}");
        }
    }
}
