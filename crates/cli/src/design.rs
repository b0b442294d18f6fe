//! The arguments that make a design: sizes, and one choice per policy in place of a preset's own.

use clap::Args;
use pageway::choices::{
    self, CODES, ENTRIES, HARVESTS, LISTS, NODE_CACHES, PAGE_CACHES, PLACEMENTS, QUANTIZERS,
    REFINES, SELECTIONS, STOPS, VECTORS, codecs, graphs, schedules,
};
use pageway::spec::{QuantizerSpec, RotationSpec};
use pageway::{CacheOverrides, Overrides, Result, Sizes};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Numbers that a design leaves open.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Sizes")]
pub(crate) struct SizeArguments {
    /// Longest adjacency list (R); 24 to 96 are usual
    #[arg(long, value_name = "R", default_value_t = 48)]
    pub(crate) degree: u32,

    /// Candidate list size while building (L); at least the degree
    #[arg(long, value_name = "L", default_value_t = 100)]
    pub(crate) build_list: u32,

    /// Slack of the prune rule of vamana; larger keeps more long edges
    #[arg(long, value_name = "A", default_value_t = 1.2)]
    pub(crate) alpha: f32,

    /// Bytes of a page: 4096 to 65536, a power of two
    #[arg(long, value_name = "BYTES", default_value_t = 4096)]
    pub(crate) page_size: u32,

    /// Reads in flight (W) [default: the design's own]
    #[arg(long, value_name = "W")]
    pub(crate) beam: Option<u32>,
}

impl SizeArguments {
    /// These numbers; what was not asked has its default.
    pub(crate) fn sizes(&self) -> Sizes {
        Sizes {
            max_degree: self.degree,
            build_list: self.build_list,
            alpha: self.alpha,
            page_bytes: self.page_size,
            beam: self.beam,
            ..Sizes::default()
        }
    }
}

/// One choice per policy. What is not chosen stays as the preset has it.
#[derive(Clone, Debug, Args)]
pub(crate) struct ChoiceArguments {
    #[command(flatten)]
    stored: StorageChoices,
    #[command(flatten)]
    cached: CacheChoices,
    #[command(flatten)]
    walked: WalkChoices,
}

/// Axes 1 and 2, and the graph.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Choices in place of the preset's own")]
struct StorageChoices {
    /// Graph: vamana, nsg[:knn=2R], hnsw, pipnn[:fanout=8,knn=5,leaf=512] or, without lists,
    /// clusters[:members=64]
    #[arg(long, value_name = "NAME")]
    graph: Option<String>,

    /// Where full vectors lie: in_record, separate (with codec split), or coded: separate too, with
    /// a fine code of --second-code-bytes in the record
    #[arg(long, value_name = "NAME")]
    vectors: Option<String>,

    /// Where codes lie: memory, in_page, or split by what memory holds
    #[arg(long, value_name = "NAME")]
    codes: Option<String>,

    /// How vectors are compressed: pq, or rabitq[:rotation=principal|hadamard] with error bounds
    #[arg(long, value_name = "NAME")]
    quantizer: Option<String>,

    /// Bytes of a second code, for refine cascade or vectors coded; 0 for none
    #[arg(long, value_name = "N")]
    second_code_bytes: Option<u32>,

    /// Whether rows and ids are in memory too, so that refine bounded need not read what is sure
    #[arg(long, value_name = "BOOL")]
    ids_in_memory: Option<bool>,

    /// What a page holds: packed, inline_codes, replicated[:lists=4], page_node[:min_degree=R/2]
    /// or split
    #[arg(long, value_name = "NAME")]
    codec: Option<String>,

    /// Which nodes share a page: by_id, bnp, bnf[:rounds=8,gain=0.01], bns[:rounds=8,gain=0.01],
    /// grouped[:hops=2] or clustered
    #[arg(long, value_name = "NAME")]
    placement: Option<String>,

    /// How adjacency lists are stored: plain, or packed: sorted, in about a third of the bytes
    #[arg(long, value_name = "NAME")]
    lists: Option<String>,
}

