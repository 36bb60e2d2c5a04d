"""Looking for symptoms on a cluster, with evidence (`faults.symptoms` says what there is to look for)."""

from harness.symptoms.evidence import Evidence, Verdict
from harness.symptoms.failing import SymptomError, too_much, unseen
from harness.symptoms.looking import look, look_until
from harness.symptoms.observer import Asked, Observer

__all__ = ["Asked", "Evidence", "Observer", "SymptomError", "Verdict", "look", "look_until", "too_much", "unseen"]
