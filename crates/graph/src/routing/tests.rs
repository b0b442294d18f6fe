//! Hash tables: members are found, limits and radii hold, bytes come back. Entries: one a cluster.

use std::sync::LazyLock;

use pageway_types::{ElementType, Guide, NoProgress, NodeId, VectorShape};
use proptest::prelude::*;

use super::{HashSpec, HashTable, fixed_entries};
use crate::error::GraphError;
use crate::float::squared_l2;
use crate::testing::{Rows, StopAfter, clustered, pool};

const DIMENSION: usize = 24;
const SPEC: HashSpec = HashSpec {
    bits: 8,
    sample: 1000,
    radius: 2,
    seed: 5,
};
const SHAPE: VectorShape = VectorShape {
    dimension: DIMENSION as u32,
    element: ElementType::F32,
};

/// Vectors far from the origin, so that planes through it would be of no use.
fn vectors() -> Vec<f32> {
    let mut rows = clustered(1000, DIMENSION, 1.0, 3);
    for value in &mut rows {
        *value += 100.0;
    }
    rows
}

fn nodes() -> Vec<NodeId> {
    (0..1000).map(|at| NodeId(3 * at)).collect()
}

fn mean(rows: &[f32], dimension: usize) -> Vec<f32> {
    let count = (rows.len() / dimension) as f32;
    let column = |at: usize| rows.iter().skip(at).step_by(dimension).sum::<f32>() / count;
    (0..dimension).map(column).collect()
}

fn built(spec: HashSpec) -> HashTable {
    let rows = vectors();
    HashTable::build(&nodes(), &rows, &mean(&rows, DIMENSION), &spec).expect("a table")
}

fn lookup(table: &HashTable, query: &[f32], limit: usize) -> Vec<NodeId> {
    let mut out = Vec::new();
    table.lookup(query, limit, &mut out);
    out
}

#[test]
fn a_member_is_in_its_bucket() {
    for bits in [1, 8, 32] {
        let rows = vectors();
        let mut table = built(HashSpec {
            bits,
            radius: 0,
            ..SPEC
        });
        for (row, node) in rows.chunks_exact(DIMENSION).zip(nodes()) {
            assert!(lookup(&table, row, usize::MAX).contains(&node));
        }
        let before = lookup(&table, &rows[..DIMENSION], usize::MAX);
        table.renumber(|node| NodeId(node.0 + 1));
        let renamed = before
            .iter()
            .map(|node| NodeId(node.0 + 1))
            .collect::<Vec<_>>();
        assert_eq!(lookup(&table, &rows[..DIMENSION], usize::MAX), renamed);
        let mut all = table.nodes().to_vec();
        all.sort_unstable();
        assert!(
            all.iter()
                .map(|node| node.0 - 1)
                .eq(nodes().iter().map(|node| node.0))
        );
    }
}

/// Against the keys of all nodes: nearer keys first, and none that is too far.
#[test]
fn lookups_go_from_near_keys_to_far_ones_and_stop_at_the_limit() {
    let rows = vectors();
    for radius in 0..3 {
        let table = built(HashSpec { radius, ..SPEC });
        for query in rows.chunks_exact(DIMENSION).step_by(50) {
            let key = table.planes.sides(query).key;
            let flipped = |node: &NodeId| {
                let row = &rows[node.index() / 3 * DIMENSION..][..DIMENSION];
                (table.planes.sides(row).key ^ key).count_ones()
            };
            let found = lookup(&table, query, usize::MAX);
            assert!(found.is_sorted_by_key(flipped));
            let mut distinct = found.clone();
            distinct.sort_unstable();
            let within = nodes().into_iter().filter(|node| flipped(node) <= radius);
            assert_eq!(distinct, within.collect::<Vec<_>>());
            for limit in [0, 1, 7] {
                let cut = lookup(&table, query, limit);
                assert_eq!(cut, found[..limit.min(found.len())]);
            }
        }
    }
    let mut out = vec![NodeId(1)];
    built(SPEC).lookup(&rows[..DIMENSION], 3, &mut out);
    assert_eq!((out.len(), out[0]), (4, NodeId(1)));
}

