//! Each design built, changed and asked.

use std::path::{Path, PathBuf};

use pageway::lab::clock;
use pageway::source::{IdSlice, VectorSlice};
use pageway::{
    BuildInput, BuildOptions, Durability, Effort, Error, ErrorKind, Index, MemoryWish, OpenOptions,
    Progress, Result, SearchOptions, UpdateOptions, Writer,
};

use super::design::UpdateDesign;
use super::finding::findings;
use super::load::{Hands, MixedLoad, OperationsDone};
use super::mix::Mix;
use super::record::{
    RecordTimes, StepTimes, UpdateRecord, UpdateRound, UpdateStep, UpdateSummary, UpdateWork,
    durability_name,
};
use super::times::Latency;
use crate::in_memory::InMemory;
use crate::stream::{Found, Live, Ranking, RunbookStep, mean};

/// What is changed and asked, and how.
#[derive(Clone, Debug)]
pub struct UpdateSuite<'d> {
    /// Rows and queries.
    pub data: InMemory<'d>,
    /// Designs.
    pub designs: Vec<UpdateDesign>,
    /// Memory of searches; that of `build` where absent. And for updates.
    pub memory: [Option<MemoryWish>; 2],
    /// Rows that indexes are built of, the first ones.
    pub first: u64,
    /// Operations on each, and after how many of them recall is measured.
    pub operations: (u64, u64),
    /// Inserts to deletes, and when a change counts: each is a round on the index as it was built.
    pub rounds: Vec<(Mix, Durability)>,
    /// Who changes and searches.
    pub hands: Hands,
    /// Neighbours, and the list size that they are searched with.
    pub asking: (u32, u32),
    /// What becomes of changes.
    pub writing: Writing,
}

/// What becomes of changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Writing {
    /// Operations after which is flushed by hand; as the writer does where 0.
    pub flush: u64,
    /// Whether everything is merged at the end.
    pub merges: bool,
}

/// Operations on a design, step by step.
struct Course<'c> {
    suite: &'c UpdateSuite<'c>,
    design: &'c str,
    round: (Mix, Durability),
    ranking: &'c Ranking<'c>,
    progress: &'c dyn Progress,
    live: Live,
    /// Of all steps.
    steps: Vec<UpdateStep>,
    times: [Vec<u64>; 2],
    seconds: f64,
}

