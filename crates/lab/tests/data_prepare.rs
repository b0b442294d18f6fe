//! Preparing data sets: cuts with exact truth, queries of the right type, what is cached and what
//! is made again, truths that do not fit.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, and looks at files as a user would"
)]

mod data_common;

use std::path::Path;
use std::sync::Arc;

use data_common::{Manners, Server, rows, write_rows};
use flate2::Compression;
use flate2::write::GzEncoder;
use pageway::source::{OpenAs, Selection, VectorFile, convert};
use pageway::truth::{RangeTruthFile, Truth, TruthFile, write_truth};
use pageway::{ElementType, ErrorKind, Metric, NoProgress, OsVfs, Result, VectorRead, Vfs};
use pageway_lab::data::{
    Cut, Place, Prepared, Registry, USUAL_RESULTS, first_queries, prepare, prepare_range,
    prepare_segments, radius_for,
};

const ROWS: usize = 600;
const QUERIES: usize = 12;
const DIMENSION: usize = 16;

struct World {
    folder: tempfile::TempDir,
    base: Vec<u8>,
    queries: Vec<u8>,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (base, queries) = (rows(ROWS, DIMENSION, 1), rows(QUERIES, DIMENSION, 2));
        write_rows(&folder.path().join("b.u8bin"), &base, DIMENSION as u32);
        write_rows(&folder.path().join("q.u8bin"), &queries, DIMENSION as u32);
        Self {
            folder,
            base,
            queries,
        }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    fn place(&self) -> Place {
        Place {
            threads: 1,
            ..Place::new(&self.path("place"))
        }
    }

    fn registry(&self, more: &str) -> Registry {
        let queries = if more.contains("queries") {
            ""
        } else {
            "queries = \"q.u8bin\"\n"
        };
        let base = if more.contains("base =") {
            ""
        } else {
            "base = \"b.u8bin\"\n"
        };
        let text = format!("[set]\nmetric = \"l2\"\n{base}{queries}{more}\n");
        let mut registry = Registry::default();
        registry.add(&text, self.folder.path(), "a test").unwrap();
        registry
    }

    fn prepare(&self, more: &str, name: &str, dimensions: Option<u32>) -> Result<Prepared> {
        let registry = self.registry(more);
        let (set, named) = registry.find(name)?;
        let cut = named.and(Cut {
            rows: None,
            dimensions,
        });
        prepare(set, cut, &self.place(), &NoProgress)
    }

    /// Ids and distances of the nearest rows, by the definition.
    fn nearest(&self, query: usize, rows: usize, dimensions: usize) -> Vec<(u32, u32)> {
        let query = &self.queries[query * DIMENSION..][..dimensions];
        let mut found: Vec<(u32, u32)> = (0..rows)
            .map(|row| {
                let row_bytes = &self.base[row * DIMENSION..][..dimensions];
                let squares = row_bytes.iter().zip(query);
                let distance = squares.map(|(a, b)| u32::from(a.abs_diff(*b)).pow(2)).sum();
                (distance, row as u32)
            })
            .collect();
        found.sort_unstable();
        found
    }

    fn check(&self, ready: &Prepared, rows: usize, dimensions: usize) {
        let truth = open_truth(ready);
        assert_eq!(
            (ready.rows, ready.dimensions),
            (rows as u64, dimensions as u32)
        );
        assert_eq!(truth.query_count(), QUERIES);
        for query in 0..QUERIES {
            let nearest = self.nearest(query, rows, dimensions);
            let expected: Vec<u32> = nearest.iter().map(|(_, id)| *id).collect();
            assert_eq!(truth.ids_of(query), &expected[..truth.k]);
        }
    }
}

fn vfs() -> Arc<dyn Vfs> {
    Arc::new(OsVfs)
}

fn open(path: &Path) -> VectorFile {
    VectorFile::open(&vfs(), path, OpenAs::default()).unwrap()
}

