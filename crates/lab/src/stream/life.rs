//! An index of ours that lives through a runbook.

use std::path::{Path, PathBuf};

use pageway::lab::clock;
use pageway::source::{IdSlice, VectorSlice};
use pageway::{
    BuildInput, BuildOptions, CreateOptions, Durability, Effort, Error, Index, MemoryWish, Metric,
    OpenOptions, Preset, Progress, Queries, Result, Rows, SearchOptions, UpdateOptions,
    VectorShape, Writer,
};
use serde::Serialize;

use super::live::Live;
use super::runbook::{Runbook, RunbookStep};
use super::truth::Ranking;
use crate::files;

/// Rows of a call.
const BATCH: usize = 1000;
/// Searches at which a fresh build is compared.
const FRESH: usize = 5;

/// What is made to live, and how it is asked.
#[derive(Clone, Debug)]
pub struct Life<'d> {
    /// Rows of the data, and queries of the same shape.
    pub rows: &'d [u8],
    /// Queries.
    pub queries: &'d [u8],
    /// Shape of both.
    pub shape: VectorShape,
    /// Distance.
    pub metric: Metric,
    /// Design.
    pub preset: Preset,
    /// Memory of searches; that of `create` where absent.
    pub memory: Option<u64>,
    /// Memory for updates.
    pub update_memory: Option<MemoryWish>,
    /// When a batch counts as done.
    pub durability: Durability,
    /// Neighbours, and the list size that they are searched with.
    pub k: u32,
    /// See `k`.
    pub list_size: u32,
    /// Directory of the index, which does not exist.
    pub dir: PathBuf,
    /// Whether it is compared with fresh builds.
    pub with_fresh: bool,
}

/// A step that was lived through. Times are of this machine in whatever company it was.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct StepRecord {
    /// Its number in the runbook.
    pub step: usize,
    /// insert, delete, replace or search.
    pub operation: &'static str,
    /// Rows of the operation, or queries.
    pub rows: u64,
    /// Seconds it took.
    pub seconds: f64,
    /// Rows that live afterwards.
    pub live: u64,
    /// Segments of the index afterwards.
    pub segments: usize,
    /// Dead rows in them.
    pub dead: u64,
    /// Recall@k of a search, mean over queries; 5th percentile of queries.
    pub recall: Option<f64>,
    /// See `recall`.
    pub recall_p5: Option<f64>,
    /// Pages of a query, mean.
    pub pages: Option<f64>,
    /// Recall@k of an index built of the same rows at the same list size, and its pages.
    pub fresh_recall: Option<f64>,
    /// See `fresh_recall`.
    pub fresh_pages: Option<f64>,
}

/// Recall of the searches of a life.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct RecallSummary {
    /// Mean.
    pub mean: f64,
    /// Least.
    pub min: f64,
    /// 5th percentile.
    pub p5: f64,
    /// What it gains in a hundred searches, by the line of least squares.
    pub slope_per_100: f64,
}

/// A whole life.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Summary {
    /// Searches.
    pub searches: usize,
    /// Recall of searches.
    pub recall: RecallSummary,
    /// Fresh builds' recall over ours, mean where compared.
    pub fresh_gap: Option<f64>,
    /// Pages of a query, mean over searches.
    pub pages: f64,
    /// Rows inserted, deleted and replaced.
    pub updates: u64,
    /// Of those in a second of updating, flushes and merges included.
    pub updates_per_second: f64,
    /// Bytes of the log and of segments that were written.
    pub bytes_written: u64,
    /// Of those for each byte of vectors that came in.
    pub bytes_written_per_byte: f64,
    /// Flushes and merges.
    pub flushes: u64,
    /// See `flushes`.
    pub merges: u64,
}

struct Asked {
    recall: f64,
    recall_p5: f64,
    pages: f64,
}

/// Lives through a runbook; tells each step as it is done.
///
/// # Errors
/// `InvalidInput` for a runbook that needs more rows than there are; as the writer's and searches'
/// are.
pub fn live_through(
    life: &Life<'_>,
    runbook: &Runbook,
    progress: &dyn Progress,
    tell: &mut dyn FnMut(&StepRecord) -> Result<()>,
) -> Result<Summary> {
    let count = (life.rows.len() / life.shape.row_bytes()) as u64;
    if runbook.rows() > count {
        return Err(Error::invalid(format!(
            "the runbook needs {} rows, the data have {count}",
            runbook.rows()
        )));
    }
    let data = (life.rows, life.queries);
    let ranking = Ranking::new(data, (life.shape, life.metric), progress)?;
    let writer = life.create(runbook.most_rows)?;
    let (mut live, mut records) = (Live::default(), Vec::new());
    let searches = runbook
        .steps
        .iter()
        .filter(|step| **step == RunbookStep::Search);
    let fresh_every = searches.count().div_ceil(FRESH).max(1);
    progress.stage("live through the runbook", runbook.steps.len() as u64);
    let mut searched = 0;
    for (number, step) in (1..).zip(&runbook.steps) {
        progress.check()?;
        live.take(step)
            .map_err(|error| error.within(format!("step {number}")))?;
        let mut record = life.change(&writer, (number, step))?;
        if *step == RunbookStep::Search {
            let truth = ranking.among(&live, life.k as usize, progress)?;
            let begun = clock::now();
            let asked = life.ask(writer.index(), &truth)?;
            record.seconds = (clock::now() - begun).as_secs_f64();
            record.note(&asked);
            searched += 1;
            if life.with_fresh && searched % fresh_every == 0 && live.len() > life.k as usize {
                let fresh = life.fresh(&live, &truth, progress)?;
                record.fresh_recall = Some(fresh.recall);
                record.fresh_pages = Some(fresh.pages);
            }
        }
        tell(&record)?;
        records.push(record);
        progress.advance(1);
    }
    let work = writer.changes()?.work;
    writer.close()?;
    Ok(Summary::of(&records, life.shape, &work))
}

