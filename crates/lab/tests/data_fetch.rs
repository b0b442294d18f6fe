//! Fetching from a server on this machine: resumed, checked, pinned, cut, refused.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, and looks at files as a user would"
)]

mod data_common;

use std::path::{Path, PathBuf};
use std::time::Duration;

use data_common::{Manners, Server, rows, write_rows};
use pageway::{Error, ErrorKind, NoProgress, OsVfs, Progress, Result, Vfs};
use pageway_lab::data::{Cut, Place, Registry, fetch, list};

const ROWS: usize = 20_000;
const DIMENSION: u32 = 16;

struct World {
    folder: tempfile::TempDir,
    body: Vec<u8>,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let rows = rows(ROWS, DIMENSION as usize, 1);
        let path = write_rows(&folder.path().join("published.u8bin"), &rows, DIMENSION);
        write_rows(&folder.path().join("q.u8bin"), &rows[..160], DIMENSION);
        let body = std::fs::read(path).unwrap();
        Self { folder, body }
    }

    fn place(&self) -> Place {
        Place {
            pause: Duration::from_millis(5),
            ..Place::new(&self.folder.path().join("place"))
        }
    }

    fn base(&self) -> PathBuf {
        self.folder.path().join("place/fetched/far/base.u8bin")
    }

    fn registry(&self, base: &str) -> Registry {
        let text = format!(
            "[far]\nmetric = \"l2\"\nelement = \"u8\"\ndimension = {DIMENSION}\nrows = {ROWS}\n\
             base = {base}\nqueries = \"q.u8bin\"\n"
        );
        let mut registry = Registry::default();
        registry.add(&text, self.folder.path(), "a test").unwrap();
        registry
    }

    fn fetch(&self, registry: &Registry, name: &str) -> Result<Vec<PathBuf>> {
        let (set, cut) = registry.find(name)?;
        fetch(set, cut, &self.place(), &NoProgress)
    }

    fn refused(&self, registry: &Registry) -> Error {
        self.fetch(registry, "far").unwrap_err()
    }
}

fn text(server: &Server) -> String {
    format!("\"{}\"", server.url("files/base.u8bin"))
}

fn exists(path: &Path) -> bool {
    path.try_exists().unwrap()
}

#[test]
fn a_file_is_fetched_once_and_pinned() {
    let world = World::new();
    let server = Server::start(world.body.clone(), Manners::default());
    let registry = world.registry(&text(&server));
    assert!(!list(&registry, &world.place()).unwrap()[0].here);
    let paths = world.fetch(&registry, "far").unwrap();
    assert!(paths.contains(&world.base()));
    assert_eq!(std::fs::read(world.base()).unwrap(), world.body);
    assert!(list(&registry, &world.place()).unwrap()[0].here);
    world.fetch(&registry, "far").unwrap();
    assert_eq!(server.requests.lock().unwrap().as_slice(), [0]);

    let mut changed = world.body.clone();
    *changed.last_mut().unwrap() ^= 1;
    std::fs::write(world.base(), &changed).unwrap();
    let error = world.refused(&registry);
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.context().contains("sha256"), "{error}");
}

#[test]
fn a_pin_outlives_the_file() {
    let world = World::new();
    let server = Server::start(world.body.clone(), Manners::default());
    world.fetch(&world.registry(&text(&server)), "far").unwrap();
    std::fs::remove_file(world.base()).unwrap();
    let mut other = world.body.clone();
    *other.last_mut().unwrap() ^= 1;
    let server = Server::start(other, Manners::default());
    let error = world.refused(&world.registry(&text(&server)));
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(!exists(&world.base()), "wrong bytes got the name");
    assert!(
        !exists(&world.base().with_extension("u8bin.part")),
        "wrong bytes would be resumed"
    );
}

#[test]
fn a_broken_transfer_goes_on_where_it_stopped() {
    let world = World::new();
    let manners = Manners {
        cut_off: vec![100_000, 50_000],
        ..Manners::default()
    };
    let server = Server::start(world.body.clone(), manners);
    world.fetch(&world.registry(&text(&server)), "far").unwrap();
    assert_eq!(std::fs::read(world.base()).unwrap(), world.body);
    let requests = server.requests.lock().unwrap().clone();
    assert_eq!(requests, [0, 100_000, 150_000]);
}

#[test]
fn a_later_process_goes_on_with_what_was_left() {
    let world = World::new();
    let part = world.base().with_extension("u8bin.part");
    std::fs::create_dir_all(part.parent().unwrap()).unwrap();
    std::fs::write(&part, &world.body[..70_000]).unwrap();
    let server = Server::start(world.body.clone(), Manners::default());
    world.fetch(&world.registry(&text(&server)), "far").unwrap();
    assert_eq!(std::fs::read(world.base()).unwrap(), world.body);
    assert_eq!(server.requests.lock().unwrap().as_slice(), [70_000]);
}

