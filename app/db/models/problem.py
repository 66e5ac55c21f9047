"""Problem sets by version, their problems, and the buggy programs made from them."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from app.db.base import Base, Document, Json, UtcDateTime
from app.domain.problems import BuggyProgram, Problem


class ProblemSetRow(Base):
    """One version of a problem set. Never changed once stored; new content is a new version."""

    __tablename__ = "problem_sets"
    __table_args__ = (UniqueConstraint("name", "version"), UniqueConstraint("name", "content_hash"))

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]
    version: Mapped[int]
    content_hash: Mapped[str]
    format: Mapped[str]
    licence: Mapped[str]
    source: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    problem_count: Mapped[int]
    report: Mapped[dict[str, Any]] = mapped_column(Json, deferred=True)
    """What validation found: notes of the reader, and every item that did not behave, with the reason."""

    problems: Mapped[list["ProblemRow"]] = relationship(
        back_populates="problem_set", order_by="ProblemRow.position", lazy="raise"
    )


class ProblemRow(Base):
    """One problem. The columns are for lists; `definition` is the whole of it."""

    __tablename__ = "problems"
    __table_args__ = (UniqueConstraint("problem_set_id", "key"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    problem_set_id: Mapped[int] = mapped_column(ForeignKey("problem_sets.id"), index=True)
    position: Mapped[int]
    key: Mapped[str]
    title: Mapped[str]
    difficulty: Mapped[str | None]
    language: Mapped[str]
    test_style: Mapped[str]
    case_count: Mapped[int | None]
    """None where the tests are code and the number of checks is only known by running them."""
    tests_hash: Mapped[str]
    definition: Mapped[Problem] = mapped_column(Document(Problem), deferred=True)

    problem_set: Mapped[ProblemSetRow] = relationship(back_populates="problems", lazy="raise")
    buggy_programs: Mapped[list["BuggyProgramRow"]] = relationship(
        back_populates="problem", order_by="BuggyProgramRow.id", lazy="raise"
    )


class BuggyProgramRow(Base):
    """A faulty variant with its known bugs."""

    __tablename__ = "buggy_programs"
    __table_args__ = (UniqueConstraint("problem_id", "key"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    problem_id: Mapped[int] = mapped_column(ForeignKey("problems.id"), index=True)
    key: Mapped[str]
    bug_count: Mapped[int]
    odc_classes: Mapped[list[str | None]] = mapped_column(Json)
    """Of each bug its class, None where it is not known."""
    edits_needed: Mapped[int]
    """Entries of the known repair of all bugs together."""
    definition: Mapped[BuggyProgram] = mapped_column(Document(BuggyProgram), deferred=True)

    problem: Mapped[ProblemRow] = relationship(back_populates="buggy_programs", lazy="raise")
