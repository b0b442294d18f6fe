//! What an instruction set provides.

/// Largest register in bytes.
pub(crate) const MAX_BYTES: usize = 64;

/// Registers that hold components of one element type, and how their terms are summed.
///
/// # Safety
/// Every function needs the CPU features of its instruction set. Addresses need no alignment.
pub(crate) trait Lanes {
    /// Components as loaded, and widened where the element type asks for it.
    type Register: Copy;
    /// Partial sums, one or more per lane.
    type Sum: Copy;
    /// Element bytes that one load takes, `MAX_BYTES` at most.
    const BYTES: usize;

    /// Loads `BYTES` bytes, all readable.
    unsafe fn load(address: *const u8) -> Self::Register;

    /// Loads the last `keep < BYTES` bytes before `end`, as whole components, and zero elsewhere.
    /// The `BYTES` bytes before `end` are readable.
    unsafe fn load_end(end: *const u8, keep: usize) -> Self::Register;

    /// The empty sum.
    unsafe fn zero() -> Self::Sum;

    /// Adds `(a - b)^2` of every lane.
    unsafe fn add_squared_difference(
        sum: Self::Sum,
        a: Self::Register,
        b: Self::Register,
    ) -> Self::Sum;

    /// Adds `|a - b|` of every lane.
    unsafe fn add_absolute_difference(
        sum: Self::Sum,
        a: Self::Register,
        b: Self::Register,
    ) -> Self::Sum;

    /// Adds `a * b` of every lane.
    unsafe fn add_product(sum: Self::Sum, a: Self::Register, b: Self::Register) -> Self::Sum;

    /// Adds two sums of the same kind.
    unsafe fn merge(left: Self::Sum, right: Self::Sum) -> Self::Sum;

    /// The sum over all lanes; exact for integers.
    unsafe fn total(sum: Self::Sum) -> f64;
}

/// Arithmetic on registers of `f32`, for tables, products and conversions.
///
/// # Safety
/// As for [`Lanes`].
pub(crate) trait FloatLanes {
    /// `WIDTH` values.
    type Register: Copy;
    /// Values per register.
    const WIDTH: usize;

    /// The same value in every lane.
    unsafe fn splat(value: f32) -> Self::Register;
    /// Loads `WIDTH` readable values.
    unsafe fn load(address: *const f32) -> Self::Register;
    /// Stores to `WIDTH` writable values.
    unsafe fn store(address: *mut f32, register: Self::Register);
    /// Lane-wise sum.
    unsafe fn add(a: Self::Register, b: Self::Register) -> Self::Register;
    /// Lane-wise difference.
    unsafe fn sub(a: Self::Register, b: Self::Register) -> Self::Register;
    /// Lane-wise product.
    unsafe fn mul(a: Self::Register, b: Self::Register) -> Self::Register;
    /// Lane-wise `a * b + c`, rounded once.
    unsafe fn mul_add(a: Self::Register, b: Self::Register, c: Self::Register) -> Self::Register;
    /// The Walsh-Hadamard transform of a register: for distances 1, 2, .. up to half the width, the
    /// sum and the difference of lanes that lie so far apart.
    unsafe fn butterflies(register: Self::Register) -> Self::Register;
    /// Lane-wise minimum.
    unsafe fn min(a: Self::Register, b: Self::Register) -> Self::Register;
    /// The smallest lane.
    unsafe fn minimum(register: Self::Register) -> f32;
    /// Bit `i` is set when lane `i` of both is equal.
    unsafe fn equal_lanes(a: Self::Register, b: Self::Register) -> u32;
    /// Bit `i` is set when lane `i` of `a` is below that of `b`.
    unsafe fn less_lanes(a: Self::Register, b: Self::Register) -> u32;
}
