from hypothesis import settings

# A busy machine must not fail an example for its time.
settings.register_profile("halflife", deadline=None)
settings.load_profile("halflife")

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