fn open_truth(ready: &Prepared) -> Truth {
    let file = TruthFile::open(&vfs(), &ready.truth, Some(ready.rows)).unwrap();
    file.read_all().unwrap()
}

#[test]
fn an_uncut_set_stays_where_it_is_and_gets_a_truth() {
    let world = World::new();
    let ready = world.prepare("", "set", None).unwrap();
    assert_eq!(ready.base, world.path("b.u8bin"));
    assert_eq!(ready.queries, world.path("q.u8bin"));
    assert_eq!(ready.raw_bytes, (ROWS * DIMENSION) as u64);
    assert_eq!(open_truth(&ready).k, 100);
    world.check(&ready, ROWS, DIMENSION);
}

#[test]
fn cuts_by_rows_and_dimensions_have_truths_of_their_own() {
    let world = World::new();
    let ready = world.prepare("", "set-200", None).unwrap();
    assert_eq!(ready.name, "set@200");
    assert_eq!(open(&ready.base).count(), 200);
    world.check(&ready, 200, DIMENSION);

    let ready = world.prepare("", "set-60", Some(5)).unwrap();
    assert_eq!(open(&ready.queries).shape().dimension, 5);
    assert_eq!(open_truth(&ready).k, 60);
    world.check(&ready, 60, 5);
}

#[test]
fn what_is_ready_is_used_again_until_its_source_changes() {
    let mut world = World::new();
    let ready = world.prepare("", "set-200", None).unwrap();
    let marked = std::fs::read(&ready.base).unwrap().len() as u64;
    let touch = |path: &Path| std::fs::metadata(path).unwrap().modified().unwrap();
    let before = touch(&ready.base);
    assert_eq!(world.prepare("", "set-200", None).unwrap(), ready);
    assert_eq!(touch(&ready.base), before);

    world.base = rows(ROWS, DIMENSION, 9);
    std::fs::remove_file(world.path("b.u8bin")).unwrap();
    write_rows(&world.path("b.u8bin"), &world.base, DIMENSION as u32);
    let again = world.prepare("", "set-200", None).unwrap();
    assert_eq!(std::fs::read(&again.base).unwrap().len() as u64, marked);
    world.check(&again, 200, DIMENSION);

    std::fs::remove_file(&again.truth).unwrap();
    let third = world.prepare("", "set-200", None).unwrap();
    world.check(&third, 200, DIMENSION);
}

#[test]
fn the_first_queries_keep_their_truth_and_a_deeper_one_is_computed() {
    let world = World::new();
    let ready = world.prepare("", "set", None).unwrap();
    let narrow = |need| first_queries(&ready, need, &world.place(), &NoProgress).unwrap();
    let all = narrow((0, 10));
    assert_eq!(all.prepared, ready);
    assert_eq!(all.query_count, QUERIES as u64);
    let whole = open_truth(&ready);

    let first = narrow((5, 100));
    assert_eq!(first.query_count, 5);
    assert_eq!(open(&first.prepared.queries).count(), 5);
    let truth = open_truth(&first.prepared);
    assert_eq!((truth.query_count(), truth.k), (5, 100));
    assert_eq!(truth.ids, whole.ids[..500]);
    assert_eq!(truth.distances, whole.distances[..500]);

    let deep = open_truth(&narrow((5, 250)).prepared);
    assert_eq!((deep.query_count(), deep.k), (5, 250));
    assert_eq!(deep.ids_of(4)[..100], *whole.ids_of(4));
    let deepest = open_truth(&narrow((0, 5000)).prepared);
    assert_eq!((deepest.query_count(), deepest.k), (QUERIES, ROWS));
}

#[test]
fn queries_get_the_element_type_of_the_base() {
    let world = World::new();
    let queries = open(&world.path("q.u8bin"));
    let selection = Selection::whole(&queries, "queries");
    let floats = world.path("q.fbin");
    convert(&vfs(), &selection, &floats, None, &NoProgress).unwrap();
    let ready = world.prepare("queries = \"q.fbin\"", "set", None).unwrap();
    assert_eq!(open(&ready.queries).shape().element, ElementType::U8);
    world.check(&ready, ROWS, DIMENSION);
}

