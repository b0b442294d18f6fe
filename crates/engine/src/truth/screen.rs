//! Which rows may be nearer to some queries than their bounds, by a product of matrices.
//!
//! Squared distances follow from products, `|q - x|^2 = |q|^2 + |x|^2 - 2 <q, x>`, and the products
//! of a tile of rows with panels of queries cost a fraction of as many distances. They are rounded
//! otherwise, so norms are shortened by more than products and distances are off by: a row that is
//! not marked is not below the bound, and one that is marked has yet to be compared. Under the
//! cosine, rows and queries are scaled to length 1; under the inner product, norms are nothing but
//! what they are shortened by.
#![expect(
    clippy::indexing_slicing,
    reason = "buffers are sized for the group and the largest tile; a slip must stop"
)]

use pageway_kernels::{KernelSet, PANEL_ROWS, pack_panels, panel_values};
use pageway_types::{Guide, Metric, VectorShape};

/// Rows that are multiplied at once.
pub(super) const TILE_ROWS: usize = 32;
/// Queries from which on products cost less than their distances.
const FEWEST: usize = 16;
/// Squared norm of which a few do not overflow.
const LONGEST: f32 = 1e37;
/// Squared norm from which on one is precise, and more than distances of the smallest numbers are
/// off by.
const LEAST: f32 = 1e-30;
/// Share of squared norms that distances are off by, beside one for each component.
const ROUNDED: f32 = 8e-6;

/// A group of queries in panels, and the products of a tile of rows with them.
pub(super) struct Screen {
    kernels: &'static KernelSet,
    shape: VectorShape,
    metric: Guide,
    panels: Vec<f32>,
    norms: Vec<[f32; PANEL_ROWS]>,
    /// Squared distances below which rows are marked; below none where there is no query.
    limits: Vec<[f32; PANEL_ROWS]>,
    rows: Vec<f32>,
    row_norms: [f32; TILE_ROWS],
    products: Vec<f32>,
}

impl Screen {
    /// The metric whose distances follow from products, where those of a group of so many queries
    /// serve for anything.
    fn metric(shape: VectorShape, metric: Metric, queries: usize) -> Option<Guide> {
        let guides = [Guide::L2, Guide::InnerProduct, Guide::Cosine];
        let own = guides.into_iter().find(|own| own.metric() == metric);
        own.filter(|_| shape.element.is_float() && queries >= FEWEST)
    }

    /// Whether a group of so many queries can have a screen.
    pub(super) fn serves(shape: VectorShape, metric: Metric, queries: usize) -> bool {
        Self::metric(shape, metric, queries).is_some()
    }

    /// Bytes that a screen of so many queries holds.
    pub(super) fn bytes(shape: VectorShape, queries: usize) -> usize {
        let dimension = shape.dimension as usize;
        let lanes = panel_values(queries, 1);
        let rows = queries.max(TILE_ROWS) * dimension;
        (rows + lanes * (dimension + TILE_ROWS + 2) + TILE_ROWS) * size_of::<f32>()
    }

