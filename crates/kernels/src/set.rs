//! The table of kernels for one instruction set.

use pageway_types::{ElementType, Metric, Place};

use crate::bits::BitWeights;
use crate::blocks::{BLOCK_CODES, BlockFactors, BlockWeights, Estimator};
use crate::digits::DigitWeights;
use crate::fixed::FixedMatrix;
use crate::isa::{Isa, IsaError};
use crate::panel::PANEL_ROWS;
use crate::scalar;

/// Distance of two vectors given as raw little-endian element bytes, at any alignment.
///
/// Both slices have the same length, a multiple of the element size. In a release build the
/// shorter one counts otherwise; a debug build stops.
pub type DistanceFn = fn(&[u8], &[u8]) -> f32;

/// Distances of `query` to the rows `rows[place * row_bytes..][..row_bytes]` of several places.
///
/// Called as `(query, rows, row_bytes, places, out)`, with `query.len() == row_bytes` and
/// `out.len() == places.len()`; panics otherwise, or when a place lies outside `rows`. The
/// distances are those of the [`DistanceFn`]; rows that come next are prefetched.
pub type DistanceManyFn = fn(&[u8], &[u8], usize, &[Place], &mut [f32]);

/// Element types of a query and of the rows that it is compared with.
pub type ElementPair = (ElementType, ElementType);

/// Squared Euclidean norm of a vector given as raw element bytes.
pub type SquaredNormFn = fn(&[u8]) -> f32;

/// Converts raw element bytes to `f32`, exactly. Panics unless both hold as many components.
pub type WidenFn = fn(&[u8], &mut [f32]);

/// Fills `out[c]` with a measure of a sub-vector and each of 256 centroids.
///
/// Called as `(sub, centroids, out)`. `centroids` is transposed: `sub.len()` rows of 256 values,
/// row `i` holding component `i` of every centroid. Panics on any other length.
pub type TableFn = fn(&[f32], &[f32], &mut [f32; 256]);

/// The centroid nearest to a sub-vector with its squared distance; the lowest index wins ties.
///
/// Arguments as in [`TableFn`]. All values are finite.
pub type NearestFn = fn(&[f32], &[f32]) -> (u8, f32);

/// Sums table entries for each code, called as `(table, codes, out)`.
///
/// `table` has `m` rows of 256 entries, `codes` holds `out.len()` codes of `m` bytes; code `c`
/// gives the sum of `table[j * 256 + c[j]]` over `j < m`, added in the order that the scalar
/// kernel documents. Panics on any other length.
pub type LookupFn = fn(&[f32], &[u8], &mut [f32]);

/// [`LookupFn`] for the codes `codes[place * m..][..m]` of the given places, prefetching ahead.
///
/// Called as `(table, codes, places, out)`; panics when a place lies outside `codes`.
pub type LookupGatherFn = fn(&[f32], &[u8], &[Place], &mut [f32]);

/// Inner products of each of some rows with each of the rows in panels.
///
/// Called as `(rows, panels, dimension, out)`: whole rows of `dimension >= 1` values, whole panels
/// as [`pack_panels`](crate::pack_panels) makes them, and [`PANEL_ROWS`](crate::PANEL_ROWS) values
/// of `out` per row and panel: the products of row `i` begin at `i * panels * PANEL_ROWS`. Panics
/// on any other length. A product of `n` components is off by at most `n * 2^-23`, relative to the
/// sum of its absolute terms. It does not depend on what else is multiplied.
pub type DotPanelsFn = fn(&[f32], &[f32], usize, &mut [f32]);

/// Sums the weights of the bits that are set in each code.
///
/// Called as `(weights, codes, stride, out)`. Code `c` is `codes[c * stride..]`, as long as the
/// weights say; its sum is exact, modulo 2^32. Panics when `codes` ends within a code.
pub type BitSumsFn = fn(&BitWeights, &[u8], usize, &mut [i32]);

/// [`BitSumsFn`] for the codes `codes[place * stride..]` of the given places, prefetching ahead.
///
/// Called as `(weights, codes, stride, places, out)`; panics when a place lies outside `codes`.
pub type BitSumsGatherFn = fn(&BitWeights, &[u8], usize, &[Place], &mut [i32]);

