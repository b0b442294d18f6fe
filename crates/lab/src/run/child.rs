//! One child process, watched from outside: what it printed, and what the system counted for it.
//!
//! A child leads a process group of its own. It never outlives its [`Running`]: who drops one, for
//! whatever reason, ends the whole group and waits for the child.

use std::io::Read;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

use pageway::lab::clock;
use pageway::{Error, ErrorKind, Progress, Result};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

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
    /// After how long it was cut off, if it was.
    pub(crate) cut_off: Option<Duration>,
    /// Standard output.
    pub(crate) stdout: String,
    /// Standard error.
    pub(crate) stderr: String,
    /// What the system counted.
    pub(crate) process: ProcessUse,
}

/// How a child is waited for.
#[derive(Clone, Copy)]
pub(crate) struct Watch<'p> {
    /// Tells whether to stop.
    pub(crate) progress: &'p dyn Progress,
    /// The longest that a child may take; for ever when absent.
    pub(crate) timeout: Option<Duration>,
}

/// A child that runs.
pub(crate) struct Running {
    command: Vec<String>,
    child: Child,
    /// Whether it was waited for.
    ended: bool,
    stdout: Option<JoinHandle<String>>,
    stderr: Option<JoinHandle<String>>,
    started: std::time::Instant,
    seen: ProcessUse,
    /// When its memory was last seen.
    peak_seen: Duration,
}

/// Runs `command` (program first) to its end, or until its time is over.
///
/// # Errors
/// `NotFound` or `Io` when it cannot be started; `Cancelled`, when the child is stopped too.
pub(crate) fn run(command: &[String], watch: Watch<'_>) -> Result<Ended> {
    Running::start(command)?.wait(watch)
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
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| Error::from(error).within(program))?;
        let (stdout, stderr) = (drain(child.stdout.take()), drain(child.stderr.take()));
        Ok(Self {
            command: command.to_vec(),
            child,
            ended: false,
            stdout: Some(stdout),
            stderr: Some(stderr),
            started,
            seen: ProcessUse::default(),
            peak_seen: Duration::ZERO,
        })
    }

    /// Waits for its end. When its time is over it is ended, and what it printed is lost.
    ///
    /// # Errors
    /// `Cancelled`, when it is ended too.
    pub(crate) fn wait(mut self, watch: Watch<'_>) -> Result<Ended> {
        let in_time = self.watch(watch)?;
        let mut ended = Ended {
            exit_code: None,
            cut_off: watch.timeout.filter(|_| !in_time),
            stdout: String::new(),
            stderr: String::new(),
            process: self.used(),
            command: std::mem::take(&mut self.command),
        };
        if in_time {
            ended.exit_code = self.child.wait().map_err(Error::from)?.code();
            self.ended = true;
            let told = |stream: Option<JoinHandle<String>>| stream.and_then(|s| s.join().ok());
            ended.stdout = told(self.stdout.take()).unwrap_or_default();
            ended.stderr = told(self.stderr.take()).unwrap_or_default();
        }
        Ok(ended)
    }

    /// Looks at it until it has ended, which it says, or its time is over.
    fn watch(&mut self, watch: Watch<'_>) -> Result<bool> {
        while !self.has_ended() {
            watch.progress.check()?;
            self.look();
            let lasted = self.started.elapsed();
            if watch.timeout.is_some_and(|timeout| lasted > timeout) {
                return Ok(false);
            }
            std::thread::sleep((lasted / 16).clamp(LOOK.0, LOOK.1));
        }
        Ok(true)
    }

    /// What it used until now.
    fn used(&mut self) -> ProcessUse {
        // Where it has ended nobody has fetched its end yet, so its counters can still be read; but
        // for its memory, which is gone: what was seen early in its life says nothing.
        let wall = self.started.elapsed();
        self.look();
        if self.peak_seen < wall / 2 {
            self.seen.peak_memory_bytes = None;
        }
        ProcessUse {
            wall_seconds: wall.as_secs_f64(),
            ..self.seen
        }
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

impl Drop for Running {
    fn drop(&mut self) {
        if !self.ended {
            // What is gone already needs no end.
            let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
            let _ = self.child.wait();
        }
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
        if let Some(timeout) = self.cut_off {
            let seconds = timeout.as_secs_f64();
            return Err(format!(
                "was cut off after {seconds} s: timeout_seconds of the suite"
            ));
        }
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
    use rustix::process::test_kill_process_group;

    use super::*;

    fn shell(script: &str) -> Ended {
        let command = ["sh", "-c", script].map(str::to_owned);
        run(&command, PATIENT).unwrap()
    }

    const PATIENT: Watch<'_> = Watch {
        progress: &NoProgress,
        timeout: None,
    };

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
        let error = run(&command, PATIENT).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert!(error.to_string().contains("no-such-program-anywhere"));
    }

    struct Stop;

    impl Progress for Stop {
        fn stage(&self, _: &'static str, _: u64) {}
        fn advance(&self, _: u64) {}
        fn cancelled(&self) -> bool {
            true
        }
    }

    /// A child that begins one of its own and would live for a minute.
    fn long() -> Running {
        Running::start(&["sh", "-c", "sleep 60 & wait"].map(str::to_owned)).unwrap()
    }

    fn pid(running: &Running) -> Pid {
        Pid::from_child(&running.child)
    }

    /// Whether the group that a child leads is gone, or will be at once.
    fn is_gone(leader: Pid) -> bool {
        (0..500).any(|_| {
            std::thread::sleep(LOOK.1);
            test_kill_process_group(leader).is_err()
        })
    }

    #[test]
    fn a_wish_to_stop_stops_the_child() {
        let running = long();
        let leader = pid(&running);
        let error = running
            .wait(Watch {
                progress: &Stop,
                timeout: None,
            })
            .unwrap_err();
        assert!(error.to_string().contains("cancelled"), "{error}");
        assert!(is_gone(leader));
    }

    #[test]
    fn children_that_nobody_waits_for_are_ended() {
        let several = [long(), long()];
        let leaders = several.each_ref().map(pid);
        assert!(
            leaders
                .iter()
                .all(|leader| test_kill_process_group(*leader).is_ok())
        );
        drop(several);
        assert_eq!(leaders.map(is_gone), [true, true]);
    }

    #[test]
    fn a_child_that_takes_too_long_is_cut_off() {
        let running = long();
        let leader = pid(&running);
        let watch = Watch {
            timeout: Some(Duration::from_millis(50)),
            ..PATIENT
        };
        let ended = running.wait(watch).unwrap();
        let words = ended.json().unwrap_err();
        assert!(words.contains("cut off after 0.05 s"), "{words}");
        assert!(ended.process.wall_seconds >= 0.05, "{ended:?}");
        assert!(is_gone(leader));
    }
}