#[test]
fn held_out_queries_leave_the_base() {
    let mut world = World::new();
    let ready = world
        .prepare("queries = { held_out = 12 }", "set-100", None)
        .unwrap();
    assert_eq!(open(&ready.queries).count(), 12);
    world.queries = world.base[..QUERIES * DIMENSION].to_vec();
    world.base = world.base[QUERIES * DIMENSION..].to_vec();
    world.check(&ready, 100, DIMENSION);
}

#[test]
fn a_published_truth_is_taken_for_its_rows_alone() {
    let world = World::new();
    let published = |rows: usize, name: &str| {
        let lists = (0..QUERIES).map(|query| world.nearest(query, rows, DIMENSION));
        let ids = lists.flat_map(|list| list.into_iter().take(120).map(|(_, id)| id));
        let truth = Truth {
            k: 120,
            ids: ids.collect(),
            distances: Vec::new(),
        };
        write_truth(&vfs(), &world.path(name), &truth).unwrap();
    };
    published(ROWS, "all.ibin");
    published(300, "part.ibin");
    let more = "truth = [\"all.ibin\", { from = \"part.ibin\", rows = 300 }]";
    let ready = world.prepare(more, "set", None).unwrap();
    world.check(&ready, ROWS, DIMENSION);
    let published = open_truth(&ready);
    assert_eq!(published.k, 120);
    let computed = open_truth(&world.prepare("", "set", None).unwrap());
    assert_eq!(published.distances_of(3)[..100], *computed.distances_of(3));

    let part = world.prepare(more, "set-300", None).unwrap();
    world.check(&part, 300, DIMENSION);
    assert_eq!(open_truth(&part).k, 120);
    let other = world.prepare(more, "set-299", None).unwrap();
    world.check(&other, 299, DIMENSION);
    assert_eq!(open_truth(&other).k, 100);

    // Too few, and in the wrong place: of other vectors.
    let error = world
        .prepare("truth = \"part.ibin\"", "set", None)
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(
        error.context().contains("no truth of these vectors"),
        "{error}"
    );
}

#[test]
fn a_truth_gets_distances_as_ours() {
    let world = World::new();
    let write = |name: &str, change: fn(f32) -> f32| {
        let lists = (0..QUERIES).map(|query| world.nearest(query, ROWS, DIMENSION));
        let (ids, distances) = lists
            .flat_map(|list| list.into_iter().take(100))
            .map(|(distance, id)| (id, change(distance as f32)))
            .unzip();
        let truth = Truth {
            k: 100,
            ids,
            distances,
        };
        write_truth(&vfs(), &world.path(name), &truth).unwrap();
    };
    write("squared.ibin", |distance| distance);
    write("rooted.ibin", f32::sqrt);
    let ready = world
        .prepare("truth = \"squared.ibin\"", "set", None)
        .unwrap();
    assert_eq!(ready.truth, world.path("squared.ibin"));
    let ready = world
        .prepare("truth = \"rooted.ibin\"", "set", None)
        .unwrap();
    let squared = world.nearest(0, ROWS, DIMENSION)[99].0 as f32;
    assert_eq!(open_truth(&ready).distances_of(0)[99], squared);
    world.check(&ready, ROWS, DIMENSION);
}