/// The best of 20 nodes found, against the best of 20 taken blindly.
#[test]
fn hits_are_near_the_query() {
    let rows = vectors();
    let queries = clustered(1100, DIMENSION, 1.0, 3).split_off(1000 * DIMENSION);
    let table = built(SPEC);
    let (mut hit, mut blind) = (0.0, 0.0);
    for query in queries.chunks_exact(DIMENSION) {
        let query: Vec<f32> = query.iter().map(|value| value + 100.0).collect();
        let best = |nodes: &[NodeId]| {
            let rows = nodes
                .iter()
                .map(|node| &rows[node.index() / 3 * DIMENSION..][..DIMENSION]);
            let distances = rows.map(|row| squared_l2(row, &query));
            distances.fold(f32::INFINITY, f32::min)
        };
        let found = lookup(&table, &query, 20);
        assert!(!found.is_empty());
        hit += best(&found);
        blind += best(&nodes()[..20]);
    }
    assert!(hit < 0.6 * blind, "{hit} {blind}");
}

#[test]
fn keys_are_balanced_far_from_the_origin() {
    let rows = vectors();
    let table = built(SPEC);
    for bit in 0..8 {
        let keys = rows
            .chunks_exact(DIMENSION)
            .map(|row| table.planes.sides(row).key);
        let set = keys.filter(|key| key >> bit & 1 == 1).count();
        assert!((250..750).contains(&set), "bit {bit}: {set} of 1000");
    }
}

#[test]
fn vectors_that_spread_in_no_direction_are_hashed() {
    let same = [2.5; 3 * 40];
    let ids = &nodes()[..40];
    let table = HashTable::build(ids, &same, &[2.5; 3], &SPEC).expect("a table");
    assert_eq!(lookup(&table, &[2.5; 3], 100), ids);
    assert!(table.planes.normals.iter().all(|value| value.is_finite()));
    let huge = [f32::MAX, -f32::MAX, 1.0, 2.0];
    let table = HashTable::build(&ids[..2], &huge, &[0.0; 2], &SPEC).expect("a table");
    assert!(table.planes.normals.iter().all(|value| value.is_finite()));
}

#[test]
fn same_seed_same_bytes() {
    assert!(built(SPEC).to_bytes() == built(SPEC).to_bytes());
    assert!(built(SPEC).to_bytes() != built(HashSpec { seed: 6, ..SPEC }).to_bytes());
    let expected = HashTable::sample(5000, &SPEC);
    assert_eq!(expected.len(), 1000);
    assert_eq!(HashTable::sample(5000, &SPEC), expected);
}

#[test]
fn memory_is_known_before() {
    for bits in [1, 4, 10, 32] {
        let table = built(HashSpec { bits, ..SPEC });
        let bound = HashTable::bytes_for(1000, DIMENSION as u64, bits);
        assert!(table.resident_bytes() <= bound);
        assert_eq!(table.to_bytes().len() as u64, table.resident_bytes() + 24);
        assert!(HashTable::build_bytes(1000, DIMENSION as u64, bits) > bound);
    }
    let bits = [0, 1, 1000, 1_000_000, u64::MAX].map(HashTable::default_bits);
    assert_eq!(bits, [1, 1, 9, 19, 32]);
}

