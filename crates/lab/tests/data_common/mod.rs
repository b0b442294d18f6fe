//! A very small HTTP server on this machine, and small files of vectors.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use pageway::source::VectorFileWriter;
use pageway::{ElementType, OsVfs, VectorShape, Vfs};

/// How the server behaves.
#[derive(Clone, Default)]
pub(crate) struct Manners {
    /// Answers the first requests with these numbers of bytes of the body and hangs up.
    pub(crate) cut_off: Vec<usize>,
    /// Sends whole files whatever range is asked for.
    pub(crate) no_ranges: bool,
    /// Answers the first requests with these statuses.
    pub(crate) statuses: Vec<u16>,
}

/// A server with one file at every path.
pub(crate) struct Server {
    address: String,
    /// First bytes that were asked for, request by request.
    pub(crate) requests: Arc<Mutex<Vec<usize>>>,
}

impl Server {
    pub(crate) fn start(body: Vec<u8>, manners: Manners) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&requests);
        // Ends with the test's process; each connection is served to its end.
        std::thread::spawn(move || {
            for stream in listener.incoming().take(64) {
                let Ok(stream) = stream else { return };
                // A client that hangs up early is one of the cases.
                let _ = serve(stream, &body, &manners, &log);
            }
        });
        Self { address, requests }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}/{path}", self.address)
    }
}

fn serve(
    mut stream: TcpStream,
    body: &[u8],
    manners: &Manners,
    log: &Mutex<Vec<usize>>,
) -> std::io::Result<()> {
    let mut first = 0;
    for line in BufReader::new(stream.try_clone()?).lines() {
        let line = line?.to_ascii_lowercase();
        if let Some(range) = line.strip_prefix("range: bytes=") {
            first = range.trim_end_matches('-').parse().unwrap();
        }
        if line.is_empty() {
            break;
        }
    }
    let number = log.lock().unwrap().len();
    log.lock().unwrap().push(first);
    if let Some(status) = manners.statuses.get(number) {
        let head =
            format!("HTTP/1.1 {status} No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        return stream.write_all(head.as_bytes());
    }
    let total = body.len();
    let (status, range) = if first > 0 && !manners.no_ranges {
        let range = format!("Content-Range: bytes {first}-{}/{total}\r\n", total - 1);
        ("206 Partial Content", range)
    } else {
        first = 0;
        ("200 OK", String::new())
    };
    let rest = &body[first..];
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\n{range}Connection: close\r\n\r\n",
        rest.len()
    );
    stream.write_all(head.as_bytes())?;
    let sent = manners
        .cut_off
        .get(number)
        .map_or(rest.len(), |cut| (*cut).min(rest.len()));
    stream.write_all(&rest[..sent])
}

/// Rows of bytes that look random and stay the same.
pub(crate) fn rows(count: usize, dimension: usize, seed: u32) -> Vec<u8> {
    let mut state = seed;
    let next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    std::iter::repeat_with(next)
        .take(count * dimension)
        .collect()
}

/// Writes rows of bytes to a file of their own.
pub(crate) fn write_rows(path: &Path, rows: &[u8], dimension: u32) -> PathBuf {
    let vfs: Arc<dyn Vfs> = Arc::new(OsVfs);
    let shape = VectorShape {
        dimension,
        element: ElementType::U8,
    };
    let count = rows.len() as u64 / u64::from(dimension);
    let mut writer = VectorFileWriter::create(&vfs, path, shape, count).unwrap();
    writer.write(rows).unwrap();
    writer.finish().unwrap();
    path.to_owned()
}
