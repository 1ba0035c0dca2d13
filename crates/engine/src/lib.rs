//! The load generator: clients on workers; owns threads, polling, pacing and the clock.
