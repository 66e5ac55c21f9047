"""`halflife migrate` and `halflife prepare`: what comes before the services of a team's installation start."""

from app.cli.installation import installation, note, read_settings
from app.cli.serve import prepare as offer
from app.db.migrate import migrate as bring_up_to_date
from app.db.session import Database


def migrate() -> None:
    """Bring the database to the current schema."""
    db = Database(read_settings().database)
    try:
        bring_up_to_date(db)
    finally:
        db.close()
    note("the database has the current schema")


def prepare() -> None:
    """Offer the baseline model and the starter problems, tried in the sandbox first. Does nothing a second time."""
    with installation() as opened:
        offer(opened)
    note("the baseline model and the starter problems are there")
