//! Tokens: with each transaction that writes, a client also inserts a row that identifies it, in one message with the COMMIT.
//! So the row is there exactly if the transaction is. `verify` creates the table and reads it afterwards.

/// How clients write tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenPlan {
    /// `INSERT INTO table (client, sequence, part, try) VALUES `, with a quoted name.
    pub insert: String,
    /// The role of each command of each script.
    pub roles: Vec<Vec<TokenRole>>,
}

/// The role of a command for tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TokenRole {
    /// None.
    #[default]
    Nothing,
    /// It begins a transaction block.
    Begin,
    /// It writes. Outside of a transaction block it gets a token.
    Write,
    /// It commits a transaction block, with a token if the block has written.
    Commit,
}

/// Identifies one try of one commit; the values of the row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// Number of the client, from 0.
    pub client: usize,
    /// Number of the pass through a script within the client, from 1.
    pub sequence: u64,
    /// Number of the commit within the pass, from 1.
    pub part: u32,
    /// Number of the try, from 1.
    pub tries: u32,
}
