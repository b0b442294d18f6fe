//! An index of ours that lives through a runbook.

use std::path::PathBuf;

use pageway::lab::clock;
use pageway::source::{IdSlice, VectorSlice};
use pageway::{
    BuildInput, BuildOptions, CreateOptions, Durability, Effort, Error, Index, MemoryWish,
    OpenOptions, Preset, Progress, Result, Rows, SearchOptions, UpdateOptions, Writer,
};

use super::curve::{Curve, Found};
use super::live::Live;
use super::runbook::{Runbook, RunbookStep};
use super::summary::{Fresh, StepRecord, Summary};
use super::truth::Ranking;
use crate::files;
use crate::in_memory::InMemory;

/// Rows of a call.
const BATCH: usize = 1000;
/// Searches at which a fresh build is compared.
const FRESH: usize = 5;
/// List sizes that indexes are compared at, in quarters of the one that is searched with.
const QUARTERS: [u32; 5] = [1, 2, 4, 8, 16];

/// What is made to live, and how it is asked.
#[derive(Clone, Debug)]
pub struct Life<'d> {
    /// Rows and queries.
    pub data: InMemory<'d>,
    /// Design.
    pub preset: Preset,
    /// Memory of searches; that of `create` where absent.
    pub memory: Option<u64>,
    /// Memory for updates.
    pub update_memory: Option<MemoryWish>,
    /// When a batch counts as done.
    pub durability: Durability,
    /// How it is asked.
    pub asking: Asking,
    /// Directory of the index, which does not exist.
    pub dir: PathBuf,
    /// Whether it is compared with fresh builds.
    pub with_fresh: bool,
    /// Whether each search waits for the flushes and merges that are due.
    pub settles: bool,
}

/// How an index is asked.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Asking {
    /// Neighbours.
    pub k: u32,
    /// The list size that they are searched with.
    pub list_size: u32,
    /// A recall that each search is asked for too.
    pub recall: Option<f32>,
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
    let count = life.data.count();
    if runbook.rows() > count {
        return Err(Error::invalid(format!(
            "the runbook needs {} rows, the data have {count}",
            runbook.rows()
        )));
    }
    let ranking = Ranking::new(life.data, progress)?;
    let writer = life.create(runbook.most_rows)?;
    let (mut live, mut records) = (Live::default(), Vec::new());
    let searches = runbook
        .steps
        .iter()
        .filter(|step| **step == RunbookStep::Search);
    let fresh_every = searches.count().div_ceil(FRESH).max(1);
    progress.stage("live through the runbook", runbook.steps.len() as u64);
    let (mut searched, k) = (0, life.asking.k as usize);
    for (number, step) in (1..).zip(&runbook.steps) {
        progress.check()?;
        live.take(step)
            .map_err(|error| error.within(format!("step {number}")))?;
        let mut record = life.change(&writer, (number, step))?;
        if *step == RunbookStep::Search {
            if life.settles {
                writer.settle(progress)?;
            }
            let truth = ranking.among(&live, k, progress)?;
            let begun = clock::now();
            let list = Effort::ListSize(life.asking.list_size);
            record.found = Some(life.ask(writer.index(), &truth, list)?);
            record.seconds = (clock::now() - begun).as_secs_f64();
            if let Some(recall) = life.asking.recall {
                record.wished = Some(life.ask(writer.index(), &truth, Effort::Recall(recall))?);
            }
            searched += 1;
            if life.with_fresh && searched % fresh_every == 0 && live.len() > k {
                let aged = life.curve(writer.index(), &truth)?;
                record.fresh = Some(life.fresh((&live, &aged), &truth, progress)?);
            }
        }
        tell(&record)?;
        records.push(record);
        progress.advance(1);
    }
    let work = writer.changes()?.work;
    writer.close()?;
    Ok(Summary::of(&records, life.data.shape, &work))
}

