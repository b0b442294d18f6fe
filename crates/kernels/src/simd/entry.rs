//! Compiles the algorithms for one instruction set and collects them in a table.

/// Defines `KERNELS` for an instruction set, given its CPU features, its registers for each
/// element type, how many float registers a table kernel may hold at once, and how many rows a
/// tile of a matrix product has.
///
/// Every kernel comes in two layers: a function with `#[target_feature]` that all algorithms are
/// inlined into, and a plain function, as function pointers in the table must be safe to call.
macro_rules! kernel_set {
    (
        isa: $isa:expr, features: $features:literal, block: $block:literal, rows: $rows:literal,
        f32: $F32:ty, f16: $F16:ty, bf16: $Bf16:ty, u8: $U8:ty, i8: $I8:ty, bit: $Bit:ty,
    ) => {
        use pageway_types::Place;

        use crate::blocks::{BLOCK_CODES, BlockFactors, Estimator};
        use crate::panel::PANEL_ROWS;
        use crate::scalar;
        use crate::set::{
            BitKernels, CodeKernels, ElementKernels, KernelSet, MatrixKernels, PairKernels,
            PerElement, PerMetric, WidenFn,
        };
        use crate::simd::lanes::{FloatLanes, Lanes};
        use crate::simd::measure::{Cosine, InnerProduct, Jaccard, L1, L2, Measure};
        use crate::simd::table::{Product, SquaredDifference, Term};
        use crate::simd::{estimates, hadamard, many, matrix, measure, project, table, widen};

        /// The kernels; [`KernelSet::for_isa`] hands them out after detection of all features.
        pub(crate) static KERNELS: KernelSet = KernelSet {
            isa: $isa,
            elements: PerElement {
                f32: element_kernels::<$F32>(widen_float::<$F32>),
                f16: element_kernels::<$F16>(widen_float::<$F16>),
                bf16: element_kernels::<$Bf16>(widen_float::<$Bf16>),
                u8: element_kernels::<$U8>(widen_integer::<u8>),
                i8: element_kernels::<$I8>(widen_integer::<i8>),
                bit: element_kernels::<$Bit>(widen_integer::<scalar::Bit>),
            },
            f32_to_f16: pair_kernels::<$F32, $F16>(),
            codes: CodeKernels {
                l2_to_256: measure_256::<SquaredDifference>,
                dot_to_256: measure_256::<Product>,
                nearest_of_256,
                lookup: scalar::lookup,
                lookup_gather: scalar::lookup_gather,
            },
            bits: BitKernels {
                sums: bits::bit_sums,
                sums_gather: bits::bit_sums_gather,
                digit_sums_gather: digits::digit_sums_gather,
                block_sums: blocks::block_sums,
                block_estimates,
                project: project_block,
                hadamard: transform,
                project_fixed: fixed::project_fixed,
            },
            matrix: MatrixKernels {
                pair_products: pairs::pair_products,
                dot_panels,
                near,
            },
        };

        const fn element_kernels<V: Lanes>(widen: WidenFn) -> ElementKernels {
            ElementKernels {
                own: pair_kernels::<V, V>(),
                squared_norm: squared_norm::<V>,
                widen,
            }
        }

        const fn pair_kernels<Q, V>() -> PairKernels
        where
            Q: Lanes<Register = V::Register>,
            V: Lanes,
        {
            PairKernels {
                distance: PerMetric {
                    l2: distance::<Q, V, L2>,
                    inner_product: distance::<Q, V, InnerProduct>,
                    cosine: distance::<Q, V, Cosine>,
                    l1: distance::<Q, V, L1>,
                    jaccard: distance::<Q, V, Jaccard>,
                },
                distance_many: PerMetric {
                    l2: distance_many::<Q, V, L2>,
                    inner_product: distance_many::<Q, V, InnerProduct>,
                    cosine: distance_many::<Q, V, Cosine>,
                    l1: distance_many::<Q, V, L1>,
                    jaccard: distance_many::<Q, V, Jaccard>,
                },
            }
        }

        fn distance<Q, V, M>(query: &[u8], row: &[u8]) -> f32
        where
            Q: Lanes<Register = V::Register>,
            V: Lanes,
            M: Measure<V>,
        {
            #[target_feature(enable = $features)]
            fn run<Q, V, M>(query: &[u8], row: &[u8]) -> f32
            where
                Q: Lanes<Register = V::Register>,
                V: Lanes,
                M: Measure<V>,
            {
                // SAFETY: this function has the features.
                unsafe { measure::distance_between::<Q, V, M>(query, row) }
            }
            // SAFETY: reached through a detected set only.
            unsafe { run::<Q, V, M>(query, row) }
        }

        fn distance_many<Q, V, M>(
            query: &[u8],
            rows: &[u8],
            row_bytes: usize,
            places: &[Place],
            out: &mut [f32],
        ) where
            Q: Lanes<Register = V::Register>,
            V: Lanes,
            M: Measure<V>,
        {
            #[target_feature(enable = $features)]
            fn run<Q, V, M>(
                query: &[u8],
                rows: &[u8],
                row_bytes: usize,
                places: &[Place],
                out: &mut [f32],
            ) where
                Q: Lanes<Register = V::Register>,
                V: Lanes,
                M: Measure<V>,
            {
                // SAFETY: this function has the features.
                unsafe { many::distance_many::<Q, V, M>(query, rows, row_bytes, places, out) }
            }
            // SAFETY: reached through a detected set only.
            unsafe { run::<Q, V, M>(query, rows, row_bytes, places, out) }
        }

        fn squared_norm<V: Lanes>(vector: &[u8]) -> f32 {
            -distance::<V, V, InnerProduct>(vector, vector)
        }

        fn widen_float<V>(bytes: &[u8], out: &mut [f32])
        where
            V: Lanes<Register = <$F32 as Lanes>::Register>,
        {
            #[target_feature(enable = $features)]
            fn run<V>(bytes: &[u8], out: &mut [f32])
            where
                V: Lanes<Register = <$F32 as Lanes>::Register>,
            {
                // SAFETY: this function has the features.
                unsafe { widen::widen::<V, $F32>(bytes, out) }
            }
            // SAFETY: reached through a detected set only.
            unsafe { run::<V>(bytes, out) }
        }

        fn widen_integer<C: scalar::Component>(bytes: &[u8], out: &mut [f32]) {
            #[target_feature(enable = $features)]
            fn run<C: scalar::Component>(bytes: &[u8], out: &mut [f32]) {
                scalar::widen::<C>(bytes, out);
            }
            // SAFETY: reached through a detected set only.
            unsafe { run::<C>(bytes, out) }
        }

        fn measure_256<T: Term<$F32>>(sub: &[f32], centroids: &[f32], out: &mut [f32; 256]) {
            #[target_feature(enable = $features)]
            fn run<T: Term<$F32>>(sub: &[f32], centroids: &[f32], out: &mut [f32; 256]) {
                // SAFETY: this function has the features.
                unsafe { table::measure_256::<$F32, T, $block>(sub, centroids, out) }
            }
            // SAFETY: reached through a detected set only.
            unsafe { run::<T>(sub, centroids, out) }
        }

        fn dot_panels(rows: &[f32], panels: &[f32], dimension: usize, out: &mut [f32]) {
            const REGISTERS: usize = PANEL_ROWS / <$F32 as FloatLanes>::WIDTH;
            #[target_feature(enable = $features)]
            fn run(rows: &[f32], panels: &[f32], dimension: usize, out: &mut [f32]) {
                // SAFETY: this function has the features.
                unsafe {
                    matrix::dot_panels::<$F32, $rows, REGISTERS>(rows, panels, dimension, out);
                }
            }
            // SAFETY: reached through a detected set only.
            unsafe { run(rows, panels, dimension, out) }
        }

        fn block_estimates(
            estimator: &Estimator,
            factors: BlockFactors<'_>,
            sums: &[i32; BLOCK_CODES],
            limit: f32,
            out: &mut [f32; BLOCK_CODES],
        ) -> u32 {
            #[target_feature(enable = $features)]
            fn run(
                estimator: &Estimator,
                factors: BlockFactors<'_>,
                sums: &[i32; BLOCK_CODES],
                limit: f32,
                out: &mut [f32; BLOCK_CODES],
            ) -> u32 {
                // SAFETY: this function has the features.
                unsafe { estimates::block_estimates::<$F32>(estimator, factors, sums, limit, out) }
            }
            // SAFETY: reached through a detected set only.
            unsafe { run(estimator, factors, sums, limit, out) }
        }

        fn project_block(row: &[f32], matrix: &[f32], out: &mut [f32]) {
            #[target_feature(enable = $features)]
            fn run(row: &[f32], matrix: &[f32], out: &mut [f32]) {
                // SAFETY: this function has the features.
                unsafe { project::project::<$F32, $block>(row, matrix, out) }
            }
            // SAFETY: reached through a detected set only.
            unsafe { run(row, matrix, out) }
        }

        fn transform(values: &mut [f32]) {
            #[target_feature(enable = $features)]
            fn run(values: &mut [f32]) {
                // SAFETY: this function has the features.
                unsafe { hadamard::hadamard::<$F32>(values) }
            }
            // SAFETY: reached through a detected set only.
            unsafe { run(values) }
        }

        fn near(
            products: &mut [f32; PANEL_ROWS],
            row: (f32, f32),
            norms: &[f32; PANEL_ROWS],
            limits: &[f32; PANEL_ROWS],
        ) -> u32 {
            #[target_feature(enable = $features)]
            fn run(
                products: &mut [f32; PANEL_ROWS],
                row: (f32, f32),
                norms: &[f32; PANEL_ROWS],
                limits: &[f32; PANEL_ROWS],
            ) -> u32 {
                // SAFETY: this function has the features.
                unsafe { matrix::near::<$F32>(products, row, norms, limits) }
            }
            // SAFETY: reached through a detected set only.
            unsafe { run(products, row, norms, limits) }
        }

        fn nearest_of_256(sub: &[f32], centroids: &[f32]) -> (u8, f32) {
            #[target_feature(enable = $features)]
            fn run(sub: &[f32], centroids: &[f32]) -> (u8, f32) {
                // SAFETY: this function has the features.
                unsafe { table::nearest_of_256::<$F32, $block>(sub, centroids) }
            }
            // SAFETY: reached through a detected set only.
            unsafe { run(sub, centroids) }
        }
    };
}

pub(crate) use kernel_set;
