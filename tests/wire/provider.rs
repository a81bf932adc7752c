//! A provider that does what a script says, byte for byte, over plain TCP.

use std::{
    fmt::Write as _,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

use crate::case::{Head, Step};

/// What a provider saw and did.
#[derive(Debug, Default)]
pub struct Seen {
    /// Requests, heads and bodies.
    pub requests: Vec<String>,
    /// Body bytes of the last answer, without the transfer coding.
    pub sent: Vec<u8>,
    /// The gateway hung up in the middle of a script.
    pub hung_up: bool,
    /// More requests came than the script knows.
    pub surplus: bool,
}

/// A running provider.
pub struct Provider {
    /// Where it listens.
    pub address: SocketAddr,
    /// What it saw.
    pub seen: Arc<Mutex<Seen>>,
    task: JoinHandle<()>,
}

impl Provider {
    /// Starts a provider with one script per request.
    pub async fn start(scripts: Vec<Vec<Step>>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let address = listener.local_addr().expect("a bound port");
        let seen = Arc::new(Mutex::new(Seen::default()));
        let shared = seen.clone();
        let scripts = Arc::new(scripts);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (seen, scripts) = (shared.clone(), scripts.clone());
                tokio::spawn(async move {
                    // A connection that breaks is part of many cases.
                    let _ = connection(stream, &seen, &scripts).await;
                });
            }
        });
        Self { address, seen, task }
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn connection(mut stream: TcpStream, seen: &Mutex<Seen>, scripts: &[Vec<Step>]) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    while let Some(request) = request(&mut stream).await? {
        let script = {
            let mut seen = seen.lock().unwrap();
            seen.requests.push(request);
            seen.sent.clear();
            let index = seen.requests.len() - 1;
            seen.surplus |= index >= scripts.len();
            scripts.get(index).cloned()
        };
        let Some(script) = script else { return Ok(()) };
        match play(&mut stream, seen, &script).await {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            Err(error) => {
                seen.lock().unwrap().hung_up = true;
                return Err(error);
            }
        }
    }
    Ok(())
}

/// Reads one request with a `content-length`.
async fn request(stream: &mut TcpStream) -> std::io::Result<Option<String>> {
    let mut bytes = Vec::new();
    loop {
        if let Some(head) = find(&bytes, b"\r\n\r\n") {
            let text = String::from_utf8_lossy(&bytes[..head]).to_lowercase();
            let length = text.lines().find_map(|line| line.strip_prefix("content-length:"));
            let length: usize = length.map_or(0, |value| value.trim().parse().expect("a length"));
            if bytes.len() >= head + 4 + length {
                return Ok(Some(String::from_utf8_lossy(&bytes).into_owned()));
            }
        }
        if stream.read_buf(&mut bytes).await? == 0 {
            return Ok(None);
        }
    }
}

/// Plays a script; whether the connection can be used again.
async fn play(stream: &mut TcpStream, seen: &Mutex<Seen>, script: &[Step]) -> std::io::Result<bool> {
    let mut piece = usize::MAX;
    for step in script {
        match step {
            Step::Head(head) => stream.write_all(&start(head, "transfer-encoding: chunked")).await?,
            Step::Answer(head) => {
                let length = format!("content-length: {}", head.body.len());
                stream.write_all(&[&start(head, &length), head.body.as_bytes()].concat()).await?;
                seen.lock().unwrap().sent.extend_from_slice(head.body.as_bytes());
            }
            Step::Send(text) => send(stream, seen, text.as_bytes(), piece).await?,
            Step::Hex(digits) => send(stream, seen, &unhex(digits), piece).await?,
            Step::Data(text) => send(stream, seen, format!("data: {text}\n\n").as_bytes(), piece).await?,
            Step::Raw(text) => stream.write_all(text.as_bytes()).await?,
            Step::Headers(count, pause) => headers(stream, *count, Duration::from_millis(*pause)).await?,
            Step::Fill(count) => send(stream, seen, &vec![b'x'; *count], 16 * 1024).await?,
            Step::Split(bytes) => piece = *bytes,
            Step::Ms(pause) => still_there(stream, Duration::from_millis(*pause)).await?,
            Step::End => stream.write_all(b"0\r\n\r\n").await?,
            Step::Close => return Ok(false),
            Step::Reset => {
                stream.set_zero_linger()?;
                return Ok(false);
            }
            Step::Never => still_there(stream, Duration::from_secs(30)).await?,
        }
    }
    Ok(true)
}

fn start(head: &Head, length: &str) -> Vec<u8> {
    let mut text =
        format!("HTTP/1.1 {} Scripted\r\ncontent-type: {}\r\n{length}\r\n", head.status, head.media);
    for (name, value) in &head.headers {
        write!(text, "{name}: {value}\r\n").unwrap();
    }
    text.push_str("\r\n");
    text.into_bytes()
}

async fn headers(stream: &mut TcpStream, count: usize, pause: Duration) -> std::io::Result<()> {
    for index in 0..count {
        if !pause.is_zero() {
            still_there(stream, pause).await?;
        }
        stream.write_all(format!("x-{index}: {}\r\n", "x".repeat(64)).as_bytes()).await?;
    }
    Ok(())
}

async fn send(stream: &mut TcpStream, seen: &Mutex<Seen>, bytes: &[u8], piece: usize) -> std::io::Result<()> {
    for part in bytes.chunks(piece.max(1)) {
        let size = format!("{:x}\r\n", part.len());
        stream.write_all(&[size.as_bytes(), part, b"\r\n"].concat()).await?;
        seen.lock().unwrap().sent.extend_from_slice(part);
        if piece < bytes.len() {
            tokio::task::yield_now().await;
        }
    }
    Ok(())
}

/// Waits, and notices when the gateway hangs up meanwhile.
async fn still_there(stream: &mut TcpStream, time: Duration) -> std::io::Result<()> {
    let mut byte = [0];
    match tokio::time::timeout(time, stream.read(&mut byte)).await {
        Err(_) => Ok(()),
        Ok(Ok(1..)) => Err(std::io::Error::other("bytes after the request")),
        Ok(Ok(0)) => Err(std::io::ErrorKind::UnexpectedEof.into()),
        Ok(Err(error)) => Err(error),
    }
}

fn unhex(digits: &str) -> Vec<u8> {
    let digits: String = digits.split_whitespace().collect();
    let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).expect("hexadecimal digits");
    (0..digits.len()).step_by(2).map(byte).collect()
}

/// Where `part` begins in `bytes`.
pub fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}
