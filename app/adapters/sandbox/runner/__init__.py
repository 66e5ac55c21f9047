"""The program that lives in the sandbox. Standard library and `app.domain.codec` only, Python 3.11 or newer.

One process, the server, waits for requests and forks for each one. It reads nothing itself, so that every execution
starts from the same clean memory. The processes of one execution:

    server ── supervisor ── candidate
    server ── director ─┬── supervisor ── candidate     (where test code calls the candidate)
                        └── supervisor ── tester

A supervisor is there before its request comes. It holds the clock and the limits, and reaps every process before it
reports. The candidate gets arguments and gives answers.
"""
