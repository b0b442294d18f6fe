//! Indexes built, searched, recorded, and replayed at a site; and what would be over more rows.

use std::path::PathBuf;

use clap::Args;
use pageway::lab::SplitMix64;
use pageway::{Error, MemoryWish, Progress, Result};

use super::check::{by_segments, check, factors};
use super::course::QueryCourse;
use super::design::ClusterDesign;
use super::grow::{Factors, grow};
use super::law::CountLaw;
use super::record::{ClusterRecord, ClusterSummary, RowLaws};
use super::recording::{ClusterCell, Recording};
use super::simulate::simulate;
use super::site::{Site, SiteLoad};
use super::walk::ClusterWalk;
use crate::files;
use crate::in_memory::InMemory;
use crate::model::Law;
use crate::updates::UpdateDesign;

/// What is built, searched and replayed.
#[derive(Clone, Debug)]
pub struct ClusterSuite<'d> {
    /// Rows and queries.
    pub data: InMemory<'d>,
    /// What indexes are like.
    pub index: IndexWish,
    /// Neighbours.
    pub k: u32,
    /// Recall that each search reaches, if it can.
    pub recall: f32,
    /// Numbers of segments over all rows, beside one.
    pub segments: Vec<u32>,
    /// Segments over fewer rows.
    pub at_segments: u32,
    /// Numbers of rows, each half of the one before, beside all.
    pub halvings: u32,
    /// Rows to extrapolate to.
    pub scale: Vec<u64>,
    /// Where all of it stands.
    pub site: Site,
    /// Directory of the indexes.
    pub dir: PathBuf,
}

/// What indexes are like.
#[derive(Clone, Debug, Args)]
pub struct IndexWish {
    /// Design of the indexes: a preset, or one with +NAME=VALUE for choices
    #[arg(long, value_name = "DESIGN", default_value = "pageway")]
    pub design: UpdateDesign,

    /// Form of the design, as 'pageway build' takes it
    #[arg(long, value_name = "FORM")]
    pub form: Option<String>,

    /// Bytes of a code: give it, so that indexes of all sizes have the same
    #[arg(long, value_name = "N")]
    pub code_bytes: Option<u32>,

    /// Memory of searches, in bytes or as a share of the vectors; that of `build` where absent
    #[arg(long, value_name = "MEMORY")]
    pub memory: Option<MemoryWish>,

    /// Queries that each index is calibrated by when it is built
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub calibration_queries: u32,
}

/// Both laws.
const LAWS: [Law; 2] = [Law::Logarithmic, Law::Power];

impl ClusterSuite<'_> {
    /// Measures and replays all; tells each cell as it is there. Each index goes before the next.
    ///
    /// # Errors
    /// `InvalidInput` for what cannot be; those of builds and searches.
    pub fn run(
        &self,
        progress: &dyn Progress,
        tell: &mut dyn FnMut(&ClusterCell) -> Result<()>,
    ) -> Result<ClusterSummary> {
        self.site.check()?;
        let mut recordings = Vec::new();
        for (design, rows, segments) in self.cells()? {
            let dir = self.dir.join("index");
            let own = Recording::make(self, (design, rows, segments), &dir, progress)?;
            files::clear_directory(&dir)?;
            tell(&own.cell)?;
            recordings.push(own);
        }
        let mut summary = ClusterSummary {
            design: self.index.design.name.clone(),
            asked_recall: self.recall,
            k: self.k,
            site: self.site.clone(),
            cells: recordings.iter().map(|one| one.cell.clone()).collect(),
            checks: Vec::new(),
            laws: Vec::new(),
            simulated: Vec::new(),
        };
        for design in ClusterDesign::ALL {
            let own = Series::of(self, design, &recordings);
            if design != ClusterDesign::Graph {
                summary.checks.extend(check(
                    design,
                    &own.by_segments,
                    &self.site,
                    self.site.load.seed,
                ));
            }
            summary.laws.push(own.laws());
            summary.simulated.extend(own.replayed(self));
            for rows in &self.scale {
                summary.simulated.extend(own.scaled(self, *rows));
            }
        }
        Ok(summary)
    }

    /// What is built: one segment and the graph are the same index.
    fn cells(&self) -> Result<Vec<(ClusterDesign, u64, u32)>> {
        let all = self.data.count();
        let least = all >> self.halvings;
        let most = self.segments.iter().copied().max().unwrap_or(1);
        if self.segments.len() < 2 || self.segments.contains(&0) || self.segments.contains(&1) {
            return Err(Error::invalid(
                "give at least two numbers of segments above 1: one is measured anyway",
            ));
        }
        if self.halvings == 0 || least < 100 * u64::from(self.at_segments.max(most)) {
            let words = format!(
                "{all} rows, halved {} times, are too few for {most} segments",
                self.halvings
            );
            return Err(Error::invalid(words));
        }
        let sizes = || (1..=self.halvings).map(|halving| all >> halving);
        let graph = std::iter::once(all).chain(sizes());
        let mut cells: Vec<_> = graph.map(|rows| (ClusterDesign::Graph, rows, 1)).collect();
        for design in [ClusterDesign::Arrival, ClusterDesign::Space] {
            let mut numbers = self.segments.clone();
            numbers.push(self.at_segments);
            numbers.sort_unstable();
            numbers.dedup();
            cells.extend(numbers.iter().map(|segments| (design, all, *segments)));
            cells.extend(sizes().map(|rows| (design, rows, self.at_segments)));
        }
        Ok(cells)
    }
}

