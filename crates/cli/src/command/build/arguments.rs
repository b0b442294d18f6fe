//! `pageway build`: a file of vectors becomes an index.

use std::path::PathBuf;

use clap::Args;
use pageway::spec::DEFAULTS;
use pageway::{
    BuildInput, BuildOptions, ElementType, Index, MemoryWish, Metric, Preset, Result, VectorRead,
};
use pageway_advisor::{Plan, Wish};
use pageway_formats::{Vectors, Wish as FileWish};

use super::report::BuildOutcome;
use super::segments::SegmentArguments;
use super::{outline, step};
use crate::command::plan::{PlanFiles, make, pinned};
use crate::design::{ChoiceArguments, SizeArguments};
use crate::output::Outcome;
use crate::session::Session;
use crate::system;
use crate::table::{QueriesColumn, TableArguments, beside};

const EXAMPLES: &str = "\
Examples:
  pageway build --data base.fbin --out my.index --metric l2
  pageway build --data base.u8bin --out my.index --metric l2 --memory 10% --build-memory 2GB
  pageway build --data texts.npy --out my.index --metric cosine --recall 0.99 --ids ids.txt
  pageway build --data texts.parquet --column emb --id-column id --out my.index --metric cosine
  pageway build --data base.fbin --out my.index --metric l2 --attributes rows.jsonl
  pageway build --data base.fbin --out my.index --metric l2 --preset starling --memory 10%
  pageway build --data base.fbin --out my.index --metric l2 --preset diskann --placement clustered
  pageway build --data base.fbin --out my.index --metric l2 --memory 10% --plan --pin degree=32
  pageway build --data base.fbin --out my.index --metric l2 --memory 10% --dry-run
  pageway build --data base.fbin --out my.index --metric l2 --scratch /mnt/fast --resume
  pageway build --data base.fbin --out my.index --metric l2 --segments 8 --work w --step prepare

What the knobs cost:
  --memory        memory of every later search. Less memory means shorter codes and a smaller cache,
                  so more page reads for the same recall.
  --degree        larger graphs: more recall per hop, bigger index, slower build.
  --build-list    build time grows with it; recall gains flatten beyond 2 to 3 times the degree.
  --build-memory  below about (vectors + graph) the build works in overlapping parts: slower by the
                  number of extra passes, the same recall within about 0.01.

Designs: 'pageway presets' lists the published ones, 'pageway explain NAME' says what each choice of
one means and costs. Any choice can be replaced, written name or name:key=value,...; a combination
that cannot be is refused before work, with one that can.

Building over an existing index replaces it in one step at the end: until then, and after a failure
or Ctrl-C, the old index stays whole. With --resume a build that was stopped goes on when the same
command is given again, and makes the same bytes.";

/// What a plan decides.
const PLANNED: [&str; 9] = [
    "preset",
    "form",
    "code_bytes",
    "degree",
    "build_list",
    "alpha",
    "column",
    "page_size",
    "beam",
];

/// Build an index from a file of vectors.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct BuildArguments {
    #[command(flatten)]
    place: PlaceArguments,
    #[command(flatten)]
    wish: WishArguments,
    #[command(flatten)]
    design: DesignArguments,
}

/// What rows have beside their vectors.
#[derive(Debug, Args)]
struct DocumentArguments {
    /// Attributes of the rows, to filter by, in row order: JSON lines (.jsonl, an object per row),
    /// .csv, .tsv, .spmat (tags) or .parquet, which may be the file of the vectors
    #[arg(long, value_name = "FILE")]
    attributes: Option<PathBuf>,

    /// What values of attributes must be, now and when rows change: a JSON file such as
    /// {"lex": "keyword", "length": "integer"}; also float, bool, datetime, text, geo, uuid
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,
}

/// What to read and where to write.
#[derive(Debug, Args)]
struct PlaceArguments {
    /// Vectors: .fbin .f16bin .bf16bin .u8bin .i8bin .bitbin .bin .fvecs .bvecs .npy .parquet, or
    /// .jsonl and .ndjson, also with .gz
    #[arg(long, value_name = "FILE")]
    data: PathBuf,

    /// Directory of the index; an index that is there already is replaced at the end
    #[arg(long, value_name = "DIR")]
    out: PathBuf,

    /// Distance: l2, ip (inner product), cosine, l1 (Manhattan), or of bits hamming or jaccard
    #[arg(long, value_name = "METRIC")]
    metric: Metric,

    /// User ids, one per row: .u64bin, .ibin, .npy, or text with one number per line [default: row
    /// numbers]
    #[arg(long, value_name = "FILE")]
    ids: Option<PathBuf>,

    /// A name for each row in place of ids, such as a UUID: text, one per line
    #[arg(long, value_name = "FILE", conflicts_with = "ids")]
    names: Option<PathBuf>,

    #[command(flatten)]
    documents: DocumentArguments,

