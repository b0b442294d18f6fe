//! Graphs of every shape, relinked, against a walk over lists in memory; and a build in shards.

use std::path::Path;
use std::slice;
use std::sync::Arc;

use pageway_store::{OsVfs, Vfs};
use pageway_types::{Cancelled, ElementType, NoProgress, VectorShape};
use proptest::prelude::*;

use super::super::course::Course;
use super::super::fingerprint::Fingerprint;
use super::super::plan::BuildPlan;
use super::super::scratch::{StageFiles, TemporaryFiles};
use super::super::shards::ShardBuild;
use super::super::spill::SpillWriter;
use super::super::write::ListStream;
use super::*;
use crate::cache::breadth_first;
use crate::index::Index;
use crate::manifest::Manifest;
use crate::memory::MemoryWish;
use crate::options::{BuildInput, BuildOptions};
use crate::presets::Preset;
use crate::resolve::{self, Source};
use crate::source::VectorSlice;
use crate::threads::thread_pool;

struct Lists<'g>(slice::Iter<'g, Vec<NodeId>>);

impl ListStream for Lists<'_> {
    fn next_list(&mut self, list: &mut Vec<NodeId>) -> Result<()> {
        list.clone_from(self.0.next().expect("one list per node"));
        Ok(())
    }
}

/// Lists, the entry and the max degree.
#[derive(Clone, Debug)]
struct Sample {
    lists: Vec<Vec<NodeId>>,
    entry: u32,
    max_degree: u32,
}

impl Sample {
    fn new(lists: &[&[u32]], entry: u32, max_degree: u32) -> Self {
        let nodes = |list: &&[u32]| list.iter().copied().map(NodeId).collect();
        Self {
            lists: lists.iter().map(nodes).collect(),
            entry,
            max_degree,
        }
    }

    /// The lists with links in place, and the number of links.
    fn relinked(&self, progress: &dyn Progress) -> Result<(Vec<Vec<NodeId>>, u64)> {
        let dir = tempfile::tempdir().unwrap();
        let vfs: Arc<dyn Vfs> = Arc::new(OsVfs);
        let out = SpillWriter::create(&vfs, &dir.path().join("graph"), 4096)?;
        let count = self.lists.len() as u32;
        let mut stream = Lists(self.lists.iter());
        let graph = GraphFile::write(out, &mut stream, (count, self.max_degree))?;
        let links = relink(&graph, NodeId(self.entry), progress)?;
        let mut lists = graph.lists(0..count);
        let mut list = Vec::new();
        let lists = self.lists.iter().map(|_| {
            lists.next_list(&mut list).unwrap();
            list.clone()
        });
        Ok((lists.collect(), links))
    }

    fn patched(&self) -> (Vec<Vec<NodeId>>, u64) {
        self.relinked(&NoProgress).unwrap()
    }
}

fn unreached(lists: &[Vec<NodeId>], entry: u32) -> usize {
    let mut seen = vec![false; lists.len()];
    seen[entry as usize] = true;
    let mut queue = vec![NodeId(entry)];
    while let Some(node) = queue.pop() {
        for other in &lists[node.index()] {
            if !std::mem::replace(&mut seen[other.index()], true) {
                queue.push(*other);
            }
        }
    }
    seen.iter().filter(|seen| !**seen).count()
}

/// Everything reachable; lists within the degree, without repeats and self-loops; a link adds one
/// edge, or two where it takes the place of one, and takes out one of each of two lists at most.
fn check(sample: &Sample) {
    let (patched, links) = sample.patched();
    assert_eq!(unreached(&patched, sample.entry), 0);
    let (mut added, mut lost) = (0, 0);
    for (node, (list, before)) in patched.iter().zip(&sample.lists).enumerate() {
        let mut distinct = list.clone();
        distinct.sort();
        distinct.dedup();
        assert_eq!(distinct.len(), list.len(), "a repeat in the list of {node}");
        assert!(list.len() <= sample.max_degree as usize);
        assert!(!list.contains(&NodeId(node as u32)));
        added += list.iter().filter(|other| !before.contains(other)).count() as u64;
        lost += before.iter().filter(|other| !list.contains(other)).count() as u64;
    }
    assert!(
        added <= 2 * links && lost <= 2 * links,
        "{added}, {lost}, {links}"
    );
    assert!(links <= unreached(&sample.lists, sample.entry) as u64);
    assert_eq!(sample.patched().0, patched);
}