/// Sums the digits of codes times their weights, for the codes `codes[place * stride..]` of the
/// given places, prefetching ahead.
///
/// Called as `(weights, codes, stride, places, out)`. A sum is exact, modulo 2^32. Panics when a
/// place lies outside `codes`.
pub type DigitSumsGatherFn = fn(&DigitWeights, &[u8], usize, &[Place], &mut [i32]);

/// Sums the weights of the bits that are set in each code of a block.
///
/// Called as `(weights, block, out)`. The block is what [`write_block`](crate::write_block) wrote;
/// sums are exact, modulo 2^32. Panics when it is shorter than
/// [`BlockWeights::scanned_bytes`].
pub type BlockSumsFn = fn(&BlockWeights, &[u8], &mut [i32; BLOCK_CODES]);

/// Makes estimates of the sums of a block.
///
/// Called as `(estimator, factors, sums, limit, out)`. Bit `i` of the answer is set unless
/// estimate `i` is above `limit`. Every operation is rounded, in the order that [`Estimator`] says.
pub type BlockEstimatesFn =
    fn(&Estimator, BlockFactors<'_>, &[i32; BLOCK_CODES], f32, &mut [f32; BLOCK_CODES]) -> u32;

/// Multiplies a row by a matrix, called as `(row, matrix, out)`.
///
/// `matrix` has a row of `out.len()` values for each component. Every column is summed component
/// by component, each product rounded before it is added. Panics on any other length.
pub type ProjectFn = fn(&[f32], &[f32], &mut [f32]);

/// Multiplies rows by a matrix in fixed point, called as `(matrix, rows, out)`.
///
/// The values of rows are finite. Rounding them to a multiple of 2^-15 of the length of their row
/// is all that is lost where columns are of unit length; longer columns may overflow and wrap.
/// Several rows together take a third of the time of as many calls, for the same bits. Panics
/// unless `rows` is a whole number of rows with a value for each row of the matrix, and `out` has
/// for each of them a value for each column.
pub type ProjectFixedFn = fn(&FixedMatrix, &[f32], &mut [f32]);

/// The Walsh-Hadamard transform of a power of two of values, in place and not scaled.
///
/// Values that lie 1, then 2, 4, .. apart are replaced by their sum and their difference, each
/// rounded. Panics unless there is a power of two of them.
pub type HadamardFn = fn(&mut [f32]);

/// Inner products of rows of signed bytes with a row of numbers `256 * high + low`.
///
/// Called as `([high, low], rows, out)`, all bytes signed: `out` gets the products with the high
/// and with the low halves, of each of the rows that lie one after the other. They are exact,
/// modulo 2^32. Panics unless there are as many rows as `out` has places.
pub type PairProductsFn = fn([&[u8]; 2], &[u8], &mut [[i32; 2]]);

/// Turns the products of one row with a panel into squared distances, in place, and marks the near
/// ones: bit `i` is set when distance `i` is below `limit` or below `limits[i]`.
///
/// Called as `(products, (norm, limit), norms, limits)`, the norms squared: distance `i` is
/// `norm + norms[i] - 2 * products[i]`, the sum first.
pub type NearFn =
    fn(&mut [f32; PANEL_ROWS], (f32, f32), &[f32; PANEL_ROWS], &[f32; PANEL_ROWS]) -> u32;

/// One kernel per metric.
pub(crate) struct PerMetric<F> {
    pub(crate) l2: F,
    pub(crate) inner_product: F,
    pub(crate) cosine: F,
    pub(crate) l1: F,
    pub(crate) jaccard: F,
}

impl<F: Copy> PerMetric<F> {
    fn get(&self, metric: Metric) -> F {
        match metric {
            Metric::L2 => self.l2,
            Metric::InnerProduct => self.inner_product,
            Metric::Cosine => self.cosine,
            Metric::L1 | Metric::Hamming => self.l1,
            Metric::Jaccard => self.jaccard,
        }
    }
}

/// One entry per element type.
pub(crate) struct PerElement<T> {
    pub(crate) f32: T,
    pub(crate) f16: T,
    pub(crate) bf16: T,
    pub(crate) u8: T,
    pub(crate) i8: T,
    pub(crate) bit: T,
}

impl<T> PerElement<T> {
    fn get(&self, element: ElementType) -> &T {
        match element {
            ElementType::F32 => &self.f32,
            ElementType::F16 => &self.f16,
            ElementType::Bf16 => &self.bf16,
            ElementType::U8 => &self.u8,
            ElementType::I8 => &self.i8,
            ElementType::Bit => &self.bit,
        }
    }
}

/// The kernels that compare queries of one element type with rows of one.
pub(crate) struct PairKernels {
    pub(crate) distance: PerMetric<DistanceFn>,
    pub(crate) distance_many: PerMetric<DistanceManyFn>,
}

/// The kernels of one element type.
pub(crate) struct ElementKernels {
    pub(crate) own: PairKernels,
    pub(crate) squared_norm: SquaredNormFn,
    pub(crate) widen: WidenFn,
}

/// The kernels of product quantization.
pub(crate) struct CodeKernels {
    pub(crate) l2_to_256: TableFn,
    pub(crate) dot_to_256: TableFn,
    pub(crate) nearest_of_256: NearestFn,
    pub(crate) lookup: LookupFn,
    pub(crate) lookup_gather: LookupGatherFn,
}

/// The kernels of codes that are strings of bits.
pub(crate) struct BitKernels {
    pub(crate) sums: BitSumsFn,
    pub(crate) sums_gather: BitSumsGatherFn,
    pub(crate) digit_sums_gather: DigitSumsGatherFn,
    pub(crate) block_sums: BlockSumsFn,
    pub(crate) block_estimates: BlockEstimatesFn,
    pub(crate) project: ProjectFn,
    pub(crate) hadamard: HadamardFn,
    pub(crate) project_fixed: ProjectFixedFn,
}

/// The kernels of matrix products.
pub(crate) struct MatrixKernels {
    pub(crate) pair_products: PairProductsFn,
    pub(crate) dot_panels: DotPanelsFn,
    pub(crate) near: NearFn,
}

/// All kernels of one instruction set: a static table of function pointers.
pub struct KernelSet {
    pub(crate) isa: Isa,
    pub(crate) elements: PerElement<ElementKernels>,
    pub(crate) f32_to_f16: PairKernels,
    pub(crate) codes: CodeKernels,
    pub(crate) bits: BitKernels,
    pub(crate) matrix: MatrixKernels,
}

impl KernelSet {
    /// The best set for this CPU, or the one that `PAGEWAY_ISA` names.
    ///
    /// # Errors
    /// When `PAGEWAY_ISA` names an unknown set or one that this CPU does not support.
    pub fn detect() -> Result<&'static Self, IsaError> {
        let forced = std::env::var_os(Isa::VARIABLE);
        Self::for_isa(Isa::choose(forced.as_deref(), Isa::is_supported)?)
    }

    /// The set of a given instruction set.
    ///
    /// # Errors
    /// When this CPU does not support it.
    pub fn for_isa(isa: Isa) -> Result<&'static Self, IsaError> {
        if !isa.is_supported() {
            return Err(IsaError::Unsupported { isa });
        }
        match isa {
            Isa::Scalar => Ok(&scalar::KERNELS),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => Ok(&crate::x86::avx2::KERNELS),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => Ok(&crate::x86::avx512::KERNELS),
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => Ok(&crate::neon::KERNELS),
            _ => Err(IsaError::Unsupported { isa }),
        }
    }

    /// The instruction sets that this CPU supports; never empty.
    pub fn available() -> Vec<Isa> {
        Isa::ALL
            .into_iter()
            .filter(|isa| isa.is_supported())
            .collect()
    }

    /// The instruction set of these kernels.
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// Distance of two vectors: squared L2, negated inner product, one minus the cosine, L1, or of
    /// bits Hamming, which is L1, and Jaccard.
    ///
    /// The cosine needs no normalised vectors: both norms are computed in the same pass. A zero
    /// vector is at distance `1.0` from everything.
    pub fn distance(&self, element: ElementType, metric: Metric) -> DistanceFn {
        self.elements.get(element).own.distance.get(metric)
    }

    /// Distances of one query to many rows, prefetching ahead of itself.
    pub fn distance_many(&self, element: ElementType, metric: Metric) -> DistanceManyFn {
        self.elements.get(element).own.distance_many.get(metric)
    }

    /// [`distance`](Self::distance) of a query of one element type to rows of another, with as many
    /// components each: of any to its own, and of `F32` to `F16`, bit for bit as if the rows were
    /// widened before. `None` for other pairs.
    pub fn distance_to(&self, pair: ElementPair, metric: Metric) -> Option<DistanceFn> {
        Some(self.pair(pair)?.distance.get(metric))
    }

    /// [`distance_many`](Self::distance_many) of a query of one element type to rows of another, as
    /// in [`distance_to`](Self::distance_to).
    pub fn distance_many_to(&self, pair: ElementPair, metric: Metric) -> Option<DistanceManyFn> {
        Some(self.pair(pair)?.distance_many.get(metric))
    }

    fn pair(&self, (query, rows): ElementPair) -> Option<&PairKernels> {
        match (query, rows) {
            (ElementType::F32, ElementType::F16) => Some(&self.f32_to_f16),
            _ => (query == rows).then(|| &self.elements.get(rows).own),
        }
    }

    /// Squared Euclidean norm.
    pub fn squared_norm(&self, element: ElementType) -> SquaredNormFn {
        self.elements.get(element).squared_norm
    }

    /// Conversion to `f32`.
    pub fn widen(&self, element: ElementType) -> WidenFn {
        self.elements.get(element).widen
    }

    /// Squared distances from a sub-vector to 256 centroids.
    pub fn l2_to_256(&self) -> TableFn {
        self.codes.l2_to_256
    }

    /// Inner products of a sub-vector and 256 centroids.
    pub fn dot_to_256(&self) -> TableFn {
        self.codes.dot_to_256
    }

    /// The nearest of 256 centroids.
    pub fn nearest_of_256(&self) -> NearestFn {
        self.codes.nearest_of_256
    }

    /// Asymmetric distances of contiguous codes.
    pub fn lookup(&self) -> LookupFn {
        self.codes.lookup
    }

    /// Asymmetric distances of the codes of given places.
    pub fn lookup_gather(&self) -> LookupGatherFn {
        self.codes.lookup_gather
    }

    /// Sums of weights by the bits of contiguous codes.
    pub fn bit_sums(&self) -> BitSumsFn {
        self.bits.sums
    }

    /// Sums of weights by the bits of the codes of given places.
    pub fn bit_sums_gather(&self) -> BitSumsGatherFn {
        self.bits.sums_gather
    }

    /// Sums of digits times weights, of the codes of given places.
    pub fn digit_sums_gather(&self) -> DigitSumsGatherFn {
        self.bits.digit_sums_gather
    }

    /// Sums of weights by the bits of a block of codes.
    pub fn block_sums(&self) -> BlockSumsFn {
        self.bits.block_sums
    }

    /// Estimates of a block of codes, with marks on the near ones.
    pub fn block_estimates(&self) -> BlockEstimatesFn {
        self.bits.block_estimates
    }

    /// The product of a row and a matrix.
    pub fn project(&self) -> ProjectFn {
        self.bits.project
    }

    /// The Walsh-Hadamard transform.
    pub fn hadamard(&self) -> HadamardFn {
        self.bits.hadamard
    }

    /// Products of rows and a matrix in fixed point.
    pub fn project_fixed(&self) -> ProjectFixedFn {
        self.bits.project_fixed
    }

    /// Products of rows of bytes with a row of numbers in two bytes.
    pub fn pair_products(&self) -> PairProductsFn {
        self.matrix.pair_products
    }

    /// Inner products of rows with rows in panels.
    pub fn dot_panels(&self) -> DotPanelsFn {
        self.matrix.dot_panels
    }

    /// Distances from products, with marks on the near ones.
    pub fn near(&self) -> NearFn {
        self.matrix.near
    }
}
