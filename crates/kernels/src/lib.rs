//! Pageway kernels.
