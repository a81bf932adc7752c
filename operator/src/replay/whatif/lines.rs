//! Lines of a file, plain or in gzip, one at a time: whatever its length, memory holds one line.
//!
//! Inputs: a file. Outputs: its lines with their numbers, and how far the reading is in bytes of the file. A line that is
//! too long or no text is told of as such, and the reading goes on with the next. Refuses: pipes, because a file is read
//! twice.

use std::{
    cell::Cell,
    fs::File,
    io::{self, BufRead, BufReader, Read},
    path::Path,
    rc::Rc,
};

use flate2::read::MultiGzDecoder;

use super::rows::Unusable;

/// Longest line that is read, in bytes.
const LONGEST: u64 = 1 << 20;
const BUFFER: usize = 1 << 16;
/// What spreadsheets put before the first line of a file (Unicode 23.8).
const MARK: char = '\u{feff}';

/// A file that is being read.
pub struct Lines {
    from: Box<dyn BufRead>,
    text: Vec<u8>,
    number: u64,
    read: Rc<Cell<u64>>,
    size: u64,
}

/// Counts what is taken from a file.
struct Counted {
    file: File,
    read: Rc<Cell<u64>>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.read.set(self.read.get() + read as u64);
        Ok(read)
    }
}

impl Lines {
    /// Opens a file.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let about = file.metadata()?;
        if !about.is_file() {
            let why = "it is no file; it is read twice, so write what a pipe gives to a file first";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        let read = Rc::new(Cell::new(0));
        let mut plain = BufReader::with_capacity(BUFFER, Counted { file, read: Rc::clone(&read) });
        // The magic number says what it is, whatever its name (RFC 1952).
        let from: Box<dyn BufRead> = if plain.fill_buf()?.starts_with(&[0x1f, 0x8b]) {
            Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(plain)))
        } else {
            Box::new(plain)
        };
        Ok(Self { from, text: Vec::new(), number: 0, read, size: about.len() })
    }

    /// The next line without its end, or why it is of no use. An error is one of the whole file.
    pub fn line(&mut self) -> io::Result<Option<Result<&str, Unusable>>> {
        self.text.clear();
        let read = (&mut self.from).take(LONGEST).read_until(b'\n', &mut self.text)?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        if read as u64 == LONGEST && !self.text.ends_with(b"\n") {
            self.from.skip_until(b'\n')?;
            let reason = "a line is longer than 1 MiB";
            return Ok(Some(Err(Unusable { reason, column: LONGEST as usize })));
        }
        Ok(Some(match std::str::from_utf8(&self.text) {
            Ok(text) => {
                let text = text.trim_end_matches(['\r', '\n']);
                Ok(text.strip_prefix(MARK).filter(|_| self.number == 1).unwrap_or(text))
            }
            Err(error) => {
                Err(Unusable { reason: "a line is not UTF-8 text", column: error.valid_up_to() + 1 })
            }
        }))
    }

    /// Number of the line that was read last, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Where the reading broke off: line and column of the first byte that could not be read.
    pub fn broken(&self) -> (u64, usize) {
        (self.number + 1, self.text.len() + 1)
    }

    /// Bytes taken from the file, and its size when it was opened.
    pub fn taken(&self) -> (u64, u64) {
        (self.read.get(), self.size)
    }
}
