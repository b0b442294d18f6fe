//! Vectors in memory with the distance that a graph is built on.
//!
//! Pruning compares distances between vectors as sides of a triangle, which needs a metric that
//! behaves like squared L2. L2 and cosine do. The inner product does not: a long vector is near to
//! everything. There the set is lifted by one component, `e_i = sqrt(M^2 - |x_i|^2)` with `M` the
//! largest norm, which puts all vectors on one sphere:
//!
//! ```text
//! |(x_i, e_i) - (x_j, e_j)|^2 = 2 M^2 - 2 <x_i, x_j> - 2 e_i e_j
//! ```
//!
//! A query has lift 0, so its order of neighbours is that of the inner product.
//!
//! The cosine of floats takes their norms once for all pairs, and one product for each.
//!
//! Invariant: distances between nodes are never negative and never NaN for finite vectors.
#![expect(
    clippy::indexing_slicing,
    reason = "node ids come from this set; a slip must stop"
)]

use pageway_kernels::{
    DistanceFn, DistanceManyFn, DotPanelsFn, KernelSet, NearFn, WidenFn, cosine_distance, places,
};
use pageway_types::{Guide, Metric, NodeId, VectorShape};

use crate::error::{GraphError, try_reserved};
use crate::float::normalize;

/// Vectors that one graph in memory can hold: a candidate list spends one bit of a node id.
pub(crate) const MAX_COUNT: u64 = 1 << 31;

/// Share of twice the squared largest norm above which a squared lift sets a query apart.
const FAR: f32 = 0.005;

/// Vectors as raw little-endian rows, borrowed, with the distances between them.
///
/// Holds nothing beside the rows, except four bytes per vector under the inner product, and under
/// the cosine of floats.
pub struct VectorSet<'a> {
    rows: &'a [u8],
    row_bytes: usize,
    count: u32,
    shape: VectorShape,
    metric: Guide,
    pair: DistanceFn,
    many: DistanceManyFn,
    widen: WidenFn,
    products: DotPanelsFn,
    near: NearFn,
    lift: Option<Lift>,
    norms: Option<Norms>,
}

/// What the cosine of two vectors takes beside their product.
struct Norms {
    squared: Vec<f32>,
    product: DistanceFn,
    products: DistanceManyFn,
}

/// The component that puts vectors of different norms on one sphere.
struct Lift {
    components: Vec<f32>,
    twice_squared_radius: f32,
}

impl<'a> VectorSet<'a> {
    /// Wraps rows. Under the inner product and the cosine this is one pass over them, for norms.
    ///
    /// `max_norm` is for the inner product only: the largest norm of the whole collection, when
    /// these rows are a shard of it. `None` takes the largest norm of the rows.
    ///
    /// # Errors
    /// When the rows are not whole vectors, too many, or a norm is not finite or above `max_norm`.
    pub fn new(
        rows: &'a [u8],
        shape: VectorShape,
        metric: Guide,
        kernels: &'static KernelSet,
        max_norm: Option<f32>,
    ) -> Result<Self, GraphError> {
        let row_bytes = shape.row_bytes();
        let count = row_count(rows.len(), row_bytes)?;
        let lift = match (metric, max_norm) {
            (Guide::InnerProduct, _) => Some(Lift::new(rows, shape, kernels, max_norm)?),
            (Guide::L2 | Guide::Cosine, None) => None,
            (Guide::L2 | Guide::Cosine, Some(_)) => {
                return Err(GraphError::NormUnused { metric });
            }
        };
        let has_norms = metric == Guide::Cosine && shape.element.is_float();
        let norms = has_norms.then(|| Norms::new(rows, shape, kernels));
        Ok(Self {
            rows,
            row_bytes,
            count,
            shape,
            metric,
            pair: kernels.distance(shape.element, metric.metric()),
            many: kernels.distance_many(shape.element, metric.metric()),
            widen: kernels.widen(shape.element),
            products: kernels.dot_panels(),
            near: kernels.near(),
            lift,
            norms: norms.transpose()?,
        })
    }

    /// Bytes that a set of `count` vectors holds beside its rows.
    pub const fn extra_bytes(count: u64, metric: Guide) -> u64 {
        match metric {
            Guide::InnerProduct | Guide::Cosine => count.saturating_mul(size_of::<f32>() as u64),
            Guide::L2 => 0,
        }
    }

