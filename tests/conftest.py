# In the order of their imports: pytest rewrites the assertions of a module before anything imports it.
pytest_plugins = [
    "tests.fixtures.durations",
    "tests.fixtures.side_by_side",
    "tests.fixtures.chat_server",
    "tests.fixtures.services",
    "tests.fixtures.database",
    "tests.fixtures.docker",
    "tests.fixtures.slots",
    "tests.fixtures.team",
    "tests.fixtures.engine",
    "tests.fixtures.stack",
]