/// Axis 3.
#[derive(Clone, Debug, Args)]
struct CacheChoices {
    /// What is cached per node: none, records, clock (records, those used lately) or lists
    #[arg(long, value_name = "NAME")]
    cache_nodes: Option<String>,

    /// Which pages are cached: none, hot, lru or clock
    #[arg(long, value_name = "NAME")]
    cache_pages: Option<String>,

    /// What a cache takes first: breadth_first, or visits of sampled queries
    #[arg(long, value_name = "NAME")]
    cache_selection: Option<String>,

    /// Share of the cache that pages get where nodes are cached too, 0 to 1
    #[arg(long, value_name = "SHARE")]
    page_share: Option<f32>,
}

/// Axis 4.
#[derive(Clone, Debug, Args)]
struct WalkChoices {
    /// Where a walk starts: medoid, fixed[:count=8],
    /// navigation[:one_in=100,max_degree=24,list_size=10], upper_layers[:list_size=10],
    /// hash[:one_in=20,radius=2,limit=200] or, with graph clusters, clusters
    #[arg(long, value_name = "NAME")]
    entry: Option<String>,

    /// Which reads are in flight: lockstep, overlapped, prefetch (each of --beam reads) or
    /// pipelined[:least=4,most=32,completion=in_order|as_they_come]
    #[arg(long, value_name = "NAME")]
    schedule: Option<String>,

    /// Which records of a page are used: target, near[:share=0.3], all or held
    #[arg(long, value_name = "NAME")]
    harvest: Option<String>,

    /// When exact distances are paid: inline, deferred[:share=0.5], bounded[:deviations=2] or
    /// cascade[:scored=1,read=0.5]
    #[arg(long, value_name = "NAME")]
    refine: Option<String>,

    /// When a walk ends: exhausted or horizon[:growth=15]
    #[arg(long, value_name = "NAME")]
    stop: Option<String>,

    /// How much nearer a candidate that needs a read must be, as a share of its distance, to come
    /// before one whose list is in memory; 0 to 1
    #[arg(long, value_name = "SHARE")]
    slack: Option<f32>,
}

impl ChoiceArguments {
    /// The choices, with what they leave open from `sizes`.
    ///
    /// # Errors
    /// `InvalidInput` for what cannot be read, with what could be.
    pub(crate) fn overrides(&self, sizes: &Sizes) -> Result<Overrides> {
        let Self {
            stored,
            cached,
            walked,
        } = self;
        Ok(Overrides {
            graph: read("--graph", stored.graph.as_deref(), &graphs(sizes))?,
            vectors: read("--vectors", stored.vectors.as_deref(), &VECTORS)?,
            codes: read("--codes", stored.codes.as_deref(), &CODES)?,
            quantizer: read("--quantizer", stored.quantizer.as_deref(), &QUANTIZERS)?,
            second_quantizer: stored
                .second_code_bytes
                .map(|code_bytes| (code_bytes > 0).then(|| stored.second(code_bytes))),
            ids_in_memory: stored.ids_in_memory,
            codec: read("--codec", stored.codec.as_deref(), &codecs(sizes))?,
            placement: read("--placement", stored.placement.as_deref(), &PLACEMENTS)?,
            lists: read("--lists", stored.lists.as_deref(), &LISTS)?,
            cache: cached.overrides()?,
            entry: read("--entry", walked.entry.as_deref(), &ENTRIES)?,
            schedule: read("--schedule", walked.schedule.as_deref(), &schedules(sizes))?,
            harvest: read("--harvest", walked.harvest.as_deref(), &HARVESTS)?,
            refine: read("--refine", walked.refine.as_deref(), &REFINES)?,
            stop: read("--stop", walked.stop.as_deref(), &STOPS)?,
            slack: walked.slack,
        })
    }
}

impl StorageChoices {
    /// A second code: a fine one, with error bounds, where records hold those.
    fn second(&self, code_bytes: u32) -> QuantizerSpec {
        if self.vectors.as_deref() == Some("coded") {
            QuantizerSpec::RaBitQ {
                code_bytes,
                rotation: RotationSpec::Principal,
            }
        } else {
            QuantizerSpec::Pq { code_bytes }
        }
    }
}