    /// Example queries to calibrate recall with; give them when queries are unlike the data
    /// [default: rows of the data, held out]
    #[arg(long, value_name = "FILE")]
    queries: Option<PathBuf>,

    #[command(flatten)]
    queries_column: QueriesColumn,

    #[command(flatten)]
    table: TableArguments,

    /// Store floats as f32, f16 or bf16; each number is rounded to nearest, and the report says how
    /// far that moved a vector at most [default: as they come, f32 that f16 holds exactly as f16]
    #[arg(long, value_name = "TYPE", conflicts_with = "plan")]
    store: Option<ElementType>,

    /// Say what would be built, in how much memory and disk, or why it cannot be; and stop
    #[arg(long)]
    dry_run: bool,
}

impl PlaceArguments {
    /// How queries lie in their file.
    fn wish_of_queries(&self) -> FileWish {
        self.queries_column.wish(self.table.element)
    }

    /// The vectors in the element type that the index is to have.
    fn stored(&self, vectors: Vectors) -> Result<Vectors> {
        match self.store {
            Some(element) => vectors.rounded_to(element),
            None => Ok(vectors),
        }
    }
}

/// Temporary files.
#[derive(Debug, Args)]
struct ScratchArguments {
    /// Directory for temporary files, such as one on another disk [default: that of the index]
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,

    /// Keep finished stages when the build is stopped, by Ctrl-C or a kill, and go on with what an
    /// earlier build of the same data with the same options kept
    #[arg(long)]
    resume: bool,
}

/// What the user wants: memory, recall, time.
#[derive(Debug, Args)]
struct WishArguments {
    /// Memory of a search over the finished index: bytes (200MB) or a share of the raw vectors
    /// (20%) [default: 20%, and at least 16MB]
    #[arg(long, value_name = "MEMORY")]
    memory: Option<MemoryWish>,

    /// Memory of the build itself [default: half of the machine's, or of what its container has]
    #[arg(long, value_name = "MEMORY")]
    build_memory: Option<MemoryWish>,

    /// Recall@10 to be reachable; the build measures it and says so when it is not
    #[arg(long, value_name = "SHARE", default_value_t = DEFAULTS.recall)]
    recall: f32,

    /// Queries to calibrate recall with; more are more exact, fewer build faster. With 0 recall is
    /// left to be measured: by the first search that asks for one, or 'pageway calibrate' [default:
    /// of 80 rows one, 500 to 1000]
    #[arg(long, value_name = "N")]
    calibration_queries: Option<u32>,

    #[command(flatten)]
    segments: SegmentArguments,

    /// Threads, up to 8 per core or 64; 0 for all cores. The bytes of the index do not depend on it
    #[arg(long, value_name = "N", default_value_t = 0)]
    threads: usize,

    /// Seed of every random choice: same data, options and seed, same bytes
    #[arg(long, value_name = "N", default_value_t = DEFAULTS.seed)]
    seed: u64,

    #[command(flatten)]
    scratch: ScratchArguments,
}

/// The design, for those who know it.
#[derive(Debug, Args)]
#[command(next_help_heading = "Design")]
struct DesignArguments {
    #[arg(long, value_name = "NAME", default_value_t = Preset::default(), help = preset_help())]
    preset: Preset,

    /// Form of the design: of pageway resident, clustered or on-disk [default: the first that
    /// memory holds]
    #[arg(long, value_name = "NAME")]
    form: Option<String>,

    /// Plan first, as 'pageway plan' does, and build what it chooses; choices given here are kept
    #[arg(long, conflicts_with_all = PLANNED)]
    plan: bool,

    /// Pin a size of the plan: preset, form, page-size, degree, code-bytes, bits or beam
    #[arg(long = "pin", value_name = "KEY=VALUE", requires = "plan")]
    pins: Vec<String>,

    /// Bytes per compressed vector [default: as many as the memory affords]
    #[arg(long, value_name = "N")]
    code_bytes: Option<u32>,

    /// Disk that the index may take: bytes (200GB) or a share of the raw vectors (1.3x, 130%).
    /// Lists are packed, pages doubled, codes in pages shortened until it does [default: what it
    /// needs]
    #[arg(long, value_name = "DISK")]
    disk: Option<MemoryWish>,

    /// Index of the same vector space whose codebook is shared
    #[arg(long, value_name = "DIR")]
    codebook_from: Option<PathBuf>,

    /// Index of the same vectors, built with placement by_id, whose graph is laid out anew
    #[arg(long, value_name = "DIR")]
    graph_from: Option<PathBuf>,

    #[command(flatten)]
    sizes: SizeArguments,

    #[command(flatten)]
    choices: ChoiceArguments,
}

fn preset_help() -> String {
    let names: Vec<&str> = Preset::ALL.iter().map(|preset| preset.name()).collect();
    format!("Design: our own, or a published one: {}", names.join(", "))
}

