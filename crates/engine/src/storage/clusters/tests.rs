//! Tables against exact arithmetic on the means as they are stored.

use pageway_graph::Clusters;
use pageway_types::{ElementType, Metric, SplitMix64};

use super::*;

const METRICS: [Metric; 3] = [Metric::L2, Metric::InnerProduct, Metric::Cosine];

fn of(clusters: &Clusters, shape: Shape) -> ClusterTable {
    table(clusters, shape).unwrap()
}

fn table(clusters: &Clusters, shape: Shape) -> Option<ClusterTable> {
    let found = FoundClusters {
        starts: &clusters.starts,
        groups: &clusters.groups,
        group_means: &clusters.group_centroids,
    };
    let mut means = clusters.centroids.chunks_exact(shape.dimension as usize);
    let mut next = |mean: &mut [f32]| {
        mean.copy_from_slice(means.next().expect("a mean for each cluster"));
        Ok(())
    };
    ClusterTable::of(found, &mut next, (shape, KernelSet::detect().unwrap())).unwrap()
}

fn bytes_of(table: &ClusterTable) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut collect = |piece: &[u8]| {
        bytes.extend_from_slice(piece);
        Ok(())
    };
    table.write(&mut collect).unwrap();
    bytes
}

fn small(element: ElementType) -> (ClusterTable, Shape) {
    let clusters = Clusters {
        order: (0..7).map(NodeId).collect(),
        starts: vec![0, 3, 3, 7],
        centroids: vec![1.0, 2.0, 0.4, 0.6, 3.0, 4.0],
        groups: vec![0, 2, 3],
        group_centroids: vec![1.0, 1.0, 3.0, 4.0],
    };
    let shape = Shape {
        dimension: 2,
        element,
        metric: Metric::L2,
    };
    (of(&clusters, shape), shape)
}

/// Three groups of 40 clusters and an empty one, in places far from each other.
struct Sample {
    clusters: Clusters,
    /// Where queries are: means in the range of bytes.
    places: Vec<f32>,
    shape: Shape,
    random: SplitMix64,
}

impl Sample {
    fn new(dimension: u32, element: ElementType, metric: Metric) -> Self {
        let mut sample = Self {
            clusters: Clusters {
                order: (0..480).map(NodeId).collect(),
                starts: (0..=120).map(|cluster| 4 * cluster).collect(),
                centroids: Vec::new(),
                groups: vec![0, 40, 40, 80, 120],
                group_centroids: Vec::new(),
            },
            places: Vec::new(),
            shape: Shape {
                dimension,
                element,
                metric,
            },
            random: SplitMix64::new(u64::from(dimension)),
        };
        let length = if metric == Metric::Cosine {
            40.0 * (dimension as f32).sqrt()
        } else {
            1.0
        };
        for size in [40, 0, 40, 40] {
            let base = sample.around(&vec![0.0; dimension as usize], 60.0);
            for _ in 0..size {
                let place = sample.around(&base, 30.0);
                let mean = place.iter().map(|v| v / length);
                sample.clusters.centroids.extend(mean);
                sample.places.extend(place);
            }
            let mean = base.iter().map(|v| v / length);
            sample.clusters.group_centroids.extend(mean);
        }
        sample
    }

    fn around(&mut self, base: &[f32], width: f32) -> Vec<f32> {
        let mut part = || self.random.below(20_001) as f32 / 10_000.0 - 1.0;
        base.iter().map(|v| v + width * part()).collect()
    }

    /// A query near a mean, raw and widened.
    fn query(&mut self) -> (Vec<u8>, Vec<f32>) {
        let dimension = self.shape.dimension as usize;
        let at = self.random.below(120) as usize * dimension;
        let place = self.places[at..at + dimension].to_vec();
        let query = self.around(&place, 20.0);
        let raw: Vec<u8> = match self.shape.element {
            ElementType::F32 => query.iter().flat_map(|v| v.to_le_bytes()).collect(),
            ElementType::F16 => {
                let halves = query.iter().map(|v| half::f16::from_f32(*v));
                halves.flat_map(half::f16::to_le_bytes).collect()
            }
            ElementType::Bf16 => {
                let halves = query.iter().map(|v| half::bf16::from_f32(*v));
                halves.flat_map(half::bf16::to_le_bytes).collect()
            }
            ElementType::U8 => query.iter().map(|v| *v as u8).collect(),
            ElementType::I8 => query.iter().map(|v| *v as i8 as u8).collect(),
            ElementType::Bit => unreachable!("means are compared with numbers here"),
        };
        let mut widened = vec![0.0; dimension];
        KernelSet::detect().unwrap().widen(self.shape.element)(&raw, &mut widened);
        (raw, widened)
    }
}