#[test]
fn parameters_out_of_range_are_refused() {
    let rows = vectors();
    let mean = mean(&rows, DIMENSION);
    let build = |nodes: &[NodeId], mean: &[f32], spec| HashTable::build(nodes, &rows, mean, &spec);
    assert!(build(&nodes(), &mean, SPEC).is_ok());
    for spec in [
        HashSpec { bits: 0, ..SPEC },
        HashSpec { bits: 33, ..SPEC },
        HashSpec { radius: 3, ..SPEC },
    ] {
        let refused = build(&nodes(), &mean, spec);
        assert!(matches!(refused, Err(GraphError::Parameter { .. })));
    }
    assert!(matches!(build(&[], &mean, SPEC), Err(GraphError::Empty)));
    assert!(build(&nodes()[1..], &mean, SPEC).is_err());
    assert!(build(&nodes(), &mean[1..], SPEC).is_err());
}

static SMALL: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let rows = [0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 5.0, 5.0];
    let spec = HashSpec { bits: 2, ..SPEC };
    let table = HashTable::build(&nodes()[..4], &rows, &[1.5; 2], &spec);
    table.expect("a table").to_bytes()
});

fn read(bytes: &[u8]) -> Result<HashTable, GraphError> {
    let shape = VectorShape {
        dimension: 2,
        ..SHAPE
    };
    HashTable::from_bytes(bytes, shape)
}

fn survives(bytes: &[u8]) {
    if let Ok(table) = read(bytes) {
        assert!(lookup(&table, &[1.0, 2.0], 3).len() <= 3);
    }
}

#[test]
fn bytes_make_the_same_table() {
    let table = built(SPEC);
    let back = HashTable::from_bytes(&table.to_bytes(), SHAPE).expect("sound bytes");
    assert!(back == table);
    assert!(read(&table.to_bytes()).is_err(), "another dimension");
}

#[test]
fn truncated_bytes_are_refused() {
    assert!(read(&SMALL).is_ok());
    for length in 0..SMALL.len() {
        assert!(read(&SMALL[..length]).is_err(), "{length} bytes");
    }
    assert!(read(&[SMALL.as_slice(), &[0]].concat()).is_err());
}

#[test]
fn every_flipped_bit_is_survived() {
    for bit in 0..SMALL.len() * 8 {
        let mut bytes = SMALL.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        survives(&bytes);
    }
}

proptest! {
    #[test]
    fn damaged_bytes_are_survived(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        tail in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let mut bytes = SMALL.clone();
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        survives(&bytes);
        survives(&[&SMALL[..8], &tail].concat());
    }
}

#[test]
fn entries_lie_in_every_cluster() {
    let rows: Vec<f32> = (0..600)
        .flat_map(|at| [(at % 3) as f32 * 50.0, (at / 200) as f32])
        .collect();
    let rows = Rows::f32(2, &rows);
    for metric in [Guide::L2, Guide::InnerProduct] {
        let set = rows.set(metric);
        let find =
            |threads| fixed_entries(&set, 3, 1, &pool(threads), &NoProgress).expect("entries");
        let entries = find(1);
        let mut clusters: Vec<u32> = entries.iter().map(|node| node.0 % 3).collect();
        clusters.sort_unstable();
        assert_eq!(clusters, [0, 1, 2]);
        assert!(entries.is_sorted());
        assert_eq!(find(3), entries);
    }
}

#[test]
fn entries_of_odd_sets_are_few_but_never_none() {
    let same = Rows::u8(4, vec![7; 400]);
    let find = |rows: &Rows, count, metric| {
        let stop = NoProgress;
        fixed_entries(&rows.set(metric), count, 1, &pool(2), &stop)
    };
    assert_eq!(find(&same, 5, Guide::Cosine).expect("entries").len(), 1);
    let one = Rows::u8(4, vec![7; 4]);
    assert_eq!(find(&one, 9, Guide::L2).expect("entries"), [NodeId(0)]);
    assert!(find(&one, 0, Guide::L2).is_err());
    let stop = StopAfter::new(0);
    let cancelled = fixed_entries(&same.set(Guide::L2), 2, 1, &pool(1), &stop);
    assert!(matches!(cancelled, Err(GraphError::Cancelled(_))));
}
