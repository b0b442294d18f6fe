//! One child process, watched from outside: what it printed, and what the system counted for it.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

use pageway::{Error, ErrorKind, Progress, Result, clock};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use super::text;
use crate::record::ProcessUse;

/// How often a child is looked at: often at first, since many live for milliseconds only.
const LOOK: (Duration, Duration) = (Duration::from_micros(200), Duration::from_millis(4));
/// Most bytes of what a child prints that are kept, of each stream.
const KEPT_BYTES: u64 = 4 << 20;

/// A child that has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// What was run.
    pub(crate) command: Vec<String>,
    /// Its exit code; none when a signal ended it.
    pub(crate) exit_code: Option<i32>,
    /// Standard output.
    pub(crate) stdout: String,
    /// Standard error.
    pub(crate) stderr: String,
    /// What the system counted.
    pub(crate) process: ProcessUse,
}

/// A child that runs.
pub(crate) struct Running {
    command: Vec<String>,
    child: Child,
    stdout: JoinHandle<String>,
    stderr: JoinHandle<String>,
    started: std::time::Instant,
    seen: ProcessUse,
    /// When its memory was last seen.
    peak_seen: Duration,
}

/// Runs `command` (program first) to its end.
///
/// # Errors
/// `NotFound` or `Io` when it cannot be started; `Cancelled`, when the child is stopped too.
pub(crate) fn run(command: &[String], progress: &dyn Progress) -> Result<Ended> {
    Running::start(command)?.wait(progress)
}

impl Running {
    /// Starts `command`.
    pub(crate) fn start(command: &[String]) -> Result<Self> {
        let (program, arguments) = command
            .split_first()
            .ok_or_else(|| Error::new(ErrorKind::Internal, "an empty command"))?;
        let started = clock::now();
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| Error::from(error).within(program))?;
        let (stdout, stderr) = (drain(child.stdout.take()), drain(child.stderr.take()));
        Ok(Self {
            command: command.to_vec(),
            child,
            stdout,
            stderr,
            started,
            seen: ProcessUse::default(),
            peak_seen: Duration::ZERO,
        })
    }

    /// Waits for its end.
    pub(crate) fn wait(mut self, progress: &dyn Progress) -> Result<Ended> {
        while !self.has_ended() {
            if progress.cancelled() {
                let _ = self.child.kill();
                let _ = self.child.wait();
                progress.check()?;
            }
            self.look();
            std::thread::sleep((self.started.elapsed() / 16).clamp(LOOK.0, LOOK.1));
        }
        // It has ended and nobody has fetched its end yet, so its counters can still be read; but
        // for its memory, which is gone: what was seen early in its life says nothing.
        let wall = self.started.elapsed();
        self.look();
        if self.peak_seen < wall / 2 {
            self.seen.peak_memory_bytes = None;
        }
        let status = self.child.wait().map_err(Error::from)?;
        let told = |stream: JoinHandle<String>| stream.join().unwrap_or_default();
        Ok(Ended {
            command: self.command,
            exit_code: status.code(),
            stdout: told(self.stdout),
            stderr: told(self.stderr),
            process: ProcessUse {
                wall_seconds: wall.as_secs_f64(),
                ..self.seen
            },
        })
    }

    fn has_ended(&mut self) -> bool {
        let pid = Pid::from_child(&self.child);
        let how = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        match waitid(WaitId::Pid(pid), how) {
            Ok(status) => status.is_some(),
            Err(_) => true,
        }
    }

    /// Reads the counters of the child; those that are gone already keep their last value.
    fn look(&mut self) {
        let place = Path::new("/proc").join(self.child.id().to_string());
        let field = |file: &str, name: &str| {
            let text = text::read_system(&place.join(file))?;
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse::<u64>().ok()
        };
        let seen = &mut self.seen;
        let kibibytes = field("status", "VmHWM:").map(|size| size * 1024);
        if kibibytes.is_some() {
            seen.peak_memory_bytes = kibibytes;
            self.peak_seen = self.started.elapsed();
        }
        seen.read_bytes = field("io", "read_bytes:").or(seen.read_bytes);
        seen.written_bytes = field("io", "write_bytes:").or(seen.written_bytes);
        seen.cpu_seconds = cpu_seconds(&place).or(seen.cpu_seconds);
    }
}

