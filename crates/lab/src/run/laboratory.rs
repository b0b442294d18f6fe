//! The whole of a run, in order: data, indexes, rounds of cells.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::PathBuf;

use pageway::spec::Shape;
use pageway::{Progress, Quiet, Result};
use serde::Serialize;

use super::comparator::{self, Pythons};
use super::context::{Context, Workloads};
use super::forecast::Forecast;
use super::journal::{self, Done, Journal};
use super::known;
use super::machine;
use super::steps::Steps;
use crate::data::{self, Cut, DataSet, Identity, Place, Registry};
use crate::files;
use crate::plan::{Cell, CutName, Estimate, Plan, Sizes};
use crate::record::Machine;
use crate::suite::Suite;

/// Queries that an estimate counts with where nobody knows how many there are.
const UNKNOWN_QUERIES: u64 = 10_000;

/// A run to be made.
#[derive(Debug)]
pub struct Laboratory<'r> {
    /// What is measured.
    pub suite: &'r Suite,
    /// Where data come from.
    pub registry: &'r Registry,
    /// Directory of the run.
    pub out: PathBuf,
    /// Directory of data and indexes; they may be removed afterwards.
    pub work: PathBuf,
    /// The command `pageway`, which does the measuring.
    pub program: PathBuf,
    /// The command `pageway-lab`, which replays recorded searches.
    pub lab: PathBuf,
    /// Pythons with the libraries to compare with.
    pub python: Pythons,
}

/// What a run did.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct RunReport {
    /// Directory of the run.
    pub run: PathBuf,
    /// Indexes built now.
    pub indexes: u64,
    /// Indexes whose builds failed or were refused.
    pub failed_indexes: u64,
    /// Cells measured now, repetitions counted.
    pub cells: u64,
    /// Cells that failed or were refused.
    pub failed: u64,
    /// Seconds it took.
    pub seconds: f64,
}

impl RunReport {
    /// Whether all that was tried failed or was refused.
    pub fn got_nothing(&self) -> bool {
        let tried = self.cells + self.failed_indexes;
        tried > 0 && self.cells == self.failed && (self.cells > 0 || self.indexes == 0)
    }
}

