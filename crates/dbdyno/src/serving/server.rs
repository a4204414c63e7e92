//! Sockets: hyper reads each request and writes its answer, a connection carries one; two threads make the pages. Connections,
//! bytes and times are bounded, so that no client keeps others from being answered.
//!
//! The only file that knows HTTP's library: requests and answers are types of our own (ADR 058).

use super::answers::Site;
use super::asked::{Answer, Asked, Kind, Method};
use super::connections::Connections;
use anyhow::Context;
use http_body_util::Full;
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::io::{ErrorKind, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

/// Threads that make pages: that takes CPU, and the host may be measuring.
const WORKERS: usize = 2;
/// Requests that wait for one of them; a browser asks for one page at a time.
const MOST_WAITING: usize = 32;
/// Longer than the longest address that is answered, with the headers of a browser.
const MOST_HEAD_BYTES: usize = 96 << 10;
/// Connections that the kernel keeps until they are accepted: if there are more, it drops them, and their clients try again after a
/// second. The standard library has 128; the kernel takes what it allows (`net.core.somaxconn`).
const MOST_NOT_ACCEPTED: i32 = 4096;
/// How often it is looked whether to stop.
const LOOK: Duration = Duration::from_millis(100);
/// How long what was asked is answered still after it is to stop.
const END_TIMEOUT: Duration = Duration::from_secs(2);
/// After this a connection is tried to be accepted again if there was no room for it.
const ROOM_PAUSE: Duration = Duration::from_millis(100);
/// How often it is said that there is none.
const ROOM_NOTICE: Duration = Duration::from_secs(60);

/// What one client may take.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// Each has a file descriptor.
    connections: usize,
    /// From the beginning of a connection until TLS stands, and from then until its request has come.
    head: Duration,
    /// From the beginning of a connection to its end: the page is made, and the client has read it, some megabytes on a slow
    /// line.
    whole: Duration,
}

const LIMITS: Limits =
    Limits { connections: 64, head: Duration::from_secs(10), whole: Duration::from_secs(120) };

/// Answers until `stop` is set; then what was asked before is answered still.
pub fn run(
    listener: std::net::TcpListener,
    tls: Option<TlsAcceptor>,
    site: Site,
    stop: &AtomicBool,
) -> anyhow::Result<()> {
    run_within(LIMITS, listener, tls, site, stop)
}

fn run_within(
    limits: Limits,
    listener: std::net::TcpListener,
    tls: Option<TlsAcceptor>,
    site: Site,
    stop: &AtomicBool,
) -> anyhow::Result<()> {
    // When it is dropped, a page that is being made is waited for.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .max_blocking_threads(WORKERS)
        .build()
        .context("failed to get what connections are waited for with (epoll)")?;
    let server = Arc::new(Server {
        site: Arc::new(site),
        tls,
        limits,
        pages: Arc::new(Semaphore::new(WORKERS + MOST_WAITING)),
    });
    runtime.block_on(async {
        // A socket joins the runtime from within it only. Called again, `listen` changes the length of the queue.
        rustix::net::listen(&listener, MOST_NOT_ACCEPTED).context("failed to listen")?;
        let listener = listener
            .set_nonblocking(true)
            .and_then(|()| TcpListener::from_std(listener))
            .context("failed to wait for connections on the listening socket")?;
        server.serve(listener, stop).await;
        Ok(())
    })
}

struct Server {
    site: Arc<Site>,
    tls: Option<TlsAcceptor>,
    limits: Limits,
    /// Places for pages that are made or wait to be.
    pages: Arc<Semaphore>,
}

impl Server {
    async fn serve(self: &Arc<Server>, listener: TcpListener, stop: &AtomicBool) {
        let mut connections = Connections::new(self.limits.connections);
        self.accept(&listener, &mut connections, stop).await;
        drop(listener);
        connections.finish(END_TIMEOUT).await;
    }

