//! The only source of randomness in this crate.

pub(crate) use pageway_types::SplitMix64;
