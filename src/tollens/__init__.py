"""tollens: show that a differential privacy promise is false.

If the claim held, no witness against it could exist; here is a witness; so the claim does not
hold (modus tollens).

>>> import tollens
>>> def noisy_count(rows, rng):
...     return len(rows) + rng.laplace(scale=0.5)            # a bug: epsilon = 1 needs scale 1
>>> verdict = tollens.audit(
...     noisy_count, tollens.pure(1.0), neighbours=([1, 1, 1], [1, 1]), seed=7)
>>> verdict.outcome
<Outcome.REFUTED: 'refuted'>
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tollens.auditing.api import Audit, audit
    from tollens.certificate import Certificate
    from tollens.claim import (
        Claim,
        accountant,
        approx,
        claim_from_json,
        gaussian,
        parse_claim,
        profile,
        pure,
        renyi,
        tradeoff,
        zcdp,
    )
    from tollens.errors import (
        CertificateError,
        ClaimError,
        Interrupted,
        MechanismError,
        RefutedError,
        StoreError,
        TargetError,
        TollensError,
        UsageError,
    )
    from tollens.evidence import Alarm, Wealth
    from tollens.external import command, in_environment
    from tollens.mechanism import batched
    from tollens.monitoring.monitor import Monitor
    from tollens.monitoring.state import MonitorState
    from tollens.outcome import Outcome, Reason
    from tollens.outputs import Raised
    from tollens.promises import promise
    from tollens.refutation.api import refute
    from tollens.relations import Relation, add_remove, any_two, numbers, queries, substitute
    from tollens.training.report import TrainingReport
    from tollens.training.scores.audit import audit_scores
    from tollens.training.step_audit import StepAudit
    from tollens.verdict import Verdict
    from tollens.verified import Verified, verify
    from tollens.witness import Witness

__version__ = "0.1.0"

__all__ = [
    "Alarm",
    "Audit",
    "Certificate",
    "CertificateError",
    "Claim",
    "ClaimError",
    "Interrupted",
    "MechanismError",
    "Monitor",
    "MonitorState",
    "Outcome",
    "Raised",
    "Reason",
    "RefutedError",
    "Relation",
    "StepAudit",
    "StoreError",
    "TargetError",
    "TollensError",
    "TrainingReport",
    "UsageError",
    "Verdict",
    "Verified",
    "Wealth",
    "Witness",
    "__version__",
    "accountant",
    "add_remove",
    "any_two",
    "approx",
    "audit",
    "audit_scores",
    "batched",
    "claim_from_json",
    "command",
    "gaussian",
    "in_environment",
    "numbers",
    "parse_claim",
    "profile",
    "promise",
    "pure",
    "queries",
    "refute",
    "renyi",
    "substitute",
    "tradeoff",
    "verify",
    "zcdp",
]

_MODULES = {
    "tollens.auditing.api": "Audit audit",
    "tollens.certificate": "Certificate",
    "tollens.claim": (
        "Claim accountant approx claim_from_json gaussian parse_claim profile pure "
        "renyi tradeoff zcdp"
    ),
    "tollens.errors": (
        "CertificateError ClaimError Interrupted MechanismError RefutedError StoreError "
        "TargetError TollensError UsageError"
    ),
    "tollens.evidence": "Alarm Wealth",
    "tollens.external": "command in_environment",
    "tollens.mechanism": "batched",
    "tollens.monitoring.monitor": "Monitor",
    "tollens.monitoring.state": "MonitorState",
    "tollens.outcome": "Outcome Reason",
    "tollens.outputs": "Raised",
    "tollens.promises": "promise",
    "tollens.refutation.api": "refute",
    "tollens.relations": "Relation add_remove any_two numbers queries substitute",
    "tollens.training.report": "TrainingReport",
    "tollens.training.scores.audit": "audit_scores",
    "tollens.training.step_audit": "StepAudit",
    "tollens.verdict": "Verdict",
    "tollens.verified": "Verified verify",
    "tollens.witness": "Witness",
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names.split()}

_SUBMODULES = ("domains", "errors", "noise")


def __getattr__(name: str) -> object:
    """Load a part when it is first used: `import tollens` itself costs next to nothing."""
    if name in _SUBMODULES:
        return import_module(f"tollens.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'tollens' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