impl UpdateSuite<'_> {
    /// Measures every design; tells each step as it is done. Indexes go to `dir`.
    ///
    /// # Errors
    /// `InvalidInput` where there are too few rows; as those of builds, changes and searches. A
    /// design that the memory does not hold is recorded as refused.
    pub fn run(
        &self,
        dir: &Path,
        progress: &dyn Progress,
        tell: &mut dyn FnMut(&UpdateStep) -> Result<()>,
    ) -> Result<UpdateSummary> {
        let count = self.data.count();
        for (mix, _) in &self.rounds {
            let (inserts, deletes) = mix.within(&(0..self.operations.0));
            if self.first == 0 || self.first + inserts.end > count || deletes.end > self.first {
                return Err(Error::invalid(format!(
                    "{} rows first, {} that come and {} that go: the data have {count}",
                    self.first, inserts.end, deletes.end
                )));
            }
        }
        let ranking = Ranking::new(self.data, progress)?;
        let mut records = Vec::new();
        for (number, design) in self.designs.iter().enumerate() {
            let place = dir.join(format!("index-{number}"));
            match self.build(design, &place, progress) {
                Err(error) if error.kind() == ErrorKind::InvalidInput => {
                    records.push(UpdateRecord {
                        design: design.name.clone(),
                        refused: Some(error.to_string()),
                        ..UpdateRecord::default()
                    });
                    continue;
                }
                built => built?,
            }
            for (turn, round) in self.rounds.iter().enumerate() {
                let mut course = Course::new((self, &design.name, *round), &ranking, progress);
                course.live.take(&RunbookStep::Insert(0..self.first))?;
                let own = self.copy(&place, turn, progress)?;
                records.push(course.run(&own, tell)?);
            }
        }
        Ok(UpdateSummary {
            first: self.first,
            callers: self.hands.callers,
            searchers: self.hands.searchers,
            reads: self.hands.reads,
            findings: findings(&records),
            designs: records,
        })
    }

    fn build(&self, design: &UpdateDesign, dir: &Path, progress: &dyn Progress) -> Result<()> {
        let rows = self.data.rows_of(0..self.first);
        let vectors = VectorSlice::new(rows, self.data.shape)?;
        let ids: Vec<u64> = (0..self.first).collect();
        let ids = IdSlice(&ids);
        let options = BuildOptions::default()
            .with_preset(design.preset)
            .with_metric(self.data.metric)
            .with_memory(self.memory[0])
            .with_overrides(design.overrides);
        let input = BuildInput::new(&vectors, "rows").with_ids(Some(&ids));
        Index::build(dir, &input, &options, progress).map(drop)
    }

    fn open(&self, dir: &Path) -> Result<Writer> {
        let mut options = OpenOptions::default();
        let Hands {
            callers,
            searchers,
            reads,
        } = self.hands;
        let asking = if reads > 0.0 { callers } else { 0 };
        options.threads = (searchers + asking).max(1);
        options.effort = Some(Effort::ListSize(self.asking.1));
        let update = UpdateOptions::default().with_memory(self.memory[1]);
        Writer::open(dir, &options, &update)
    }

    /// The index of a round: the last has the one that was built, the others copies of it.
    fn copy(&self, dir: &Path, turn: usize, progress: &dyn Progress) -> Result<PathBuf> {
        if turn + 1 == self.rounds.len() {
            return Ok(dir.to_owned());
        }
        let own = dir.with_extension(turn.to_string());
        let writer = self.open(dir)?;
        writer.snapshot(&own, progress)?;
        writer.close()?;
        Ok(own)
    }
}

