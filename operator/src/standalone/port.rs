//! Ports before anything listens on them.
//!
//! Several gateways share one traffic port by SO_REUSEPORT, and that option also lets a foreign process of the same user
//! share it in silence. So a port is first bound without the option, which fails if anyone has it, then with the option by a
//! socket that never listens: it gets no connection, and keeps the number ours while gateways restart.

use std::{io, net::SocketAddr};

use tokio::net::TcpSocket;

/// A traffic port that is ours.
#[derive(Debug)]
pub(super) struct Reserved {
    address: SocketAddr,
    /// Open as long as the reservation.
    _socket: TcpSocket,
}

/// Why an address cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// Somebody listens there.
    #[error("port {} is in use on {}: end the other process or choose another address with {flag}", .address.port(), .address.ip())]
    InUse {
        /// The address.
        address: SocketAddr,
        /// Option that names another one.
        flag: &'static str,
    },
    /// More gateways than ports.
    #[error("there are not enough ports from {first} on for all gateways: choose a lower one with {flag}")]
    Exhausted {
        /// The first address.
        first: SocketAddr,
        /// Option that names another one.
        flag: &'static str,
    },
    /// Not an address of this machine, or not allowed.
    #[error("cannot listen on {address} ({cause}): choose another address with {flag}")]
    Unusable {
        /// The address.
        address: SocketAddr,
        /// Cause.
        cause: io::Error,
        /// Option that names another one.
        flag: &'static str,
    },
}

impl Reserved {
    /// Takes `address` for gateways that share it; port 0 = any free port.
    pub(super) fn new(address: SocketAddr, flag: &'static str) -> Result<Self, PortError> {
        let failed = |cause| failure(address, cause, flag);
        // For port 0 the kernel itself takes one that nobody has; asked for twice, it could be taken in between.
        if address.port() != 0 {
            free(address, flag)?;
        }
        let socket = match address {
            SocketAddr::V4(_) => TcpSocket::new_v4(),
            SocketAddr::V6(_) => TcpSocket::new_v6(),
        }
        .map_err(failed)?;
        socket.set_reuseport(true).map_err(failed)?;
        socket.bind(address).map_err(failed)?;
        Ok(Self { address: socket.local_addr().map_err(failed)?, _socket: socket })
    }

    /// The address with its final port.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Checks that nobody listens on `address`; for port 0 finds a port. It is free now, which is no promise.
pub(super) fn free(address: SocketAddr, flag: &'static str) -> Result<SocketAddr, PortError> {
    std::net::TcpListener::bind(address)
        .and_then(|listener| listener.local_addr())
        .map_err(|cause| failure(address, cause, flag))
}

fn failure(address: SocketAddr, cause: io::Error, flag: &'static str) -> PortError {
    if cause.kind() == io::ErrorKind::AddrInUse {
        PortError::InUse { address, flag }
    } else {
        PortError::Unusable { address, cause, flag }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn any() -> SocketAddr {
        "127.0.0.1:0".parse().unwrap()
    }

    #[tokio::test]
    async fn a_reserved_port_can_be_shared_by_those_who_ask_for_it_and_by_nobody_else() {
        let reserved = Reserved::new(any(), "--listen").unwrap();
        let address = reserved.address();
        let share = || {
            let socket = TcpSocket::new_v4().unwrap();
            socket.set_reuseport(true).unwrap();
            socket.bind(address).unwrap();
            socket.listen(8).unwrap()
        };
        let (first, _second) = (share(), share());
        assert_eq!(first.local_addr().unwrap(), address);
        let error = free(address, "--listen").unwrap_err().to_string();
        assert!(error.contains(&format!("port {}", address.port())) && error.contains("--listen"), "{error}");
    }

    #[tokio::test]
    async fn a_port_that_another_process_shares_is_in_use_all_the_same() {
        let foreign = TcpSocket::new_v4().unwrap();
        foreign.set_reuseport(true).unwrap();
        foreign.bind(any()).unwrap();
        let foreign = foreign.listen(8).unwrap();
        let error = Reserved::new(foreign.local_addr().unwrap(), "--listen").unwrap_err();
        assert!(matches!(error, PortError::InUse { .. }), "{error}");
    }
}
