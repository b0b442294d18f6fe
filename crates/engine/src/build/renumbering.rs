//! Tests that renumbering loses nothing: whatever the placement and the codec, a row has the
//! neighbours that it has in an index whose nodes are rows.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use pageway_store::OsVfs;
use pageway_types::{ElementType, NoProgress, NodeId, VectorRead, VectorShape};

use crate::index::Index;
use crate::manifest::Manifest;
use crate::memory::MemoryWish;
use crate::options::{BuildInput, BuildOptions, OpenOptions};
use crate::presets::Preset;
use crate::resolve::{self, Source};
use crate::source::VectorSlice;
use crate::spec::{
    CacheOverrides, CodeStorage, CodecSpec, HarvestSpec, NodeCacheSpec, Overrides, PlacementSpec,
    RefineSpec, VectorStorage,
};

const ROWS: u32 = 700;
const SHAPE: VectorShape = VectorShape {
    dimension: 16,
    element: ElementType::U8,
};

/// Distinct rows around thirty centres.
fn rows() -> Vec<u8> {
    let mix = |value: u32| value.wrapping_mul(2_654_435_769).rotate_left(13) ^ (value >> 7);
    let component = |row: u32, at: u32| match at {
        0 => (row % 256) as u8,
        1 => (row / 256) as u8,
        _ => (mix(row % 30 * 16 + at) % 200 + mix(mix(row * 16 + at)) % 50) as u8,
    };
    (0..ROWS)
        .flat_map(|row| (0..SHAPE.dimension).map(move |at| component(row, at)))
        .collect()
}

fn build(dir: &Path, overrides: Overrides, memory: Option<MemoryWish>) {
    let bytes = rows();
    let input = BuildInput {
        vectors: &VectorSlice::new(&bytes, SHAPE).unwrap(),
        name: "rows",
        ids: None,
        names: None,
        queries: None,
        attributes: None,
    };
    let options = BuildOptions {
        preset: Preset::DiskAnn,
        degree: 12,
        build_list: 24,
        code_bytes: Some(4),
        calibration_queries: Some(5),
        memory,
        overrides,
        ..BuildOptions::default()
    };
    Index::build(dir, &input, &options, &NoProgress).unwrap();
}

/// Row of each node, by the vectors of the index.
fn rows_of_nodes(dir: &Path) -> Vec<u32> {
    let index = Index::open(dir, &OpenOptions::default()).unwrap();
    let known: BTreeMap<Vec<u8>, u32> = (0..ROWS)
        .zip(rows().chunks_exact(SHAPE.row_bytes()))
        .map(|(row, bytes)| (bytes.to_vec(), row))
        .collect();
    assert_eq!(known.len(), ROWS as usize, "rows are distinct");
    let mut bytes = vec![0; ROWS as usize * SHAPE.row_bytes()];
    index.read(0, &mut bytes).unwrap();
    let nodes = bytes.chunks_exact(SHAPE.row_bytes());
    nodes.map(|bytes| known[bytes]).collect()
}

/// Adjacency lists by row, in stored order.
fn lists_by_row(dir: &Path) -> BTreeMap<u32, Vec<u32>> {
    let manifest = Manifest::read(&OsVfs, dir).unwrap();
    let source = Source {
        vfs: &OsVfs,
        dir,
        segment: &manifest.segments[0],
    };
    let rows = rows_of_nodes(dir);
    let nodes: Vec<NodeId> = (0..ROWS).map(NodeId).collect();
    let mut lists = BTreeMap::new();
    let reader = resolve::list_reader(source).unwrap();
    reader
        .lists(&nodes, &mut |at, list| {
            let list = list.iter().map(|neighbor| rows[neighbor.index()]);
            lists.insert(rows[at], list.collect());
        })
        .unwrap();
    assert_eq!(lists.len(), ROWS as usize);
    lists
}

fn placements() -> [PlacementSpec; 6] {
    let (rounds, gain) = (4, 0.0);
    [
        PlacementSpec::Bnp,
        PlacementSpec::Bnf { rounds, gain },
        PlacementSpec::Bns { rounds, gain },
        PlacementSpec::Grouped { hops: 2 },
        PlacementSpec::Clustered,
        PlacementSpec::Nearest,
    ]
}

