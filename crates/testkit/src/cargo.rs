//! Cargo, as tests run it that need programs of other packages.

use std::env;
use std::ffi::OsString;
use std::process::Command;

/// What cargo tells a program of its package. Build scripts that look at it would run again, and
/// all that depends on them be compiled again, for every package whose tests run cargo.
const OF_A_PACKAGE: [&str; 2] = ["CARGO_MANIFEST_", "CARGO_PKG_"];

/// Cargo as a shell runs it.
pub fn cargo() -> Command {
    let mut command = Command::new(env!("CARGO"));
    for name in env::vars_os().map(|(name, _)| name).filter(is_of_a_package) {
        command.env_remove(name);
    }
    command
}

fn is_of_a_package(name: &OsString) -> bool {
    let name = name.to_string_lossy();
    OF_A_PACKAGE.iter().any(|start| name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_a_package_is_told_from_what_cargo_needs() {
        let all = ["CARGO_PKG_NAME", "CARGO_HOME", "CARGO_MANIFEST_DIR", "PATH"];
        let told: Vec<OsString> = all.map(OsString::from).into();
        let removed: Vec<bool> = told.iter().map(is_of_a_package).collect();
        assert_eq!(removed, [true, false, true, false]);
    }

    #[test]
    fn cargo_is_told_of_no_package() {
        let command = cargo();
        let told = env::vars_os().filter(|(name, _)| is_of_a_package(name));
        let removed: Vec<OsString> = command
            .get_envs()
            .filter(|(_, value)| value.is_none())
            .map(|(name, _)| name.to_owned())
            .collect();
        for (name, _) in told {
            assert!(removed.contains(&name), "{}", name.display());
        }
    }
}
