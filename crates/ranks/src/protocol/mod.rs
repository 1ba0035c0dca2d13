//! PMI-1 as bytes and values: the requests of a rank, the replies of a process manager, and messages in pieces that fit
//! into one line. Pure. Source: Flux RFC 13 (Simple Process Manager Interface v1), and for names that are published the
//! same requests of MPICH's Hydra and Slurm's pmi2 plugin.

mod lines;
mod pieces;
mod reply;
mod request;

pub use lines::Lines;
pub use pieces::{MESSAGE_BYTES_MAX, PIECE_BYTES_MAX, join, piece_count, split};
pub use reply::Reply;
pub use request::{LINE_BYTES_MAX, Request};