/// Codecs that keep a list per node.
fn codecs() -> [Overrides; 4] {
    let refine = Some(RefineSpec::Deferred { share: 1.0 });
    let uncached = CacheOverrides {
        nodes: Some(NodeCacheSpec::None),
        ..CacheOverrides::default()
    };
    [
        Overrides::default(),
        Overrides {
            codec: Some(CodecSpec::InlineCodes),
            codes: Some(CodeStorage::InPage),
            ..Overrides::default()
        },
        Overrides {
            codec: Some(CodecSpec::Replicated { lists: 3 }),
            refine,
            ..Overrides::default()
        },
        Overrides {
            codec: Some(CodecSpec::Split),
            vectors: Some(VectorStorage::Separate),
            refine,
            cache: uncached,
            ..Overrides::default()
        },
    ]
}

#[test]
fn every_list_survives_renumbering() {
    let root = tempfile::tempdir().unwrap();
    let plain = root.path().join("plain");
    build(&plain, Overrides::default(), None);
    assert!(rows_of_nodes(&plain).is_sorted(), "nodes are rows");
    let expected = lists_by_row(&plain);
    for (number, codec) in codecs().into_iter().enumerate() {
        for placement in placements() {
            let dir = root.path().join(format!("{number}-{}", placement.name()));
            let overrides = Overrides {
                placement: Some(placement),
                ..codec
            };
            build(&dir, overrides, None);
            assert!(!rows_of_nodes(&dir).is_sorted(), "{placement:?} moves");
            assert_eq!(lists_by_row(&dir), expected, "{number} {placement:?}");
        }
    }
}

/// Where a page has one list: that of all its rows, but for the page itself and what does not fit.
#[test]
fn lists_of_pages_are_those_of_their_rows() {
    let root = tempfile::tempdir().unwrap();
    let plain = root.path().join("plain");
    build(&plain, Overrides::default(), None);
    let expected = lists_by_row(&plain);
    // Few codes in memory, half of them, all.
    for (number, more) in [0, 1400, 1 << 26].into_iter().enumerate() {
        for placement in placements() {
            let dir = root.path().join(format!("{number}-{}", placement.name()));
            let overrides = Overrides {
                placement: Some(placement),
                codec: Some(CodecSpec::PageNode { min_degree: 4 }),
                codes: Some(CodeStorage::Split { memory_nodes: 0 }),
                harvest: Some(HarvestSpec::All),
                cache: CacheOverrides {
                    nodes: Some(NodeCacheSpec::None),
                    ..CacheOverrides::default()
                },
                ..Overrides::default()
            };
            build(&dir, overrides, Some(least_and(more, overrides)));
            check_page_lists(&dir, &expected);
            let spec = Manifest::read(&OsVfs, &dir).unwrap().spec;
            let coded = u64::from(spec.storage.codes_in_memory(ROWS));
            assert_eq!(coded == u64::from(ROWS), more > 1400, "{coded} codes");
        }
    }
}

/// The least memory of a search, and `more`.
fn least_and(more: u64, overrides: Overrides) -> MemoryWish {
    let bytes = rows();
    let input = BuildInput {
        vectors: &VectorSlice::new(&bytes, SHAPE).unwrap(),
        name: "rows",
        ids: None,
        names: None,
        queries: None,
        attributes: None,
    };
    let options = BuildOptions {
        preset: Preset::DiskAnn,
        degree: 12,
        build_list: 24,
        code_bytes: Some(4),
        memory: Some(MemoryWish::Bytes(1)),
        overrides,
        ..BuildOptions::default()
    };
    let refused = Index::build(Path::new("none"), &input, &options, &NoProgress).unwrap_err();
    let (_, tail) = refused.context().split_once("works is ").unwrap();
    let (least, _) = tail.split_once(' ').unwrap();
    MemoryWish::Bytes(least.parse::<u64>().unwrap() + more)
}

fn check_page_lists(dir: &Path, expected: &BTreeMap<u32, Vec<u32>>) {
    let manifest = Manifest::read(&OsVfs, dir).unwrap();
    let codec = resolve::codec(&manifest.spec, manifest.node_count()).unwrap();
    let (map, found, rows) = (codec.map(), lists_by_row(dir), rows_of_nodes(dir));
    for page in 0..map.list_pages() {
        let nodes = map.nodes_of(pageway_types::PageId(page));
        let own: BTreeSet<u32> = nodes.map(|node| rows[node as usize]).collect();
        let named = own.iter().flat_map(|row| &expected[row]).copied();
        let wanted: BTreeSet<u32> = named.filter(|row| !own.contains(row)).collect();
        for row in &own {
            let list: BTreeSet<u32> = found[row].iter().copied().collect();
            assert_eq!(list.len(), found[row].len(), "each once");
            let all = list == wanted;
            let full = list.len() >= own.len() * 4 && list.is_subset(&wanted);
            assert!(all || full, "page {page} of {}", dir.display());
        }
    }
}