/// Squared distance and inner product.
fn exact(query: &[f64], mean: &[f32]) -> (f64, f64) {
    let pairs = || query.iter().zip(mean.iter().map(|v| f64::from(*v)));
    let squares = pairs().map(|(q, m)| (q - m) * (q - m));
    (squares.sum(), pairs().map(|(q, m)| q * m).sum())
}

/// Compares every cluster as a search does, group by group.
fn compared(table: &ClusterTable, query: &MeanQuery) -> Vec<f32> {
    let mut all = Vec::new();
    for group in (0..table.group_count()).map(GroupId) {
        let clusters = table.clusters_of(group);
        let mut out = vec![0.0; clusters.len()];
        table.compare((query, group), ClusterId(clusters.start), &mut out);
        all.extend(out);
    }
    all
}

fn assert_exact(mut sample: Sample) {
    let Shape {
        dimension, metric, ..
    } = sample.shape;
    let table = of(&sample.clusters, sample.shape);
    let close = 1e-4;
    let (mut query, mut mean) = (MeanQuery::default(), vec![0.0; dimension as usize]);
    for _ in 0..20 {
        let (raw, widened) = sample.query();
        table.take(&raw, &widened, &mut query);
        let mut wanted: Vec<f64> = widened.iter().map(|v| f64::from(*v)).collect();
        if metric == Metric::Cosine {
            let length = wanted.iter().map(|v| v * v).sum::<f64>().sqrt();
            for v in &mut wanted {
                *v /= length;
            }
        }
        for (cluster, found) in (0..).map(ClusterId).zip(compared(&table, &query)) {
            table.mean(cluster, &mut mean);
            let (distance, product) = exact(&wanted, &mean);
            let centre = table.centre(&query, cluster, found);
            let what = format!("{:?} {centre:?} {distance} {product}", sample.shape);
            let off = |found: f32, wanted: f64| (f64::from(found) - wanted).abs();
            let squares = distance + 2.0 * product;
            // For inner products the distance is what their squares leave.
            let unit = if metric == Metric::InnerProduct {
                squares
            } else {
                distance
            };
            assert!(off(centre.distance, distance) < close * unit, "{what}");
            assert!(off(centre.product, product) < close * squares, "{what}");
            let again = table.centre_of(&query, cluster);
            assert_eq!(
                (again.distance, again.product),
                (centre.distance, centre.product)
            );
        }
    }
}

#[test]
fn centres_are_those_of_stored_means() {
    for metric in METRICS {
        for element in ElementType::NUMBERS {
            for dimension in [33, 128, 385] {
                assert_exact(Sample::new(dimension, element, metric));
            }
        }
    }
}

#[test]
fn means_are_rounded_to_steps_of_their_own() {
    for metric in METRICS {
        for element in ElementType::NUMBERS {
            let sample = Sample::new(65, element, metric);
            let table = of(&sample.clusters, sample.shape);
            let mut mean = [0.0; 65];
            let given = sample.clusters.centroids.chunks(65);
            for (cluster, given) in (0..).map(ClusterId).zip(given) {
                table.mean(cluster, &mut mean);
                let off = given.iter().zip(mean).map(|(a, b)| (a - b).abs());
                let off = off.fold(0.0, f32::max);
                let step = match &table.means {
                    Means::Split { clusters, .. } => clusters.steps[cluster.index()],
                    Means::Whole { .. } if element == ElementType::I8 => 1.0,
                    // No byte is below 0.
                    Means::Whole { .. } => 180.0,
                };
                assert!(step > 0.0 && off <= 0.501 * step, "{off} {step}");
            }
        }
    }
}

#[test]
fn a_cluster_alone_in_its_group_is_its_mean() {
    for element in ElementType::NUMBERS {
        let (table, _) = small(element);
        let mut mean = [0.0; 2];
        table.mean(ClusterId(2), &mut mean);
        assert!((mean[0] - 3.0).abs() < 1e-3 && (mean[1] - 4.0).abs() < 1e-3);
        let mut query = MeanQuery::default();
        let raw: Vec<u8> = match element {
            ElementType::F32 => [3.0_f32, 5.0]
                .iter()
                .flat_map(|v| v.to_le_bytes())
                .collect(),
            ElementType::F16 => vec![0, 0x42, 0, 0x45],
            ElementType::Bf16 => vec![0x40, 0x40, 0xa0, 0x40],
            ElementType::U8 | ElementType::I8 | ElementType::Bit => vec![3, 5],
        };
        table.take(&raw, &[3.0, 5.0], &mut query);
        let centre = table.centre_of(&query, ClusterId(2));
        assert!((centre.distance - 1.0).abs() < 1e-2, "{centre:?}");
        assert!((centre.product - 29.0).abs() < 1e-2, "{centre:?}");
    }
}

