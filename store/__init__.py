"""Keeps what the rooms decided: fulfils their ports over Redis, SQL and memory."""
