//! Tables against exact arithmetic on the means as they are stored.

use half::f16;
use pageway_types::SplitMix64;

use super::*;

const METRICS: [Metric; 3] = [Metric::L2, Metric::InnerProduct, Metric::Cosine];

fn small(element: ElementType, metric: Metric) -> (ClusterTable, Shape) {
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
        metric,
    };
    let kernels = KernelSet::detect().unwrap();
    (ClusterTable::of(&clusters, shape, kernels).unwrap(), shape)
}

/// Clusters of 40 to a group, in places that are far from zero and from each other.
struct Sample {
    clusters: Clusters,
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
            shape: Shape {
                dimension,
                element,
                metric,
            },
            random: SplitMix64::new(u64::from(dimension)),
        };
        for size in [40, 0, 40, 40] {
            let base = sample.around(&vec![60.0; dimension as usize], 50.0);
            for _ in 0..size {
                let mean = sample.around(&base, 9.0);
                sample.clusters.centroids.extend(mean);
            }
            sample.clusters.group_centroids.extend(base);
        }
        if metric == Metric::Cosine {
            // Means of unit vectors are shorter than one.
            let length = (60.0 * 60.0 * dimension as f32).sqrt();
            let means = &mut sample.clusters;
            let all = means.centroids.iter_mut().chain(&mut means.group_centroids);
            all.for_each(|v| *v /= length);
        }
        sample
    }

    fn around(&mut self, base: &[f32], width: f32) -> Vec<f32> {
        let mut part = || self.random.below(20_001) as f32 / 10_000.0 - 1.0;
        base.iter().map(|v| v + width * part()).collect()
    }

    /// A query near a cluster, raw and widened.
    fn query(&mut self) -> (Vec<u8>, Vec<f32>) {
        let dimension = self.shape.dimension as usize;
        let at = self.random.below(120) as usize * dimension;
        let mean = self.clusters.centroids[at..at + dimension].to_vec();
        let widths = match self.shape.metric {
            Metric::Cosine => 5.0 / (60.0 * (dimension as f32).sqrt()),
            Metric::L2 | Metric::InnerProduct => 5.0,
        };
        let query = self.around(&mean, widths);
        match self.shape.element {
            ElementType::F32 => (query.iter().flat_map(|v| v.to_le_bytes()).collect(), query),
            ElementType::F16 => {
                let query: Vec<f16> = query.iter().map(|v| f16::from_f32(*v)).collect();
                let raw = query.iter().flat_map(|v| v.to_le_bytes()).collect();
                (raw, query.iter().map(|v| v.to_f32()).collect())
            }
            ElementType::U8 | ElementType::I8 => {
                let most = query.iter().fold(0.0_f32, |most, v| most.max(v.abs()));
                let query: Vec<u8> = query
                    .iter()
                    .map(|v| (v / most * 127.0).round().max(0.0) as u8)
                    .collect();
                let widened = query.iter().map(|v| f32::from(*v)).collect();
                (query, widened)
            }
        }
    }
}

/// Squared distance and inner product.
fn exact(query: &[f64], mean: &[f32]) -> (f64, f64) {
    let pairs = || query.iter().zip(mean.iter().map(|v| f64::from(*v)));
    let squares = pairs().map(|(q, m)| (q - m) * (q - m));
    (squares.sum(), pairs().map(|(q, m)| q * m).sum())
}

/// Compares every cluster the way a search does, group by group.
fn compared(table: &ClusterTable, query: &MeanQuery) -> Vec<f32> {
    let groups: Vec<NodeId> = (0..table.group_count()).map(NodeId).collect();
    let mut near = vec![0.0; groups.len()];
    table.compare_groups(query, &groups, &mut near);
    let mut all = Vec::new();
    for (group, near) in groups.iter().zip(near) {
        let clusters: Vec<NodeId> = table.clusters_of(group.0).map(NodeId).collect();
        let mut out = vec![0.0; clusters.len()];
        table.compare((query, near), &clusters, &mut out);
        all.extend(out);
    }
    all
}

fn assert_exact(dimension: u32, element: ElementType, metric: Metric) {
    let mut sample = Sample::new(dimension, element, metric);
    let kernels = KernelSet::detect().unwrap();
    let table = ClusterTable::of(&sample.clusters, sample.shape, kernels).unwrap();
    let (mut query, mut mean) = (MeanQuery::default(), vec![0.0; dimension as usize]);
    for _ in 0..20 {
        let (raw, widened) = sample.query();
        table.take(&raw, &widened, &mut query);
        let square = widened.iter().map(|v| f64::from(*v) * f64::from(*v)).sum::<f64>();
        let length = if metric == Metric::Cosine { square.sqrt() } else { 1.0 };
        let wanted: Vec<f64> = widened.iter().map(|v| f64::from(*v) / length).collect();
        for (cluster, found) in (0..).zip(compared(&table, &query)) {
            table.mean(cluster, &mut mean);
            let (distance, product) = exact(&wanted, &mean);
            let centre = table.centre(&query, cluster, found);
            let off = |found: f32, wanted: f64, unit: f64| (f64::from(found) - wanted).abs() / unit;
            let both = distance + 2.0 * product;
            let what = format!("{metric} {element:?} {dimension}: {centre:?} {distance} {product}");
            if metric == Metric::InnerProduct {
                // A distance from a product: as exact as that is beside what it is taken from.
                assert!(off(centre.distance, distance, both) < 1e-4, "{what}");
            } else {
                assert!(off(centre.distance, distance, distance) < 2e-3, "{what}");
            }
            assert!(off(centre.product, product, both) < 1e-4, "{what}");
            let again = table.centre_of(&query, cluster);
            assert_eq!((again.distance, again.product), (centre.distance, centre.product));
        }
    }
}

#[test]
fn centres_are_those_of_stored_means() {
    for metric in METRICS {
        for element in ElementType::ALL {
            for dimension in [33, 128, 385] {
                assert_exact(dimension, element, metric);
            }
        }
    }
}