impl CacheChoices {
    fn overrides(&self) -> Result<CacheOverrides> {
        Ok(CacheOverrides {
            nodes: read("--cache-nodes", self.cache_nodes.as_deref(), &NODE_CACHES)?,
            pages: read("--cache-pages", self.cache_pages.as_deref(), &PAGE_CACHES)?,
            selection: read(
                "--cache-selection",
                self.cache_selection.as_deref(),
                &SELECTIONS,
            )?,
            page_share: self.page_share,
        })
    }
}

fn read<T>(flag: &str, text: Option<&str>, known: &[T]) -> Result<Option<T>>
where
    T: Serialize + DeserializeOwned,
{
    text.map(|text| choices::parse(flag, text, known))
        .transpose()
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use pageway::spec::{CodecSpec, GraphSpec, ScheduleSpec};

    use super::*;

    #[derive(Parser)]
    struct Typed {
        #[command(flatten)]
        sizes: SizeArguments,
        #[command(flatten)]
        choices: ChoiceArguments,
    }

    fn overrides(line: &str) -> Result<Overrides> {
        let words = std::iter::once("x").chain(line.split_whitespace());
        let typed = Typed::try_parse_from(words).unwrap();
        typed.choices.overrides(&typed.sizes.sizes())
    }

    fn names<T: Serialize>(known: &[T]) -> Vec<String> {
        known.iter().map(choices::name_of).collect()
    }

    #[test]
    fn the_help_of_a_choice_names_all_there_is() {
        let command = Typed::command();
        let sizes = Typed::try_parse_from(["x"]).unwrap().sizes.sizes();
        for (flag, names) in [
            ("graph", names(&graphs(&sizes))),
            ("vectors", names(&VECTORS)),
            ("codes", names(&CODES)),
            ("quantizer", names(&QUANTIZERS)),
            ("codec", names(&codecs(&sizes))),
            ("placement", names(&PLACEMENTS)),
            ("lists", names(&LISTS)),
            ("cache_nodes", names(&NODE_CACHES)),
            ("cache_pages", names(&PAGE_CACHES)),
            ("cache_selection", names(&SELECTIONS)),
            ("entry", names(&ENTRIES)),
            ("schedule", names(&schedules(&sizes))),
            ("harvest", names(&HARVESTS)),
            ("refine", names(&REFINES)),
            ("stop", names(&STOPS)),
        ] {
            let argument = command
                .get_arguments()
                .find(|argument| argument.get_id() == flag);
            let help = argument.unwrap().get_help().unwrap().to_string();
            for name in names {
                assert!(help.contains(&name), "{flag}: {name} in {help}");
            }
            let error = overrides(&format!("--{} x", flag.replace('_', "-"))).unwrap_err();
            assert!(error.context().contains("there is"), "{error}");
        }
    }

    #[test]
    fn nothing_chosen_overrides_nothing() {
        let sizes = "--degree 24 --beam 9 --page-size 8192";
        assert_eq!(overrides(sizes).unwrap(), Overrides::default());
    }

    #[test]
    fn sizes_fill_what_a_choice_leaves_open() {
        let chosen = overrides("--graph nsg --schedule pipelined --degree 20 --beam 3").unwrap();
        let graph = GraphSpec::Nsg {
            max_degree: 20,
            build_list: 100,
            knn: 40,
        };
        assert_eq!(chosen.graph, Some(graph));
        assert_eq!(chosen.schedule.map(ScheduleSpec::beam), Some(3));
        let chosen = overrides("--schedule pipelined --codec page_node --degree 31").unwrap();
        assert_eq!(chosen.schedule.map(ScheduleSpec::beam), Some(32));
        assert_eq!(chosen.codec, Some(CodecSpec::PageNode { min_degree: 16 }));
    }

    #[test]
    fn a_second_code_can_be_given_and_taken_away() {
        assert_eq!(overrides("").unwrap().second_quantizer, None);
        let given = overrides("--second-code-bytes 7").unwrap().second_quantizer;
        assert_eq!(given, Some(Some(QuantizerSpec::Pq { code_bytes: 7 })));
        let taken = overrides("--second-code-bytes 0").unwrap().second_quantizer;
        assert_eq!(taken, Some(None));
    }
}
