//! The only file that knows the HTTP library: requests come out of it, answers go in. A few threads answer; what they
//! cannot keep up with is told so at once.
//!
//! tiny_http reads requests on threads of its own, one for each connection, and bounds neither their number nor their
//! time: see docs/serve.md for what that means on other addresses than the loopback.

use super::answers::Site;
use super::asked::{Answer, Asked, Method};
use anyhow::{Context, anyhow};
use std::io::Cursor;
use std::net::TcpListener;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, TrySendError, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tiny_http::{Header, Request, Response, Server, StatusCode};

/// Threads that answer: pages are made by the CPU, and the host may be measuring.
const WORKERS: usize = 2;
/// Requests that wait for one of them; a browser asks for one page at a time.
const MOST_WAITING: usize = 32;
/// How often it is looked whether to stop.
const LOOK: Duration = Duration::from_millis(100);

/// Answers until `stop` is set; then what was begun is answered still.
pub fn run(listener: TcpListener, site: &Site, stop: &AtomicBool) -> anyhow::Result<()> {
    let server = Server::from_listener(listener, None)
        .map_err(|error| anyhow!(error))
        .context("failed to begin to listen")?;
    let (sender, receiver) = sync_channel::<Request>(MOST_WAITING);
    let receiver = Mutex::new(receiver);
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some(request) = next(&receiver) {
                    answer(site, request);
                }
            });
        }
        // Dropped at the end of this block, whatever ended it: the workers end then.
        let sender = sender;
        while !stop.load(Ordering::Relaxed) {
            let request = server.recv_timeout(LOOK).context("failed to accept a connection")?;
            let Some(request) = request else { continue };
            match sender.try_send(request) {
                Ok(()) => {}
                Err(TrySendError::Full(request) | TrySendError::Disconnected(request)) => {
                    respond(request, &Site::overloaded());
                }
            }
        }
        Ok(())
    })
}

fn next(receiver: &Mutex<Receiver<Request>>) -> Option<Request> {
    receiver.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

fn answer(site: &Site, request: Request) {
    let asked = asked(&request);
    // A page that cannot be made must not take the thread with it.
    let answer = catch_unwind(AssertUnwindSafe(|| site.answer(&asked)));
    respond(request, &answer.unwrap_or_else(|_| Site::broken()));
}

fn asked(request: &Request) -> Asked {
    let values = |field: &'static str| -> Vec<String> {
        let of_field = request.headers().iter().filter(|header| header.field.equiv(field));
        of_field.map(|header| header.value.as_str().to_owned()).collect()
    };
    Asked {
        method: match request.method() {
            tiny_http::Method::Get => Method::Get,
            tiny_http::Method::Head => Method::Head,
            _ => Method::Other,
        },
        target: request.url().to_owned(),
        hosts: values("Host"),
        authorization: values("Authorization").into_iter().next(),
        cookies: values("Cookie"),
    }
}

fn respond(request: Request, answer: &Answer) {
    let headers = answer.all_headers();
    let headers =
        headers.iter().filter_map(|(name, value)| Header::from_bytes(name.as_bytes(), value.as_bytes()).ok());
    let length = answer.body.len();
    let body = Cursor::new(answer.body.clone());
    let response = Response::new(StatusCode(answer.status), headers.collect(), body, Some(length), None)
        .with_chunked_threshold(usize::MAX);
    // Who asked may have gone: there is nobody left to tell.
    let _ = request.respond(response);
}