/// The recordings of a design.
struct Series<'r> {
    design: ClusterDesign,
    /// Over all rows, by number of segments.
    by_segments: Vec<&'r Recording>,
    /// In one number of segments, by rows.
    by_rows: Vec<&'r Recording>,
}

impl<'r> Series<'r> {
    fn of(suite: &ClusterSuite<'_>, design: ClusterDesign, all: &'r [Recording]) -> Self {
        let most = all.iter().map(|one| one.cell.rows).max().unwrap_or(0);
        let at = match design {
            ClusterDesign::Graph => 1,
            ClusterDesign::Arrival | ClusterDesign::Space => suite.at_segments,
        };
        // One segment is the graph, whatever the cut.
        let is_own =
            |one: &&Recording| one.cell.design == design || one.cell.design == ClusterDesign::Graph;
        let own = || all.iter().filter(is_own);
        let of_design = |one: &&Recording| one.cell.design == design;
        Self {
            design,
            by_segments: own().filter(|one| one.cell.rows == most).collect(),
            by_rows: own()
                .filter(of_design)
                .filter(|one| one.cell.segments == at)
                .collect(),
        }
    }

    fn cells(recordings: &[&'r Recording]) -> Vec<&'r ClusterCell> {
        recordings.iter().map(|one| &one.cell).collect()
    }

    fn law(&self, law: Law, count: fn(&ClusterCell) -> f64) -> CountLaw {
        let cells = Self::cells(&self.by_rows);
        let measured: Vec<(u64, f64)> = cells.iter().map(|cell| (cell.rows, count(cell))).collect();
        CountLaw::of(law, &measured)
    }

    fn laws(&self) -> RowLaws {
        let both = |count: fn(&ClusterCell) -> f64| LAWS.map(|law| self.law(law, count));
        RowLaws {
            design: self.design,
            segments: self.by_rows.first().map_or(1, |one| one.cell.segments),
            reads: both(|cell| cell.counts.reads),
            rounds: both(|cell| cell.counts.rounds),
            codes: both(|cell| cell.counts.codes),
        }
    }

    /// The recording over all rows whose number of segments is nearest.
    fn nearest(&self, segments: u32) -> Option<&'r Recording> {
        let apart = |one: &&&Recording| one.cell.segments.abs_diff(segments);
        self.by_segments.iter().min_by_key(apart).copied()
    }

    /// The segments that a site has of this design.
    fn segments_at(&self, site: &Site) -> u32 {
        match self.design {
            ClusterDesign::Graph => 1,
            ClusterDesign::Arrival | ClusterDesign::Space => site.segments(),
        }
    }

    /// The site with the rows that were measured.
    fn replayed(&self, suite: &ClusterSuite<'_>) -> Option<ClusterRecord> {
        let segments = self.segments_at(&suite.site);
        let from = self.nearest(segments)?;
        if from.cell.segments == segments {
            let walks = from.walks.clone();
            return Some(self.record((suite, from), &walks, (from.cell.rows, segments)));
        }
        Some(self.grown((suite, from), (from.cell.rows, segments), None))
    }

    /// The site with more rows, once by each law.
    fn scaled(&self, suite: &ClusterSuite<'_>, rows: u64) -> Vec<ClusterRecord> {
        let segments = self.segments_at(&suite.site);
        let Some(from) = self.nearest(segments) else {
            return Vec::new();
        };
        let of = |law| self.grown((suite, from), (rows, segments), Some(law));
        LAWS.map(of).into()
    }

    fn grown(
        &self,
        (suite, from): (&ClusterSuite<'_>, &Recording),
        (rows, segments): (u64, u32),
        law: Option<Law>,
    ) -> ClusterRecord {
        let cells = Self::cells(&self.by_segments);
        let parts = by_segments(&cells, from.cell.segments, segments);
        let more = factors(&|count| {
            let law = law.map(|law| self.law(law, count));
            law.map_or(1.0, |law| law.factor(from.cell.rows, rows))
        });
        let both = Factors {
            // Which segments a query is near does not depend on how many rows they have.
            asked: parts.asked,
            reads: parts.reads * more.reads,
            rounds: parts.rounds * more.rounds,
            codes: parts.codes * more.codes,
        };
        let mut random = SplitMix64::new(suite.site.load.seed);
        let walks: Vec<ClusterWalk> = from
            .walks
            .iter()
            .map(|walk| grow(walk, segments, both, &mut random))
            .collect();
        ClusterRecord {
            is_extrapolated: true,
            rows_law: law,
            ..self.record((suite, from), &walks, (rows, segments))
        }
    }

    fn record(
        &self,
        (suite, from): (&ClusterSuite<'_>, &Recording),
        walks: &[ClusterWalk],
        (rows, segments): (u64, u32),
    ) -> ClusterRecord {
        let site = &suite.site;
        let courses: Vec<QueryCourse> = walks
            .iter()
            .zip(0..)
            .map(|(walk, number)| QueryCourse::of((self.design, number), walk, site, from.asked))
            .collect();
        let alone = Site {
            load: SiteLoad {
                in_flight: 1,
                queries: site.load.queries.min(1000),
                ..site.load
            },
            ..site.clone()
        };
        let share = rows as f64 / from.cell.rows.max(1) as f64 * f64::from(site.replicas)
            / f64::from(site.nodes);
        let of_node = |bytes: u64| (bytes as f64 * share) as u64;
        ClusterRecord {
            design: self.design,
            rows,
            segments,
            is_extrapolated: false,
            rows_law: None,
            recall: from.cell.recall,
            loaded: simulate(&courses, site, from.read_bytes),
            alone: simulate(&courses, &alone, from.read_bytes),
            node_memory_bytes: of_node(from.cell.resident_bytes),
            node_disk_bytes: of_node(from.cell.index_bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use pageway::{NoProgress, OsVfs, Vfs};

    use super::super::site::tests::site;
    use super::*;
    use crate::in_memory::tests::MadeUp;

    fn suite<'d>(data: InMemory<'d>, dir: &Path) -> ClusterSuite<'d> {
        ClusterSuite {
            data,
            index: IndexWish {
                design: "diskann+cache_nodes=none".parse().unwrap(),
                form: None,
                code_bytes: Some(4),
                memory: Some(MemoryWish::Bytes(4 << 20)),
                calibration_queries: 20,
            },
            k: 5,
            recall: 0.9,
            segments: vec![2, 4],
            at_segments: 2,
            halvings: 1,
            scale: vec![1_000_000],
            site: site(),
            dir: dir.to_owned(),
        }
    }

    #[test]
    fn three_ways_are_measured_checked_and_replayed() {
        let made_up = MadeUp::new(1600, 20);
        let root = tempfile::tempdir().unwrap();
        let suite = suite(made_up.data(), root.path());
        let mut told = 0;
        let summary = suite.run(&NoProgress, &mut |cell| {
            assert!(cell.recall > 0.89 && cell.is_reached, "{cell:?}");
            told += 1;
            Ok(())
        });
        let summary = summary.unwrap();
        assert_eq!((told, summary.cells.len()), (8, 8));
        let arrival = |cell: &&ClusterCell| cell.design == ClusterDesign::Arrival;
        for cell in summary.cells.iter().filter(arrival) {
            assert_eq!(cell.counts.asked, f64::from(cell.segments));
        }
        // One, two and four segments, each from both others, of both cuts.
        assert_eq!(summary.checks.len(), 6);
        assert_eq!(summary.laws.len(), 3);
        let measured = summary.simulated.iter().filter(|one| !one.is_extrapolated);
        assert_eq!((measured.count(), summary.simulated.len()), (3, 9));
        for one in &summary.simulated {
            assert!(one.loaded.qps > 0.0 && one.loaded.reads > 0.0, "{one:?}");
            assert!(one.alone.latency_us.mean >= 200.0, "{one:?}");
            let more = one.rows > 1600;
            assert_eq!(more, one.rows_law.is_some());
        }
        assert!(OsVfs.list(&root.path().join("index")).unwrap().is_empty());
    }

    #[test]
    fn too_few_rows_or_numbers_of_segments_are_refused() {
        let made_up = MadeUp::new(1600, 20);
        let root = tempfile::tempdir().unwrap();
        let refused = |spoil: &dyn Fn(&mut ClusterSuite<'_>)| {
            let mut own = suite(made_up.data(), root.path());
            spoil(&mut own);
            let error = own.run(&NoProgress, &mut |_| Ok(())).unwrap_err();
            error.to_string()
        };
        assert!(refused(&|suite| suite.segments = vec![2]).contains("at least two"));
        assert!(refused(&|suite| suite.segments = vec![1, 2]).contains("above 1"));
        assert!(refused(&|suite| suite.halvings = 4).contains("too few"));
        assert!(refused(&|suite| suite.site.nodes = 0).contains("of nothing"));
    }
}
