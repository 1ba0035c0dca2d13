//! Waiting for a condition that another process or thread brings about.
//! A loop that looks without a pause would take the processor from what it waits for.

use std::thread;
use std::time::Duration;

/// Short against what tests wait for, long against a look at a condition, such as a query.
const PAUSE: Duration = Duration::from_millis(5);

/// The pause between two looks at a condition.
pub fn pause() {
    thread::sleep(PAUSE);
}
