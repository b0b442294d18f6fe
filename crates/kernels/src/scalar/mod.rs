//! The scalar twin: portable kernels that say what every other set must compute.
//!
//! Written for clarity first and for the auto-vectoriser of the baseline target second.

mod bits;
mod blocks;
mod component;
pub(crate) mod digits;
mod distance;
mod fixed;
mod hadamard;
mod lookup;
mod matrix;
mod pairs;
mod project;
mod table;

use crate::isa::Isa;
use crate::set::{
    BitKernels, CodeKernels, ElementKernels, KernelSet, MatrixKernels, PairKernels, PerElement,
    PerMetric,
};
pub(crate) use component::{Bit, Component};
pub(crate) use distance::widen;
#[cfg(target_arch = "aarch64")]
pub(crate) use fixed::project_fixed;
pub(crate) use hadamard::hadamard;
pub(crate) use lookup::{lookup, lookup_gather};

use component::{Half, UpperHalf};
use distance::{Cosine, InnerProduct, Jaccard, L1, L2};

/// The scalar kernels.
pub(crate) static KERNELS: KernelSet = KernelSet {
    isa: Isa::Scalar,
    elements: PerElement {
        f32: element_kernels::<f32>(),
        f16: element_kernels::<Half>(),
        bf16: element_kernels::<UpperHalf>(),
        u8: element_kernels::<u8>(),
        i8: element_kernels::<i8>(),
        bit: element_kernels::<Bit>(),
    },
    f32_to_f16: pair_kernels::<f32, Half>(),
    codes: CodeKernels {
        l2_to_256: table::l2_to_256,
        dot_to_256: table::dot_to_256,
        nearest_of_256: table::nearest_of_256,
        lookup,
        lookup_gather,
    },
    bits: BitKernels {
        sums: bits::bit_sums,
        sums_gather: bits::bit_sums_gather,
        digit_sums_gather: digits::digit_sums_gather,
        block_sums: blocks::block_sums,
        block_estimates: blocks::block_estimates,
        project: project::project,
        hadamard,
        project_fixed: fixed::project_fixed,
    },
    matrix: MatrixKernels {
        pair_products: pairs::pair_products,
        dot_panels: matrix::dot_panels,
        near: matrix::near,
    },
};

const fn pair_kernels<Q, C>() -> PairKernels
where
    Q: Component<Value = C::Value>,
    C: Component,
{
    PairKernels {
        distance: PerMetric {
            l2: distance::distance::<Q, C, L2>,
            inner_product: distance::distance::<Q, C, InnerProduct>,
            cosine: distance::distance::<Q, C, Cosine>,
            l1: distance::distance::<Q, C, L1>,
            jaccard: distance::distance::<Q, C, Jaccard>,
        },
        distance_many: PerMetric {
            l2: distance::distance_many::<Q, C, L2>,
            inner_product: distance::distance_many::<Q, C, InnerProduct>,
            cosine: distance::distance_many::<Q, C, Cosine>,
            l1: distance::distance_many::<Q, C, L1>,
            jaccard: distance::distance_many::<Q, C, Jaccard>,
        },
    }
}

const fn element_kernels<C: Component>() -> ElementKernels {
    ElementKernels {
        own: pair_kernels::<C, C>(),
        squared_norm: distance::squared_norm::<C>,
        widen: widen::<C>,
    }
}