impl<'c> Course<'c> {
    fn new(
        (suite, design, round): (&'c UpdateSuite<'c>, &'c str, (Mix, Durability)),
        ranking: &'c Ranking<'c>,
        progress: &'c dyn Progress,
    ) -> Self {
        Self {
            suite,
            design,
            round,
            ranking,
            progress,
            live: Live::default(),
            steps: Vec::new(),
            times: [Vec::new(), Vec::new()],
            seconds: 0.0,
        }
    }

    fn run(
        mut self,
        dir: &Path,
        tell: &mut dyn FnMut(&UpdateStep) -> Result<()>,
    ) -> Result<UpdateRecord> {
        let (suite, progress) = (self.suite, self.progress);
        let (mix, durability) = self.round;
        let writer = suite.open(dir)?;
        let load = MixedLoad {
            data: suite.data,
            first: suite.first,
            mix,
            hands: suite.hands,
            durability,
            flush: suite.writing.flush,
        };
        let before = self.ask(&writer)?;
        let (mut at, (all, every)) = (0, suite.operations);
        while at < all {
            let operations = at..all.min(at + every.max(1));
            progress.stage("change and search", operations.end - operations.start);
            let done = load.run(&writer, &self.searching(), operations.clone(), progress)?;
            let (came, went) = mix.within(&operations);
            let came = suite.first + came.start..suite.first + came.end;
            self.live.take(&RunbookStep::Insert(came))?;
            self.live.take(&RunbookStep::Delete(went))?;
            at = operations.end;
            let step = self.step(at, &writer, done)?;
            tell(&step)?;
            self.steps.push(step);
        }
        self.finish(&writer, before)
    }

    fn searching(&self) -> SearchOptions {
        let (k, list) = self.suite.asking;
        SearchOptions::nearest(k).with_effort(Effort::ListSize(list))
    }

    /// Recall of all queries.
    fn ask(&self, writer: &Writer) -> Result<Found> {
        let k = self.suite.asking.0 as usize;
        let truth = self.ranking.among(&self.live, k, self.progress)?;
        Found::by(writer.index(), self.suite.data, &self.searching(), &truth)
    }

    fn round_name(&self) -> UpdateRound {
        UpdateRound {
            mix: self.round.0.to_string(),
            durability: durability_name(self.round.1),
        }
    }

    fn step(&mut self, at: u64, writer: &Writer, done: OperationsDone) -> Result<UpdateStep> {
        let changes = writer.changes()?;
        let found = self.ask(writer)?;
        self.seconds += done.seconds;
        let [inserts, deletes] = done.times;
        let timed = self.suite.hands.is_timed().then(|| StepTimes {
            seconds: done.seconds,
            update: Latency::of([inserts.as_slice(), &deletes].concat()),
            insert: Latency::of(inserts.clone()),
            delete: Latency::of(deletes.clone()),
            search: Latency::of(done.search_times.clone()),
            queries_per_second: done.search_times.len() as f64 / done.seconds.max(1e-9),
            searches_by_second: done.searches.into_counts(),
        });
        let [updates, searches] = &mut self.times;
        updates.extend(inserts.into_iter().chain(deletes));
        searches.extend(done.search_times);
        Ok(UpdateStep {
            design: self.design.to_owned(),
            round: self.round_name(),
            operations: at,
            rows: changes.rows,
            segments: changes.segments,
            dead: changes.dead,
            bytes_written: changes.work.bytes_written,
            log_bytes: changes.work.log_bytes,
            flushes: changes.work.flushes,
            merges: changes.work.merges,
            found,
            timed,
        })
    }

    /// Flushes and merges what is due, and then everything.
    fn finish(self, writer: &Writer, before: Found) -> Result<UpdateRecord> {
        let begun = clock::now();
        writer.flush(self.progress)?;
        writer.settle(self.progress)?;
        let settled = clock::now();
        let work = writer.changes()?.work;
        let mut merged = None;
        if self.suite.writing.merges {
            writer.merge(true, self.progress)?;
        }
        let merge_seconds = (clock::now() - settled).as_secs_f64();
        if self.suite.writing.merges {
            merged = Some(self.ask(writer)?);
        }
        let written = writer.changes()?.work.bytes_written;
        let of = |part: fn(&Found) -> f64| -> Vec<f64> {
            self.steps.iter().map(|step| part(&step.found)).collect()
        };
        let recalls = of(|found| found.recall);
        let operations = self.suite.operations.0;
        let (is_timed, round) = (self.suite.hands.is_timed(), self.round_name());
        let in_place = writer.index().description()?.spec.update.changes_pages();
        let [updates, searches] = self.times;
        let (update, search) = (Latency::of(updates), Latency::of(searches));
        Ok(UpdateRecord {
            design: self.design.to_owned(),
            round,
            in_place,
            refused: None,
            operations,
            before,
            beside: Found {
                recall: mean(&recalls),
                recall_p5: mean(&of(|found| found.recall_p5)),
                pages: mean(&of(|found| found.pages)),
            },
            least_recall: recalls.iter().copied().fold(1.0, f64::min),
            merged,
            work: UpdateWork {
                bytes_per_update: work.bytes_written as f64 / operations.max(1) as f64,
                merge_bytes: written - work.bytes_written,
                flushes: work.flushes,
                merges: work.merges,
            },
            timed: is_timed.then(|| RecordTimes {
                update,
                search,
                queries_per_second: search.calls as f64 / self.seconds.max(1e-9),
                updates_per_second: operations as f64 / self.seconds.max(1e-9),
                settle_seconds: (settled - begun).as_secs_f64(),
                merge_seconds,
            }),
        })
    }
}

#[cfg(test)]
mod tests {
    use pageway::NoProgress;

