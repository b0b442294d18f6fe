//! What is measured: one command over one index, or over several.

use pageway::Result;

use super::index::{CutName, DONOR, Donors, IndexPlan};
use super::{Plan, Settings};
use crate::record::Task;
use crate::suite::{Experiment, Suite};

/// A cut of data, and how many of its queries are used; 0 for all.
pub(crate) type WorkloadName = (CutName, u64);

/// A cell.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Cell {
    /// Identity.
    pub(crate) key: String,
    /// Experiments that want it.
    pub(crate) experiments: Vec<String>,
    /// What it does.
    pub(crate) task: Task,
    /// How often.
    pub(crate) repeats: u32,
    /// With what.
    pub(crate) settings: Settings,
    /// Keys of the indexes it searches.
    pub(crate) indexes: Vec<String>,
}

impl Plan {
    /// Adds what one combination of an experiment needs.
    pub(super) fn add(
        &mut self,
        suite: &Suite,
        experiment: &Experiment,
        settings: Settings,
    ) -> Result<()> {
        let indexes = if experiment.task == Task::Comparator {
            Vec::new()
        } else {
            self.add_indexes(suite, experiment, &settings)?
        };
        if experiment.task == Task::Build {
            return Ok(());
        }
        let key = key(experiment.task, &settings, &indexes, suite.fixed.queries);
        let repeats = experiment.repeats.unwrap_or(suite.fixed.repeats);
        if let Some(cell) = self.cells.iter_mut().find(|cell| cell.key == key) {
            cell.repeats = cell.repeats.max(repeats);
            if !cell.experiments.contains(&experiment.name) {
                cell.experiments.push(experiment.name.clone());
            }
            return Ok(());
        }
        self.cells.push(Cell {
            key,
            experiments: vec![experiment.name.clone()],
            task: experiment.task,
            repeats,
            settings,
            indexes,
        });
        Ok(())
    }

    /// The indexes of a combination, planned; their keys.
    fn add_indexes(
        &mut self,
        suite: &Suite,
        experiment: &Experiment,
        settings: &Settings,
    ) -> Result<Vec<String>> {
        let whole = IndexPlan::of(suite, settings)?;
        let parts = match settings.search.segments {
            Some(count) if count > 1 => (0..count).map(|at| whole.segment(at, count)).collect(),
            _ => vec![whole],
        };
        let mut parts: Vec<(IndexPlan, &Settings)> =
            parts.into_iter().map(|part| (part, settings)).collect();
        let smaller = smaller(settings);
        for cut in &smaller {
            parts.push((IndexPlan::of(suite, cut)?, cut));
        }
        let keys = parts.iter().map(|(part, _)| part.key.clone()).collect();
        for (mut part, settings) in parts {
            if part.segment.is_none() {
                part.donors = self.donors(suite, settings, &part)?;
            }
            part.fresh = experiment.fresh;
            self.need(part, &experiment.name);
        }
        Ok(keys)
    }

    /// Plans the donors of an index; none where it is one itself.
    fn donors(&mut self, suite: &Suite, settings: &Settings, index: &IndexPlan) -> Result<Donors> {
        let mut plain = settings.clone();
        DONOR.clone_into(&mut plain.design);
        plain.build.page_size = 4096;
        plain.build.refine_share = None;
        if settings.build.code_bytes.is_none() {
            // One graph for all budgets where codes are as long as the budget has it.
            suite
                .memory_of(&settings.cut.data)
                .clone_into(&mut plain.build.memory);
        }
        let codebook = IndexPlan::of(suite, &plain)?;
        plain.build.code_bytes = suite.code_bytes_of(&settings.cut.data);
        let graph = IndexPlan::of(suite, &plain)?;
        let mut donors = Donors::default();
        let other = |donor: &IndexPlan| donor.key != index.key;
        if index.has_graph_of(&graph) && other(&graph) {
            donors.graph = Some(graph.key.clone());
            self.need(graph.clone(), "");
        }
        let lengths = index.settings.code_bytes.is_some();
        if lengths && index.has_shared_codebook() && other(&codebook) {
            donors.codebook = Some(codebook.key.clone());
            let mut codebook = codebook;
            codebook.donors.graph = (codebook.key != graph.key).then(|| graph.key.clone());
            self.need(codebook, "");
        }
        Ok(donors)
    }

    /// Plans an index, once; what is measured from nothing is built from nothing for all.
    fn need(&mut self, index: IndexPlan, experiment: &str) {
        let known = self.indexes.iter().position(|known| known.key == index.key);
        let at = known.unwrap_or(self.indexes.len());
        if known.is_none() {
            self.indexes.push(index.clone());
        }
        if let Some(known) = self.indexes.get_mut(at) {
            known.fresh |= index.fresh;
            if !experiment.is_empty() && !known.experiments.iter().any(|name| name == experiment) {
                known.experiments.push(experiment.to_owned());
            }
        }
    }
}