impl Life<'_> {
    fn create(&self, expected: u64) -> Result<Writer> {
        let options = CreateOptions::new(self.shape, self.metric)
            .with_preset(self.preset)
            .with_memory(self.memory)
            .with_expected(expected);
        Writer::create(&self.dir, &options)?;
        let update = UpdateOptions::default().with_memory(self.update_memory);
        Writer::open(&self.dir, &OpenOptions::default(), &update)
    }

    fn rows_of(&self, rows: std::ops::Range<u64>) -> &[u8] {
        let row_bytes = self.shape.row_bytes();
        let bytes = rows.start as usize * row_bytes..rows.end as usize * row_bytes;
        self.rows.get(bytes).unwrap_or_default()
    }

    /// Makes a step that changes something.
    fn change(&self, writer: &Writer, (number, step): (usize, &RunbookStep)) -> Result<StepRecord> {
        let begun = clock::now();
        let (operation, rows) = match step {
            RunbookStep::Insert(rows) => {
                let ids: Vec<u64> = rows.clone().collect();
                self.put(writer, &ids, rows.start)?;
                ("insert", rows.end - rows.start)
            }
            RunbookStep::Delete(ids) => {
                let ids: Vec<u64> = ids.clone().collect();
                let done = writer.delete(&ids, self.durability)?;
                if done.absent > 0 {
                    let words = format!("{} ids to delete were not there", done.absent);
                    return Err(Error::invalid(words));
                }
                ("delete", ids.len() as u64)
            }
            RunbookStep::Replace { tags, rows } => {
                let ids: Vec<u64> = tags.clone().collect();
                self.put(writer, &ids, rows.start)?;
                ("replace", rows.end - rows.start)
            }
            RunbookStep::Search => {
                let queries = self.queries.len() / self.shape.row_bytes();
                ("search", queries as u64)
            }
        };
        let seconds = (clock::now() - begun).as_secs_f64();
        let changes = writer.changes()?;
        Ok(StepRecord {
            step: number,
            operation,
            rows,
            seconds,
            live: changes.rows,
            segments: changes.segments,
            dead: changes.dead,
            recall: None,
            recall_p5: None,
            pages: None,
            fresh_recall: None,
            fresh_pages: None,
        })
    }

    /// Puts rows from `first` on in under ids.
    fn put(&self, writer: &Writer, ids: &[u64], first: u64) -> Result<()> {
        for (number, ids) in (0..).zip(ids.chunks(BATCH)) {
            let start = first + number * BATCH as u64;
            let bytes = self.rows_of(start..start + ids.len() as u64);
            let rows = Rows::new(bytes, self.shape)
                .with_ids(ids)
                .with_durability(self.durability);
            writer.upsert(&rows)?;
        }
        Ok(())
    }

    /// Searches for all queries and compares.
    fn ask(&self, index: &Index, truth: &[Vec<u64>]) -> Result<Asked> {
        let options = SearchOptions::nearest(self.k).with_effort(Effort::ListSize(self.list_size));
        let answers = index.search(&Queries::new(self.queries, self.shape), &options)?;
        let mut recalls = Vec::with_capacity(truth.len());
        for (query, truth) in truth.iter().enumerate() {
            let own = answers.lims.get(query).zip(answers.lims.get(query + 1));
            let own = own.and_then(|(from, to)| answers.ids.get(*from..*to));
            let found = own.unwrap_or_default();
            let hits = truth.iter().filter(|id| found.contains(id)).count();
            recalls.push(hits as f64 / truth.len().max(1) as f64);
        }
        let pages = answers.stats.iter().map(|one| one.pages as f64);
        Ok(Asked {
            recall: mean(&recalls),
            pages: mean(&pages.collect::<Vec<f64>>()),
            recall_p5: percentile5(recalls),
        })
    }

    /// An index that is built of what lives, asked the same.
    fn fresh(&self, live: &Live, truth: &[Vec<u64>], progress: &dyn Progress) -> Result<Asked> {
        let dir = files::with_suffix(&self.dir, ".fresh");
        let (mut rows, mut ids) = (Vec::new(), Vec::new());
        for (id, row) in live.iter() {
            rows.extend_from_slice(self.rows_of(row..row + 1));
            ids.push(id);
        }
        let vectors = VectorSlice::new(&rows, self.shape)?;
        let ids = IdSlice(&ids);
        let input = BuildInput::new(&vectors, "rows").with_ids(Some(&ids));
        let mut options = BuildOptions::default().with_preset(self.preset);
        options.metric = self.metric;
        options.memory = self.memory.map(MemoryWish::Bytes);
        Index::build(&dir, &input, &options, progress)?;
        let index = Index::open(&dir, &OpenOptions::default())?;
        let asked = self.ask(&index, truth);
        drop(index);
        remove_index(&dir)?;
        asked
    }
}

