"""Every SQL statement, the pool, the embedded Postgres, index versions, erasure."""
