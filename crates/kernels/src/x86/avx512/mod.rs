//! AVX-512 (F, BW, VL, VNNI): 64 bytes per register, masked loads for the ends of vectors.

mod binary;
mod bits;
mod blocks;
mod digits;
mod fixed;
mod float;
mod integer;
mod pairs;

use crate::isa::Isa;
use crate::simd::kernel_set;

kernel_set! {
    isa: Isa::Avx512, features: "avx512f,avx512bw,avx512vl,avx512vnni,avx2,fma,f16c", block: 16,
    rows: 8,
    f32: float::F32, f16: float::F16, bf16: float::Bf16, u8: integer::U8, i8: integer::I8,
    bit: binary::Bit,
}
