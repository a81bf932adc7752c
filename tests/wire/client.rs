//! A client that shows what was on the wire: status, headers, body without its transfer coding, and how it ended.

use std::{collections::BTreeMap, fmt::Write as _, io, net::SocketAddr, time::Duration};

use hedgerow_tests::canary::{CLIENT_KEY, PROMPT, USER};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

use crate::{case::Request, gateway::merge, provider::find};

/// Longer than any case lasts.
const PATIENCE: Duration = Duration::from_secs(20);

/// What came back.
#[derive(Debug, Default)]
pub struct Answer {
    /// Status; 0 when none came.
    pub status: u16,
    /// Headers, names in lower case.
    pub headers: BTreeMap<String, String>,
    /// Body without its transfer coding.
    pub body: Vec<u8>,
    /// The body came to its proper end.
    pub ended: bool,
    /// The client hung up.
    pub left: bool,
}

/// Asks once, on a connection of its own.
pub async fn ask(address: SocketAddr, request: &Request) -> io::Result<Answer> {
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    stream.write_all(&bytes(request)).await?;
    let mut raw = Vec::new();
    let reading = read(&mut stream, &mut raw, request.leave_after.as_deref());
    let left = match request.leave_ms {
        Some(wait) => timeout(Duration::from_millis(wait), reading).await.is_err(),
        None => timeout(PATIENCE, reading).await.map_err(|_| io::Error::other("no end of the answer"))??,
    };
    let mut answer = parse(&raw);
    answer.left = left;
    Ok(answer)
}

fn bytes(request: &Request) -> Vec<u8> {
    let prompt = format!("{PROMPT}{}", "x".repeat(request.pad));
    let messages = json!([{ "role": "user", "content": prompt }]);
    let mut body = if request.path.ends_with("/responses") {
        json!({ "model": "m", "store": false, "input": prompt, "user": USER })
    } else if request.path.contains("messages") {
        json!({ "model": "m", "max_tokens": 64, "messages": messages, "metadata": { "user_id": USER } })
    } else {
        json!({ "model": "m", "max_tokens": 64, "messages": messages, "user": USER })
    };
    if request.stream {
        body["stream"] = Value::Bool(true);
    }
    merge(&mut body, &request.body);
    let body = body.to_string();
    let mut head = format!(
        "POST {} HTTP/1.1\r\nhost: test\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n",
        request.path,
        body.len()
    );
    let planted = [
        ("authorization", format!("Bearer {CLIENT_KEY}")),
        ("cookie", USER.to_owned()),
        ("x-end-user", USER.to_owned()),
    ];
    for (name, value) in planted.iter().filter(|(name, _)| !request.headers.contains_key(*name)) {
        write!(head, "{name}: {value}\r\n").unwrap();
    }
    for (name, value) in &request.headers {
        write!(head, "{name}: {value}\r\n").unwrap();
    }
    format!("{head}\r\n{body}").into_bytes()
}

/// Reads to the end of the connection; whether it was left early on purpose.
async fn read(stream: &mut TcpStream, raw: &mut Vec<u8>, leave_after: Option<&str>) -> io::Result<bool> {
    loop {
        match stream.read_buf(raw).await {
            Ok(0) => return Ok(false),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(false),
            Err(error) => return Err(error),
        }
        if leave_after.is_some_and(|text| find(raw, text.as_bytes()).is_some()) {
            return Ok(true);
        }
    }
}

fn parse(raw: &[u8]) -> Answer {
    let Some(end) = find(raw, b"\r\n\r\n") else { return Answer::default() };
    let head = String::from_utf8_lossy(&raw[..end]);
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1)).and_then(|code| code.parse().ok());
    let pair =
        |line: &str| line.split_once(':').map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()));
    let headers: BTreeMap<String, String> = lines.filter_map(pair).collect();
    let rest = &raw[end + 4..];
    let (body, ended) = if headers.get("transfer-encoding").is_some_and(|coding| coding == "chunked") {
        unchunk(rest)
    } else {
        let length = headers.get("content-length").and_then(|length| length.parse().ok());
        (rest.to_vec(), length.is_none_or(|length: usize| length == rest.len()))
    };
    Answer { status: status.unwrap_or(0), headers, body, ended, left: false }
}

/// Undoes the chunked coding; whether its last chunk came.
fn unchunk(mut rest: &[u8]) -> (Vec<u8>, bool) {
    let mut body = Vec::new();
    while let Some(line) = find(rest, b"\r\n") {
        let Ok(size) = usize::from_str_radix(&String::from_utf8_lossy(&rest[..line]), 16) else { break };
        rest = &rest[line + 2..];
        if size == 0 {
            return (body, rest == b"\r\n");
        }
        body.extend_from_slice(&rest[..size.min(rest.len())]);
        let Some(next) = rest.get(size + 2..) else { break };
        rest = next;
    }
    (body, false)
}
