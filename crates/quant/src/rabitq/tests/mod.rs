//! RaBitQ from end to end, against direct computation in `f64`.

mod around;
mod blocks;
mod bounds;
mod codes;
mod digits;
mod estimates;
mod fixture;
mod format;
mod leading;
mod training;
