//! Where a server is and how to get in: conninfo, environment, password files, addresses; control sessions.
