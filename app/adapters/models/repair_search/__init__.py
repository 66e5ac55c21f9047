"""A baseline that repairs programs by search and needs no key: one small edit of the given program an attempt."""

from app.adapters.models.repair_search.search import RepairSearch

__all__ = ["RepairSearch"]
