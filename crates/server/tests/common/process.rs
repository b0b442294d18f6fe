//! Servers in processes of their own, and requests to them.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use pageway::server::clock;
use serde_json::Value;

/// A server in a process of its own.
pub struct Process {
    child: Child,
    pub address: String,
}

impl Process {
    /// Starts the program with some words, and waits until it listens.
    pub fn with_words<S: AsRef<OsStr>>(words: impl IntoIterator<Item = S>) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_pageway-server"))
            .args(words)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let address = loop {
            let line = lines.next().expect("a server that listens").unwrap();
            let line: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"));
            if line["event"] == "listening" {
                break line["address"].as_str().unwrap().to_owned();
            }
        };
        // What it says later is read, so that it never waits for that.
        thread::spawn(move || lines.for_each(drop));
        Self { child, address }
    }

    /// Starts a server of a directory.
    pub fn start(dir: &Path) -> Self {
        let words = ["--listen", "127.0.0.1:0", "--memory", "256MB", "--data-dir"];
        let words = words.into_iter().map(OsStr::new);
        Self::with_words(words.chain([dir.as_os_str()]))
    }

    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits until it has ended; its exit code, none where it has not by then.
    pub fn ended_within(&mut self, time: Duration) -> Option<i32> {
        let end = clock::now() + time;
        while clock::now() < end {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            thread::sleep(Duration::from_millis(20));
        }
        None
    }

    /// Sends it a signal: `STOP`, `CONT`, `TERM`.
    pub fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &id]).status();
        assert!(sent.unwrap().success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // No test leaves one behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Asks over a connection of its own: the status and the body; none where the server is gone.
pub fn ask(address: &str, (method, path): (&str, &str), body: &Value) -> Option<(u16, Value)> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream
        .set_read_timeout(Some(Duration::from_secs(60)))
        .ok()?;
    let body = body.to_string();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.get(9..12)?.parse().ok()?;
    Some((status, serde_json::from_str(body).ok()?))
}

/// The result of a request that succeeds; none where the server is gone, or refuses it.
pub fn result(address: &str, request: (&str, &str), body: &Value) -> Option<Value> {
    let (status, body) = ask(address, request, body)?;
    (status == 200).then(|| body["result"].clone())
}
