//! PostgreSQL's protocol as bytes in, messages out; start-up and authentication. Pure.
