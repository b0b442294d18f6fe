//! Designs that are built once each with attributes, and searched cell by cell.

use std::path::PathBuf;

use pageway::lab::clock;
use pageway::source::{TextSlice, VectorSlice};
use pageway::truth::Truth;
use pageway::{
    Answers, BuildInput, BuildOptions, Effort, Error, ErrorKind, Filter, Index, MemoryWish,
    OpenOptions, Preset, Progress, Queries, Result, SearchOptions,
};

use super::axes::Selectivity;
use super::cell::{FilterCell, FilterCells, FilterQuestion};
use super::record::{DesignRecord, FilterRecord, FilterSummary};
use super::tally::Tally;
use crate::in_memory::InMemory;

/// What is built, and how it is searched.
#[derive(Clone, Debug)]
pub struct FilterSuite<'d> {
    /// Rows and queries.
    pub data: InMemory<'d>,
    /// Designs.
    pub presets: Vec<Preset>,
    /// Memory of searches; that of builds where absent.
    pub memory: Option<MemoryWish>,
    /// Neighbours.
    pub k: u32,
    /// Recall that each search is asked for.
    pub recall: f32,
    /// Queries of a call.
    pub batch: usize,
    /// Rounds that are timed, after a first one that is not; none for no times.
    pub rounds: usize,
    /// Directory of the indexes.
    pub dir: PathBuf,
}

/// The calls of a question: vectors of up to a batch of queries each, and the filter if any.
struct Calls<'q> {
    filter: Option<Filter>,
    vectors: Vec<Vec<u8>>,
    question: &'q FilterQuestion,
}

