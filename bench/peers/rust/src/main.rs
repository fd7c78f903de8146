//! A peer of the benchmark: hyper, tokio and rusqlite, as their users would tune it. Two threads, each with an event
//! loop and a connection that reads; one connection writes, behind a mutex. See ../../README.md for what it serves.

mod deals;
mod http;
mod probes;
mod products;
mod store;
mod tokens;

use std::convert::Infallible;
use std::env;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use hyper::server::conn::Http;
use hyper::service::service_fn;
use hyper::{Body, Method, Request};
use rusqlite::Connection;
use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::TcpListener;
use tokio::task::LocalSet;

use http::{problem, Answer};
use tokens::Tokens;

const THREADS: usize = 2;

/// What a thread serves from.
pub struct Server {
    reader: Connection,
    writer: Arc<Mutex<Connection>>,
    tokens: Tokens,
}

/// Puts a connection's tasks on the thread's own event loop.
#[derive(Clone)]
struct Local;

impl<F: std::future::Future + 'static> hyper::rt::Executor<F> for Local {
    fn execute(&self, future: F) {
        tokio::task::spawn_local(future);
    }
}

async fn route(server: &Server, request: Request<Body>) -> Answer {
    let (parts, body) = request.into_parts();
    let body = or_answer!(http::read_body(body).await);
    let path = parts.uri.path();
    let (get, post) = (parts.method == Method::GET, parts.method == Method::POST);
    match path {
        "/products" if get => products::list(server, &parts),
        "/products" if post => products::create(server, &body),
        "/api/deals" if get => deals::list(server, &parts),
        "/api/deals" if post => deals::create(server, &parts, &body),
        "/health" if get => Ok(probes::health()),
        "/json" if get => probes::greet(),
        "/db" if get => probes::one_row(server),
        "/queries" if get => probes::many_rows(server, &parts),
        "/wait" if get => probes::wait(&parts).await,
        _ => match path.strip_prefix("/products/") {
            Some(id) if get => products::read(server, id),
            Some(id) if parts.method == Method::DELETE => products::delete(server, id),
            _ => Ok(problem(404, "there is nothing at this path")),
        },
    }
}

/// A listening socket of the thread's own: the kernel deals the connections out.
fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(4096)?;
    TcpListener::from_std(socket.into())
}

async fn serve(server: Rc<Server>, address: SocketAddr) {
    let listener = listen(address).expect("the port can be had");
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(_) => continue, // the peer was faster
        };
        let _ = stream.set_nodelay(true);
        let server = server.clone();
        tokio::task::spawn_local(async move {
            let service = service_fn(|request| {
                let server = server.clone();
                async move { Ok::<_, Infallible>(route(&server, request).await.unwrap_or_else(http::failed)) }
            });
            let _ = Http::new().with_executor(Local).serve_connection(stream, service).await;
        });
    }
}

fn run(server: Server, address: SocketAddr) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("an event loop");
    LocalSet::new().block_on(&runtime, serve(Rc::new(server), address));
}

fn main() {
    if env::args().nth(1).as_deref() == Some("version") {
        println!("{} hyper, SQLite {}", env!("RUSTC_VERSION"), rusqlite::version());
        return;
    }
    let setting = |name| env::var(name).unwrap_or_else(|_| panic!("{} is not set", name));
    let (path, secret_file) = (setting("DB"), setting("SECRET_FILE"));
    let port = setting("PORT").parse().expect("PORT is a number");
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let sync = env::var("SYNC").unwrap_or_else(|_| "full".into());
    let writer = Arc::new(Mutex::new(store::open_writer(&path, &sync).expect("the database can be written")));
    let threads: Vec<_> = (0..THREADS)
        .map(|_| {
            let (path, secret_file, writer) = (path.clone(), secret_file.clone(), writer.clone());
            std::thread::spawn(move || {
                let reader = store::open_reader(&path).expect("the database can be read");
                let tokens = Tokens::read(&secret_file).expect("the secret can be read");
                run(Server { reader, writer, tokens }, address)
            })
        })
        .collect();
    for thread in threads {
        let _ = thread.join();
    }
}
