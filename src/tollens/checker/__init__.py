"""The independent checker of certificates: standard library only, exact arithmetic, no floats."""

from tollens.checker.certificate import Verified, verify
from tollens.checker.errors import CertificateError, Refusal, Refused

__all__ = ["CertificateError", "Refusal", "Refused", "Verified", "verify"]
