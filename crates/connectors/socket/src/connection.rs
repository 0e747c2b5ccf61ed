//! One connection, read on background threads.

use flugs_formats::{Chunk, Cutter, Framing, Pull};
use flugs_types::{Error, Result};
use std::io::{self, ErrorKind, Read};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A read gives up after this long and is begun again, so that a thread is free again soon when the job ends.
const READ_TIMEOUT: Duration = Duration::from_millis(250);

const READ_BYTES: usize = 64 << 10;

/// What a pull gives.
pub(crate) enum Portion {
    /// No record is complete yet.
    Nothing,
    /// Records.
    Chunk(Chunk),
}

/// A connection that is made by the first pull.
pub(crate) struct Connection {
    address: String,
    stream: Option<TcpStream>,
    cutter: Cutter,
    ended: bool,
}

impl Connection {
    pub(crate) fn new(address: String, framing: Framing, record_bytes_max: usize) -> Self {
        Connection { address, stream: None, cutter: Cutter::new(framing, record_bytes_max, 0), ended: false }
    }

    fn connect(&self) -> io::Result<TcpStream> {
        let mut failed = io::Error::new(ErrorKind::NotFound, "the name has no address");
        for address in self.address.to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) {
                Ok(stream) => {
                    stream.set_read_timeout(Some(READ_TIMEOUT))?;
                    return Ok(stream);
                }
                Err(e) => failed = e,
            }
        }
        Err(failed)
    }

    fn read(&mut self, stream: &mut TcpStream) -> Result<Option<Chunk>> {
        let buffer = self.cutter.buffer();
        let kept = buffer.len();
        buffer.resize(kept + READ_BYTES, 0);
        let read = stream.read(&mut buffer[kept..]);
        buffer.truncate(kept + *read.as_ref().unwrap_or(&0));
        match read {
            Ok(0) => {
                self.ended = true;
                Ok(self.cutter.finish())
            }
            Ok(_) => Ok(self.cutter.cut()),
            Err(e)
                if matches!(
                    e.kind(),
                    ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
                ) =>
            {
                Ok(None)
            }
            Err(e) => Err(Error::transient(format!("the connection to {} broke", self.address))
                .mend("say `.reconnect(..)` to go on without what was lost")
                .caused_by(e)),
        }
    }
}

impl Pull for Connection {
    type Item = Portion;

    fn pull(&mut self) -> Result<Option<Portion>> {
        if self.ended {
            return Ok(None);
        }
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => self.connect().map_err(|e| {
                Error::transient(format!("cannot connect to {}", self.address))
                    .mend(
                        "the source is a client: start a server there first (for a try: `nc -lk PORT`), or say \
                         `.reconnect(..)`",
                    )
                    .caused_by(e)
            })?,
        };
        let chunk = self.read(&mut stream)?;
        self.stream = Some(stream);
        Ok(match chunk {
            Some(chunk) => Some(Portion::Chunk(chunk)),
            None if self.ended => None,
            None => Some(Portion::Nothing),
        })
    }
}
