//! Orders to a running relay as lines of text, and its answers: the standard input and output of a relay in a separate
//! process. Each line gets one line as its answer.

use std::str::FromStr;
use std::time::Duration;

use crate::faults::{Direction, Fault};
use crate::relay::Relay;
use crate::statistics::Statistics;
use crate::traffic::Traffic;

/// An order to a running relay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Traffic since the previous request: the empty line.
    Traffic,
    /// `cut`, `blackhole`, `blackhole to-server`, `blackhole to-client`, `slow 50ms`, `slow 50ms 10Mbit`.
    Begin(Fault),
    /// `end 3`: ends the fault with this number.
    End(u64),
    /// `heal`: ends all faults.
    Heal,
}

/// Units of a delay, in nanoseconds. The longer names precede the shorter ones that they end with.
const UNITS: [(&str, f64); 4] = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
/// Longer than any delay.
const DELAY_MAX_NS: f64 = 1e14;
/// Units of a bandwidth, in bits per second, in the same order.
const BANDWIDTH_UNITS: [(&str, f64); 4] = [("kbit", 1e3), ("Mbit", 1e6), ("Gbit", 1e9), ("bit", 1.0)];
/// Faster than any link.
const BANDWIDTH_MAX: f64 = 1e15;

fn with_unit(word: &str, units: &[(&str, f64)]) -> Option<f64> {
    let (number, factor) =
        units.iter().find_map(|(unit, factor)| Some((word.strip_suffix(unit)?, factor)))?;
    Some(number.parse::<f64>().ok()? * factor)
}

fn delay(word: &str) -> Option<Duration> {
    let ns = with_unit(word, &UNITS)?;
    (0.0..=DELAY_MAX_NS).contains(&ns).then(|| Duration::from_secs_f64(ns / 1e9))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between 1 and a limit far below 2⁶³"
)]
fn bandwidth(word: &str) -> Option<u64> {
    let bits = with_unit(word, &BANDWIDTH_UNITS)?;
    (1.0..=BANDWIDTH_MAX).contains(&bits).then_some(bits as u64)
}

impl FromStr for Order {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let blackhole = |direction| Ok(Order::Begin(Fault::Blackhole(direction)));
        match words[..] {
            [] => Ok(Order::Traffic),
            ["cut"] => Ok(Order::Begin(Fault::Cut)),
            ["blackhole"] => blackhole(None),
            ["blackhole", "to-server"] => blackhole(Some(Direction::ToServer)),
            ["blackhole", "to-client"] => blackhole(Some(Direction::ToClient)),
            ["slow", time] => match delay(time) {
                Some(delay) => Ok(Order::Begin(Fault::Slow { delay, bandwidth_bits_per_s: None })),
                None => Err("expected a delay with a unit, such as slow 50ms".to_owned()),
            },
            ["slow", time, rate] => match (delay(time), bandwidth(rate)) {
                (Some(delay), Some(bits)) => {
                    Ok(Order::Begin(Fault::Slow { delay, bandwidth_bits_per_s: Some(bits) }))
                }
                _ => Err("expected a delay and bits per second with units, such as slow 50ms 10Mbit".to_owned()),
            },
            ["end", number] => number
                .parse()
                .map(Order::End)
                .map_err(|_| "expected the number of a fault, such as end 1".to_owned()),
            ["heal"] => Ok(Order::Heal),
            _ => Err("expected cut, blackhole [to-server|to-client], slow DELAY [BANDWIDTH], end NUMBER, heal, or an empty line"
                .to_owned()),
        }
    }
}

/// The line of a fault that was begun, as [`Order::begun`] reads it.
fn began(number: u64) -> String {
    format!("fault {number} began")
}

impl Order {
    /// As a line without its end.
    pub fn line(&self) -> String {
        match self {
            Order::Traffic => String::new(),
            Order::Begin(Fault::Cut) => "cut".to_owned(),
            Order::Begin(Fault::Blackhole(None)) => "blackhole".to_owned(),
            Order::Begin(Fault::Blackhole(Some(Direction::ToServer))) => "blackhole to-server".to_owned(),
            Order::Begin(Fault::Blackhole(Some(Direction::ToClient))) => "blackhole to-client".to_owned(),
            Order::Begin(Fault::Slow { delay, bandwidth_bits_per_s }) => {
                let bandwidth = bandwidth_bits_per_s.map_or(String::new(), |bits| format!(" {bits}bit"));
                format!("slow {}ns{bandwidth}", delay.as_nanos())
            }
            Order::End(number) => format!("end {number}"),
            Order::Heal => "heal".to_owned(),
        }
    }

    /// The number in the answer to [`Order::Begin`].
    pub fn begun(answer: &str) -> Option<u64> {
        let number = answer.trim().strip_prefix("fault ")?.strip_suffix(" began")?;
        number.parse().ok()
    }
}

impl Relay {
    /// Executes an order, and returns the answer. Requested statistics are added to `all`. `None` if the relay has
    /// ended.
    pub fn answer(&self, line: &str, all: &mut Statistics) -> Option<String> {
        let order = match line.parse() {
            Ok(order) => order,
            Err(expected) => return Some(format!("error: {expected}")),
        };
        let answer = match order {
            Order::Traffic => self.take_statistics().map(|since| {
                all.add(&since);
                Traffic::of(&since).to_string()
            }),
            Order::Begin(fault) => self.begin(fault).map(began),
            Order::End(number) => self.end(number).map(|was_active| {
                if was_active {
                    format!("fault {number} ended")
                } else {
                    format!("fault {number} was not active")
                }
            }),
            Order::Heal => self.heal().map(|ended| match ended {
                1 => "1 fault ended".to_owned(),
                ended => format!("{ended} faults ended"),
            }),
        };
        match answer {
            Ok(answer) => Some(answer),
            Err(error) if self.is_running() => Some(format!("error: {error}")),
            Err(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slow(delay_us: u64, bandwidth_bits_per_s: Option<u64>) -> Fault {
        Fault::Slow { delay: Duration::from_micros(delay_us), bandwidth_bits_per_s }
    }

    #[test]
    fn an_order_is_read_as_it_was_written() {
        for order in [
            Order::Traffic,
            Order::Begin(Fault::Cut),
            Order::Begin(Fault::Blackhole(None)),
            Order::Begin(Fault::Blackhole(Some(Direction::ToServer))),
            Order::Begin(Fault::Blackhole(Some(Direction::ToClient))),
            Order::Begin(slow(1500, None)),
            Order::Begin(slow(0, Some(10_000_000))),
            Order::End(7),
            Order::Heal,
        ] {
            assert_eq!(order.line().parse(), Ok(order));
        }
        assert_eq!("slow 1.5ms".parse(), Ok(Order::Begin(slow(1500, None))));
        assert_eq!("slow 1ms 64kbit".parse(), Ok(Order::Begin(slow(1000, Some(64_000)))));
        assert_eq!(Order::begun(&began(12)), Some(12));
        assert_eq!(Order::begun("fault 12 ended"), None);
    }

    #[test]
    fn a_wrong_order_is_answered_with_the_expected_form() {
        for line in [
            "slow",
            "slow 5",
            "slow -5ms",
            "slow 1e99s",
            "slow ms",
            "slow 1ms 5",
            "slow 1ms 0bit",
            "slow 1ms 1e99Gbit",
            "slow 1Mbit 1ms",
            "end",
            "end x",
            "Cut",
            "blackhole both",
        ] {
            assert!(line.parse::<Order>().unwrap_err().starts_with("expected "), "{line}");
        }
    }
}