fn remove_index(dir: &Path) -> Result<()> {
    let vfs = files::vfs();
    for name in vfs.list(dir).map_err(files::at(dir))? {
        files::remove(&dir.join(name))?;
    }
    vfs.remove_dir(dir).map_err(files::at(dir))
}

impl StepRecord {
    fn note(&mut self, asked: &Asked) {
        self.recall = Some(asked.recall);
        self.recall_p5 = Some(asked.recall_p5);
        self.pages = Some(asked.pages);
    }
}

impl Summary {
    fn of(records: &[StepRecord], shape: VectorShape, work: &pageway::Work) -> Self {
        let recalls: Vec<f64> = records.iter().filter_map(|one| one.recall).collect();
        let pages: Vec<f64> = records.iter().filter_map(|one| one.pages).collect();
        let compared = records
            .iter()
            .filter_map(|one| Some(one.fresh_recall? - one.recall?));
        let gaps: Vec<f64> = compared.collect();
        let changed = || records.iter().filter(|one| one.recall.is_none());
        let updates: u64 = changed().map(|one| one.rows).sum();
        let seconds: f64 = changed().map(|one| one.seconds).sum();
        let came = changed().filter(|one| one.operation != "delete");
        let came: u64 = came.map(|one| one.rows).sum();
        let bytes = (came * shape.row_bytes() as u64).max(1);
        Self {
            searches: recalls.len(),
            recall: RecallSummary {
                mean: mean(&recalls),
                min: recalls.iter().copied().fold(1.0, f64::min),
                slope_per_100: 100.0 * slope(&recalls),
                p5: percentile5(recalls),
            },
            fresh_gap: (!gaps.is_empty()).then(|| mean(&gaps)),
            pages: mean(&pages),
            updates,
            updates_per_second: updates as f64 / seconds.max(1e-9),
            bytes_written: work.bytes_written,
            bytes_written_per_byte: work.bytes_written as f64 / bytes as f64,
            flushes: work.flushes,
            merges: work.merges,
        }
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The value that one in twenty lies below.
fn percentile5(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 20).copied().unwrap_or(0.0)
}

/// The slope of the line of least squares through values at 0, 1, 2, ..
fn slope(values: &[f64]) -> f64 {
    let middle = (values.len() as f64 - 1.0) / 2.0;
    let level = mean(values);
    let (mut above, mut below) = (0.0, 0.0);
    for (at, value) in (0u32..).zip(values) {
        let from = f64::from(at) - middle;
        above += from * (value - level);
        below += from * from;
    }
    if below > 0.0 { above / below } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use pageway::{ElementType, NoProgress};

    use super::*;
    use crate::stream::{Shape, runbook};

    #[test]
    fn sums_are_those_of_the_steps() {
        assert!((slope(&[0.9, 0.8, 0.7]) + 0.1).abs() < 1e-12);
        assert!(slope(&[0.5]).abs() < 1e-12);
        let values = (0..40).map(f64::from).collect();
        assert!((percentile5(values) - 2.0).abs() < 1e-12);
    }

    #[test]
    fn lives_of_every_shape_are_as_good_as_their_rows() {
        let shape = VectorShape {
            dimension: 8,
            element: ElementType::U8,
        };
        let mix = |at: u32| (at.wrapping_mul(2_654_435_769) >> 13) as u8;
        let rows: Vec<u8> = (0..600 * 8).map(mix).collect();
        let queries: Vec<u8> = (9000..9000 + 20 * 8).map(mix).collect();
        for name in ["window", "replace", "clusters", "churn-10"] {
            let root = tempfile::tempdir().unwrap();
            let life = Life {
                rows: &rows,
                queries: &queries,
                shape,
                metric: Metric::L2,
                preset: Preset::default(),
                memory: Some(4 << 20),
                update_memory: None,
                durability: Durability::Deferred,
                k: 5,
                list_size: 60,
                dir: root.path().join("index"),
                with_fresh: true,
            };
            let runbook = runbook(name.parse::<Shape>().unwrap(), name, 600);
            let mut told = 0;
            let summary = live_through(&life, &runbook, &NoProgress, &mut |_| {
                told += 1;
                Ok(())
            });
            let summary = summary.unwrap();
            assert_eq!(told, runbook.steps.len());
            assert!(summary.recall.min > 0.9, "{name}: {summary:?}");
            assert!(
                summary.fresh_gap.is_some_and(|gap| gap.abs() < 0.1),
                "{summary:?}"
            );
            assert!(summary.updates >= 600, "{summary:?}");
        }
    }
}
