//! A plan beside an exhaustive search: what it predicts and chooses, and the best of what was built
//! over all vectors and searched with all queries.
//!
//! ```text
//! cargo run --release -p pageway-advisor --example exhaustive -- \
//!     BASE METRIC QUERIES CELLS MEMORY,... RECALL,... [GOAL,... PLANNED PRESET,...]
//! ```
//!
//! `CELLS` is a file of what was measured, a line each; what is in it is not measured again.
//! `PLANNED` are other queries, which the plan is given in place of those that are measured with;
//! where presets are named the grid has only those, beside what `CELLS` holds. Without
//! goals the grid is measured and nothing planned. The grid: every preset in every form with pages
//! of 4 KiB and R 32, forms with half as long codes too; and the best few of those in all sizes.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a program for people"
)]

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use pageway::source::{OpenAs, VectorFile};
use pageway::spec::Shape;
use pageway::{MemoryWish, Metric, NoProgress, OsVfs, VectorRead, Vfs};
use pageway_advisor::{
    Candidate, Climb, Cost, Counts, Device, Entry, Goal, Pins, Plan, PlanInput, Sample, Scratch,
    Space, Trial, Tried, Wish, enumerate, plan,
};
use serde::{Deserialize, Serialize};

/// Of the grid, the best whose other sizes are measured.
const BEST: usize = 2;
/// Designs of a plan that are measured beside its choice.
const NEXT: usize = 3;
/// Their pages and R.
const SIZES: [(u32, u32); 5] = [
    (4096, 32),
    (8192, 32),
    (16_384, 32),
    (4096, 64),
    (16_384, 64),
];
/// Pages per query beyond which nobody looks further.
const MOST_PAGES: f64 = 150.0;

/// A design in one size, measured.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct Cell {
    memory: String,
    name: String,
    page_bytes: u32,
    degree: u32,
    code_bytes: u32,
    climb: Climb,
}

impl Cell {
    fn is(&self, memory: &str, candidate: &Candidate, beam: u32) -> bool {
        let sizes = (self.page_bytes, self.degree, self.code_bytes);
        self.memory == memory
            && self.name == candidate.name
            && sizes == sizes_of(candidate)
            && self.climb.beam == beam
    }
}

fn sizes_of(candidate: &Candidate) -> (u32, u32, u32) {
    let degree = candidate.spec.graph.max_degree();
    (candidate.options.page_bytes, degree, candidate.code_bytes())
}

struct Bench<'b> {
    trial: Trial<'b>,
    shape: Shape,
    memory: (String, u64),
    path: &'b Path,
    cells: Vec<Cell>,
}

