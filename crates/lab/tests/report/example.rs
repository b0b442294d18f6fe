//! A report with every kind of figure, of invented numbers that look like those of a run.

use pageway_lab::report::{
    Axis, Bars, Cell, Column, Figure, Finding, Goodness, Lines, Mark, Plot, Report, Scale, Section,
    Series, Table, Verdict,
};

/// Name, and how fast it is and how much it reads against the others.
const DESIGNS: [(&str, f64, f64); 8] = [
    ("diskann", 1.0, 1.0),
    ("aisaq", 0.72, 1.35),
    ("starling", 1.45, 0.66),
    ("gorgeous", 1.9, 0.52),
    ("page-ann", 2.3, 0.41),
    ("page-ann-memory", 2.6, 0.37),
    ("pipeann", 1.6, 1.12),
    ("dgai", 1.2, 0.81),
];
const LIST_SIZES: [f64; 9] = [10.0, 16.0, 24.0, 40.0, 64.0, 100.0, 160.0, 240.0, 400.0];

pub(crate) fn report() -> Report {
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    Report {
        title: "Pageway: quick suite".to_owned(),
        facts: vec![
            pair("Processor", "Example 9000, 2 cores, AVX-512"),
            pair("Main memory", "24.0 GiB"),
            pair("Disk", "ext4 on nvme0n1, io_uring"),
            pair("Data", "photo-sift-1m (1,000,000 x 128 u8), text-wordnet-80k"),
            pair("Suite", "quick, 412 cells, 3 repetitions"),
            pair("Version", "0.4.0 (22fc1eb)"),
        ],
        warnings: vec![
            "aisaq reaches a recall of 0.87 on text-wordnet-80k where its calibration promised 0.95: \
             its speeds there are shown at the recall that was measured."
                .to_owned(),
            "All queries of the interleaved runs come from one thread; speeds with 2 threads are not \
             twice these."
                .to_owned(),
        ],
        sections: vec![
            recall(),
            build(),
            beam(),
            cache(),
            space(),
            devices(),
            many(),
            updates(),
        ],
    }
}

fn recall() -> Section {
    Section {
        id: "recall".to_owned(),
        title: "Speed against recall".to_owned(),
        source: "Evaluation, fig. 7".to_owned(),
        method: vec![
            "Every design is built from the same graph (Vamana, max degree 48) within the same \
             memory, a fifth of the raw vectors, and searched with growing list sizes for the 10 \
             nearest nodes. Each cell runs three times, in a process of its own; the median is shown."
                .to_owned(),
            "A speed at a recall is read off the curve between the two list sizes around it.".to_owned(),
        ],
        figures: ["photo-sift-1m", "text-wordnet-80k"]
            .into_iter()
            .flat_map(|data| [speed(data, 1.0), pages(data)])
            .collect(),
        tables: Vec::new(),
        findings: vec![
            finding("Packing pages by the graph beats packing by id at equal recall.", Verdict::Agrees),
            finding("Page nodes need the fewest reads at every recall.", Verdict::Agrees),
            finding("Codes on disk cost less than a tenth of the speed.", Verdict::Differs),
            finding("The order of the designs is the same on all data.", Verdict::Partly),
        ],
    }
}

fn finding(claim: &str, verdict: Verdict) -> Finding {
    Finding {
        claim: claim.to_owned(),
        source: "Evaluation, sec. 5.2, fig. 7".to_owned(),
        verdict,
        measured:
            "At a recall of 0.95 starling answers 1,710 queries per second and diskann 1,180 \
                   on photo-sift-1m; 2,020 and 1,544 on text-wordnet-80k."
                .to_owned(),
    }
}

fn recall_of(list_size: f64, design: usize) -> f64 {
    let exact = 1.0 - 1.6 * list_size.powf(-1.12) * (1.0 + 0.05 * design as f64);
    (exact * 3000.0).round() / 3000.0
}

fn axis(name: &str, scale: Scale) -> Axis {
    Axis {
        name: name.to_owned(),
        scale,
    }
}

fn curves(value: impl Fn(f64, usize) -> f64) -> Vec<Series> {
    let marks = |design| {
        let mark = |list_size: &f64| Mark {
            x: recall_of(*list_size, design),
            y: value(*list_size, design),
            label: format!(
                "list size {list_size}, {:.1} pages",
                read(*list_size, design)
            ),
        };
        LIST_SIZES.iter().map(mark).collect()
    };
    let series = |(design, (name, ..)): (usize, &(&str, f64, f64))| Series {
        name: (*name).to_owned(),
        marks: marks(design),
    };
    DESIGNS.iter().enumerate().map(series).collect()
}

