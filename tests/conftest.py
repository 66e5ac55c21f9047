pytest_plugins = [
    "tests.fixtures.chat_server",
    "tests.fixtures.durations",
    "tests.fixtures.services",
]