    /// Number of vectors.
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// Dimension and element type.
    pub const fn shape(&self) -> VectorShape {
        self.shape
    }

    /// Guide that queries use.
    pub const fn metric(&self) -> Guide {
        self.metric
    }

    /// The bytes of one vector. Panics when the node is out of range.
    #[inline]
    pub fn row(&self, node: NodeId) -> &'a [u8] {
        &self.rows[node.index() * self.row_bytes..][..self.row_bytes]
    }

    /// Converts one vector to `f32`. `out` has its dimension; panics otherwise.
    pub(crate) fn widen(&self, node: NodeId, out: &mut [f32]) {
        (self.widen)(self.row(node), out);
    }

    /// Components of an embedded vector.
    pub(crate) fn embedded_dimension(&self) -> usize {
        self.shape.dimension as usize + usize::from(self.lift.is_some())
    }

    /// One vector in the space where squared L2 orders as the build distance does: as it is, scaled
    /// to length 1 (cosine), or with its lift (inner product). `out` has the embedded dimension;
    /// panics otherwise.
    pub(crate) fn embed(&self, node: NodeId, out: &mut [f32]) {
        let (own, lift) = out.split_at_mut(self.shape.dimension as usize);
        self.widen(node, own);
        match &self.norms {
            Some(norms) => norms.normalize(node, own),
            None if self.metric == Guide::Cosine => normalize(own),
            None => {}
        }
        if let ([out], Some(lift)) = (lift, &self.lift) {
            *out = lift.components[node.index()];
        }
    }

    /// Inner products of matrices.
    pub(crate) const fn products(&self) -> DotPanelsFn {
        self.products
    }

    /// Distances from such products.
    pub(crate) const fn near(&self) -> NearFn {
        self.near
    }

    /// Build distance of two nodes. Panics when one is out of range.
    #[inline]
    pub fn distance(&self, a: NodeId, b: NodeId) -> f32 {
        let (own, other) = (self.row(a), self.row(b));
        match (&self.norms, &self.lift) {
            (Some(norms), _) => norms.cosine(a, b, (norms.product)(own, other)),
            (None, Some(lift)) => lift.lifted(a, b, (self.pair)(own, other)),
            (None, None) => (self.pair)(own, other).max(0.0),
        }
    }

    /// Build distances of one node to others. `out` is as long as `nodes`; panics otherwise.
    #[inline]
    pub fn distance_many(&self, node: NodeId, nodes: &[NodeId], out: &mut [f32]) {
        if let Some(norms) = &self.norms {
            let own = self.row(node);
            (norms.products)(own, self.rows, self.row_bytes, places(nodes), out);
            for (out, &other) in out.iter_mut().zip(nodes) {
                *out = norms.cosine(node, other, *out);
            }
            return;
        }
        self.query_distance_many(self.row(node), nodes, out);
        match (&self.lift, self.metric) {
            (Some(lift), _) => {
                for (out, &other) in out.iter_mut().zip(nodes) {
                    *out = lift.lifted(node, other, *out);
                }
            }
            (None, Guide::Cosine) => {
                for out in out {
                    *out = out.max(0.0);
                }
            }
            (None, Guide::L2 | Guide::InnerProduct) => {}
        }
    }

    /// Whether a query with the vector of this node lies apart from it: queries have no lift.
    pub(crate) fn is_asked_apart(&self, node: NodeId) -> bool {
        let lift = self.lift.as_ref();
        lift.is_some_and(|lift| lift.is_far(node))
    }

    /// Squared distances of a query with the vector of this node to nodes, but for what is the same
    /// for all of them. `out` is as long as `nodes`; panics otherwise.
    pub(crate) fn asked_many(&self, node: NodeId, nodes: &[NodeId], out: &mut [f32]) {
        let Some(lift) = &self.lift else {
            return self.distance_many(node, nodes, out);
        };
        self.query_distance_many(self.row(node), nodes, out);
        for out in out {
            *out = (lift.twice_squared_radius + 2.0 * *out).max(0.0);
        }
    }

    /// Distances of a query in the metric of the set. `query` is one row; panics otherwise.
    #[inline]
    pub fn query_distance_many(&self, query: &[u8], nodes: &[NodeId], out: &mut [f32]) {
        (self.many)(query, self.rows, self.row_bytes, places(nodes), out);
    }
}

