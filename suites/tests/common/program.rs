//! The program that suites run, and kill.

use std::path::{Path, PathBuf};

use pageway_testkit::cargo;

/// The command: that in `PAGEWAY_BIN`, or that which a test of the whole workspace builds, and
/// built here when only a suite was.
pub fn program() -> PathBuf {
    if let Some(path) = std::env::var_os("PAGEWAY_BIN") {
        return path.into();
    }
    let test = std::env::current_exe().unwrap();
    let profile = test.parent().and_then(Path::parent).unwrap();
    let path = profile.join("pageway");
    let mut build = cargo();
    let name = if profile.ends_with("release") {
        "release"
    } else {
        "test"
    };
    // Of all packages: the features, and so what is there already, are those of all of them.
    build.args(["build", "--quiet", "--workspace", "--bin", "pageway"]);
    build.args(["--profile", name]);
    build.arg("--target-dir").arg(profile.parent().unwrap());
    build.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    assert!(
        build.status().unwrap().success(),
        "the program does not build"
    );
    path
}