/// Random lists within `reach` ids of their node, cut into `islands` that know only themselves; the
/// first nodes of each have no way in.
fn sample() -> impl Strategy<Value = Sample> {
    let shape = (1_u32..400, 1_u32..5, 1_u32..8, 1_u32..400);
    (shape, any::<u64>()).prop_map(|((count, max_degree, islands, reach), seed)| {
        let mut state = seed;
        let mut below = |bound: u32| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) % u64::from(bound)) as u32
        };
        let mut lists = vec![Vec::new(); count as usize];
        for (node, list) in (0..count).zip(&mut lists) {
            for _ in 0..below(max_degree + 1) {
                let other = (node + count - below(reach.min(count))) % count;
                let lonely = other < islands;
                let known = other != node && !list.contains(&NodeId(other));
                if known && !lonely && other % islands == node % islands {
                    list.push(NodeId(other));
                }
            }
        }
        Sample {
            lists,
            entry: below(count),
            max_degree,
        }
    })
}

proptest! {
    #[test]
    fn everything_becomes_reachable(sample in sample()) {
        check(&sample);
    }
}

#[test]
fn large_and_extreme_shapes_become_reachable() {
    let count = 2000_u32;
    let shapes: [fn(u32) -> Vec<u32>; 5] = [
        |_| vec![],
        |node| node.checked_sub(1).into_iter().collect(),
        |node| (node + 1 < 2000).then_some(node + 1).into_iter().collect(),
        |node| vec![node ^ 1],
        |node| {
            (1..4)
                .map(|step| (node / 4 * 4) + (node + step) % 4)
                .collect()
        },
    ];
    for shape in shapes {
        for (entry, max_degree) in [(0, 3), (1000, 4), (count - 1, 3), (7, 1), (1999, 1)] {
            let list = |node| {
                shape(node)
                    .into_iter()
                    .take(max_degree)
                    .map(NodeId)
                    .collect()
            };
            check(&Sample {
                lists: (0..count).map(list).collect(),
                entry,
                max_degree: max_degree as u32,
            });
        }
    }
}

#[test]
fn a_connected_graph_stays_as_it_is() {
    let sample = Sample::new(&[&[2], &[0, 2], &[3, 0], &[1]], 2, 2);
    assert_eq!(sample.patched(), (sample.lists.clone(), 0));
}

#[test]
fn a_link_goes_where_there_is_room() {
    // 4 knows the full 1 and the shorter 2, nearest first.
    let sample = Sample::new(&[&[1, 2], &[0, 2], &[3], &[0, 1], &[1, 2]], 0, 2);
    let (patched, links) = sample.patched();
    assert_eq!((links, &patched[2]), (1, &vec![NodeId(3), NodeId(4)]));
}

#[test]
fn in_a_full_list_it_takes_the_place_of_an_edge_that_goes_on_from_there() {
    // 1 is full: 4 leads to 3 in its place, and has to give 2 up for that.
    let sample = Sample::new(&[&[1, 2], &[0, 3], &[0, 1], &[0, 1], &[1, 2]], 0, 2);
    let (patched, links) = sample.patched();
    assert_eq!((links, &patched[1]), (1, &vec![NodeId(0), NodeId(4)]));
    assert_eq!(patched[4], [NodeId(1), NodeId(3)]);
    // An edge to a node that 4 leads to anyway costs nothing.
    let sample = Sample::new(&[&[1, 2], &[3, 0], &[0, 1], &[0, 1], &[1, 3]], 0, 2);
    let (patched, links) = sample.patched();
    assert_eq!((links, &patched[1]), (1, &vec![NodeId(4), NodeId(0)]));
    assert_eq!(patched[4], sample.lists[4]);
}

#[test]
fn chunks_are_read_as_their_nodes_are_reached() {
    // From the last chunk to the first, and from there to all of them.
    let per_chunk = chunk_nodes(8) as u32;
    let count = 5 * per_chunk + 7;
    let list = |node: u32| match node {
        0 => (1..9).map(|at| NodeId(at * count / 9)).collect(),
        _ => vec![NodeId((node - 1).saturating_sub(per_chunk / 2))],
    };
    check(&Sample {
        lists: (0..count).map(list).collect(),
        entry: count - 1,
        max_degree: 8,
    });
}

#[test]
fn an_island_takes_one_link() {
    let sample = Sample::new(&[&[1], &[0], &[3], &[4], &[2]], 0, 2);
    let (patched, links) = sample.patched();
    assert_eq!((links, &patched[1]), (1, &vec![NodeId(0), NodeId(2)]));
}

#[test]
fn a_stranger_is_an_error() {
    let sample = Sample::new(&[&[1], &[2]], 0, 2);
    let error = sample.relinked(&NoProgress).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Internal);
}