/// User and system time, from fields 14 and 15 of `stat`, which follow the name in parentheses.
fn cpu_seconds(place: &Path) -> Option<f64> {
    let text = text::read_system(&place.join("stat"))?;
    let (_, fields) = text.rsplit_once(')')?;
    let ticks: Vec<f64> = fields
        .split_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|field| field.parse().ok())
        .collect();
    let per_second = rustix::param::clock_ticks_per_second() as f64;
    Some(ticks.iter().sum::<f64>() / per_second)
}

fn drain(stream: Option<impl Read + Send + 'static>) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut stream) = stream {
            let _ = (&mut stream).take(KEPT_BYTES).read_to_end(&mut bytes);
            // Beyond that it must still be able to write.
            let _ = std::io::copy(&mut stream, &mut std::io::sink());
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

impl Ended {
    /// The last line of standard output as JSON, if it succeeded.
    ///
    /// # Errors
    /// What it said on standard error when it failed, or that it printed no JSON.
    pub(crate) fn json(&self) -> std::result::Result<serde_json::Value, String> {
        if self.exit_code != Some(0) {
            return Err(self.complaint());
        }
        let line = self.stdout.lines().last().unwrap_or_default();
        serde_json::from_str(line).map_err(|error| format!("printed no JSON object: {error}"))
    }

    fn complaint(&self) -> String {
        let said = self.stderr.trim();
        let said = if said.is_empty() {
            self.stdout.trim()
        } else {
            said
        };
        match (said.is_empty(), self.exit_code) {
            (false, _) => text::tail(said, 2000).to_owned(),
            (true, Some(code)) => format!("ended with exit code {code} and said nothing"),
            (true, None) => "was ended by a signal and said nothing".to_owned(),
        }
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use pageway::NoProgress;

    use super::*;

    fn shell(script: &str) -> Ended {
        let command = ["sh", "-c", script].map(str::to_owned);
        run(&command, &NoProgress).unwrap()
    }

    #[test]
    fn what_a_child_does_is_counted() {
        let script = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo '{\"done\": true}'";
        let ended = shell(script);
        assert_eq!(ended.json().unwrap()["done"], true);
        let used = ended.process;
        assert!(used.peak_memory_bytes.unwrap() > 100_000, "{used:?}");
        assert!(used.cpu_seconds.unwrap() > 0.0, "{used:?}");
        assert!(
            used.wall_seconds >= used.cpu_seconds.unwrap() * 0.5,
            "{used:?}"
        );
        assert!(used.read_bytes.is_some());
    }

    #[test]
    fn what_a_child_complains_about_is_told() {
        let failed = shell("echo 'no such design' >&2; exit 2");
        assert_eq!(failed.json().unwrap_err(), "no such design");
        assert!(shell("exit 3").json().unwrap_err().contains("exit code 3"));
        assert!(shell("kill -9 $$").json().unwrap_err().contains("signal"));
        assert!(shell("echo hello").json().unwrap_err().contains("no JSON"));
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let command = ["no-such-program-anywhere".to_owned()];
        let error = run(&command, &NoProgress).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert!(error.to_string().contains("no-such-program-anywhere"));
    }

    #[test]
    fn a_wish_to_stop_stops_the_child() {
        struct Stop;
        impl Progress for Stop {
            fn stage(&self, _: &'static str, _: u64) {}
            fn advance(&self, _: u64) {}
            fn cancelled(&self) -> bool {
                true
            }
        }
        let command = ["sleep", "60"].map(str::to_owned);
        let error = run(&command, &Stop).unwrap_err();
        assert!(error.to_string().contains("cancelled"), "{error}");
    }
}
