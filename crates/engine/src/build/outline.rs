//! What a build would make, without building.

use pageway_store::{OsVfs, Vfs};
use pageway_types::{ElementType, NoProgress};
use serde::Serialize;

use super::disk::disk_bytes;
use super::named::with_ids;
use super::plan::BuildPlan;
use super::stored::stored_element;
use super::whole::{check_options, shared_codebook};
use crate::error::Result;
use crate::index::Index;
use crate::options::{BuildInput, BuildOptions};
use crate::plan::Footprint;
use crate::source::is_below_two;
use crate::spec::IndexSpec;

/// What a build would make of its input.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct BuildOutline {
    /// Vectors.
    pub nodes: u32,
    /// Segments.
    pub segments: u32,
    /// The design, in its sizes.
    pub spec: IndexSpec,
    /// Element type that vectors are stored in: f16 where that holds all of f32 vectors exactly.
    pub stored: ElementType,
    /// Its footprint if it were one segment.
    pub footprint: Footprint,
    /// Memory of a search, as the index would be opened.
    pub memory_bytes: u64,
    /// Memory that the build may take.
    pub build_memory_bytes: u64,
    /// Nodes of the largest part that the graph is built in; absent where it is built as a whole.
    pub shard_nodes: Option<u32>,
    /// Rows that codes are trained on.
    pub sample_rows: u64,
    /// Free disk that the build asks for.
    pub disk_bytes: u64,
    /// Threads.
    pub threads: usize,
    /// Warnings: what the memory of the build is too small for.
    pub warnings: Vec<String>,
}

impl Index {
    /// What [`Index::build`] would make, by the same checks of options and budgets; writes nothing.
    /// Reads `f32` rows up to the first that f16 does not hold exactly, and floats up to the first
    /// with a component of 2 or more: a pass over them, or microseconds.
    ///
    /// # Errors
    /// Those of a build that are known before its work.
    pub fn outline(input: &BuildInput<'_>, options: &BuildOptions) -> Result<BuildOutline> {
        with_ids(input, |input| outline(input, options))
    }
}

fn outline(input: &BuildInput<'_>, options: &BuildOptions) -> Result<BuildOutline> {
    check_options(options)?;
    let vfs: &dyn Vfs = &OsVfs;
    let codebook = shared_codebook(vfs, input, options)?;
    let element = stored_element(input, options, &NoProgress)?;
    let plan = BuildPlan::new((input, element), options, codebook.as_ref())?;
    let nodes = plan.cut.rows();
    let below_two = is_below_two(input.vectors, &NoProgress)?;
    let mut footprint = Footprint::of_rows(&plan.spec, nodes, below_two)?;
    let given = input.vectors.shape();
    footprint.raw_bytes = u64::from(nodes) * given.row_bytes() as u64;
    let mut spec = plan.spec.clone();
    spec.shape.element = given.element;
    Ok(BuildOutline {
        nodes,
        segments: plan.cut.runs(),
        footprint,
        memory_bytes: plan.index_memory,
        build_memory_bytes: plan.build_memory(),
        shard_nodes: plan.graph.capacity().or(plan.parts),
        sample_rows: plan.sample_rows,
        disk_bytes: disk_bytes(&plan.for_rows(below_two)?)?,
        threads: plan.threads.working,
        warnings: plan.warnings(options)?,
        spec,
        stored: element,
    })
}

#[cfg(test)]
mod tests {
    use pageway_types::{ElementType, VectorRead, VectorShape};

    use super::*;
    use crate::memory::MemoryWish;
    use crate::presets::Preset;
    use crate::source::VectorSlice;
    use crate::spec::{GraphSpec, Overrides, Sizes};
    use crate::{ErrorKind, NoProgress};

