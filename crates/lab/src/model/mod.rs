//! What a recorded search would do on another disk, with other threads, over more vectors.
//!
//! ```text
//! trace     what each query computed and read, turn by turn, as `pageway search --trace` wrote it
//! device    a disk as a few numbers: named ones, own ones, or this machine's as measured
//! latency   the distribution of read times       queue   reads that wait for the device
//! replay    traces + device + load -> queries per second, latency: in virtual time
//! growth    traces at several sizes -> reads and computing at a size that was not measured
//! predict   all of it for `pageway lab predict`: one object, marked as a prediction
//! ```
//!
//! Invariants: virtual time only, no clock; the same trace, device, load and seed give the same
//! prediction; nothing measured on one device is presented as measured on another.

mod device;
mod growth;
mod latency;
mod predict;
mod queue;
mod replay;
#[cfg(test)]
pub(crate) mod scenario;
mod trace;

pub(crate) use device::THIS_MACHINE;
pub use device::{Device, device_names};
pub use growth::{Fit, Growth, Law, Size};
pub use latency::Quantiles;
pub use predict::{Ask, predict};
pub(crate) use queue::DeviceQueue;
pub(crate) use replay::latency_summary;
pub use replay::{Load, Prediction, replay};
pub use trace::read_trace;
