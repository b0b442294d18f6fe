//! Runs every Rust test: test programs beside each other, one per processor, and beside them the
//! examples of the documentation. `cargo test` runs one program after the other, and most end with
//! one long test. A program that does not end is killed and named.

#![expect(
    clippy::disallowed_methods,
    reason = "a repository chore takes the time that tests need"
)]

use std::fs::{self, File};
use std::io;
use std::iter;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

/// A test program, and the directory that its tests expect to run in.
struct Program {
    name: String,
    path: PathBuf,
    package: PathBuf,
}

impl Program {
    fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.current_dir(&self.package);
        command.env("CARGO_MANIFEST_DIR", &self.package);
        command
    }
}

/// How a program ended.
struct Ended {
    name: String,
    passed: bool,
    took: Duration,
}

/// What is shown at the end.
const SLOWEST: usize = 10;
/// How long a program may take: several times as long as the slowest takes in company.
const MOST: Duration = Duration::from_secs(25 * 60);
/// How often is asked whether a program has ended.
const GLANCE: Duration = Duration::from_millis(50);

/// Builds the tests that `arguments` of `cargo test` select and runs them all, whatever fails.
pub(crate) fn run(arguments: &[String]) -> ExitCode {
    let start = Instant::now();
    let Some(mut programs) = build(arguments) else {
        return ExitCode::FAILURE;
    };
    let built = start.elapsed();
    // What takes long comes first, lest it runs alone at the end.
    programs.sort_by_key(|program| !program.package.ends_with("suites"));
    let documentation = ("documentation".to_owned(), documentation(arguments));
    let programs = programs
        .into_iter()
        .map(|one| (one.name.clone(), one.command()));
    let mut ended = run_all(iter::once(documentation).chain(programs));
    report(&mut ended, built, start.elapsed())
}

/// All packages, unless the arguments name some: what else is built of all packages finds the same
/// libraries compiled.
fn cargo_test(arguments: &[String]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.arg("test");
    forget_package(&mut command);
    let names = |argument: &String| argument == "-p" || argument.starts_with("--package");
    if !arguments.iter().any(names) {
        command.arg("--workspace");
    }
    command.args(arguments);
    command
}

/// What cargo tells this program of its package is nothing to what it runs: build scripts that look
/// at it would run again, and all that depends on them be compiled again.
fn forget_package(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        let starts = |start| name.to_str().is_some_and(|name| name.starts_with(start));
        if starts("CARGO_MANIFEST_") || starts("CARGO_PKG_") {
            command.env_remove(name);
        }
    }
}

fn build(arguments: &[String]) -> Option<Vec<Program>> {
    let mut command = cargo_test(arguments);
    command.args(["--no-run", "--message-format=json-render-diagnostics"]);
    let output = command.stderr(Stdio::inherit()).output().ok()?;
    let messages = String::from_utf8_lossy(&output.stdout);
    let programs = messages.lines().filter_map(program).collect();
    output.status.success().then_some(programs)
}