    #[test]
    fn an_outline_is_what_a_build_makes() {
        let shape = VectorShape {
            dimension: 8,
            element: ElementType::U8,
        };
        let rows: Vec<u8> = (0..8 * 300_u32).map(|at| (at * 37 % 251) as u8).collect();
        let vectors = VectorSlice::new(&rows, shape).unwrap();
        let input = BuildInput::new(&vectors, "rows");
        let options = BuildOptions::default().with_memory(MemoryWish::Bytes(2_000_000));
        let outline = Index::outline(&input, &options).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let report = Index::build(dir.path(), &input, &options, &NoProgress).unwrap();
        assert_eq!(
            (u64::from(outline.nodes), outline.memory_bytes),
            (report.nodes, report.memory_bytes)
        );
        assert_eq!(outline.build_memory_bytes, report.build_memory_bytes);
        assert!(outline.disk_bytes >= report.index_bytes);
        let built = crate::describe(dir.path()).unwrap().spec;
        assert_eq!(outline.spec.layout, built.layout);
        assert_eq!(outline.spec.graph, built.graph);
        let short = options.with_memory(MemoryWish::Bytes(20));
        let refused = Index::outline(&input, &short).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidInput);
        assert!(
            refused
                .context()
                .starts_with("a memory budget of 20 B is too small"),
            "{refused}"
        );
    }
    /// Rows that are planned for and never read.
    struct Imagined(u64);

    impl VectorRead for Imagined {
        fn count(&self) -> u64 {
            self.0
        }

        fn shape(&self) -> VectorShape {
            VectorShape {
                dimension: 128,
                element: ElementType::U8,
            }
        }

        fn read(&self, _: u64, _: &mut [u8]) -> std::io::Result<()> {
            Err(std::io::ErrorKind::Unsupported.into())
        }
    }

    #[test]
    fn memory_beyond_the_usual_makes_the_same_pieces() {
        let rows = Imagined(3_000_000);
        let input = BuildInput::new(&rows, "rows");
        for (form, memory) in [("clustered", 0.5), ("on-disk", 0.1)] {
            let pieces = |build_memory| {
                let options = BuildOptions {
                    form: Some(form.to_owned()),
                    build_memory: Some(MemoryWish::Bytes(build_memory)),
                    memory: Some(MemoryWish::Share(memory)),
                    calibration_queries: Some(10),
                    ..BuildOptions::default()
                };
                let outline = Index::outline(&input, &options).unwrap();
                (outline.shard_nodes.unwrap(), outline.sample_rows)
            };
            let usual = pieces(230_000_000);
            assert_eq!(pieces(280_000_000), usual, "{form}");
        }
    }

    #[test]
    fn a_form_that_the_build_has_no_memory_for_is_told_of() {
        let rows = Imagined(30_000_000);
        let input = BuildInput::new(&rows, "rows");
        let outline = |build_memory| {
            let options = BuildOptions::default()
                .with_memory(MemoryWish::Share(0.2))
                .with_build_memory(MemoryWish::Bytes(build_memory));
            Index::outline(&input, &options).unwrap()
        };
        let (least, usual) = (outline(60_000_000), outline(1_000_000_000));
        assert_ne!(least.spec.layout, usual.spec.layout);
        assert!(usual.warnings.is_empty(), "{:?}", usual.warnings);
        let [warning, ..] = &least.warnings[..] else {
            panic!("nothing is told");
        };
        assert!(
            warning.starts_with("form 'clustered' was passed over"),
            "{warning}"
        );
        assert!(warning.contains("the smallest that works"), "{warning}");
    }

    #[test]
    fn a_build_that_has_no_memory_for_searches_leaves_recall_to_be_measured() {
        let rows = Imagined(10_000_000);
        let input = BuildInput::new(&rows, "rows");
        // 64 MB and one in a hundred of the raw vectors.
        let little = MemoryWish::Bytes(64_000_000 + 12_800_000);
        for preset in [
            Preset::DiskAnn,
            Preset::Starling,
            Preset::Gorgeous,
            Preset::PageAnn,
        ] {
            let options = BuildOptions {
                preset,
                memory: Some(MemoryWish::Share(0.3)),
                ..BuildOptions::default()
            };
            let little = options.clone().with_build_memory(little);
            let little = Index::outline(&input, &little).unwrap();
            let [warning, ..] = &little.warnings[..] else {
                panic!("{preset} says nothing");
            };
            assert!(warning.starts_with("recall is not measured by this build"));
            let (_, least) = warning.split_once('(').unwrap();
            let least = least.split_once(" B").unwrap().0.parse().unwrap();
            let enough = options.with_build_memory(MemoryWish::Bytes(least));
            let enough = Index::outline(&input, &enough).unwrap();
            assert!(enough.warnings.is_empty(), "{:?}", enough.warnings);
            assert_eq!(enough.spec.layout, little.spec.layout);
        }
    }

    #[test]
    fn little_memory_is_built_in_by_fewer_threads() {
        let shape = VectorShape {
            dimension: 512,
            element: ElementType::F32,
        };
        let rows = vec![0; 6000 * shape.row_bytes()];
        let vectors = VectorSlice::new(&rows, shape).unwrap();
        let input = BuildInput::new(&vectors, "rows");
        let options = |build_memory| BuildOptions {
            build_memory: Some(MemoryWish::Bytes(build_memory)),
            memory: Some(MemoryWish::Bytes(4_000_000)),
            threads: 12,
            overrides: Overrides {
                graph: Some(GraphSpec::pipnn(&Sizes::default())),
                ..Overrides::default()
            },
            ..BuildOptions::default()
        };
        let refused = Index::outline(&input, &options(1)).unwrap_err();
        let (_, least) = refused.context().split_once("works is ").unwrap();
        let least: u64 = least.split_once(" B").unwrap().0.parse().unwrap();
        assert_eq!(Index::outline(&input, &options(least)).unwrap().threads, 1);
        let some = Index::outline(&input, &options(2 * least)).unwrap();
        assert!((2..12).contains(&some.threads), "{}", some.threads);
        let free = Index::outline(&input, &options(1 << 30)).unwrap();
        assert_eq!(free.threads, 12);
    }
}