impl Norms {
    fn new(
        rows: &[u8],
        shape: VectorShape,
        kernels: &'static KernelSet,
    ) -> Result<Self, GraphError> {
        let product = kernels.distance(shape.element, Metric::InnerProduct);
        let rows = rows.chunks_exact(shape.row_bytes());
        let mut squared = try_reserved(rows.len(), "norms")?;
        squared.extend(rows.map(|row| -product(row, row)));
        Ok(Self {
            squared,
            product,
            products: kernels.distance_many(shape.element, Metric::InnerProduct),
        })
    }

    /// Distance of two nodes, from their negated inner product.
    #[inline]
    fn cosine(&self, a: NodeId, b: NodeId, negated_dot: f32) -> f32 {
        let [aa, bb] = [a, b].map(|node| f64::from(self.squared[node.index()]));
        cosine_distance(-f64::from(negated_dot), aa, bb).max(0.0)
    }

    /// Scales the components of a node to length 1; those of a zero vector stay as they are.
    fn normalize(&self, node: NodeId, vector: &mut [f32]) {
        let squared = f64::from(self.squared[node.index()]);
        if squared > 0.0 {
            let factor = squared.sqrt().recip() as f32;
            for value in vector {
                *value *= factor;
            }
        }
    }
}

impl Lift {
    fn new(
        rows: &[u8],
        shape: VectorShape,
        kernels: &'static KernelSet,
        max_norm: Option<f32>,
    ) -> Result<Self, GraphError> {
        let squared_norm = kernels.squared_norm(shape.element);
        let row_bytes = shape.row_bytes();
        let mut components = try_reserved(rows.len() / row_bytes, "norms")?;
        components.extend(rows.chunks_exact(row_bytes).map(squared_norm));
        let largest = components.iter().copied().fold(0.0, f32::max);
        let radius = max_norm.map_or(largest, |norm| norm * norm);
        // A norm rounded on its way here must not refuse the vector that it was taken from.
        let limit = if max_norm.is_some() {
            radius * (1.0 + 1e-5)
        } else {
            radius
        };
        for (row, component) in components.iter_mut().enumerate() {
            if !(component.is_finite() && *component <= limit) {
                return Err(GraphError::Norm {
                    row: row as u64,
                    norm: component.sqrt(),
                    limit: radius.sqrt(),
                });
            }
            *component = (radius - *component).max(0.0).sqrt();
        }
        Ok(Self {
            components,
            twice_squared_radius: 2.0 * radius,
        })
    }

    /// Whether the lift of a node is more than a tenth of the largest norm.
    fn is_far(&self, node: NodeId) -> bool {
        let component = self.components[node.index()];
        component * component > FAR * self.twice_squared_radius
    }

    /// Squared distance of two lifted vectors, from their negated inner product.
    #[inline]
    fn lifted(&self, a: NodeId, b: NodeId, negated_dot: f32) -> f32 {
        let lifts = self.components[a.index()] * self.components[b.index()];
        (self.twice_squared_radius + 2.0 * (negated_dot - lifts)).max(0.0)
    }
}