fn read(list_size: f64, design: usize) -> f64 {
    (3.0 + 1.05 * list_size) * DESIGNS[design].2
}

fn answered(list_size: f64, design: usize) -> f64 {
    62_000.0 * DESIGNS[design].1 / (3.0 + list_size).powf(0.94)
}

fn speed(data: &str, faster: f64) -> Figure {
    Figure {
        id: format!("recall-speed-{data}"),
        title: format!("Queries per second against recall, {data}"),
        note: "Up and to the right is better. One thread, 16 queries in flight.".to_owned(),
        predicted: false,
        plot: Plot::Lines(Lines {
            x: axis("recall@10", Scale::Recall),
            y: axis("queries per second", Scale::Log),
            series: curves(|list_size, design| faster * answered(list_size, design)),
        }),
        table: at_recalls(&format!("recall-speed-{data}")),
    }
}

fn pages(data: &str) -> Figure {
    Figure {
        id: format!("recall-pages-{data}"),
        title: format!("Pages per query against recall, {data}"),
        note: String::new(),
        predicted: false,
        plot: Plot::Lines(Lines {
            x: axis("recall@10", Scale::Recall),
            y: axis("pages per query", Scale::Linear),
            series: curves(read),
        }),
        table: sweep(&format!("recall-pages-{data}")),
    }
}

fn column(name: &str, goodness: Goodness) -> Column {
    Column {
        name: name.to_owned(),
        goodness,
    }
}

fn number(value: f64, decimals: usize, best: bool) -> Cell {
    Cell {
        text: grouped(&format!("{value:.decimals$}")),
        number: Some(value),
        best,
    }
}

/// Thousands apart.
fn grouped(text: &str) -> String {
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let digits: Vec<char> = whole.chars().rev().collect();
    let threes: Vec<String> = digits
        .chunks(3)
        .map(|three| three.iter().collect())
        .collect();
    threes.join(",").chars().rev().collect::<String>() + rest
}

fn name(text: &str) -> Cell {
    Cell {
        text: text.to_owned(),
        ..Cell::default()
    }
}

fn at_recalls(id: &str) -> Table {
    let row = |(design, (design_name, ..)): (usize, &(&str, f64, f64))| {
        let at = |list_size| number(answered(list_size, design), 0, design == 5);
        let none = Cell {
            text: "not reached".to_owned(),
            ..Cell::default()
        };
        let last = if design == 1 { none } else { at(300.0) };
        vec![
            name(design_name),
            at(24.0),
            at(40.0),
            at(110.0),
            last,
            number(read(40.0, design), 1, design == 5),
        ]
    };
    Table {
        id: id.to_owned(),
        title: String::new(),
        columns: vec![
            column("design", Goodness::Neutral),
            column("at 0.90", Goodness::Higher),
            column("at 0.95", Goodness::Higher),
            column("at 0.99", Goodness::Higher),
            column("at 0.995", Goodness::Higher),
            column("pages at 0.95", Goodness::Lower),
        ],
        rows: DESIGNS.iter().enumerate().map(row).collect(),
    }
}

fn sweep(id: &str) -> Table {
    let rows = DESIGNS
        .iter()
        .enumerate()
        .flat_map(|(design, (design_name, ..))| {
            LIST_SIZES.iter().map(move |list_size| {
                vec![
                    name(design_name),
                    number(*list_size, 0, false),
                    number(recall_of(*list_size, design), 4, false),
                    number(answered(*list_size, design), 0, design == 5),
                    number(read(*list_size, design), 1, design == 5),
                    number(3.0 + 0.21 * read(*list_size, design), 1, false),
                    number(1e6 / answered(*list_size, design), 0, design == 5),
                    number(2.2e6 / answered(*list_size, design), 0, false),
                ]
            })
        });
    Table {
        id: id.to_owned(),
        title: String::new(),
        columns: vec![
            column("design", Goodness::Neutral),
            column("list size", Goodness::Neutral),
            column("recall@10", Goodness::Higher),
            column("queries per second", Goodness::Higher),
            column("pages per query", Goodness::Lower),
            column("rounds", Goodness::Lower),
            column("mean latency, µs", Goodness::Lower),
            column("p99 latency, µs", Goodness::Lower),
        ],
        rows: rows.collect(),
    }
}