    /// A screen for a group of queries; `None` where it would not serve, or products are not sure
    /// of a query.
    pub(super) fn new<'q>(
        kernels: &'static KernelSet,
        (shape, metric): (VectorShape, Metric),
        queries: impl ExactSizeIterator<Item = &'q [u8]>,
    ) -> Option<Self> {
        let count = queries.len();
        let metric = Self::metric(shape, metric, count)?;
        let dimension = shape.dimension as usize;
        let lanes = panel_values(count, 1);
        let mut screen = Self {
            kernels,
            shape,
            metric,
            panels: vec![0.0; lanes * dimension],
            norms: vec![[0.0; PANEL_ROWS]; lanes / PANEL_ROWS],
            limits: vec![[f32::NEG_INFINITY; PANEL_ROWS]; lanes / PANEL_ROWS],
            rows: vec![0.0; count.max(TILE_ROWS) * dimension],
            row_norms: [0.0; TILE_ROWS],
            products: vec![0.0; TILE_ROWS * lanes],
        };
        for (at, query) in queries.enumerate() {
            screen.norms[at / PANEL_ROWS][at % PANEL_ROWS] = screen.embed(at, query)?;
        }
        let rows = &screen.rows[..count * dimension];
        pack_panels(rows, dimension, &mut screen.panels);
        Some(screen)
    }

    /// Rows at `bound` or farther need not be marked for a query any more.
    pub(super) fn set_bound(&mut self, query: usize, bound: f32) {
        let squared = match self.metric {
            Guide::L2 => bound,
            Guide::InnerProduct | Guide::Cosine => 2.0 * bound,
        };
        self.limits[query / PANEL_ROWS][query % PANEL_ROWS] = squared + LEAST;
    }

    /// Multiplies up to [`TILE_ROWS`] rows with all queries; false where products are not sure of
    /// one of them.
    pub(super) fn multiply(&mut self, tile: &[u8]) -> bool {
        let mut count = 0;
        for row in tile.chunks_exact(self.shape.row_bytes()) {
            let Some(norm) = self.embed(count, row) else {
                return false;
            };
            self.row_norms[count] = norm;
            count += 1;
        }
        let dimension = self.shape.dimension as usize;
        let rows = &self.rows[..count * dimension];
        let products = &mut self.products[..count * self.limits.len() * PANEL_ROWS];
        self.kernels.dot_panels()(rows, &self.panels, dimension, products);
        true
    }

    /// Marks the queries of a panel to which a row of the last tile may be nearer than their
    /// bounds. To be asked once for each of both.
    pub(super) fn marks(&mut self, row: usize, panel: usize) -> u32 {
        let (products, _) = self.products.as_chunks_mut();
        let products = &mut products[row * self.limits.len() + panel];
        let own = (self.row_norms[row], f32::NEG_INFINITY);
        self.kernels.near()(products, own, &self.norms[panel], &self.limits[panel])
    }

    /// Writes a vector to place `at` of the rows, as it is to be multiplied, and returns its
    /// shortened norm, squared; `None` where products are not sure of it.
    fn embed(&mut self, at: usize, vector: &[u8]) -> Option<f32> {
        let dimension = self.shape.dimension as usize;
        let out = &mut self.rows[at * dimension..][..dimension];
        self.kernels.widen(self.shape.element)(vector, out);
        let norm = self.kernels.squared_norm(self.shape.element)(vector);
        let off = dimension as f32 * 2.0 * f32::EPSILON + ROUNDED;
        if norm.is_nan() || norm > LONGEST {
            return None;
        }
        match self.metric {
            Guide::L2 => Some(norm * (1.0 - off)),
            Guide::InnerProduct => Some(-off * norm),
            Guide::Cosine if norm < LEAST => None,
            Guide::Cosine => {
                let factor = norm.sqrt().recip();
                for value in out {
                    *value *= factor;
                }
                Some(1.0 - off)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::kernels;
    use pageway_types::{ElementType, SplitMix64};

    const SHAPE: VectorShape = VectorShape {
        dimension: 48,
        element: ElementType::F32,
    };

    /// Vectors around a point `shift` away from zero, of `scale` times the usual length.
    fn vectors(count: usize, (scale, shift): (f32, f32), seed: u64) -> Vec<u8> {
        let mut random = SplitMix64::new(seed);
        let mut value = || scale * (random.unit() as f32 - 0.5 + shift);
        (0..count * 48)
            .flat_map(|_| value().to_le_bytes())
            .collect()
    }

    #[test]
    fn rows_below_a_bound_are_marked_and_hardly_any_others() {
        let kernels = kernels().unwrap();
        let cases = [
            (1.0, 0.0),
            (1e-3, 1.0),
            (1e4, -3.0),
            (1e17, 0.0),
            (1e-14, 0.0),
        ];
        let metrics = [Metric::L2, Metric::InnerProduct, Metric::Cosine];
        for (metric, case) in metrics
            .into_iter()
            .flat_map(|m| cases.map(|case| (m, case)))
        {
            let (rows, queries) = (vectors(TILE_ROWS, case, 1), vectors(40, case, 2));
            let queries: Vec<&[u8]> = queries.chunks_exact(SHAPE.row_bytes()).collect();
            let distance = kernels.distance(SHAPE.element, metric);
            let mut screen =
                Screen::new(kernels, (SHAPE, metric), queries.iter().copied()).unwrap();
            // The eleventh nearest row of each query is at its bound, so ten are below.
            let bounds = queries.iter().enumerate().map(|(at, query)| {
                let rows = rows.chunks_exact(SHAPE.row_bytes());
                let mut all: Vec<f32> = rows.map(|row| distance(query, row)).collect();
                all.sort_by(f32::total_cmp);
                screen.set_bound(at, all[10]);
                all[10]
            });
            let bounds: Vec<f32> = bounds.collect();
            assert!(screen.multiply(&rows));
            let mut marked = 0;
            for (at, row) in rows.chunks_exact(SHAPE.row_bytes()).enumerate() {
                for panel in 0..2 {
                    let marks = screen.marks(at, panel);
                    marked += marks.count_ones();
                    for lane in 0..PANEL_ROWS {
                        let query = panel * PANEL_ROWS + lane;
                        let is_marked = marks >> lane & 1 == 1;
                        match queries.get(query) {
                            Some(own) if distance(own, row) < bounds[query] => {
                                assert!(is_marked, "{metric} {case:?}, row {at}, query {query}");
                            }
                            Some(_) => {}
                            None => assert!(!is_marked, "a query that is none"),
                        }
                    }
                }
            }
            let words = format!("{metric} {case:?}: {marked} are marked, 440 are not farther");
            assert!((400..=460).contains(&marked), "{words}");
        }
    }

    #[test]
    fn what_products_are_not_sure_of_is_not_screened() {
        let kernels = kernels().unwrap();
        let one = vectors(20, (1.0, 0.0), 3);
        let huge = vectors(20, (1e19, 0.0), 3);
        let zero = vec![0; one.len()];
        let new = |rows: &[u8], metric| {
            let queries = rows.chunks_exact(SHAPE.row_bytes());
            Screen::new(kernels, (SHAPE, metric), queries)
        };
        for metric in [Metric::L2, Metric::InnerProduct, Metric::Cosine] {
            assert!(new(&huge, metric).is_none());
            let mut screen = new(&one, metric).unwrap();
            assert!(screen.multiply(&one) && !screen.multiply(&huge));
            let nan = f32::NAN.to_le_bytes().repeat(SHAPE.dimension as usize);
            assert!(!screen.multiply(&nan));
            let of_zeros = screen.multiply(&zero);
            assert_eq!(of_zeros, metric != Metric::Cosine);
        }
        assert!(new(&one, Metric::L1).is_none());
        assert!(new(&one[..15 * SHAPE.row_bytes()], Metric::L2).is_none());
    }
}