fn row_count(bytes: usize, row_bytes: usize) -> Result<u32, GraphError> {
    if bytes == 0 || row_bytes == 0 {
        return Err(GraphError::Empty);
    }
    if !bytes.is_multiple_of(row_bytes) {
        return Err(GraphError::PartialRow { bytes, row_bytes });
    }
    let count = (bytes / row_bytes) as u64;
    if count >= MAX_COUNT {
        return Err(GraphError::TooMany {
            count,
            limit: MAX_COUNT - 1,
        });
    }
    Ok(count as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pageway_types::ElementType;

    fn bytes(values: &[f32]) -> Vec<u8> {
        values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect()
    }

    fn shape(dimension: u32) -> VectorShape {
        VectorShape {
            dimension,
            element: ElementType::F32,
        }
    }

    fn kernels() -> &'static KernelSet {
        KernelSet::detect().expect("kernels")
    }

    #[test]
    fn inner_product_is_squared_l2_on_a_sphere() {
        let rows = bytes(&[3.0, 4.0, 1.0, 0.0, 0.0, 2.0]);
        let radius = Some(6.0);
        let set =
            VectorSet::new(&rows, shape(2), Guide::InnerProduct, kernels(), radius).expect("a set");
        let lifted = [(3.0, 4.0, 11.0_f32.sqrt()), (1.0, 0.0, 35.0_f32.sqrt())];
        let [(a, b, c), (x, y, z)] = lifted;
        let expected = (a - x) * (a - x) + (b - y) * (b - y) + (c - z) * (c - z);
        let found = set.distance(NodeId(0), NodeId(1));
        assert!((found - expected).abs() < 1e-4, "{found} {expected}");
        let mut many = [0.0; 2];
        set.distance_many(NodeId(0), &[NodeId(1), NodeId(0)], &mut many);
        assert_eq!(many[0], found);
        assert!((0.0..1e-4).contains(&many[1]));
        set.query_distance_many(set.row(NodeId(0)), &[NodeId(2)], &mut many[..1]);
        assert_eq!(many[0], -8.0);
    }

    #[test]
    fn a_query_lies_apart_from_a_row_that_is_shorter_than_the_longest() {
        let rows = bytes(&[3.0, 4.0, 1.0, 0.0, 4.98, 0.0]);
        let set = |metric| VectorSet::new(&rows, shape(2), metric, kernels(), None).expect("a set");
        let products = set(Guide::InnerProduct);
        let apart = [0, 1, 2].map(|node| products.is_asked_apart(NodeId(node)));
        assert_eq!(apart, [false, true, false]);
        let nodes = [NodeId(0), NodeId(2)];
        let (mut asked, mut own) = ([0.0; 2], [0.0; 2]);
        products.asked_many(NodeId(1), &nodes, &mut asked);
        assert!((asked[0] - 44.0).abs() < 1e-4 && (asked[1] - 40.04).abs() < 1e-4);
        let others = set(Guide::L2);
        assert!(!others.is_asked_apart(NodeId(1)));
        others.asked_many(NodeId(1), &nodes, &mut asked);
        others.distance_many(NodeId(1), &nodes, &mut own);
        assert_eq!(asked, own);
    }

    #[test]
    fn the_cosine_by_norms_is_that_of_the_kernels() {
        let values: Vec<f32> = (0..12 * 70).map(|at| ((at * at) as f32).sin()).collect();
        let mut rows = bytes(&values);
        rows[70 * 4..140 * 4].fill(0);
        rows.copy_within(..70 * 4, 70 * 4 * 2);
        let set = VectorSet::new(&rows, shape(70), Guide::Cosine, kernels(), None).expect("a set");
        let nodes: Vec<NodeId> = (0..12).map(NodeId).collect();
        let (mut many, mut expected) = ([0.0; 12], [0.0; 12]);
        for &node in &nodes {
            set.distance_many(node, &nodes, &mut many);
            set.query_distance_many(set.row(node), &nodes, &mut expected);
            for (&other, (many, expected)) in nodes.iter().zip(many.iter().zip(&expected)) {
                assert!((many - expected).abs() < 1e-6, "{many} {expected}");
                assert_eq!(*many, set.distance(node, other));
            }
        }
        assert_eq!(set.distance(NodeId(0), NodeId(2)), 0.0, "a copy");
        assert_eq!(set.distance(NodeId(0), NodeId(1)), 1.0, "no direction");
        let mut row = [0.0; 70];
        set.embed(NodeId(3), &mut row);
        let length: f32 = row.iter().map(|value| value * value).sum();
        assert!((length - 1.0).abs() < 1e-5, "{length}");
    }

    #[test]
    fn bad_rows_are_refused() {
        let rows = bytes(&[1.0, 2.0, 3.0]);
        let new = |rows, metric, norm| VectorSet::new(rows, shape(2), metric, kernels(), norm);
        assert!(matches!(
            new(&rows, Guide::L2, None),
            Err(GraphError::PartialRow { .. })
        ));
        assert!(matches!(new(&[], Guide::L2, None), Err(GraphError::Empty)));
        let rows = &rows[..8];
        let refused = new(rows, Guide::InnerProduct, Some(1.0));
        assert!(matches!(refused, Err(GraphError::Norm { row: 0, .. })));
        assert!(matches!(
            new(rows, Guide::L2, Some(1.0)),
            Err(GraphError::NormUnused { .. })
        ));
        let infinite = bytes(&[f32::INFINITY, 0.0]);
        let refused = new(&infinite, Guide::InnerProduct, None);
        assert!(matches!(refused, Err(GraphError::Norm { row: 0, .. })));
    }
}
