//! Clusters: the other way to find candidates, without lists.
//!
//! ```text
//! groups     of clusters        a query compares itself with all of them,
//!   clusters                    then with the clusters of the nearest groups,
//!     nodes                     then with the nodes of the nearest clusters
//! ```
//! Clusters are those of k-means, about [`ClusterSpec::members`] nodes each: on 300,000 photo
//! descriptors the nearest 4,600 nodes by clusters of k-means hold as many of the true ten as the
//! nearest 7,700 by clusters of equal size, and of 80,000 sentences 6,300 as many as 15,900.
//! Groups are k-means over the centroids, as many as each has clusters. A node is compared with the
//! clusters of the nearest few groups only, so a round costs `sqrt(clusters)` comparisons per node,
//! some times over, by products of matrices.
//!
//! Invariants:
//! * Every node is in exactly one cluster, every cluster in exactly one group; either may be empty.
//! * The outcome depends on vectors, spec and seed alone, not on the number of threads.

mod centroids;
mod directory;
mod lloyd;
mod spec;
#[cfg(test)]
mod tests;

pub use spec::{ClusterCount, ClusterSpec, Clusters, clusters, clusters_bytes, some_clusters};