impl FilterSuite<'_> {
    /// Measures all designs; tells each record as it is there. Designs that the memory does not
    /// hold are recorded as refused.
    ///
    /// # Errors
    /// As builds and searches are; that of the first design where none could be built.
    pub fn run(
        &self,
        cells: &FilterCells,
        progress: &dyn Progress,
        tell: &mut dyn FnMut(&FilterRecord) -> Result<()>,
    ) -> Result<FilterSummary> {
        let documents = cells.documents();
        let (mut designs, mut refusals) = (Vec::new(), Vec::new());
        for preset in &self.presets {
            let built = self.build(*preset, &documents, progress);
            let (memory_bytes, index_bytes) = match built {
                Ok(built) => built,
                Err(error) if is_refusal(&error) => {
                    designs.push(DesignRecord {
                        design: preset.to_string(),
                        refused: Some(error.to_string()),
                        ..DesignRecord::default()
                    });
                    refusals.push(error);
                    continue;
                }
                Err(error) => return Err(error.within(*preset)),
            };
            let records = self.search_all(*preset, cells, progress, tell)?;
            designs.push(DesignRecord {
                design: preset.to_string(),
                memory_bytes,
                index_bytes,
                ..DesignRecord::of(&records, self.recall)
            });
        }
        if refusals.len() == designs.len()
            && let Some(first) = refusals.into_iter().next()
        {
            return Err(first);
        }
        Ok(FilterSummary {
            rows: self.data.count(),
            k: self.k,
            asked_recall: self.recall,
            batch: self.batch,
            designs,
        })
    }

    fn place(&self, preset: Preset) -> PathBuf {
        self.dir.join(format!("{preset}.index"))
    }

    /// Memory of searches and bytes on disk.
    fn build(
        &self,
        preset: Preset,
        documents: &[String],
        progress: &dyn Progress,
    ) -> Result<(u64, u64)> {
        let vectors = VectorSlice::new(self.data.rows, self.data.shape)?;
        let documents = TextSlice::attributes(documents);
        let input = BuildInput::new(&vectors, "rows").with_attributes(Some(&documents as _));
        let options = BuildOptions::default()
            .with_metric(self.data.metric)
            .with_preset(preset)
            .with_memory(self.memory)
            .with_recall(self.recall);
        let report = Index::build(&self.place(preset), &input, &options, progress)?;
        Ok((report.memory_bytes, report.index_bytes))
    }

    fn search_all(
        &self,
        preset: Preset,
        cells: &FilterCells,
        progress: &dyn Progress,
        tell: &mut dyn FnMut(&FilterRecord) -> Result<()>,
    ) -> Result<Vec<FilterRecord>> {
        let index = Index::open(&self.place(preset), &OpenOptions::default())?;
        let mut records = Vec::new();
        let whole = Selectivity::Share(1.0);
        // All rows match without a filter too: those cells have its answers.
        let plain = cells.cells.iter().filter(|cell| cell.selectivity == whole);
        let all = plain.map(|cell| (cell, false));
        let all = all.chain(cells.cells.iter().map(|cell| (cell, true)));
        let count = all.clone().count();
        progress.stage("search cell by cell", count as u64);
        for (cell, is_filtered) in all {
            progress.check()?;
            let record = self.search_cell((preset, &index), (cells, cell), is_filtered)?;
            tell(&record)?;
            records.push(record);
            progress.advance(1);
        }
        Ok(records)
    }

    fn search_cell(
        &self,
        (design, index): (Preset, &Index),
        (cells, cell): (&FilterCells, &FilterCell),
        is_filtered: bool,
    ) -> Result<FilterRecord> {
        let asked: Vec<Calls<'_>> = cell
            .questions
            .iter()
            .map(|question| self.calls(question, is_filtered))
            .collect::<Result<_>>()?;
        let k = self.k as usize;
        let (mut tally, mut most) = (Tally::default(), 0);
        for calls in &asked {
            let answers = self.search(index, calls)?;
            let question = calls.question;
            let truth: Option<&Truth> = question.truth.as_ref();
            let owed = k.min(question.matches as usize);
            most = owed.max(most);
            let matches = |row: u32| cells.matches(question, row);
            tally.take(&answers, (truth, k, owed), &matches)?;
        }
        let counts = tally.counts();
        Ok(FilterRecord {
            design,
            selectivity: is_filtered.then_some(cell.selectivity),
            correlation: cell.correlation,
            matches: cell.matches,
            owed: most,
            queries_per_second: self.speed(index, &asked, counts.queries)?,
            counts,
        })
    }

    fn calls<'q>(&self, question: &'q FilterQuestion, is_filtered: bool) -> Result<Calls<'q>> {
        let all = self.data.queries_at(&question.queries);
        let batches = all.chunks(self.batch.max(1) * self.data.shape.row_bytes());
        Ok(Calls {
            filter: is_filtered.then(|| question.filter()).transpose()?,
            vectors: batches.map(<[u8]>::to_vec).collect(),
            question,
        })
    }

    fn search(&self, index: &Index, calls: &Calls<'_>) -> Result<Vec<Answers>> {
        let options = SearchOptions::nearest(self.k)
            .with_effort(Effort::Recall(self.recall))
            .with_threads(1);
        let call = |vectors: &Vec<u8>| {
            let queries = Queries::new(vectors, self.data.shape);
            index.search(&queries.with_filter(calls.filter.as_ref()), &options)
        };
        calls.vectors.iter().map(call).collect()
    }

    /// Queries in a second, median over rounds.
    fn speed(&self, index: &Index, asked: &[Calls<'_>], queries: usize) -> Result<Option<f64>> {
        let mut seconds = Vec::with_capacity(self.rounds);
        for _ in 0..self.rounds {
            let begun = clock::now();
            for calls in asked {
                self.search(index, calls)?;
            }
            seconds.push((clock::now() - begun).as_secs_f64());
        }
        seconds.sort_unstable_by(f64::total_cmp);
        let median = seconds.get(seconds.len() / 2);
        Ok(median.map(|median| queries as f64 / median.max(1e-9)))
    }
}

/// Whether a design cannot be had as it was wished for.
fn is_refusal(error: &Error) -> bool {
    let kinds = [ErrorKind::InvalidInput, ErrorKind::Unsupported];
    kinds.contains(&error.kind())
}

#[cfg(test)]
mod tests {
    use pageway::NoProgress;

    use super::*;
    use crate::filter::write_questions;
    use crate::in_memory::tests::MadeUp;