impl Bench<'_> {
    fn space<'p>(&self, pins: &'p Pins) -> Space<'p> {
        Space {
            shape: self.shape,
            nodes: self.trial.rows() as u32,
            // It tells bytes on disk alone, which no cell is judged by.
            below_two: false,
            memory_bytes: self.memory.1,
            pins,
            seed: Wish::default().seed,
        }
    }

    fn legal(&self, page_bytes: u32, degree: u32) -> Vec<Candidate> {
        let pins = Pins {
            page_bytes: Some(page_bytes),
            degree: Some(degree),
            ..Pins::default()
        };
        enumerate(&self.space(&pins)).0
    }

    /// Measures a candidate, where that was not done, and notes it.
    fn measure(&mut self, candidate: &Candidate, beams: &[u32]) {
        let known = |beam: &u32| {
            let mut cells = self.cells.iter();
            cells.any(|cell| cell.is(&self.memory.0, candidate, *beam))
        };
        let open: Vec<u32> = beams.iter().copied().filter(|beam| !known(beam)).collect();
        if open.is_empty() {
            return;
        }
        let climbs = self.trial.climb(candidate, self.memory.1, &open);
        let (page_bytes, degree, code_bytes) = sizes_of(candidate);
        let climbs = climbs.unwrap_or_else(|error| {
            println!(
                "  {} {page_bytes} {degree} {code_bytes}: {error}",
                candidate.name
            );
            let none = |beam: &u32| Climb {
                rows: 0,
                beam: *beam,
                steps: Vec::new(),
                build_seconds: 0.0,
            };
            open.iter().map(none).collect()
        });
        let mut file = OpenOptions::new();
        let mut file = file.append(true).create(true).open(self.path).unwrap();
        for climb in climbs {
            let cell = Cell {
                memory: self.memory.0.clone(),
                name: candidate.name.clone(),
                page_bytes,
                degree,
                code_bytes,
                climb,
            };
            writeln!(file, "{}", serde_json::to_string(&cell).unwrap()).unwrap();
            self.cells.push(cell);
        }
    }

    /// Every preset and form, and the best few in all sizes.
    fn grid(&mut self, recalls: &[f64], presets: &[&str]) {
        let designs: Vec<Candidate> = self.legal(4096, 32);
        let is_open = |one: &&Candidate| {
            let preset = one.options.preset.name();
            presets.is_empty() || presets.contains(&preset)
        };
        let mut seen: Vec<&str> = Vec::new();
        for one in designs.iter().filter(is_open) {
            let again = seen.contains(&one.name.as_str());
            seen.push(&one.name);
            let is_plain = !one.name.contains('+') && (!again || one.options.form.is_some());
            if is_plain {
                self.measure_wide(one);
            }
        }
        let mut best: Vec<String> = Vec::new();
        for recall in recalls {
            best.extend(self.best_names(*recall));
        }
        for (page_bytes, degree) in SIZES {
            let mut seen: Vec<String> = Vec::new();
            for one in self.legal(page_bytes, degree) {
                if best.contains(&one.name) && !seen.contains(&one.name) {
                    seen.push(one.name.clone());
                    self.measure_wide(&one);
                }
            }
        }
    }

    /// Measures with the design's own beam, and with a narrow one where a walk reads.
    fn measure_wide(&mut self, candidate: &Candidate) {
        let beam = candidate.spec.execution.schedule.beam();
        self.measure(candidate, &[beam]);
        let mut cells = self.cells.iter();
        let cell = cells.find(|cell| cell.is(&self.memory.0, candidate, beam));
        let last = cell.and_then(|cell| cell.climb.steps.last());
        if last.is_some_and(|(_, counts)| counts.rounds > 3.0) {
            self.measure(candidate, &[(beam / 4).max(1)]);
        }
    }

    fn best_names(&self, recall: f64) -> Vec<String> {
        let cells = self
            .cells
            .iter()
            .filter(|cell| cell.memory == self.memory.0);
        let pages = |cell: &Cell| cell.climb.at(recall).map(|counts| counts.pages);
        let mut found: Vec<(f64, &str)> = cells
            .filter_map(|cell| Some((pages(cell)?, cell.name.as_str())))
            .collect();
        found.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut names: Vec<String> = Vec::new();
        for (_, name) in found {
            if names.len() < BEST && names.iter().all(|other| other != name) {
                names.push(name.to_owned());
            }
        }
        names
    }

    /// What was measured of an entry of a plan.
    fn of(&mut self, entry: &Entry, recall: f64) -> Option<Counts> {
        self.measure(&entry.candidate, &[entry.beam]);
        let memory = &self.memory.0;
        let mut cells = self.cells.iter();
        let cell = cells.find(|cell| cell.is(memory, &entry.candidate, entry.beam))?;
        cell.climb.at(recall)
    }

    /// Prints a plan beside what was measured.
    fn compare(&mut self, plan: &Plan) {
        let recall = f64::from(plan.recall);
        let tried = |entry: &&Entry| !entry.tried.is_empty() && entry.cost.is_some();
        let entries: Vec<&Entry> = plan.entries.iter().filter(tried).take(1 + NEXT).collect();
        for entry in &entries {
            let found = self.of(entry, recall);
            print_entry(entry, found, plan);
        }
        let chosen = self.of(entries[0], recall);
        let score = |counts: Counts| Cost::of(counts, &plan.basis.device, 1).score(plan.goal);
        let cells = self.cells.iter();
        let cells = cells.filter(|cell| cell.memory == self.memory.0);
        let scored = cells.filter_map(|cell| Some((score(cell.climb.at(recall)?), cell)));
        let best = scored.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
        let loss = chosen.map(|chosen| 100.0 * (score(chosen) / best.0 - 1.0));
        let (cell, loss) = (
            best.1,
            loss.map_or("-".to_owned(), |loss| format!("{loss:+.0}%")),
        );
        println!(
            "  best {} {}K R{} {}B W{}: {:.1}; the choice is {loss} from it ({:.0} s)",
            cell.name,
            cell.page_bytes / 1024,
            cell.degree,
            cell.code_bytes,
            cell.climb.beam,
            best.0,
            plan.seconds,
        );
    }
}

