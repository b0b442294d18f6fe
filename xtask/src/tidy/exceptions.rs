//! The exceptions to the rules, each with its reason. Keep this list short.
//!
//! An exception that no finding needs any more is itself a failure, so the list cannot rot.

use super::finding::Finding;

/// One rule lifted for one file or folder.
pub(crate) struct Exception {
    pub(crate) check: &'static str,
    /// A path, or the start of one.
    pub(crate) path: &'static str,
    /// Why the rule does not fit here; read by people only.
    #[expect(
        dead_code,
        reason = "kept beside the exception for whoever reads or removes it"
    )]
    pub(crate) reason: &'static str,
}

impl Exception {
    /// Whether this exception is about `finding`.
    pub(crate) fn lifts(&self, finding: &Finding) -> bool {
        self.check == finding.check && finding.path.starts_with(self.path)
    }
}

/// Every exception of the repository.
pub(crate) const ALL: &[Exception] = &[
    Exception {
        check: "name",
        path: "crates/server/src/",
        reason: "a point is the term of the interface that the server speaks: an id, vectors, a payload",
    },
    Exception {
        check: "name",
        path: "crates/import/src/",
        reason: "a point is the term of the servers that are read: an id, vectors, a payload",
    },
    Exception {
        check: "struct-size",
        path: "crates/engine/src/options.rs",
        reason: "BuildOptions has one field for each option of a build, and no behaviour",
    },
    Exception {
        check: "struct-size",
        path: "crates/engine/src/manifest/files.rs",
        reason: "Files is what a manifest says of a segment, one field for each kind of file",
    },
    Exception {
        check: "struct-size",
        path: "crates/engine/src/spec/policy/overrides.rs",
        reason: "Overrides has one field for each choice of a spec, and no behaviour but applying them",
    },
    Exception {
        check: "struct-size",
        path: "crates/engine/src/build/report.rs",
        reason: "BuildReport is what a build prints, one field for each figure",
    },
    Exception {
        check: "struct-size",
        path: "crates/engine/src/manifest/files.rs",
        reason: "Files has one field for each file of a segment, as the manifest names them",
    },
    Exception {
        check: "struct-size",
        path: "crates/engine/src/index/describe.rs",
        reason: "Description is the printed form of an index, one field for each line",
    },
    Exception {
        check: "struct-size",
        path: "crates/engine/src/segment/describe.rs",
        reason: "SegmentDescription is the printed form of a segment, one field for each line",
    },
    Exception {
        check: "struct-size",
        path: "crates/engine/src/update/options.rs",
        reason: "Changes is the printed form of what changed, one field for each line",
    },
    Exception {
        check: "struct-size",
        path: "crates/engine/src/execution/stats.rs",
        reason: "QueryStats is a row of counters, one for each figure of a report",
    },
    Exception {
        check: "struct-size",
        path: "crates/lab/src/record.rs",
        reason: "Record and Machine are lines of a journal, one field for each fact",
    },
    Exception {
        check: "os-access",
        path: "xtask/src/test.rs",
        reason: "a chore takes the time that tests need",
    },
    Exception {
        check: "os-access",
        path: "xtask/src/tidy/run.rs",
        reason: "a repository chore reads the repository, not an index",
    },
];
