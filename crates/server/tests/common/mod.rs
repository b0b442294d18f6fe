//! A server in this process, without a port.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests say what is wrong by failing, and each uses some of this"
)]

pub mod process;
pub mod routed;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::Request;
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use pageway_server::{App, Keys, Level, Log, Service, ServiceOptions};
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};

/// A server and what runs it.
pub struct Server {
    service: Arc<Service>,
    router: Router,
    pub app: App,
    runtime: Runtime,
}

/// What was answered.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub text: String,
    pub bytes: Vec<u8>,
}

impl Answer {
    /// The whole body.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    /// What is in the envelope of a success.
    pub fn result(&self) -> Value {
        let body = self.json();
        assert_eq!(
            (self.status, &body["status"]),
            (200, &Value::from("ok")),
            "{body}"
        );
        assert!(body["time"].is_number());
        body["result"].clone()
    }

    /// The text of a failure.
    pub fn error(&self, status: u16) -> String {
        assert_eq!(self.status, status, "{}", self.text);
        let body = self.json();
        assert!(body.get("result").is_none());
        body["status"]["error"].as_str().unwrap().to_owned()
    }
}

impl Server {
    pub fn open(dir: &Path) -> Self {
        Self::with_keys(dir, Keys::default())
    }

    pub fn with_keys(dir: &Path, keys: Keys) -> Self {
        Self::with(dir, keys, 256 << 20)
    }

    /// With so much memory for its collections.
    pub fn with_memory(dir: &Path, memory: u64) -> Self {
        Self::with(dir, Keys::default(), memory)
    }

    fn with(dir: &Path, keys: Keys, memory: u64) -> Self {
        let options = ServiceOptions {
            memory,
            threads: 2,
            recall: 0.95,
            slow: Duration::ZERO,
            latency_target: None,
        };
        let service = Arc::new(Service::open(dir, options).unwrap());
        let app = App::new(Arc::clone(&service), keys, (2, Log(Level::Error))).unwrap();
        Self::of(service, app)
    }

    /// One more that asks the same, for another thread.
    pub fn of(service: Arc<Service>, app: App) -> Self {
        Self {
            service,
            router: app.router(),
            app,
            runtime: Builder::new_current_thread().enable_all().build().unwrap(),
        }
    }

    /// Which origin an answer of a router lets a browser show it to.
    pub fn allowed_origin(&self, router: Router, origin: &str) -> Option<String> {
        let request = Request::builder().uri("/healthz").header("origin", origin);
        let request = request.body(Body::empty()).unwrap();
        self.runtime.block_on(async {
            let response = TowerToHyperService::new(router)
                .call(request)
                .await
                .unwrap();
            let header = response.headers().get("access-control-allow-origin");
            header.map(|own| own.to_str().unwrap().to_owned())
        })
    }

    pub fn service(&self) -> Arc<Service> {
        Arc::clone(&self.service)
    }

    /// Asks with headers.
    pub fn ask_with(
        &self,
        (method, path): (&str, &str),
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        self.ask_bytes((method, path), headers, body.as_bytes().to_vec())
    }

    /// The same with a body of bytes.
    pub fn ask_bytes(
        &self,
        (method, path): (&str, &str),
        headers: &[(&str, &str)],
        body: Vec<u8>,
    ) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::from(body)).unwrap();
        self.runtime.block_on(async {
            let service = TowerToHyperService::new(self.router.clone());
            let response = service.call(request).await.unwrap();
            let status = response.status().as_u16();
            let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
            Answer {
                status,
                text: String::from_utf8_lossy(&bytes).into_owned(),
                bytes: bytes.to_vec(),
            }
        })
    }

    pub fn ask(&self, method: &str, path: &str, body: &Value) -> Answer {
        self.ask_with((method, path), &[], &body.to_string())
    }

    pub fn get(&self, path: &str) -> Answer {
        self.ask_with(("GET", path), &[], "")
    }

    pub fn put(&self, path: &str, body: &Value) -> Answer {
        self.ask("PUT", path, body)
    }

    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.ask("POST", path, body)
    }

    pub fn delete(&self, path: &str) -> Answer {
        self.ask_with(("DELETE", path), &[], "")
    }

    /// Closes everything, as a stop does.
    pub fn close(self) {
        self.service.close().unwrap();
    }
}