impl BuildArguments {
    fn options(&self) -> Result<BuildOptions> {
        let Self {
            place,
            wish,
            design,
        } = self;
        let sizes = &design.sizes;
        let schema = place.documents.schema.as_deref();
        Ok(sizes
            .options()
            .with_schema(schema.map(system::read_schema).transpose()?)
            .with_metric(place.metric)
            .with_preset(design.preset)
            .with_form(design.form.clone())
            .with_memory(wish.memory)
            .with_build_memory(wish.build_memory)
            .with_recall(wish.recall)
            .with_threads(wish.threads)
            .with_code_bytes(design.code_bytes)
            .with_overrides(design.choices.overrides(&sizes.sizes())?)
            .with_disk(design.disk)
            .with_codebook_from(design.codebook_from.clone())
            .with_graph_from(design.graph_from.clone())
            .with_scratch(wish.scratch.scratch.clone())
            .with_resume(wish.scratch.resume)
            .with_calibration_queries(wish.calibration_queries)
            .with_seed(wish.seed))
    }

    /// The options as they were typed, or as a plan has them.
    fn planned(&self, session: &Session) -> Result<(BuildOptions, Option<Plan>)> {
        let options = self.options()?;
        if !self.design.plan {
            return Ok((options, None));
        }
        let plan = make(&self.plan_files(), &self.wish()?, session)?;
        let chosen = plan.choice()?;
        session.say(&format!("{plan}\nBuilding {}.\n", chosen.name))?;
        let design = &chosen.candidate.options;
        let options = options
            .with_preset(design.preset)
            .with_form(design.form.clone())
            .with_degree(design.degree)
            .with_build_list(design.build_list)
            .with_code_bytes(design.code_bytes)
            .with_page_bytes(design.page_bytes)
            .with_beam(design.beam)
            .with_overrides(design.overrides)
            .with_memory(MemoryWish::Bytes(plan.memory_bytes));
        Ok((options, Some(plan)))
    }

    /// What a plan is to meet.
    fn wish(&self) -> Result<Wish> {
        let (wish, usual) = (&self.wish, Wish::default());
        Ok(Wish {
            metric: self.place.metric,
            memory: wish.memory.unwrap_or(usual.memory),
            recall: wish.recall,
            threads: wish.threads,
            pins: pinned(&self.design.pins, &self.design.choices)?,
            seed: wish.seed,
            ..usual
        })
    }

    fn plan_files(&self) -> PlanFiles<'_> {
        let place = &self.place;
        PlanFiles {
            vectors: &place.data,
            queries: place.queries.as_deref(),
            tables: [
                place.table.wish(beside(&place.out)),
                place.wish_of_queries(),
            ],
            scratch: beside(&place.out),
        }
    }

    /// Builds, and reports.
    pub(crate) fn run(&self, session: &Session) -> Result<Outcome> {
        let started = system::now();
        let (options, plan) = self.planned(session)?;
        let place = &self.place;
        let options = options.with_store_as_given(place.store.is_some());
        let scratch = self.wish.scratch.scratch.as_deref();
        let table = place.table.wish(scratch.unwrap_or(beside(&place.out)));
        let data = system::open_table(&place.data, &table, &session.progress)?;
        let vectors = place.stored(data.vectors)?;
        let ids = place.ids.as_deref().map(system::open_ids).transpose()?;
        let ids = ids.or(data.ids);
        let (among, wish) = (vectors.shape().element, place.wish_of_queries());
        let open = |path| system::open_vectors_among(among, path, &wish, &session.progress);
        let queries = place.queries.as_deref().map(open).transpose()?;
        let queries = queries.as_ref().map(|queries| queries as _);
        let names = place.names.as_deref();
        let names = names.map(system::open_names).transpose()?;
        let attributes = place.documents.attributes.as_deref();
        let beside = (place.data.as_path(), &table);
        let schema = options.schema.as_ref();
        let open = |path| system::open_attributes(path, beside, schema, &session.progress);
        let attributes = attributes.map(open).transpose()?;
        let input = BuildInput::new(&vectors, vectors.name())
            .with_ids(ids.as_deref())
            .with_names(names.as_ref().map(|own| own as _))
            .with_queries(queries)
            .with_attributes(attributes.as_deref());
        let options = self.wish.segments.over(options, &input)?;
        if place.dry_run {
            let outline = Index::outline(&input, &options)?;
            return Outcome::new(outline::describe(&outline, &options), &outline);
        }
        if let Some(step) = self.wish.segments.step() {
            return step::run((&place.out, &step), (&input, &options), session);
        }
        let report = Index::build(&place.out, &input, &options, &session.progress)?;
        let outcome = BuildOutcome {
            report: &report,
            preset: options.preset.name(),
            metric: place.metric,
            total_seconds: started.elapsed().as_secs_f64(),
            cpu_seconds: pageway::lab::process_cpu_time().as_secs_f64(),
            peak_memory_bytes: pageway::lab::peak_memory_bytes(),
            plan: plan.as_ref(),
            worst_rounding: vectors.worst_error(),
        };
        Outcome::new(outcome.describe(&place.out, options.recall), &outcome)
    }
}