/// The same over the smaller cuts that growth is learnt from.
fn smaller(settings: &Settings) -> Vec<Settings> {
    let from = settings
        .search
        .growth
        .iter()
        .flat_map(|growth| &growth.from_rows);
    from.map(|rows| {
        let mut cut = settings.clone();
        cut.cut.rows = Some(*rows);
        cut
    })
    .collect()
}

/// Everything that tells a cell from others; `queries` are those of most cells.
fn key(task: Task, settings: &Settings, indexes: &[String], queries: u64) -> String {
    let name = format!("{task:?}").to_lowercase();
    let what = match indexes {
        [] => format!("{}/{}", settings.cut.label(), settings.design),
        [first, ..] => first.replace("/part0of", "/parts"),
    };
    let search = &settings.search;
    let mut parts = vec![format!("{name}:{what}")];
    if search.memory != settings.build.memory {
        parts.push(format!("with{}", search.memory));
    }
    if task != Task::Open {
        let growth = search.growth.as_ref().map(|growth| growth.to_rows);
        let numbers = [
            ("L", Some(search.list_size.into())),
            ("W", search.beam.map(u64::from)),
            ("t", Some(search.threads.into())),
            ("i", Some(search.interleave.into())),
            ("k", Some(search.k.into())),
            ("r", search.results.map(u64::from)),
            ("n", search.processes.map(u64::from)),
            ("q", (search.queries != queries).then_some(search.queries)),
            ("to", growth),
        ];
        let given = numbers
            .into_iter()
            .filter_map(|(letter, value)| Some((letter, value?)));
        parts.extend(given.map(|(letter, value)| format!("{letter}{value}")));
        let tolerance = settings.tolerance.iter();
        parts.extend(tolerance.map(|share| format!("within{share}")));
        parts.extend(search.device.clone());
    }
    parts.join("/")
}

impl Cell {
    /// The data it searches.
    pub(crate) fn cut(&self) -> &CutName {
        &self.settings.cut
    }

    /// The data and queries it searches.
    pub(crate) fn workload(&self) -> WorkloadName {
        (self.settings.cut.clone(), self.settings.search.queries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUITE: &str = r#"
name = "small"
description = "d"
[code_bytes]
demo = 48
[axes]
data = ["demo"]
designs = ["diskann", "starling"]
list_size = [20, 30]
[[experiment]]
name = "recall"
[[experiment]]
name = "execution"
repeats = 5
[[experiment]]
name = "build"
task = "build"
fresh = true
[[experiment]]
name = "segments"
task = "segments"
segments = [2]
list_size = [20]
[[experiment]]
name = "memory"
memory = ["5%"]
code_bytes = [0]
designs = ["aisaq"]
"#;

    #[test]
    fn cells_of_several_experiments_are_measured_once() {
        let plan = Plan::of(&Suite::parse(SUITE, "small").unwrap()).unwrap();
        let shared = plan.cells.iter().filter(|cell| cell.experiments.len() == 2);
        assert_eq!(shared.clone().count(), 4);
        assert!(shared.clone().all(|cell| cell.repeats == 5));
        let designs: Vec<&str> = shared.map(|cell| cell.settings.design.as_str()).collect();
        assert_eq!(designs, ["diskann", "starling", "diskann", "starling"]);
        let repeats: u32 = plan.cells.iter().map(|cell| cell.repeats).sum();
        assert_eq!(repeats, 4 * 5 + 2 * 3 + 2 * 3);
    }

    #[test]
    fn no_list_is_left_out_but_where_k_varies() {
        let lists = |k: &str| {
            let suite = SUITE.replace("list_size = [20, 30]", "list_size = [20, 30, 5000]");
            let suite = suite.replace("[axes]", &format!("[axes]\nk = {k}"));
            let plan = Plan::of(&Suite::parse(&suite, "small").unwrap()).unwrap();
            let lists = plan.cells.iter().map(|cell| cell.settings.search.list_size);
            lists.max()
        };
        assert_eq!((lists("[10]"), lists("[1, 10]")), (Some(5000), Some(30)));
    }

    #[test]
    fn donors_are_built_before_those_that_take_from_them() {
        let plan = Plan::of(&Suite::parse(SUITE, "small").unwrap()).unwrap();
        for (at, index) in plan.indexes.iter().enumerate() {
            let donors = [&index.donors.graph, &index.donors.codebook];
            for donor in donors.into_iter().flatten() {
                let place = plan.indexes.iter().position(|other| &other.key == donor);
                assert!(place.unwrap() < at, "{} of {}", donor, index.key);
            }
        }
        let fresh: Vec<&str> = plan
            .indexes
            .iter()
            .filter(|index| index.fresh)
            .map(|index| index.design.as_str())
            .collect();
        assert_eq!(fresh, ["diskann", "starling"]);
    }

    #[test]
    fn segments_are_indexes_of_their_own_without_donors() {
        let plan = Plan::of(&Suite::parse(SUITE, "small").unwrap()).unwrap();
        let parts: Vec<&IndexPlan> = plan
            .indexes
            .iter()
            .filter(|index| index.segment.is_some())
            .collect();
        assert_eq!(parts.len(), 4);
        assert!(parts.iter().all(|part| part.donors == Donors::default()));
    }
}
