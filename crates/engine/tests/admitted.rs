//! Searches among a set of nodes: every answer is in it, and they are as near as those of a search
//! among all.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failed test may panic"
)]

mod common;

use std::collections::HashSet;

use common::{Random, Rows, distance};
use pageway::{
    Answers, BuildOptions, Effort, ElementType, ErrorKind, HeldOut, Index, MemoryWish, Metric,
    NodeId, NodeSet, OpenOptions, Preset, Queries, SearchOptions, VectorRead,
};

const ROWS: usize = 3000;
const QUERIES: usize = 60;
const K: usize = 10;
const LIST_SIZE: u32 = 50;

/// An index with room for a list of every node.
struct Place {
    _dir: tempfile::TempDir,
    index: Index,
    /// The vectors by node.
    nodes: Rows,
    queries: Rows,
    name: String,
}

impl Place {
    fn new(preset: Preset, form: Option<&str>) -> Self {
        let base = Rows::clustered(ROWS, 32, ElementType::F32, 1);
        let dir = tempfile::tempdir().unwrap();
        let options = BuildOptions::default()
            .with_preset(preset)
            .with_form(form.map(str::to_owned))
            .with_degree(24)
            .with_build_list(48)
            .with_calibration_queries(20);
        base.build(dir.path(), &options).unwrap();
        let open = OpenOptions::default()
            .with_memory(MemoryWish::Bytes(200_000_000))
            .with_effort(Effort::ListSize(ROWS as u32));
        let index = Index::open(dir.path(), &open).unwrap();
        let mut bytes = vec![0; base.bytes.len()];
        index.read(0, &mut bytes).unwrap();
        Self {
            _dir: dir,
            index,
            nodes: Rows {
                bytes,
                shape: base.shape,
            },
            queries: Rows::clustered(QUERIES, 32, ElementType::F32, 2),
            name: format!("{preset} {}", form.unwrap_or_default()),
        }
    }

    fn queries(&self) -> Queries<'_> {
        Queries::new(&self.queries.bytes, self.queries.shape)
    }

    fn search(&self, set: Option<&NodeSet>) -> Answers {
        let options = SearchOptions::nearest(K as u32).with_effort(Effort::ListSize(LIST_SIZE));
        let queries = self.queries().with_admitted(set);
        self.index.search(&queries, &options).unwrap()
    }

    /// Share of the nearest nodes of a set that were found.
    fn recall(&self, answers: &Answers, set: &NodeSet) -> f64 {
        let members: Vec<(u32, Vec<f64>)> = (0..ROWS as u32)
            .filter(|node| set.contains(NodeId(*node)))
            .map(|node| (node, self.nodes.values(node as usize)))
            .collect();
        let (mut hits, mut all) = (0, 0);
        for query in 0..QUERIES {
            let target = self.queries.values(query);
            let distances = members
                .iter()
                .map(|(node, values)| (distance(&target, values, Metric::L2), *node));
            let mut ranked: Vec<(f64, u32)> = distances.collect();
            ranked.sort_by(|a, b| a.partial_cmp(b).unwrap());
            let found: HashSet<u32> = answers.nodes[query * K..][..K].iter().copied().collect();
            let nearest = ranked.iter().take(K);
            hits += nearest
                .clone()
                .filter(|(_, node)| found.contains(node))
                .count();
            all += nearest.count();
        }
        hits as f64 / all as f64
    }
}

/// A random set of this share of the nodes.
fn some(share: f64, seed: u64) -> NodeSet {
    let mut random = Random(seed);
    let nodes = (0..ROWS as u32).filter(|_| random.below(1000) < (share * 1000.0) as u64);
    NodeSet::new(nodes.map(NodeId))
}

fn check(preset: Preset, form: Option<&str>) {
    let place = Place::new(preset, form);
    let everything = NodeSet::new((0..ROWS as u32).map(NodeId));
    let open = place.recall(&place.search(None), &everything);
    let mut seen = Vec::new();
    for share in [0.5, 0.1, 0.02] {
        let set = some(share, 7);
        let answers = place.search(Some(&set));
        for query in answers.nodes.chunks(K) {
            let found: Vec<u32> = query.iter().copied().filter(|n| *n != u32::MAX).collect();
            let foreign = found.iter().find(|node| !set.contains(NodeId(**node)));
            assert_eq!(foreign, None, "{} {share}", place.name);
            let unique: HashSet<&u32> = found.iter().collect();
            assert_eq!(unique.len(), found.len(), "{} {share}: twice", place.name);
        }
        seen.push((share, place.recall(&answers, &set)));
    }
    let kept = seen.iter().all(|(_, recall)| *recall >= open - 0.05);
    assert!(
        kept,
        "{}: {open} among all, {seen:?} among some",
        place.name
    );
}

#[test]
fn the_nearest_of_a_set_are_found_with_diskann() {
    check(Preset::DiskAnn, None);
}

#[test]
fn the_nearest_of_a_set_are_found_with_starling() {
    check(Preset::Starling, None);
}

#[test]
fn the_nearest_of_a_set_are_found_with_pageway_resident() {
    check(Preset::Pageway, Some("resident"));
}

#[test]
fn the_nearest_of_a_set_are_found_with_pageway_clustered() {
    check(Preset::Pageway, Some("clustered"));
}

#[test]
fn the_nearest_of_a_set_are_found_with_pageway_on_disk() {
    check(Preset::Pageway, Some("on-disk"));
}

#[test]
fn nothing_is_found_in_an_empty_set() {
    for (preset, form) in [
        (Preset::DiskAnn, None),
        (Preset::Pageway, Some("resident")),
        (Preset::Pageway, Some("clustered")),
        (Preset::Pageway, Some("on-disk")),
    ] {
        let place = Place::new(preset, form);
        let none = NodeSet::default();
        let answers = place.search(Some(&none));
        assert_eq!(answers.nodes, vec![u32::MAX; QUERIES * K], "{}", place.name);
        let within = SearchOptions::within(f32::INFINITY).with_k(100);
        let queries = place.queries().with_admitted(&none);
        let answers = place.index.search(&queries, &within).unwrap();
        assert_eq!(answers.ids, Vec::<u64>::new(), "{}", place.name);
        assert_eq!(answers.truncated, 0, "{}", place.name);
    }
}

#[test]
fn a_set_and_held_out_rows_do_not_go_together() {
    let place = Place::new(Preset::DiskAnn, None);
    let set = some(0.5, 7);
    let held = [(); QUERIES].map(|()| HeldOut::new(NodeId(0)));
    let queries = place
        .queries()
        .with_admitted(&set)
        .with_held_out(Some(&held));
    let refused = place.index.search(&queries, &SearchOptions::default());
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::InvalidInput);
}
