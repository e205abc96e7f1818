"""The object that tests call `dp`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tollens.errors import Interrupted, TollensError, UsageError

if TYPE_CHECKING:
    from tollens.claim import Claim
    from tollens.pytest_plugin.question import Question
    from tollens.pytest_plugin.session import Running, Session
    from tollens.verdict import Verdict

SESSION = pytest.StashKey["Session"]()
"""Where the configuration keeps the session, once a test uses `dp`."""


class DP:
    """Audits and searches for proofs in a test; made by the fixture `dp`.

    A claim that is refuted fails the test, and so does an audit that tested nothing. What a test
    may spend of the error probability of its session is reckoned by `tollens.pytest_plugin.ledger`.
    """

    def __init__(self, session: Session | None) -> None:
        self._session = session

    def __repr__(self) -> str:
        return "<tollens dp>"

    def audit(
        self,
        mechanism: object,
        claim: Claim | str | None = None,
        *,
        neighbours: object = None,
        undecided: str | None = None,
        **settings: Any,
    ) -> Verdict:
        """Bet against the claim of a mechanism, and fail the test if it is refuted.

        Arguments are those of `tollens.audit`, but alpha: that is the test's share of the
        session's. What is not given here comes from the marker `dp` of the test, then from
        `tollens.promise`; the budget and the seed then from the options. `undecided` says what
        becomes of a test whose audit tested nothing: "fail" (the default), "skip" or "pass".

        Within one run of a test, what was refuted is not audited again: the same question gets the
        same verdict, so that Hypothesis can replay an example.
        """
        __tracebackhide__ = True
        session, running = self._current()
        try:
            from tollens.pytest_plugin.question import audit_question, question_key

            asked = audit_question(
                running.item, session.choices, mechanism, claim, neighbours, undecided, settings
            )
            key = question_key(asked)
            verdict = running.repeated(key)
            if verdict is None:
                verdict = _audited(asked, session, running)
                if verdict.refuted and key is not None:
                    running.refuted[key] = verdict, running.records[-1]
        except Interrupted:
            raise
        except TollensError as error:
            raise error.with_traceback(None) from None
        return self._judged(verdict, asked, session, running)

    def refute(
        self,
        mechanism: object,
        claim: Claim | str | None = None,
        *,
        neighbours: object = None,
        undecided: str | None = None,
        **settings: Any,
    ) -> Verdict:
        """Look for a proof that a claim is false, and fail the test if there is one.

        Arguments are those of `tollens.refute`; the marker gives those that are missing. A proof
        has no error probability, so this spends nothing.
        """
        __tracebackhide__ = True
        session, running = self._current()
        try:
            from tollens.pytest_plugin.question import refute_question

            asked = refute_question(running.item, mechanism, claim, neighbours, undecided, settings)
            verdict = _searched(asked, session, running)
        except Interrupted:
            raise
        except TollensError as error:
            raise error.with_traceback(None) from None
        return self._judged(verdict, asked, session, running)

    def _current(self) -> tuple[Session, Running]:
        __tracebackhide__ = True
        if self._session is None:
            raise UsageError(
                "no test of this session asks for dp; name dp among the arguments of the test, or "
                "mark it with @pytest.mark.dp, so that it gets its share of alpha"
            )
        return self._session, self._session.running()

    def _judged(
        self, verdict: Verdict, asked: Question, session: Session, running: Running
    ) -> Verdict:
        __tracebackhide__ = True
        name = verdict.outcome.name
        if name == "UNREFUTED" or (name == "UNDECIDED" and asked.undecided == "pass"):
            return verdict
        if name == "UNDECIDED" and asked.undecided == "skip":
            pytest.skip(f"tested nothing: {verdict.reason.value}")
        from tollens.pytest_plugin.words import failure

        running.failure = failure(verdict, asked, session, running.item)
        pytest.fail(running.failure, pytrace=False)


def _audited(asked: Question, session: Session, running: Running) -> Verdict:
    from tollens.auditing.api import audit

    number = session.number(running)
    verdict = audit(
        asked.mechanism,
        asked.claim,
        neighbours=asked.neighbours,
        alpha=session.ledger.of_audit(number),
        target=asked.target,
        **asked.settings,
    )
    return _kept(verdict, number, session, running)


def _searched(asked: Question, session: Session, running: Running) -> Verdict:
    from tollens.refutation.api import refute

    verdict = refute(asked.mechanism, asked.claim, neighbours=asked.neighbours, **asked.settings)
    return _kept(verdict, len(running.records) + 1, session, running)


def _kept(verdict: Verdict, number: int, session: Session, running: Running) -> Verdict:
    from tollens.pytest_plugin.records import record_of
    from tollens.pytest_plugin.storing import store

    running.records.append(record_of(verdict))
    if session.choices.store is not None:
        store(session.choices.store, running.item.nodeid, verdict)
    return verdict