/// Pages over the samples, with the beam of the entry.
fn on_samples(entry: &Entry) -> String {
    let same = entry.tried.iter().filter(|tried| tried.beam == entry.beam);
    let pages = |tried: &Tried| {
        let counts = tried.counts;
        counts.map_or("-".to_owned(), |counts| format!("{:.1}", counts.pages))
    };
    same.map(pages).collect::<Vec<_>>().join("/")
}

fn print_entry(entry: &Entry, found: Option<Counts>, plan: &Plan) {
    let predicted = entry.cost.unwrap();
    let us = |counts: Counts, device: &Device| Cost::of(counts, device, 1).latency_us;
    let found = found.map_or("out of reach".to_owned(), |found| {
        let off = |predicted: f64, found: f64| 100.0 * (predicted / found - 1.0);
        let found_us = us(found, &plan.basis.device);
        format!(
            "{:>6.1} {:>+4.0}%  rounds {:.1} {:.1}  us {:.0} {:.0} {:>+4.0}%",
            found.pages,
            off(predicted.counts.pages, found.pages),
            predicted.counts.rounds,
            found.rounds,
            predicted.latency_us,
            found_us,
            off(predicted.latency_us, found_us)
        )
    });
    println!(
        "  {:<24}{:>2}K R{:<2} {:>3}B W{:<3} pages {} {:>6.1} {found}",
        entry.name,
        entry.page_bytes / 1024,
        entry.degree,
        entry.code_bytes,
        entry.beam,
        on_samples(entry),
        predicted.counts.pages,
    );
}

fn open(path: &str) -> VectorFile {
    let vfs: Arc<dyn Vfs> = Arc::new(OsVfs);
    VectorFile::open(&vfs, Path::new(path), OpenAs { element: None }).unwrap()
}

fn cells(path: &Path) -> Vec<Cell> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (vectors, queries) = (open(&arguments[0]), open(&arguments[2]));
    let planned = open(arguments.get(7).unwrap_or(&arguments[2]));
    let metric: Metric = arguments[1].parse().unwrap();
    let list = |at: usize| -> Vec<&str> {
        let given = arguments.get(at).map(String::as_str).unwrap_or_default();
        given.split(',').filter(|part| !part.is_empty()).collect()
    };
    let recalls: Vec<f32> = list(5).iter().map(|text| text.parse().unwrap()).collect();
    let highest = recalls.iter().copied().fold(0.0, f32::max);
    let sample = Sample::whole(&vectors, &queries, metric).unwrap();
    // A plan has a directory of its own, by the number of the process.
    let mut scratch = Scratch::within(Path::new("exhaustive")).unwrap();
    let mut trial = Trial::new(&sample, &mut scratch, (highest, 1), &NoProgress);
    trial.read_us = 10.0;
    trial.most_pages = MOST_PAGES;
    let shape = Shape {
        dimension: vectors.shape().dimension,
        element: vectors.shape().element,
        metric,
    };
    let path = Path::new(&arguments[3]);
    let mut bench = Bench {
        trial,
        shape,
        memory: (String::new(), 0),
        path,
        cells: cells(path),
    };
    let raw_bytes = vectors.count() * vectors.shape().row_bytes() as u64;
    for memory in list(4) {
        let granted: MemoryWish = memory.parse().unwrap();
        bench.memory = (memory.to_owned(), granted.resolve(raw_bytes));
        let wished: Vec<f64> = recalls.iter().copied().map(f64::from).collect();
        bench.grid(&wished, &list(8));
        for (recall, goal) in recalls
            .iter()
            .flat_map(|r| list(6).into_iter().map(move |g| (r, g)))
        {
            let wish = Wish {
                metric,
                memory: granted,
                recall: *recall,
                goal: goal.parse::<Goal>().unwrap(),
                threads: 1,
                ..Wish::default()
            };
            let input = PlanInput {
                vectors: &vectors,
                queries: Some(&planned),
                scratch: Path::new("."),
            };
            println!("memory {memory}, recall {recall}, by {goal}");
            match plan(&input, &wish, &NoProgress) {
                Ok(plan) => bench.compare(&plan),
                Err(error) => println!("  {error}"),
            }
        }
    }
}