    use super::super::finding::FindingVerdict;
    use super::*;
    use crate::in_memory::tests::{DIMENSION, MadeUp, of_bytes};

    fn hands(callers: usize, searchers: usize, reads: f64) -> Hands {
        Hands {
            callers,
            searchers,
            reads,
        }
    }

    fn suite(data: InMemory<'_>, hands: Hands) -> UpdateSuite<'_> {
        let designs = [
            "freshdiskann",
            "odinann",
            "diskann+update=overwrite+repair=local",
        ];
        UpdateSuite {
            data,
            designs: designs.map(|name| name.parse().unwrap()).into(),
            memory: [Some(MemoryWish::Bytes(4 << 20)), None],
            first: 600,
            operations: (200, 100),
            rounds: ["9:1", "1:1"]
                .map(|mix| (mix.parse().unwrap(), Durability::Deferred))
                .into(),
            hands,
            asking: (5, 60),
            writing: Writing {
                flush: 50,
                merges: true,
            },
        }
    }

    #[test]
    fn designs_are_changed_and_searched_at_once() {
        let made_up = MadeUp::new(800, 20);
        for hands in [Hands::COUNTING, hands(3, 2, 0.0), hands(2, 0, 1.5)] {
            let root = tempfile::tempdir().unwrap();
            let suite = suite(made_up.data(), hands);
            let mut told = Vec::new();
            let summary = suite.run(root.path(), &NoProgress, &mut |step| {
                told.push(step.clone());
                Ok(())
            });
            let summary = summary.unwrap();
            assert_eq!(told.len(), 12);
            assert!(
                told.iter()
                    .all(|step| step.timed.is_some() == hands.is_timed())
            );
            let live: Vec<u64> = told.iter().map(|step| step.rows).collect();
            assert_eq!(live, [680, 760, 600, 600].repeat(3));
            let mixes: Vec<&str> = told.iter().map(|step| step.round.mix.as_str()).collect();
            assert_eq!(mixes, ["9:1", "9:1", "1:1", "1:1"].repeat(3));
            for design in &summary.designs {
                assert!(design.refused.is_none(), "{design:?}");
                assert!(design.least_recall > 0.9, "{design:?}");
                assert!(
                    design.merged.is_some_and(|found| found.recall > 0.9),
                    "{design:?}"
                );
                assert!(
                    design.in_place == (design.design != "freshdiskann"),
                    "{design:?}"
                );
                assert!(
                    design.work.flushes >= 3 && design.work.bytes_per_update > 8.0,
                    "{design:?}"
                );
                let updates = design.timed.map_or(200, |timed| timed.update.calls);
                assert_eq!(updates, 200);
                let searches = design.timed.map(|timed| timed.search.calls);
                assert!(hands.reads == 0.0 || searches == Some(300), "{design:?}");
            }
            let judged = summary.findings.iter().map(|one| one.verdict);
            let judged = judged.filter(|verdict| *verdict != FindingVerdict::NotMeasured);
            // Two designs in place, beside one that is not, in two rounds.
            assert_eq!(judged.count(), if hands.is_timed() { 12 } else { 0 });
            assert_eq!(summary.findings.len(), 12);
        }
    }

    #[test]
    fn too_few_rows_and_too_little_memory_are_told() {
        let rows = vec![7; 700 * 8];
        let mut suite = suite(of_bytes(&rows, &rows[..80], DIMENSION), Hands::COUNTING);
        let root = tempfile::tempdir().unwrap();
        let error = suite
            .run(root.path(), &NoProgress, &mut |_| Ok(()))
            .unwrap_err();
        assert!(error.to_string().contains("the data have 700"), "{error}");
        suite.operations = (50, 50);
        suite.memory[0] = Some(MemoryWish::Bytes(1000));
        let summary = suite
            .run(root.path(), &NoProgress, &mut |_| Ok(()))
            .unwrap();
        assert!(summary.designs.iter().all(|one| one.refused.is_some()));
    }
}
