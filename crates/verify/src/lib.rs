//! Verification of durability: did the server keep what it acknowledged?
//!
//! Each transaction that writes also inserts a **token** into a table, in one message with its COMMIT. Each worker notes in a
//! **journal**, a file, which commits were sent and what came back. Afterwards the journal and the tokens together tell what
//! became of each commit: kept, lost, applied without an acknowledgement.
//!
//! In reading order: [`Roles`] says where a script's tokens belong; [`TokenTable`] has the SQL; [`journal`] has the format of
//! the files; [`CommitTracer`] writes them during a run; [`classify`] is the judgement, without any input or output;
//! [`settle`] asks the server. Called by `run`.

mod classification;
mod error;
pub mod journal;
mod roles;
mod settlement;
mod token_table;
mod tracer;

pub use classification::{Scripts, classify};
pub use error::VerifyError;
pub use roles::{Refusal, Roles, ScriptRoles};
pub use settlement::{Guard, MissingTable, Server, clean, is_refused_role, settle};
pub use token_table::{NAME_PREFIX, TokenTable};
pub use tracer::CommitTracer;
