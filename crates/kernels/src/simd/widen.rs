//! Conversion of float components to `f32`.
//!
//! Integers need nothing here: the scalar loop, compiled with the features of the instruction
//! set, becomes vector code by itself.

use super::lanes::{FloatLanes, Lanes, MAX_BYTES};

/// See [`crate::WidenFn`].
///
/// # Safety
/// The CPU has the features of `V` and `R`.
#[inline(always)]
pub(crate) unsafe fn widen<V, R>(bytes: &[u8], out: &mut [f32])
where
    R: FloatLanes,
    V: Lanes<Register = R::Register>,
{
    let component = V::BYTES / R::WIDTH;
    assert_eq!(
        bytes.len(),
        out.len() * component,
        "one value per component"
    );
    for (bytes, out) in bytes.chunks(V::BYTES).zip(out.chunks_mut(R::WIDTH)) {
        // SAFETY: the caller vouches for the features. A whole chunk has `BYTES` bytes and
        // `WIDTH` values; a partial one goes through arrays of the largest register's size.
        unsafe {
            if out.len() == R::WIDTH {
                R::store(out.as_mut_ptr(), V::load(bytes.as_ptr()));
            } else {
                let (mut padded, mut values) = ([0_u8; MAX_BYTES], [0.0_f32; MAX_BYTES / 4]);
                padded[..bytes.len()].copy_from_slice(bytes);
                R::store(values.as_mut_ptr(), V::load(padded.as_ptr()));
                out.copy_from_slice(&values[..out.len()]);
            }
        }
    }
}