/// The test program that a message of cargo tells of.
fn program(message: &str) -> Option<Program> {
    let (_, profile) = message.split_once(r#""profile":{"#)?;
    let is_test = profile.contains(r#""test":true}"#);
    let path = PathBuf::from(text(message, "executable")?);
    let package = Path::new(&text(message, "manifest_path")?)
        .parent()?
        .to_owned();
    let source = PathBuf::from(text(message, "src_path")?);
    let source = source.strip_prefix(&package).unwrap_or(&source);
    let name = format!("{} {}", package.file_name()?.display(), source.display());
    is_test.then_some(Program {
        name,
        path,
        package,
    })
}

/// A string of a message; paths of repositories have no characters that JSON escapes.
fn text(message: &str, key: &str) -> Option<String> {
    let (_, rest) = message.split_once(&format!(r#""{key}":""#))?;
    Some(rest.split_once('"')?.0.to_owned())
}

/// Every command, as many at a time as there are processors.
fn run_all(commands: impl Iterator<Item = (String, Command)> + Send) -> Vec<Ended> {
    let (queue, ended) = (Mutex::new(commands), Mutex::new(Vec::new()));
    let next = || queue.lock().ok()?.next();
    let work = || {
        while let Some((name, command)) = next() {
            let done = watch(name, command);
            if let Ok(mut ended) = ended.lock() {
                ended.push(done);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    ended.into_inner().unwrap_or_default()
}

fn documentation(arguments: &[String]) -> Command {
    let mut command = cargo_test(arguments);
    command.args(["--doc", "--no-fail-fast", "--quiet"]);
    command
}

/// Runs a command, and shows what it printed if it fails.
fn watch(name: String, command: Command) -> Ended {
    let start = Instant::now();
    let outcome = run_within(MOST, command);
    let took = start.elapsed();
    let passed = matches!(&outcome, Ok((true, _)));
    let verdict = if passed { "ok    " } else { "FAILED" };
    say(&format!("{verdict} {:7.1} s  {name}", took.as_secs_f64()));
    match outcome {
        Ok((false, printed)) => say(&printed),
        Err(error) => say(&error.to_string()),
        Ok((true, _)) => {}
    }
    Ended { name, passed, took }
}

/// Whether a command succeeds within some time, and what it prints.
fn run_within(most: Duration, mut command: Command) -> io::Result<(bool, String)> {
    let path = std::env::temp_dir().join(format!(
        "xtask-test-{}-{:?}.txt",
        std::process::id(),
        thread::current().id()
    ));
    let file = File::create(&path)?;
    command.stdin(Stdio::null()).stderr(file.try_clone()?);
    let ended = command
        .stdout(file)
        .spawn()
        .and_then(|child| end_of(child, most));
    let printed = String::from_utf8_lossy(&fs::read(&path)?).into_owned();
    fs::remove_file(&path)?;
    Ok(match ended? {
        Some(success) => (success, printed),
        None => (false, format!("{printed}\nkilled after {most:?}")),
    })
}

/// Whether a process succeeded; nothing where it had to be killed.
fn end_of(mut child: Child, most: Duration) -> io::Result<Option<bool>> {
    let start = Instant::now();
    while start.elapsed() < most {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status.success()));
        }
        thread::sleep(GLANCE);
    }
    child.kill()?;
    child.wait()?;
    Ok(None)
}

fn report(ended: &mut [Ended], built: Duration, all: Duration) -> ExitCode {
    ended.sort_by_key(|one| std::cmp::Reverse(one.took));
    say("\nthe slowest");
    for one in ended.iter().take(SLOWEST) {
        say(&format!("{:7.1} s  {}", one.took.as_secs_f64(), one.name));
    }
    let failed: Vec<&str> = ended
        .iter()
        .filter(|one| !one.passed)
        .map(|one| one.name.as_str())
        .collect();
    say(&format!(
        "\n{} programs in {:.0} s, {:.0} s of them to compile; {} failed {}",
        ended.len(),
        all.as_secs_f64(),
        built.as_secs_f64(),
        failed.len(),
        failed.join(", ")
    ));
    // The examples of the documentation are no program.
    if failed.is_empty() && ended.len() > 1 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

#[expect(clippy::print_stdout, reason = "whoever runs the tests reads along")]
fn say(line: &str) {
    println!("{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    const MESSAGE: &str = r#"{"reason":"compiler-artifact","manifest_path":"/a/crates/cli/Cargo.toml","target":{"kind":["test"],"name":"plan","src_path":"/a/crates/cli/tests/plan.rs","test":true},"profile":{"opt_level":"0","test":true},"features":[],"executable":"/a/target/debug/deps/plan-12","fresh":true}"#;

    #[test]
    fn a_message_tells_of_a_test_program() {
        let found = program(MESSAGE).expect("a program");
        assert_eq!(found.name, "cli tests/plan.rs");
        assert_eq!(found.path, Path::new("/a/target/debug/deps/plan-12"));
        assert_eq!(found.package, Path::new("/a/crates/cli"));
    }

    #[test]
    fn a_program_that_does_not_end_is_killed() {
        let shell = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            command
        };
        let minute = Duration::from_secs(60);
        let fine = run_within(minute, shell("echo well")).expect("a shell");
        assert_eq!(fine, (true, "well\n".to_owned()));
        let red = run_within(minute, shell("echo ill >&2; exit 3")).expect("a shell");
        assert_eq!(red, (false, "ill\n".to_owned()));
        let (passed, printed) =
            run_within(4 * GLANCE, shell("echo long; exec sleep 600")).expect("a shell");
        assert!(!passed && printed.starts_with("long\n\nkilled after"));
    }

    #[test]
    fn cargo_hears_nothing_of_this_package() {
        let command = cargo_test(&[]);
        let removed: Vec<_> = command
            .get_envs()
            .filter(|(_, value)| value.is_none())
            .map(|(name, _)| name.to_string_lossy().into_owned())
            .collect();
        for name in ["CARGO_MANIFEST_DIR", "CARGO_PKG_NAME"] {
            let is_told = std::env::var_os(name).is_some();
            assert_eq!(removed.iter().any(|one| one == name), is_told, "{name}");
        }
    }

    #[test]
    fn libraries_and_commands_are_none() {
        let library = MESSAGE.replace(r#""/a/target/debug/deps/plan-12""#, "null");
        assert!(program(&library).is_none());
        let command = MESSAGE.replace(r#""0","test":true"#, r#""0","test":false"#);
        assert_ne!(command, MESSAGE);
        assert!(program(&command).is_none());
    }
}