#[test]
fn ranges_follow_each_other() {
    let (table, _) = small(ElementType::U8);
    assert_eq!((table.node_count(), table.group_count()), (7, 2));
    let clusters_of = |group| table.clusters_of(GroupId(group));
    assert_eq!((clusters_of(0), clusters_of(1)), (0..2, 2..3));
    let nodes_of = |cluster| table.nodes_of(ClusterId(cluster));
    assert_eq!((nodes_of(0), nodes_of(1)), (0..3, 3..3));
    assert_eq!((nodes_of(2), nodes_of(3)), (3..7, 0..0));
    let of: Vec<u32> = (0..7)
        .map(|node| table.cluster_of(NodeId(node)).0)
        .collect();
    assert_eq!(of, [0, 0, 0, 2, 2, 2, 2]);
    let groups: Vec<u32> = (0..3).map(|at| table.group_of(ClusterId(at)).0).collect();
    assert_eq!(groups, [0, 0, 1]);
    let mut mean = [0.0; 2];
    table.mean(ClusterId(1), &mut mean);
    assert_eq!(mean, [0.0, 1.0], "rounded");
}

#[test]
fn memory_is_as_foretold() {
    for metric in METRICS {
        for element in ElementType::NUMBERS {
            let sample = Sample::new(33, element, metric);
            let table = of(&sample.clusters, sample.shape);
            let means = match &table.means {
                Means::Whole { clusters, groups } => {
                    let norms = size_of_val(&*clusters.norms) + size_of_val(&*groups.norms);
                    clusters.rows.len() + groups.rows.len() + norms
                }
                Means::Split { clusters, groups } => {
                    let halves = groups.high.bytes.len() + groups.low.bytes.len();
                    let of_groups = halves + 8 * groups.count() + size_of_val(&groups.unit);
                    clusters.rows.bytes.len() + 2 * size_of_val(&*clusters.steps) + of_groups
                }
            };
            let all = means + size_of_val(&*table.starts) + size_of_val(&*table.groups);
            assert_eq!(ClusterTable::bytes(120, 4, sample.shape), all as u64);
        }
    }
}

#[test]
fn bytes_come_back_and_damage_is_seen() {
    let kernels = KernelSet::detect().unwrap();
    for element in ElementType::NUMBERS {
        let (table, shape) = small(element);
        let bytes = bytes_of(&table);
        let read = |bytes: &[u8]| ClusterTable::from_bytes(bytes, shape, kernels);
        assert_eq!(bytes_of(&read(&bytes).unwrap()), bytes);
        for cut in 0..bytes.len() {
            assert!(read(&bytes[..cut]).is_none(), "{cut}");
        }
        let longer: Vec<u8> = bytes.iter().copied().chain([0]).collect();
        assert!(read(&longer).is_none());
        let header = [(0, 0), (4, 2), (6, 1), (8, 2), (12, 9)];
        let places = [(16, 1), (20, 9), (32, 1), (40, 4)];
        for (at, wrong) in header.iter().chain(&places) {
            let mut bytes = bytes.clone();
            bytes[*at] = *wrong;
            assert!(read(&bytes).is_none(), "{at}");
        }
        if let Means::Split { .. } = table.means {
            for (at, wrong) in [(44, f32::NAN), (44, -1.0), (48, f32::INFINITY)] {
                let mut bytes = bytes.clone();
                bytes[at..at + 4].copy_from_slice(&wrong.to_le_bytes());
                assert!(read(&bytes).is_none(), "{at} {wrong}");
            }
        }
    }
}

#[test]
fn means_out_of_range_are_refused() {
    for metric in METRICS {
        for scale in [1e15, 1e30] {
            let mut sample = Sample::new(33, ElementType::F32, metric);
            let means = &mut sample.clusters;
            let all = means.centroids.iter_mut().chain(&mut means.group_centroids);
            for mean in all {
                *mean *= scale;
            }
            let table = table(&sample.clusters, sample.shape);
            assert_eq!(table.is_some(), scale < 1e20, "{metric} {scale}");
        }
    }
}