#[test]
fn a_server_without_ranges_is_asked_for_everything_again() {
    let world = World::new();
    let manners = Manners {
        cut_off: vec![100_000],
        no_ranges: true,
        ..Manners::default()
    };
    let server = Server::start(world.body.clone(), manners);
    world.fetch(&world.registry(&text(&server)), "far").unwrap();
    assert_eq!(std::fs::read(world.base()).unwrap(), world.body);
    assert_eq!(server.requests.lock().unwrap().as_slice(), [0, 100_000, 0]);
}

#[test]
fn overloaded_servers_are_tried_again_and_missing_files_are_not() {
    let world = World::new();
    let busy = Manners {
        statuses: vec![503, 429],
        ..Manners::default()
    };
    let server = Server::start(world.body.clone(), busy);
    world.fetch(&world.registry(&text(&server)), "far").unwrap();
    assert_eq!(server.requests.lock().unwrap().len(), 3);

    let world = World::new();
    let gone = Manners {
        statuses: vec![404; 9],
        ..Manners::default()
    };
    let server = Server::start(world.body.clone(), gone);
    let error = world.refused(&world.registry(&text(&server)));
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(error.context().contains("404"), "{error}");
    assert_eq!(server.requests.lock().unwrap().len(), 1);
}

#[test]
fn a_published_checksum_must_match() {
    let world = World::new();
    let server = Server::start(world.body.clone(), Manners::default());
    let wrong = "0".repeat(64);
    let base = format!("{{ from = {}, sha256 = \"{wrong}\" }}", text(&server));
    let error = world.refused(&world.registry(&base));
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.context().contains(&wrong), "{error}");
    assert!(!exists(&world.base()));
}

#[test]
fn a_file_of_another_length_than_its_entry_says_is_refused() {
    let world = World::new();
    let server = Server::start(
        world.body[..world.body.len() - 16].to_vec(),
        Manners::default(),
    );
    let error = world.refused(&world.registry(&text(&server)));
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.context().contains("320008 were expected"), "{error}");
}

#[test]
fn a_cut_fetches_its_first_rows() {
    let world = World::new();
    let server = Server::start(world.body.clone(), Manners::default());
    let registry = world.registry(&text(&server));
    let paths = world.fetch(&registry, "far-1k").unwrap();
    let path = world.base().with_file_name("base.first-1000.u8bin");
    assert!(paths.contains(&path), "{paths:?}");
    let bytes = std::fs::read(path).unwrap();
    assert_eq!(bytes[..8], [232, 3, 0, 0, 16, 0, 0, 0]);
    assert_eq!(bytes[8..], world.body[8..8 + 16_000]);

    // When the whole is here, a cut needs nothing.
    world.fetch(&registry, "far").unwrap();
    world.fetch(&registry, "far-2k").unwrap();
    assert_eq!(server.requests.lock().unwrap().as_slice(), [0, 0]);
}

#[test]
fn a_file_that_the_disk_cannot_hold_is_not_begun() {
    let world = World::new();
    let server = Server::start(world.body.clone(), Manners::default());
    let base = format!("{{ from = {}, bytes = {} }}", text(&server), 1_u64 << 60);
    let error = world.refused(&world.registry(&base));
    assert_eq!(error.kind(), ErrorKind::NoSpace);
    assert!(server.requests.lock().unwrap().is_empty());
}

#[test]
fn without_a_network_address_and_path_are_named() {
    let world = World::new();
    // Nobody listens on the port of a listener that is gone.
    let port = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let address = format!("http://127.0.0.1:{port}/base.u8bin");
    let error = world.refused(&world.registry(&format!("\"{address}\"")));
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(error.context().contains(&address), "{error}");
    let path = world.base().display().to_string();
    assert!(error.context().contains(&path), "{error}");
    assert!(error.context().contains("by hand"), "{error}");

    // And by hand it works.
    std::fs::write(world.base(), &world.body).unwrap();
    world
        .fetch(&world.registry(&format!("\"{address}\"")), "far")
        .unwrap();
}

#[test]
fn a_file_is_fetched_by_one_process() {
    let world = World::new();
    let server = Server::start(world.body.clone(), Manners::default());
    let part = world.base().with_extension("u8bin.part");
    std::fs::create_dir_all(part.parent().unwrap()).unwrap();
    let lock = OsVfs.lock(&part).unwrap();
    let error = world.refused(&world.registry(&text(&server)));
    assert_eq!(error.kind(), ErrorKind::Busy);
    drop(lock);
    world.fetch(&world.registry(&text(&server)), "far").unwrap();
}

#[test]
fn a_wish_to_stop_is_heard() {
    struct Stop;
    impl Progress for Stop {
        fn stage(&self, _: &'static str, _: u64) {}
        fn advance(&self, _: u64) {}
        fn cancelled(&self) -> bool {
            true
        }
    }
    let world = World::new();
    let server = Server::start(world.body.clone(), Manners::default());
    let registry = world.registry(&text(&server));
    let (set, _) = registry.find("far").unwrap();
    let error = fetch(set, Cut::default(), &world.place(), &Stop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    assert!(!exists(&world.base()));
}
