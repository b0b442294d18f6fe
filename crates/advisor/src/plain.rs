//! The plain design: lists and vectors together, in the order of the data; codes in memory; a walk
//! from one node, in rounds.
//!
//! It lends its graph to all others, and what guesses are made from is measured on it.

use pageway::choices::schedules;
use pageway::spec::{
    CodeStorage, CodecSpec, DeltaSpec, EntrySpec, GraphSpec, HarvestSpec, IndexSpec, ListSpec,
    NodeCacheSpec, PageCacheSpec, PlacementSpec, QuantizerSpec, RefineSpec, RepairSpec,
    SelectionSpec, StopSpec, UpdateSpec, VectorStorage,
};
use pageway::{
    BuildOptions, CacheOverrides, Error, ErrorKind, Index, MemoryPart, MemoryWish, Overrides,
    Preset, Result, Sizes,
};

use crate::candidate::Candidate;
use crate::model::{Counts, Statistics};
use crate::trial::{ALL_BYTES, Built, Climb, Opening, Trial, Tried};
use crate::walk::Walk;

/// Reads per round.
const BEAM: u32 = 4;
/// Of all nodes, those cached where the worth of a cache is measured.
const CACHED_PART: u64 = 10;

/// The graph of `spec`, or one in the sizes of `options` where that has no lists.
fn lists(spec: &IndexSpec, options: &BuildOptions) -> GraphSpec {
    if spec.graph.has_lists() {
        return spec.graph;
    }
    Preset::DiskAnn.spec(spec.shape, &options.sizes()).graph
}

/// The options of the plain design with the graph of `spec`, in the sizes of `options`.
pub(crate) fn plain(spec: &IndexSpec, options: &BuildOptions) -> BuildOptions {
    let [lockstep, ..] = schedules(&Sizes {
        beam: Some(BEAM),
        ..Sizes::default()
    });
    options
        .clone()
        .with_overrides(Overrides {
            graph: Some(lists(spec, options)),
            vectors: Some(VectorStorage::InRecord),
            codes: Some(CodeStorage::Memory),
            quantizer: Some(QuantizerSpec::Pq { code_bytes: 0 }),
            second_quantizer: Some(None),
            ids_in_memory: Some(false),
            codec: Some(CodecSpec::Packed),
            placement: Some(PlacementSpec::ById),
            lists: Some(ListSpec::Plain),
            cache: CacheOverrides {
                nodes: Some(NodeCacheSpec::Records),
                pages: Some(PageCacheSpec::None),
                selection: Some(SelectionSpec::BreadthFirst),
                page_share: None,
            },
            entry: Some(EntrySpec::Medoid),
            schedule: Some(lockstep),
            harvest: Some(HarvestSpec::Target),
            refine: Some(RefineSpec::Inline),
            stop: Some(StopSpec::Exhausted),
            slack: Some(0.0),
            update: Some(UpdateSpec::Static),
            repair: Some(RepairSpec::Sweep),
            delta: Some(DeltaSpec::Scan),
        })
        .with_memory(MemoryWish::Bytes(ALL_BYTES))
        .with_graph_from(None)
}

/// Searches of the plain design, at the recall that is wished.
struct Searches {
    everything_cached: Counts,
    partly_cached: Counts,
    nothing_cached: Counts,
    /// Share of the nodes that were partly cached.
    share: f64,
}

/// Builds the plain design over the sample of `trial` and searches it with everything cached, with
/// a part, and with nothing.
pub(crate) fn measure_plain(trial: &mut Trial<'_>, candidate: &Candidate) -> Result<Statistics> {
    let options = plain(&candidate.spec, &candidate.options);
    let built = trial.build(&options)?;
    let found = searches(trial, &built, candidate)?;
    let missed = found.partly_cached.reads / found.nothing_cached.reads.max(1e-9);
    let hit = (1.0 - missed).clamp(0.01, 0.99);
    let hops = found.everything_cached.hops.max(1.0);
    let dimension = f64::from(candidate.spec.shape.dimension);
    Ok(Statistics {
        rows: trial.rows(),
        hops,
        max_degree: lists(&candidate.spec, &candidate.options).max_degree(),
        mean_degree: built.mean_degree,
        code_share: f64::from(candidate.code_bytes()) / dimension,
        hit_exponent: (hit.ln() / found.share.clamp(1e-4, 0.9).ln()).clamp(0.1, 2.0),
        expand_us: found.everything_cached.compute_us / hops,
        read_us: Statistics::read_us(&found.everything_cached, &found.nothing_cached),
    })
}

fn searches(trial: &Trial<'_>, built: &Built, candidate: &Candidate) -> Result<Searches> {
    let opening = Opening::new(&built.dir, None);
    let whole = trial.open_whole(opening)?;
    let memory = whole.memory();
    let counts = |climb: Climb| {
        let tried = climb.tried(trial.recall());
        let unreached = || out_of_reach(&tried, candidate);
        tried.counts.ok_or_else(unreached)
    };
    let everything_cached = counts(trial.measure(rounds(&whole), 0.0)?)?;
    drop(whole);
    let cached = memory.bytes_of(MemoryPart::CachedNodes);
    let all: u64 = memory.parts.iter().map(|(_, bytes)| bytes).sum();
    let some = opening.open(all - cached + cached / CACHED_PART)?;
    let share = some.memory().cached_nodes as f64 / trial.rows() as f64;
    let partly_cached = counts(trial.measure(rounds(&some), 0.0)?)?;
    drop(some);
    let none = opening.open(all - cached)?;
    Ok(Searches {
        everything_cached,
        partly_cached,
        nothing_cached: counts(trial.measure(rounds(&none), 0.0)?)?,
        share,
    })
}

/// A search of the plain design.
const fn rounds(index: &Index) -> Walk<'_> {
    Walk {
        index,
        beam: None,
        is_pipeline: false,
    }
}

fn out_of_reach(tried: &Tried, candidate: &Candidate) -> Error {
    let words = format!(
        "a sample of {} rows reaches recall@10 {:.3} at most with {} bytes per code: ask for less \
         recall or more memory",
        tried.rows,
        tried.best_recall,
        candidate.code_bytes()
    );
    Error::new(ErrorKind::Unsupported, words)
}