fn names() -> Vec<String> {
    DESIGNS
        .iter()
        .map(|(name, ..)| (*name).to_owned())
        .collect()
}

fn bars(id: &str, title: &str, bars: Bars) -> Figure {
    let mut columns = vec![column("design", Goodness::Neutral)];
    columns.extend(
        bars.series
            .iter()
            .map(|(name, _)| column(name, Goodness::Lower)),
    );
    let row = |(at, category): (usize, &String)| {
        let heights = bars.series.iter().map(|(_, heights)| match heights[at] {
            Some(height) => number(height, 1, false),
            None => name("–"),
        });
        std::iter::once(name(category)).chain(heights).collect()
    };
    let table = Table {
        id: id.to_owned(),
        title: String::new(),
        columns,
        rows: bars.categories.iter().enumerate().map(row).collect(),
    };
    Figure {
        id: id.to_owned(),
        title: title.to_owned(),
        note: "Lower is better.".to_owned(),
        predicted: false,
        plot: Plot::Bars(bars),
        table,
    }
}

fn build() -> Section {
    let stages = [
        "read and check",
        "codes",
        "graph",
        "placement",
        "write",
        "calibrate",
    ];
    let stage = |(at, stage): (usize, &&str)| {
        let seconds = |(design, _): (usize, &_)| {
            let placed = at != 3 || design >= 2;
            placed
                .then(|| 4.0 + 14.0 * ((at * 7 + design * 3) % 11) as f64 / (1.0 + (at % 3) as f64))
        };
        (
            (*stage).to_owned(),
            DESIGNS.iter().enumerate().map(seconds).collect(),
        )
    };
    let time = Bars {
        categories: names(),
        y: axis("seconds", Scale::Linear),
        stacked: true,
        series: stages.iter().enumerate().map(stage).collect(),
    };
    let memory = |scale: f64| {
        (0..8)
            .map(|at| Some(scale * (1.0 + 0.13 * at as f64)))
            .collect()
    };
    let peak = Bars {
        categories: names(),
        y: axis("MiB", Scale::Linear),
        stacked: false,
        series: vec![
            ("photo-sift-1m".to_owned(), memory(410.0)),
            ("text-wordnet-80k".to_owned(), memory(160.0)),
        ],
    };
    Section {
        id: "build".to_owned(),
        title: "Building".to_owned(),
        source: "Evaluation, fig. 8".to_owned(),
        method: vec!["Every design is built from nothing, within 512 MiB.".to_owned()],
        figures: vec![
            bars("build-stages", "Build time by stage, photo-sift-1m", time),
            bars("build-peak", "Peak memory of the build", peak),
        ],
        tables: Vec::new(),
        findings: vec![finding(
            "The graph takes most of the time.",
            Verdict::Agrees,
        )],
    }
}

fn beam() -> Section {
    let widths = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0];
    let series = |(design, (name, fast, _)): (usize, &(&str, f64, f64))| Series {
        name: (*name).to_owned(),
        marks: widths
            .iter()
            .map(|width| Mark {
                x: *width,
                y: 5200.0 / fast / (1.0 + width.ln()) + 9.0 * width * (1.0 + 0.2 * design as f64),
                label: String::new(),
            })
            .collect(),
    };
    let figure = Figure {
        id: "beam-latency".to_owned(),
        title: "Mean latency at a recall of 0.95, by beam".to_owned(),
        note: "Reads in flight for one query. The best beam is the lowest mark of a curve."
            .to_owned(),
        predicted: false,
        plot: Plot::Lines(Lines {
            x: axis("beam", Scale::Log),
            y: axis("mean latency, µs", Scale::Log),
            series: DESIGNS.iter().enumerate().map(series).collect(),
        }),
        table: Table::default(),
    };
    Section {
        id: "beam".to_owned(),
        title: "Beam".to_owned(),
        source: "Evaluation, fig. 10".to_owned(),
        method: vec!["List sizes as above, one query in flight, beam 1 to 32.".to_owned()],
        figures: vec![figure],
        tables: Vec::new(),
        findings: vec![finding("A beam of 4 to 8 is best.", Verdict::Partly)],
    }
}

