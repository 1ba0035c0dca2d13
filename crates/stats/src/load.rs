//! Types that describe a load and its tables, in the lowest crate that engine, workloads and records share. Plain
//! values with their JSON.

use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Protocol for queries (PostgreSQL manual, "Frontend/Backend Protocol", message flow).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// One Query message with the variables' values in its text.
    Simple,
    /// Parse, Bind, Describe, Execute, Sync for each execution; variables are parameters.
    Extended,
    /// As extended, but each command is parsed once per connection.
    Prepared,
}

impl Protocol {
    /// Name in `-M`.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Simple => "simple",
            Protocol::Extended => "extended",
            Protocol::Prepared => "prepared",
        }
    }
}

/// When a connection pooler takes a connection to the server back from a client (PgBouncer manual, `pool_mode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PoolMode {
    /// When the client disconnects.
    Session,
    /// At the end of each transaction.
    Transaction,
    /// At the end of each statement; transactions of several statements are refused.
    Statement,
}

impl PoolMode {
    /// Name in PgBouncer's configuration and in experiments.
    pub fn name(self) -> &'static str {
        match self {
            PoolMode::Session => "session",
            PoolMode::Transaction => "transaction",
            PoolMode::Statement => "statement",
        }
    }
}

/// Format of the columns of results (PostgreSQL manual, "Bind"). The simple protocol has only text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResultFormat {
    /// As text.
    #[default]
    Text,
    /// In the binary format of each type.
    Binary,
}

impl ResultFormat {
    /// Whether it is the default.
    pub fn is_text(&self) -> bool {
        *self == Self::Text
    }
}

/// Limit of a run: `{"duration_s": 10.0}` or `{"transactions_per_client": 1000}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// No transaction starts later than this after the warm-up; running ones are completed.
    #[serde(rename = "duration_s", with = "seconds")]
    #[schemars(with = "f64")]
    Duration(Duration),
    /// After so many measured transactions per client, whatever their outcome.
    TransactionsPerClient(u64),
}

/// Partitioning method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PartitionMethod {
    /// By ranges of the key.
    #[default]
    Range,
    /// By a hash of the key.
    Hash,
}

impl PartitionMethod {
    /// Name in SQL and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            PartitionMethod::Range => "range",
            PartitionMethod::Hash => "hash",
        }
    }
}

impl fmt::Display for PartitionMethod {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// A time as a JSON number of seconds, for `#[serde(with = …)]`.
pub mod seconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer, de};

    /// Writes it.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(time.as_secs_f64())
    }

    /// Reads it.
    ///
    /// # Errors
    /// It is not a number, negative, or too large.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        let seconds = f64::deserialize(deserializer)?;
        Duration::try_from_secs_f64(seconds)
            .map_err(|_| de::Error::custom(format!("{seconds} is not a time in seconds")))
    }

    /// The same for an optional time.
    pub mod optional {
        use std::time::Duration;

        use serde::{Deserialize, Deserializer, Serialize, Serializer};

        #[derive(Serialize, Deserialize)]
        struct Seconds(#[serde(with = "super")] Duration);

        /// Writes it.
        ///
        /// # Errors
        /// Those of the serializer.
        pub fn serialize<S: Serializer>(time: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
            time.map(Seconds).serialize(serializer)
        }

        /// Reads it.
        ///
        /// # Errors
        /// It is not a number, negative, or too large.
        pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
            Ok(Option::<Seconds>::deserialize(deserializer)?.map(|Seconds(time)| time))
        }
    }
}