#[test]
fn wrong_entries_and_cuts_are_refused() {
    let world = World::new();
    let refused = |more: &str, name: &str, dimensions: Option<u32>, words: &str| {
        let error = world.prepare(more, name, dimensions).unwrap_err();
        assert!(error.context().contains(words), "{error}");
    };
    refused("dimension = 15", "set", None, "the entry says 15");
    refused("element = \"i8\"", "set", None, "the entry says i8");
    refused("rows = 599", "set", None, "the entry says 599");
    refused("", "set-601", None, "has 600 rows");
    refused("", "set", Some(17), "not 17");
    refused("queries = { held_out = 600 }", "set", None, "has 600 rows");
    refused("queries = \"none.u8bin\"", "set", None, "is not there");
    write_rows(&world.path("narrow.u8bin"), &rows(4, 8, 3), 8);
    refused(
        "queries = \"narrow.u8bin\"",
        "set",
        None,
        "another dimension",
    );
}

#[test]
fn an_archive_is_fetched_once_for_all_its_members() {
    let world = World::new();
    let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for name in ["b.u8bin", "q.u8bin"] {
        let bytes = std::fs::read(world.path(name)).unwrap();
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        let path = format!("inside/{name}");
        builder
            .append_data(&mut header, path, bytes.as_slice())
            .unwrap();
    }
    let body = builder.into_inner().unwrap().finish().unwrap();
    let server = Server::start(body, Manners::default());
    let url = server.url("all.tar.gz");
    let more = format!(
        "base = {{ from = \"{url}\", member = \"b.u8bin\" }}\n\
         queries = {{ from = \"{url}\", member = \"q.u8bin\" }}"
    );
    let ready = world.prepare(&more, "set-250", None).unwrap();
    world.check(&ready, 250, DIMENSION);
    assert_eq!(server.requests.lock().unwrap().len(), 1);
}

#[test]
fn the_demo_is_inside_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let registry = Registry::builtin().unwrap();
    let (set, cut) = registry.find("demo-500").unwrap();
    let ready = prepare(set, cut, &Place::new(folder.path()), &NoProgress).unwrap();
    assert_eq!((ready.rows, ready.dimensions), (500, 384));
    assert_eq!(ready.metric, Metric::L2);
    assert_eq!(open(&ready.queries).count(), 300);
    assert_eq!(open_truth(&ready).query_count(), 300);
}

#[test]
fn a_radius_gives_the_median_query_so_many_results() {
    let world = World::new();
    let ready = world.prepare("", "set", None).unwrap();
    let radius = radius_for(&ready, USUAL_RESULTS as _).unwrap();
    let path = prepare_range(&ready, radius, &world.place(), &NoProgress).unwrap();
    let found = RangeTruthFile::open(&vfs(), &path).unwrap();
    let found = found.read(0, QUERIES).unwrap();
    let mut counts: Vec<usize> = found
        .lims
        .windows(2)
        .map(|lims| lims[1] - lims[0])
        .collect();
    for (query, count) in counts.iter().enumerate() {
        let nearest = world.nearest(query, ROWS, DIMENSION);
        let within = nearest
            .iter()
            .filter(|(distance, _)| *distance as f32 <= radius);
        assert_eq!(*count, within.count());
    }
    counts.sort_unstable();
    assert!((50..70).contains(&counts[QUERIES / 2]), "{counts:?}");
    assert_eq!(
        prepare_range(&ready, radius, &world.place(), &NoProgress).unwrap(),
        path
    );
}

#[test]
fn segments_hold_all_rows_in_order() {
    let world = World::new();
    let ready = world.prepare("", "set-500", None).unwrap();
    let paths = prepare_segments(&ready, 3, &world.place(), &NoProgress).unwrap();
    let mut all = Vec::new();
    for path in &paths {
        let part = open(path);
        assert!((166..=167).contains(&part.count()));
        let mut bytes = vec![0; part.count() as usize * DIMENSION];
        part.read(0, &mut bytes).unwrap();
        all.extend(bytes);
    }
    assert_eq!(all, world.base[..500 * DIMENSION]);
    assert!(prepare_segments(&ready, 0, &world.place(), &NoProgress).is_err());
    assert!(prepare_segments(&ready, 501, &world.place(), &NoProgress).is_err());
}
