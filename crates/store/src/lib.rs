//! Pageway store.