fn cache() -> Section {
    let buckets = ["0", "1", "2-3", "4-7", "8-15", "16-31", "32-63", "later"];
    let design = |(at, name): (usize, &&str)| {
        let share =
            |bucket| Some(100.0 / (1.0 + (bucket as f64 * (0.4 + at as f64 * 0.3)).powi(2)));
        ((*name).to_owned(), (0..buckets.len()).map(share).collect())
    };
    let caches = ["static_hot", "graph_first", "dynamic", "hybrid"];
    let hits = Bars {
        categories: buckets.iter().map(|bucket| (*bucket).to_owned()).collect(),
        y: axis("expansions served from memory, %", Scale::Linear),
        stacked: false,
        series: caches.iter().enumerate().map(design).collect(),
    };
    Section {
        id: "cache".to_owned(),
        title: "Caches".to_owned(),
        source: "Evaluation, fig. 13".to_owned(),
        method: vec!["Hits by the number of the expansion within a query.".to_owned()],
        figures: vec![bars("cache-hits", "Hits by hop", hits)],
        tables: Vec::new(),
        findings: vec![Finding {
            measured: String::new(),
            ..finding(
                "A hybrid cache is best with little memory.",
                Verdict::NotMeasured,
            )
        }],
    }
}

fn space() -> Section {
    let sizes = |factor: f64| {
        (0..8)
            .map(move |at| Some(factor * 1.7f64.powi(at)))
            .collect()
    };
    let space = Bars {
        categories: names(),
        y: axis("MiB", Scale::Log),
        stacked: false,
        series: vec![
            ("index on disk".to_owned(), sizes(180.0)),
            ("memory to search".to_owned(), sizes(3.5)),
        ],
    };
    Section {
        id: "space".to_owned(),
        title: "Space".to_owned(),
        source: "Evaluation, table 4".to_owned(),
        method: Vec::new(),
        figures: vec![bars("space", "Space on disk and in memory", space)],
        tables: vec![Table {
            title: "Everything at a list size of 100, all designs".to_owned(),
            ..sweep("space-all")
        }],
        findings: Vec::new(),
    }
}

fn devices() -> Section {
    let speed = speed("photo-sift-1m on a fast NVMe disk", 6.0);
    let id = "devices-speed".to_owned();
    let predicted = Figure {
        predicted: true,
        note:
            "Recorded reads of the runs above, replayed against a device of 1.2 million reads per \
               second and 55 µs."
                .to_owned(),
        table: Table {
            id: id.clone(),
            ..speed.table
        },
        id,
        ..speed
    };
    Section {
        id: "devices".to_owned(),
        title: "Other devices".to_owned(),
        source: "Model of this report".to_owned(),
        method: vec!["Predicted by a queueing model from recorded reads.".to_owned()],
        figures: vec![predicted],
        tables: Vec::new(),
        findings: Vec::new(),
    }
}

/// Twelve series, long names, one mark, a gap and no marks.
fn many() -> Section {
    let lines: Vec<Series> = (0..12)
        .map(|at| Series {
            name: match at {
                0 => "a comparator with a rather long name 0".to_owned(),
                _ => format!("library {at}"),
            },
            marks: (0..at)
                .map(|step| Mark {
                    x: 0.1 * f64::from(step),
                    y: 1000.0 * f64::from(at) + 30.0 * f64::from(step * step),
                    label: format!("step {step}"),
                })
                .collect(),
        })
        .collect();
    let figure = Figure {
        id: "many".to_owned(),
        title: "Twelve series".to_owned(),
        note: String::new(),
        predicted: false,
        plot: Plot::Lines(Lines {
            x: axis("memory, share of the raw vectors", Scale::Linear),
            y: axis("queries per second", Scale::Linear),
            series: lines,
        }),
        table: Table::default(),
    };
    let long = Bars {
        categories: (0..5)
            .map(|at| format!("a category with a long name, number {at}"))
            .collect(),
        y: axis("milliseconds", Scale::Linear),
        stacked: false,
        series: vec![(
            "open".to_owned(),
            vec![Some(3.0), None, Some(14.5), Some(0.0), Some(8.25)],
        )],
    };
    Section {
        id: "comparators".to_owned(),
        title: "Other libraries".to_owned(),
        source: String::new(),
        method: Vec::new(),
        figures: vec![figure, bars("open", "Time to open", long)],
        tables: Vec::new(),
        findings: Vec::new(),
    }
}

fn updates() -> Section {
    Section {
        id: "updates".to_owned(),
        title: "Updates".to_owned(),
        source: "Evaluation, fig. 15 and 16".to_owned(),
        method: vec![
            "An index is not changed after its build yet, so there is nothing to measure."
                .to_owned(),
        ],
        ..Section::default()
    }
}
