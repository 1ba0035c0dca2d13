//! Network addresses: `inet` within a network, and `mac`. Only the arithmetic of addresses: `compile` reads the
//! parameters.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::draw::{Cell, Draw};

/// A network of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Network {
    /// With zeros in the host part.
    base: IpAddr,
    /// First host number: 1 without the network address.
    first: u64,
    /// Addresses, at least 1.
    pub count: u64,
}

impl Network {
    /// `[,.;]net[/mask]`: a comma adds the network address, a point the broadcast address, a semicolon both. Empty: all
    /// of IPv4.
    pub fn read(text: &str) -> Option<Self> {
        let (network, broadcast, text) = match text.chars().next() {
            Some(',') => (true, false, &text[1..]),
            Some('.') => (false, true, &text[1..]),
            Some(';') => (true, true, &text[1..]),
            _ => (false, false, text),
        };
        let text = if text.is_empty() { "0.0.0.0/0" } else { text };
        let (address, mask) = match text.split_once('/') {
            Some((address, mask)) => (address, Some(mask.parse::<u32>().ok()?)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().ok()?;
        let (width, default) = if address.is_ipv4() { (32, 24) } else { (128, 64) };
        let mask = mask.unwrap_or(default);
        let host = u32::checked_sub(width, mask)?;
        let below = |bits: u128| if host >= 128 { 0 } else { bits >> host << host };
        let base = match address {
            IpAddr::V4(v4) => {
                let bits = below(u128::from(u32::from(v4)));
                IpAddr::V4(Ipv4Addr::from(u32::try_from(bits).ok()?))
            }
            IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from(below(u128::from(v6)))),
        };
        // The draws have 63 bits, more addresses of a network are not reached.
        let all = 1_u64 << host.min(62);
        let excluded = u64::from(!network) + u64::from(!broadcast);
        // A network of one or two addresses has hosts only.
        let (first, count) = if all <= 2 { (0, all) } else { (u64::from(!network), all - excluded) };
        Some(Self { base, first, count })
    }

    pub fn write(&self, number: u64, out: &mut Vec<u8>) {
        let host = u128::from(self.first + number.min(self.count - 1));
        // Formatting into a vector cannot fail.
        let _ = match self.base {
            IpAddr::V4(base) => {
                let bits = u128::from(u32::from(base)) | host;
                std::io::Write::write_fmt(
                    out,
                    format_args!("{}", Ipv4Addr::from(u32::try_from(bits).unwrap_or(0))),
                )
            }
            IpAddr::V6(base) => {
                std::io::Write::write_fmt(out, format_args!("{}", Ipv6Addr::from(u128::from(base) | host)))
            }
        };
    }
}

/// A number scattered over so many bytes, one to one, as `xx:xx:…`.
pub(crate) fn write_mac(draw: &Draw, bytes: u8, cell: Cell, out: &mut Vec<u8>) {
    let scattered = draw.base(cell).wrapping_mul(6_364_136_223_846_793_005).wrapping_add(draw.key);
    for byte in (0..bytes).rev() {
        let value = (scattered >> (8 * u32::from(byte))) & 0xff;
        hex(out, u8::try_from(value).unwrap_or(0));
        if byte > 0 {
            out.push(b':');
        }
    }
}

/// Two hexadecimal digits.
pub(crate) fn hex(out: &mut Vec<u8>, byte: u8) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.push(DIGITS[usize::from(byte >> 4)]);
    out.push(DIGITS[usize::from(byte & 15)]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_have_their_addresses() {
        let check = |text: &str, count: u64, first: &str, last: &str| {
            let network = Network::read(text).expect(text);
            assert_eq!(network.count, count, "{text}");
            let write = |number| {
                let mut out = Vec::new();
                network.write(number, &mut out);
                String::from_utf8_lossy(&out).into_owned()
            };
            assert_eq!((write(0).as_str(), write(count - 1).as_str()), (first, last), "{text}");
        };
        check("10.2.14.0", 254, "10.2.14.1", "10.2.14.254");
        check("10.2.14.12/16", 65_534, "10.2.0.1", "10.2.255.254");
        check(";10.2.14.0/24", 256, "10.2.14.0", "10.2.14.255");
        check(",10.2.14.0/24", 255, "10.2.14.0", "10.2.14.254");
        check(".10.2.14.0/24", 255, "10.2.14.1", "10.2.14.255");
        check("10.2.14.7/32", 1, "10.2.14.7", "10.2.14.7");
        check("", (1 << 32) - 2, "0.0.0.1", "255.255.255.254");
        check("fe80::/120", 254, "fe80::1", "fe80::fe");
        for wrong in ["x", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/"] {
            assert_eq!(Network::read(wrong), None, "{wrong}");
        }
    }
}