    fn suite(data: InMemory<'_>, dir: PathBuf) -> FilterSuite<'_> {
        FilterSuite {
            data,
            presets: vec![Preset::default(), Preset::DiskAnn, Preset::PageAnn],
            memory: Some(MemoryWish::Bytes(6 << 20)),
            k: 5,
            recall: 0.9,
            batch: 25,
            rounds: 1,
            dir,
        }
    }

    /// Distances of the nearest rows that match, by sorting them all.
    fn by_sorting(rows: &[u8], query: &[u8], matches: &dyn Fn(u32) -> bool) -> Vec<f32> {
        let away = |row: &[u8]| -> u32 {
            let pairs = row.iter().zip(query);
            pairs.map(|(a, b)| u32::from(a.abs_diff(*b)).pow(2)).sum()
        };
        let own = (0..).zip(rows.chunks(8)).filter(|(row, _)| matches(*row));
        let mut all: Vec<f32> = own.map(|(_, row)| away(row) as f32).collect();
        all.sort_unstable_by(f32::total_cmp);
        all
    }

    #[test]
    fn exact_answers_of_every_cell_are_those_of_brute_force() {
        let made_up = MadeUp::new(1200, 60);
        let cells = FilterCells::new(made_up.data(), 5, &NoProgress).unwrap();
        assert_eq!(cells.cells.len(), 27);
        for cell in &cells.cells {
            for question in &cell.questions {
                let matches = |row: u32| cells.matches(question, row);
                let count = (0..1200).filter(|row| matches(*row)).count();
                assert_eq!(count as u64, cell.matches, "{}", question.text());
                for (at, query) in question.queries.iter().enumerate() {
                    let query = made_up.data().query((*query).into());
                    let mut all = by_sorting(&made_up.rows, query, &matches);
                    all.truncate(10);
                    let truth = question.truth.as_ref();
                    let own = truth.map_or(&[][..], |truth| truth.distances_of(at));
                    assert_eq!(own, all, "{}", question.text());
                    let ids = truth.map_or(&[][..], |truth| truth.ids_of(at));
                    assert!(ids.iter().all(|row| matches(*row)));
                }
            }
        }
    }

    #[test]
    fn every_cell_of_several_designs_finds_what_matches_and_nothing_else() {
        let root = tempfile::tempdir().unwrap();
        let made_up = MadeUp::new(1200, 60);
        let suite = suite(made_up.data(), root.path().to_path_buf());
        let cells = FilterCells::new(made_up.data(), 5, &NoProgress).unwrap();
        let mut records = Vec::new();
        let summary = suite.run(&cells, &NoProgress, &mut |record| {
            records.push(record.clone());
            Ok(())
        });
        let summary = summary.unwrap();
        assert_eq!((summary.designs.len(), records.len()), (3, 90));
        for record in &records {
            let counts = &record.counts;
            let cell = (record.design, record.cell());
            assert_eq!((counts.short, counts.wrong), (0, 0), "{cell:?}");
            assert_eq!(counts.least_returned, record.owed, "{cell:?}");
            assert!(counts.recall > 0.85, "{cell:?}: {}", counts.recall);
            assert_eq!(counts.queries, 4 * 60, "{cell:?}");
            assert!(record.queries_per_second.is_some_and(|speed| speed > 0.0));
            let searched: u64 = counts.strategies.values().sum();
            let is_filtered = record.selectivity.is_some();
            assert_eq!(searched, if is_filtered { 240 } else { 0 }, "{cell:?}");
            if record.owed == 0 {
                assert_eq!((counts.recall, counts.pages), (1.0, 0.0), "{cell:?}");
            }
        }
        for design in &summary.designs {
            assert_eq!((design.cells, &design.refused), (27, &None));
            assert!(design.unfiltered_recall > 0.85, "{design:?}");
            assert!(design.memory_bytes > 0 && design.index_bytes > made_up.rows.len() as u64);
        }
    }

    #[test]
    fn questions_of_all_cells_are_written_and_can_be_read() {
        let root = tempfile::tempdir().unwrap();
        let made_up = MadeUp::new(300, 20);
        let cells = FilterCells::new(made_up.data(), 3, &NoProgress).unwrap();
        write_questions(root.path(), &cells).unwrap();
        let text = crate::read_text(&root.path().join("questions.jsonl")).unwrap();
        let lines: Vec<serde_json::Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines.len(), 27 * 4);
        assert_eq!(lines[0]["ids"][0].as_array().unwrap().len(), 6);
        let none = &lines[26 * 4];
        assert_eq!(
            (&none["selectivity"], &none["below"]),
            (&"0 rows".into(), &0.into())
        );
        assert_eq!(none["ids"][19].as_array().map(Vec::len), Some(0));
        let vfs = crate::files::vfs();
        let ranks = root.path().join("ranks.ibin");
        let ranks = pageway::truth::TruthFile::open(&vfs, &ranks, None).unwrap();
        assert_eq!((ranks.query_count(), ranks.k()), (5, 300));
    }

    #[test]
    fn what_no_design_can_have_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let made_up = MadeUp::new(300, 20);
        let cells = FilterCells::new(made_up.data(), 5, &NoProgress).unwrap();
        let mut suite = suite(made_up.data(), root.path().to_path_buf());
        suite.memory = Some(MemoryWish::Bytes(1000));
        let error = suite.run(&cells, &NoProgress, &mut |_| Ok(())).unwrap_err();
        assert!(error.to_string().contains("memory"), "{error}");
        let none = FilterCells::new(made_up.data(), 0, &NoProgress);
        assert!(none.is_err_and(|error| error.to_string().contains("k of at least 1")));
    }
}
