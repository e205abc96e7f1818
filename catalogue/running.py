"""Audit entries of the catalogue, each in the environment of its release."""

from __future__ import annotations

import time

import tollens
from catalogue.entry import Entry
from catalogue.environments import environments
from catalogue.results import Result, shown
from tollens.external import in_environment

ALPHA = 1e-6


class NotReady(Exception):
    """The environment of an entry has not been made."""


def audited(entry: Entry, *, seed: int) -> tollens.Verdict:
    """The verdict on an entry; `NotReady` where its environment is missing.

    Raises `tollens.errors.TollensError` where it cannot be audited, such as a mechanism that its
    release does not have.
    """
    environment = environments()[entry.environment]
    if not environment.ready:
        raise NotReady(
            f"{entry.environment} is not made; run: "
            f"python -m catalogue.environments {entry.environment}"
        )
    mechanism = in_environment(environment.interpreter, entry.target, claim=entry.claim)
    return tollens.audit(
        mechanism,
        neighbours=entry.neighbours,
        alpha=ALPHA,
        budget=entry.pairs,
        outputs=entry.outputs,
        seed=seed,
    )


def run(entry: Entry, *, seed: int) -> Result:
    """The result of an entry; raises what `audited` raises."""
    started = time.perf_counter()
    verdict = audited(entry, seed=seed)
    environment = environments()[entry.environment]
    witness = verdict.witness
    return Result(
        id=entry.id,
        library=entry.library,
        environment=entry.environment,
        versions=_versions(verdict, environment.packages),
        mechanism=entry.name,
        claim=str(verdict.claim),
        known=entry.truth,
        source=entry.source,
        given=entry.given,
        outputs=entry.outputs,
        outcome=verdict.outcome.name,
        reason=verdict.reason.name,
        alpha=verdict.alpha,
        budget=entry.pairs,
        pairs=verdict.pairs,
        seconds=round(time.perf_counter() - started, 1),
        relation=verdict.neighbours.relation,
        x=shown(verdict.neighbours.x),
        x_prime=shown(verdict.neighbours.x_prime),
        witness=None if witness is None or not verdict.refuted else witness.describe(),
        epsilon_lower=verdict.epsilon_lower,
        delta=verdict.delta,
        detectable_excess=verdict.detectable_excess,
        seed=verdict.seed,
        notes=verdict.notes,
    )


def _versions(verdict: tollens.Verdict, packages: tuple[str, ...]) -> dict[str, str]:
    """The release that was run, its interpreter, and ours."""
    pinned = dict(package.split("==") for package in packages)
    found = {name.partition("[")[0]: version for name, version in pinned.items()}
    return {**found, "tollens": verdict.versions["tollens"]}
