//! A source of lines from a TCP socket.