impl Life<'_> {
    fn create(&self, expected: u64) -> Result<Writer> {
        let options = CreateOptions::new(self.data.shape, self.data.metric)
            .with_preset(self.preset)
            .with_memory(self.memory)
            .with_expected(expected);
        Writer::create(&self.dir, &options)?;
        let update = UpdateOptions::default().with_memory(self.update_memory);
        Writer::open(&self.dir, &OpenOptions::default(), &update)
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
            RunbookStep::Search => ("search", self.data.query_count() as u64),
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
            bytes_written: changes.work.bytes_written,
            disk_bytes: files::directory_bytes(&self.dir),
            found: None,
            wished: None,
            fresh: None,
        })
    }

    /// Puts rows from `first` on in under ids.
    fn put(&self, writer: &Writer, ids: &[u64], first: u64) -> Result<()> {
        for (number, ids) in (0..).zip(ids.chunks(BATCH)) {
            let start = first + number * BATCH as u64;
            let bytes = self.data.rows_of(start..start + ids.len() as u64);
            let rows = Rows::new(bytes, self.data.shape)
                .with_ids(ids)
                .with_durability(self.durability);
            writer.upsert(&rows)?;
        }
        Ok(())
    }

    /// Searches for all queries and compares.
    fn ask(&self, index: &Index, truth: &[Vec<u64>], effort: Effort) -> Result<Found> {
        let options = SearchOptions::nearest(self.asking.k).with_effort(effort);
        Found::by(index, self.data, &options, truth)
    }

    /// Searches with shorter and longer lists.
    fn curve(&self, index: &Index, truth: &[Vec<u64>]) -> Result<Curve> {
        let list = |quarters: u32| (self.asking.list_size * quarters / 4).max(self.asking.k);
        let mut lists: Vec<u32> = QUARTERS.map(list).to_vec();
        lists.dedup();
        let points = lists.into_iter();
        let points = points.map(|list| self.ask(index, truth, Effort::ListSize(list)));
        points.collect::<Result<_>>().map(Curve)
    }

    /// An index that is built of what lives, beside the one that aged.
    fn fresh(
        &self,
        (live, aged): (&Live, &Curve),
        truth: &[Vec<u64>],
        progress: &dyn Progress,
    ) -> Result<Fresh> {
        let dir = files::with_suffix(&self.dir, ".fresh");
        let rows = self.data.rows_at(live.iter().map(|(_, row)| row));
        let ids: Vec<u64> = live.iter().map(|(id, _)| id).collect();
        let vectors = VectorSlice::new(&rows, self.data.shape)?;
        let ids = IdSlice(&ids);
        let input = BuildInput::new(&vectors, "rows").with_ids(Some(&ids));
        let options = BuildOptions::default()
            .with_preset(self.preset)
            .with_metric(self.data.metric)
            .with_memory(self.memory.map(MemoryWish::Bytes));
        Index::build(&dir, &input, &options, progress)?;
        let index = Index::open(&dir, &OpenOptions::default())?;
        let curve = self.curve(&index, truth)?;
        let found = self.ask(&index, truth, Effort::ListSize(self.asking.list_size))?;
        drop(index);
        files::remove_directory(&dir)?;
        Ok(Fresh {
            found,
            gap: aged.gap_to(&curve),
        })
    }
}

#[cfg(test)]
mod tests {
    use pageway::NoProgress;

    use super::*;
    use crate::in_memory::tests::MadeUp;
    use crate::stream::{Shape, runbook};

    #[test]
    fn lives_of_every_shape_are_as_good_as_their_rows() {
        let made_up = MadeUp::new(600, 20);
        for name in ["window", "replace", "clusters", "churn-10"] {
            let root = tempfile::tempdir().unwrap();
            let life = Life {
                data: made_up.data(),
                preset: Preset::default(),
                memory: Some(4 << 20),
                update_memory: None,
                durability: Durability::Deferred,
                asking: Asking {
                    k: 5,
                    list_size: 60,
                    recall: Some(0.9),
                },
                dir: root.path().join("index"),
                with_fresh: true,
                settles: true,
            };
            let mut runbook = runbook(name.parse::<Shape>().unwrap(), name, 600);
            // Nothing lives yet.
            runbook.steps.insert(0, RunbookStep::Search);
            let mut told = 0;
            let summary = live_through(&life, &runbook, &NoProgress, &mut |_| {
                told += 1;
                Ok(())
            });
            let summary = summary.unwrap();
            assert_eq!(told, runbook.steps.len());
            assert!(summary.recall.min > 0.9, "{name}: {summary:?}");
            let gap = summary.fresh_gap.map(|gap| gap.worst.abs());
            assert!(gap.is_none_or(|gap| gap < 0.1), "{summary:?}");
            let wished = summary.wished.map(|wished| wished.mean);
            assert!(wished.is_some_and(|mean| mean > 0.88), "{summary:?}");
            assert!(summary.space > 1.0, "{summary:?}");
            assert!(summary.updates >= 600, "{summary:?}");
        }
    }
}
