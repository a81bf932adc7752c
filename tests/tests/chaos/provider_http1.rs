//! A provider over plain TCP, which can break HTTP/1.1 at any byte.

use std::{fmt::Write as _, io, net::SocketAddr, time::Duration};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

use crate::{
    book::{Book, Open},
    canary::ANSWER,
    script::{Fault, Framing, Script},
};

/// Longest silence before a provider gives a connection up.
const PATIENCE: Duration = Duration::from_mins(1);

/// Starts one on a free port; it ends with the runtime.
pub async fn start(book: &'static Book) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            // That a connection breaks is what all this is about.
            tokio::spawn(async move { connection(socket, book).await.unwrap_or_default() });
        }
    });
    address
}

async fn connection(mut socket: TcpStream, book: &Book) -> io::Result<()> {
    socket.set_nodelay(true)?;
    while let Some(request) = Request::read(&mut socket).await? {
        let (script, mut open) = book.enter(request.path(), |name| request.header(name), &request.body);
        let goes_on = play(&mut socket, &script, &mut open).await;
        drop(open);
        if !goes_on? {
            return Ok(());
        }
    }
    Ok(())
}

/// Plays a script; whether the connection can be used again.
async fn play(socket: &mut TcpStream, script: &Script, open: &mut Open<'_>) -> io::Result<bool> {
    wait(socket, script.first_ms).await?;
    match script.fault {
        Fault::Reset => {
            socket.set_zero_linger()?;
            return Ok(false);
        }
        Fault::Garbage => {
            socket.write_all(format!("\0\x01{ANSWER} is not HTTP\r\n\r\n").as_bytes()).await?;
            return Ok(false);
        }
        Fault::Hang => return wait(socket, PATIENCE.as_millis() as u64).await.map(|()| false),
        _ => {}
    }
    // A length that is promised shows every end that comes too early.
    let framing = if script.framing == Framing::UntilClose && matches!(script.fault, Fault::BreakAt(_)) {
        Framing::Chunked
    } else {
        script.framing
    };
    open.sent(0);
    socket.write_all(&head(script, framing, open.mark())).await?;
    let mut at = 0;
    for (end, pause) in &script.pieces {
        let stop = match script.fault {
            Fault::CutAt(stop) | Fault::EndAt(stop) | Fault::StallAt(stop) | Fault::BreakAt(stop) => stop,
            _ => usize::MAX,
        };
        let upto = (*end).min(stop.max(at));
        open.sent(upto);
        let piece = &script.body[at..upto];
        send(socket, piece, framing).await?;
        if *end > stop {
            return spoil(socket, script, framing).await;
        }
        at = *end;
        wait(socket, *pause).await?;
    }
    if framing == Framing::Chunked {
        socket.write_all(b"0\r\n\r\n").await?;
    }
    Ok(framing != Framing::UntilClose && script.fault != Fault::CloseAfter)
}

/// The end of an answer that has none of its own.
async fn spoil(socket: &mut TcpStream, script: &Script, framing: Framing) -> io::Result<bool> {
    match script.fault {
        Fault::CutAt(_) => socket.set_zero_linger()?,
        Fault::EndAt(_) if framing == Framing::Chunked => {
            socket.write_all(b"0\r\n\r\n").await?;
            return Ok(true);
        }
        Fault::StallAt(_) => wait(socket, PATIENCE.as_millis() as u64).await?,
        Fault::BreakAt(_) if framing == Framing::Chunked => {
            socket.write_all(format!("zz\r\n{ANSWER}\r\n").as_bytes()).await?;
        }
        _ => {}
    }
    Ok(false)
}

fn head(script: &Script, framing: Framing, mark: u32) -> Vec<u8> {
    let mut text = format!(
        "HTTP/1.1 {} Scripted\r\ncontent-type: {}\r\nset-cookie: {ANSWER}\r\nx-request-id: {mark}\r\n",
        script.status, script.media
    );
    if let Some(ms) = script.wait_ms {
        write!(text, "retry-after-ms: {ms}\r\n").unwrap();
    }
    match framing {
        Framing::Chunked => text.push_str("transfer-encoding: chunked\r\n"),
        Framing::Length => write!(text, "content-length: {}\r\n", script.body.len()).unwrap(),
        Framing::UntilClose => text.push_str("connection: close\r\n"),
    }
    text.push_str("\r\n");
    text.into_bytes()
}

async fn send(socket: &mut TcpStream, piece: &[u8], framing: Framing) -> io::Result<()> {
    if piece.is_empty() {
        return Ok(());
    }
    if framing != Framing::Chunked {
        return socket.write_all(piece).await;
    }
    let size = format!("{:x}\r\n", piece.len());
    socket.write_all(&[size.as_bytes(), piece, b"\r\n"].concat()).await
}

/// Waits, and fails when the gateway hangs up meanwhile.
async fn wait(socket: &mut TcpStream, ms: u64) -> io::Result<()> {
    if ms == 0 {
        return Ok(());
    }
    let mut byte = [0];
    match tokio::time::timeout(Duration::from_millis(ms), socket.read(&mut byte)).await {
        Err(_) => Ok(()),
        Ok(Ok(1..)) => Err(io::Error::other("bytes after the request")),
        Ok(Ok(0)) => Err(io::ErrorKind::UnexpectedEof.into()),
        Ok(Err(error)) => Err(error),
    }
}

/// A request with a `content-length`.
struct Request {
    head: String,
    body: Vec<u8>,
}

impl Request {
    /// `None` at the end of the connection.
    async fn read(socket: &mut TcpStream) -> io::Result<Option<Self>> {
        let mut bytes = Vec::new();
        loop {
            if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
                let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
                let mut request = Self { head, body: Vec::new() };
                let length: usize = request.header("content-length").parse().expect("a length");
                if bytes.len() >= end + 4 + length {
                    request.body = bytes.split_off(end + 4);
                    return Ok(Some(request));
                }
            }
            if socket.read_buf(&mut bytes).await? == 0 {
                return Ok(None);
            }
        }
    }

    fn path(&self) -> &str {
        self.head.split(' ').nth(1).unwrap_or_default()
    }

    /// A header's value, empty when it is absent.
    fn header(&self, name: &str) -> &str {
        let pairs = self.head.lines().filter_map(|line| line.split_once(':'));
        pairs
            .into_iter()
            .find(|(found, _)| found.eq_ignore_ascii_case(name))
            .map_or("", |(_, value)| value.trim())
    }
}
