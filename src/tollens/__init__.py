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
from tollens.mechanism import batched
from tollens.outcome import Outcome, Reason
from tollens.outputs import Raised
from tollens.promises import promise
from tollens.relations import Relation, add_remove, queries, substitute
from tollens.verdict import Verdict
from tollens.witness import Witness

if TYPE_CHECKING:
    from tollens.auditing.api import Audit, audit
    from tollens.certificate import Certificate
    from tollens.evidence import Alarm, Wealth
    from tollens.monitoring.monitor import Monitor
    from tollens.monitoring.state import MonitorState
    from tollens.refutation.api import refute
    from tollens.training.report import TrainingReport
    from tollens.training.scores.audit import audit_scores
    from tollens.training.step_audit import StepAudit
    from tollens.verified import Verified, verify

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
    "approx",
    "audit",
    "audit_scores",
    "batched",
    "claim_from_json",
    "gaussian",
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

_ON_FIRST_USE = {
    "Audit": "tollens.auditing.api",
    "audit": "tollens.auditing.api",
    "Alarm": "tollens.evidence",
    "Certificate": "tollens.certificate",
    "Verified": "tollens.verified",
    "verify": "tollens.verified",
    "refute": "tollens.refutation.api",
    "Wealth": "tollens.evidence",
    "Monitor": "tollens.monitoring.monitor",
    "MonitorState": "tollens.monitoring.state",
    "StepAudit": "tollens.training.step_audit",
    "TrainingReport": "tollens.training.report",
    "audit_scores": "tollens.training.scores.audit",
}


def __getattr__(name: str) -> object:
    """Load the heavier parts when they are first used."""
    if name not in _ON_FIRST_USE:
        raise AttributeError(f"module 'tollens' has no attribute {name!r}")
    value = getattr(import_module(_ON_FIRST_USE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