    /// Begins with each connection that comes. No error ends it: what is not ours to mend (no file descriptor, no memory) may be
    /// over in a moment.
    async fn accept(
        self: &Arc<Server>,
        listener: &TcpListener,
        connections: &mut Connections,
        stop: &AtomicBool,
    ) {
        let mut noticed: Option<Instant> = None;
        while !stop.load(Ordering::Relaxed) {
            // An error of the outer kind says that it is time to look whether to stop.
            let Ok(accepted) = timeout(LOOK, listener.accept()).await else { continue };
            match accepted {
                Ok((stream, _)) => {
                    connections.add(|has_asked| Arc::clone(self).converse(stream, has_asked));
                    // So that it reads its request, which is often there already, before others that come at once take its place.
                    tokio::task::yield_now().await;
                }
                // Its client has closed it already.
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
                Err(error) => {
                    if noticed.is_none_or(|noticed| noticed.elapsed() >= ROOM_NOTICE) {
                        // Where standard error is closed there is nobody to tell.
                        let _ = writeln!(
                            std::io::stderr(),
                            "dbdyno serve: failed to accept a connection: {error}; trying again"
                        );
                        noticed = Some(Instant::now());
                    }
                    connections.make_room();
                    sleep(ROOM_PAUSE).await;
                }
            }
        }
    }

    /// One request and its answer. However it fails, the client has gone or gets no more: there is nobody to tell.
    async fn converse(self: Arc<Server>, stream: TcpStream, has_asked: Arc<AtomicBool>) {
        // Head and body may be two writes: the second must not wait until the first is acknowledged.
        let _ = stream.set_nodelay(true);
        let exchange = async {
            match &self.tls {
                None => self.exchange(stream, &has_asked).await,
                Some(tls) => {
                    if let Ok(Ok(stream)) = timeout(self.limits.head, tls.accept(stream)).await {
                        self.exchange(stream, &has_asked).await;
                    }
                }
            }
        };
        let _ = timeout(self.limits.whole, exchange).await;
    }

    async fn exchange(&self, stream: impl AsyncRead + AsyncWrite + Unpin, has_asked: &AtomicBool) {
        let answered = move |request: Request<Incoming>| {
            has_asked.store(true, Ordering::Relaxed);
            let asked = asked(&request);
            async move {
                let answer = match asked {
                    Ok(asked) => self.page(asked).await,
                    Err(refusal) => refusal,
                };
                Ok::<_, Infallible>(response(&answer))
            }
        };
        let _ = http1::Builder::new()
            .keep_alive(false)
            .max_buf_size(MOST_HEAD_BYTES)
            .timer(TokioTimer::new())
            .header_read_timeout(self.limits.head)
            .title_case_headers(true)
            .serve_connection(TokioIo::new(stream), service_fn(answered))
            .await;
    }

    /// The page from one of the threads that make them. Who may not ask does not keep them busy.
    async fn page(&self, asked: Asked) -> Answer {
        if let Some(refusal) = self.site.refused(&asked) {
            return refusal;
        }
        let Ok(place) = Arc::clone(&self.pages).try_acquire_owned() else { return Site::overloaded() };
        let site = Arc::clone(&self.site);
        let made = tokio::task::spawn_blocking(move || {
            let _until_it_is_made = place;
            site.page(&asked)
        });
        // An error says that making it ended in a panic, which took nothing but the page with it.
        made.await.unwrap_or_else(|_| Site::broken())
    }
}

/// A request that carries a body is refused by its head: nothing of a body is read, kept or waited for.
fn asked(request: &Request<Incoming>) -> Result<Asked, Answer> {
    if !request.body().is_end_stream() {
        let says = "nothing is changed here: a request must have no body\n";
        return Err(Answer::new(413, Kind::TEXT, says.to_owned()));
    }
    let all = |name: HeaderName| request.headers().get_all(name).iter().map(text).collect();
    let one = |name: &str| request.headers().get(name).map(text);
    Ok(Asked {
        method: match *request.method() {
            hyper::Method::GET => Method::Get,
            hyper::Method::HEAD => Method::Head,
            _ => Method::Other,
        },
        target: request.uri().path_and_query().map_or("/", |target| target.as_str()).to_owned(),
        hosts: all(header::HOST),
        authorization: one("authorization"),
        cookies: all(header::COOKIE),
        fetch_site: one("sec-fetch-site"),
        fetch_mode: one("sec-fetch-mode"),
    })
}

/// What is no text is no value that anything is compared with.
fn text(value: &HeaderValue) -> String {
    value.to_str().unwrap_or_default().to_owned()
}

fn response(answer: &Answer) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from_owner(Arc::clone(&answer.body))));
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    add_headers(response.headers_mut(), answer);
    response
}

fn add_headers(headers: &mut HeaderMap, answer: &Answer) {
    for (name, value) in answer.all_headers() {
        // A value that could end its header early is left out.
        if let (Ok(name), Ok(value)) =
            (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_bytes(value.as_bytes()))
        {
            headers.append(name, value);
        }
    }
}

#[cfg(test)]
mod tests;
