"""The program that lives in the sandbox. Standard library and `app.domain.codec` only, Python 3.11 or newer.

One process, the server, waits for requests and forks for each one. It reads nothing itself, so that every execution
starts from the same clean memory. The chain of processes of one execution:

    server ── director ── supervisor (first process of its pid namespace) ── candidate
                    └──── supervisor ── tester            (only where test code calls the candidate)

The director reads the request, unshares the namespaces and sends the outcome. The supervisor holds the clock and the
limits, and reaps every process before it reports. The candidate gets arguments and gives answers.
"""