#[test]
fn stops_on_request() {
    struct Stop;
    impl Progress for Stop {
        fn stage(&self, _: &'static str, _: u64) {}
        fn advance(&self, _: u64) {}
        fn cancelled(&self) -> bool {
            true
        }
    }
    let sample = Sample::new(&[&[], &[]], 0, 1);
    let stopped = sample.relinked(&Stop);
    let kind = stopped.err().unwrap().kind();
    assert_eq!(kind, Error::from(Cancelled).kind());
}

/// Rows of 16 bytes around 40 centres.
fn rows(count: u32) -> Vec<u8> {
    let mix = |value: u32| value.wrapping_mul(2_654_435_769).rotate_left(13) ^ value >> 7;
    let component = |row: u32, at: u32| {
        let centre = mix(row % 40 * 16 + at) % 200;
        (centre + mix(mix(row * 16 + at)) % 50) as u8
    };
    (0..count)
        .flat_map(|row| (0..16).map(move |at| component(row, at)))
        .collect()
}

fn reachable(dir: &Path) -> usize {
    let manifest = Manifest::read(&OsVfs, dir).unwrap();
    let source = Source {
        vfs: &OsVfs,
        dir,
        segment: &manifest.segments[0],
    };
    let lists = resolve::list_reader(source).unwrap();
    let limit = manifest.node_count() as usize;
    let order = breadth_first(
        lists.as_ref(),
        &manifest.segments[0].entry,
        limit,
        &NoProgress,
    );
    order.unwrap().len()
}

#[test]
fn an_index_built_in_shards_reaches_all_nodes() {
    let shape = VectorShape {
        dimension: 16,
        element: ElementType::U8,
    };
    let bytes = rows(12_000);
    let input = BuildInput {
        vectors: &VectorSlice::new(&bytes, shape).unwrap(),
        name: "rows",
        ids: None,
        names: None,
        queries: None,
        attributes: None,
    };
    let mut options = BuildOptions {
        build_memory: Some(MemoryWish::Bytes(1)),
        threads: 2,
        degree: 32,
        build_list: 40,
        calibration_queries: Some(20),
        preset: Preset::DiskAnn,
        ..BuildOptions::default()
    };
    let dir = tempfile::tempdir().unwrap();
    let refused = Index::build(dir.path(), &input, &options, &NoProgress).unwrap_err();
    let (_, least) = refused.context().split_once("works is ").unwrap();
    let (least, _) = least.split_once(" B").unwrap();
    options.build_memory = Some(MemoryWish::Bytes(least.parse().unwrap()));
    let report = Index::build(dir.path(), &input, &options, &NoProgress).unwrap();
    assert!(report.shards > 1);
    assert_eq!(reachable(dir.path()), 12_000);
}

/// The merged lists of 6,000 rows of so many kinds, built in shards of 1,000.
fn merged(kinds: usize) -> Sample {
    let shape = VectorShape {
        dimension: 16,
        element: ElementType::U8,
    };
    let mut bytes = rows(6000);
    for at in kinds * 16..bytes.len() {
        bytes[at] = bytes[at - kinds * 16];
    }
    let vectors = VectorSlice::new(&bytes, shape).unwrap();
    let input = BuildInput {
        vectors: &vectors,
        name: "rows",
        ids: None,
        names: None,
        queries: None,
        attributes: None,
    };
    let options = BuildOptions {
        degree: 4,
        build_list: 20,
        ..BuildOptions::default()
    };
    let dir = tempfile::tempdir().unwrap();
    let vfs: Arc<dyn Vfs> = Arc::new(OsVfs);
    let build = ShardBuild {
        vectors: &vectors,
        plan: &BuildPlan::new((&input, input.vectors.shape().element), &options, None).unwrap(),
        files: StageFiles {
            scratch: &TemporaryFiles::beside(&vfs, dir.path(), 1),
            fingerprint: Fingerprint::new(),
            segment: None,
        },
        pool: &thread_pool(2).unwrap(),
        max_norm: None,
        joined: None,
        progress: &Course::of_part(&NoProgress),
    };
    let shards = build.run(1000).unwrap();
    let mut stream = shards.merged(4).unwrap();
    let mut list = Vec::new();
    let lists = (0..6000).map(|_| {
        stream.next_list(&mut list).unwrap();
        list.clone()
    });
    Sample {
        lists: lists.collect(),
        entry: 0,
        max_degree: 4,
    }
}

#[test]
fn lists_merged_from_shards_lose_nodes_that_are_linked_again() {
    // All rows distinct: lists cut too short. Three kinds of row: shards that share no node.
    for kinds in [6000, 3] {
        let sample = merged(kinds);
        assert!(unreached(&sample.lists, 0) > 0);
        check(&sample);
    }
}