impl Laboratory<'_> {
    /// What the run will take, from the shapes of the data alone; what is in the journal already is
    /// not counted.
    ///
    /// # Errors
    /// `InvalidInput` for data or designs that do not exist, and for other data under a name that
    /// the run knows.
    pub fn estimate(&self) -> Result<Estimate> {
        let plan = Plan::of(self.suite)?;
        let named = self.named(&plan)?;
        for place in [&self.out, &self.work] {
            known::check(place, &named)?;
        }
        let records = journal::past(&self.out)?;
        let forecast = Forecast::new(&plan, self.sizes(&plan)?, &records);
        let mut estimate = forecast.estimate(&plan, &Done::of(&records));
        for cut in plan.cuts() {
            if let Some((set, part)) = self.find(&cut)? {
                estimate.disk_bytes += data::missing_bytes(set, part, &self.place())?;
            }
        }
        estimate.free_bytes = files::free_bytes(&self.work);
        Ok(estimate)
    }

    /// What the data of a plan are, by the names that keys have of them.
    fn named(&self, plan: &Plan) -> Result<known::Named> {
        let mut named = known::Named::new();
        for cut in plan.cuts() {
            if let Entry::Vacant(place) = named.entry(cut.data) {
                let (set, part) = self.registry.find(place.key())?;
                place.insert(Identity::of(set, part)?);
            }
        }
        Ok(named)
    }

    /// Sizes of the cuts of a plan that exist.
    fn sizes(&self, plan: &Plan) -> Result<BTreeMap<CutName, Sizes>> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from) as u64;
        let mut sizes = BTreeMap::new();
        for cut in plan.cuts() {
            let Some((set, part)) = self.find(&cut)? else {
                continue;
            };
            let Some(header) = data::header(set, part)? else {
                continue;
            };
            let shape = Shape {
                dimension: header.shape.dimension,
                element: header.shape.element,
                metric: set.metric,
            };
            let of_cut = Sizes {
                rows: header.rows,
                shape,
                queries: header.queries.unwrap_or(UNKNOWN_QUERIES),
                cores,
                degree: self.suite.fixed.degree,
            };
            sizes.insert(cut, of_cut);
        }
        Ok(sizes)
    }

    /// The set of a cut and the part of it that is meant; none where the data have fewer rows or
    /// dimensions.
    fn find(&self, cut: &CutName) -> Result<Option<(&DataSet, Cut)>> {
        let (set, named) = self.registry.find(&cut.data)?;
        let longer = |(named, wished)| wished > named;
        if named.rows.zip(cut.rows).is_some_and(longer) {
            return Ok(None);
        }
        let part = named.and(Cut {
            rows: cut.rows,
            dimensions: cut.dimensions,
        });
        // What nobody knows the size of is fetched whole, and then known.
        let known = part == Cut::default() || data::header(set, part)?.is_some();
        Ok(known.then_some((set, part)))
    }

    /// Runs what is not in the journal yet. A cell that fails is recorded and the run goes on.
    ///
    /// # Errors
    /// As data cannot be prepared or the journal cannot be written; `InvalidInput` for other data
    /// under a name that the run knows; `Cancelled`.
    pub fn run(&self, progress: &dyn Progress) -> Result<RunReport> {
        let started = pageway::lab::clock::now();
        for place in [
            &self.out,
            &self.work,
            &self.work.join("data"),
            &self.work.join("index"),
        ] {
            files::create_directory(place)?;
        }
        let journal = Journal::open(&self.out)?;
        let plan = Plan::of(self.suite)?;
        let named = self.named(&plan)?;
        for place in [&self.out, &self.work] {
            known::add(place, &named)?;
        }
        comparator::install(&self.work)?;
        self.write_machine(progress)?;
        let records = journal::past(&self.out)?;
        let mut steps = Steps {
            journal,
            forecast: Forecast::new(&plan, self.sizes(&plan)?, &records),
            report: RunReport {
                run: self.out.clone(),
                ..RunReport::default()
            },
            progress,
        };
        let (plan, workloads) = self.workloads(plan, progress)?;
        let quiet = Quiet(progress);
        let context = self.context(plan, workloads, &quiet);
        steps.build_all(&context)?;
        steps.measure_all(&context)?;
        steps.report.seconds = started.elapsed().as_secs_f64();
        Ok(steps.report)
    }

    /// Describes the machine, once; later suites of the same run are added.
    fn write_machine(&self, progress: &dyn Progress) -> Result<()> {
        let suite_text = self.suite.to_toml()?;
        let machine = match journal::read_machine(&self.out)? {
            Some(machine) if machine.suite_text.contains(&suite_text) => return Ok(()),
            Some(machine) => Machine {
                suite: format!("{}, {}", machine.suite, self.suite.name),
                suite_text: format!("{}\n{suite_text}", machine.suite_text),
                ..machine
            },
            None => Machine {
                suite: self.suite.name.clone(),
                suite_text,
                seed: self.suite.fixed.seed,
                ..machine::describe(&self.work, progress)?
            },
        };
        journal::write_machine(&self.out, &machine)
    }

    /// Data that are ready, and the plan over them.
    fn workloads(&self, mut plan: Plan, progress: &dyn Progress) -> Result<(Plan, Workloads)> {
        let mut workloads = BTreeMap::new();
        for name in plan.workloads(self.suite.fixed.queries) {
            progress.check()?;
            if let Some((set, part)) = self.find(&name.0)? {
                let prepared = data::prepare(set, part, &self.place(), progress)?;
                let need = (name.1, depth(plan.cells_of(&name)));
                let workload = data::first_queries(&prepared, need, &self.place(), progress)?;
                workloads.insert(name, workload);
            }
        }
        plan.keep_cuts(&|cut| workloads.keys().any(|(known, _)| known == cut));
        Ok((plan, workloads))
    }

    fn context<'c>(
        &'c self,
        plan: Plan,
        workloads: Workloads,
        progress: &'c dyn Progress,
    ) -> Context<'c> {
        Context {
            suite: self.suite,
            plan,
            workloads,
            program: self.program.clone(),
            lab: self.lab.clone(),
            python: self.python.clone(),
            out: self.out.clone(),
            work: self.work.clone(),
            place: self.place(),
            failed_builds: RefCell::default(),
            progress,
        }
    }

    /// Where data lie.
    fn place(&self) -> Place {
        Place {
            python: self.python.usual.clone(),
            ..Place::new(&self.work.join("data"))
        }
    }
}

/// Neighbours that the truth of cells must have: a range search finds its radius there.
fn depth<'c>(cells: impl Iterator<Item = &'c Cell>) -> u32 {
    let of = |cell: &Cell| {
        let search = &cell.settings.search;
        search.k.max(search.results.unwrap_or(0))
    };
    cells.map(of).max().unwrap_or(0)
}
