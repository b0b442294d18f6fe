//! Pageway graph.
