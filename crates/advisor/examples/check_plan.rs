//! How good a plan is: its best candidates, built over all vectors and searched, beside what was
//! predicted; and whether a better one stood further down.
//!
//! ```text
//! cargo run --release -p pageway-advisor --example check_plan -- \
//!     BASE METRIC MEMORY RECALL SAMPLE CHECKED [QUERIES]
//! ```
//!
//! Of the `CHECKED` candidates half are the best of the plan, the others the best of families that
//! are not among those.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a program for people"
)]

use std::path::Path;
use std::sync::Arc;

use pageway::source::{OpenAs, VectorFile};
use pageway::{NoProgress, OsVfs, VectorRead, Vfs};
use pageway_advisor::{Cost, Draw, Entry, Plan, PlanInput, Sample, Scratch, Trial, Wish, plan};

fn open(path: &str) -> VectorFile {
    let vfs: Arc<dyn Vfs> = Arc::new(OsVfs);
    VectorFile::open(&vfs, Path::new(path), OpenAs { element: None }).unwrap()
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let vectors = open(&arguments[0]);
    let queries = arguments.get(6).map(|path| open(path));
    let queries = queries.as_ref().map(|queries| queries as &dyn VectorRead);
    let wish = Wish {
        metric: arguments[1].parse().unwrap(),
        memory: arguments[2].parse().unwrap(),
        recall: arguments[3].parse().unwrap(),
        sample_rows: arguments[4].parse().unwrap(),
        ..Wish::default()
    };
    let input = PlanInput {
        vectors: &vectors,
        queries,
        scratch: Path::new("."),
    };
    let plan = plan(&input, &wish, &NoProgress).unwrap();
    println!("{plan}");
    let checked = chosen(&plan, arguments[5].parse().unwrap());
    let all = Draw {
        rows: vectors.count(),
        recall: wish.recall,
        metric: wish.metric,
        seed: wish.seed,
    };
    let sample = Sample::draw(&vectors, queries, all).unwrap();
    let mut scratch = Scratch::within(Path::new(".")).unwrap();
    let mut trial = Trial::new(&sample, &mut scratch, (wish.recall, 0), &NoProgress);
    trial.read_us = plan.basis.statistics.read_us;
    println!("predicted and measured over {} vectors", trial.rows());
    for entry in checked {
        check(&mut trial, entry, &plan);
    }
}

fn chosen(plan: &Plan, count: usize) -> Vec<&Entry> {
    let served = |entry: &&Entry| entry.cost.is_some();
    let mut found: Vec<&Entry> = plan.entries.iter().filter(served).take(count / 2).collect();
    for entry in plan.entries.iter().filter(served) {
        if found.len() < count && found.iter().all(|other| other.name != entry.name) {
            found.push(entry);
        }
    }
    found
}

fn check(trial: &mut Trial<'_>, entry: &Entry, plan: &Plan) {
    let tried = trial.run(&entry.candidate, plan.memory_bytes, &[entry.beam]);
    let counts = tried.ok().and_then(|tried| tried[0].counts);
    let (Some(counts), Some(predicted)) = (counts, entry.cost) else {
        println!("  {:<28} out of reach", entry.name);
        return;
    };
    let measured = Cost::of(counts, &plan.basis.device, plan.threads);
    let off = |predicted: f64, measured: f64| 100.0 * (predicted / measured - 1.0);
    let (pages, us) = (predicted.counts.pages, predicted.latency_us);
    println!(
        "  {:<26}{} {:>2}K R{} {:>3}B W{:<3} pages {pages:>6.1} {:>6.1} {:>+4.0}%   us {us:>5.0} {:>5.0} {:>+4.0}%",
        entry.name,
        if entry.tried.is_empty() { '*' } else { ' ' },
        entry.page_bytes / 1024,
        entry.degree,
        entry.code_bytes,
        entry.beam,
        measured.counts.pages,
        off(pages, measured.counts.pages),
        measured.latency_us,
        off(us, measured.latency_us),
    );
}
