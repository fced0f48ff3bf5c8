"""The audit finds of what Kafka's own assignors give that they may give it, and computes it again where it says so."""

from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offsets_tool.assignors.audit import Agreement, AuditBasis, audit
from offsets_tool.assignors.subscriptions import Subscriptions
from offsets_tool.history.subscribed import of_classic
from oracle.answers import Assigned, Joined, Targeted
from oracle.client import Oracle
from tests.assignors.made import group_value, groups, subscription_blob
from tests.depth import DEEP

pytestmark = pytest.mark.java

CLASSES: Final = {
    "range": "RangeAssignor",
    "roundrobin": "RoundRobinAssignor",
    "sticky": "StickyAssignor",
    "cooperative-sticky": "CooperativeStickyAssignor",
}
SUBSCRIPTIONS: Final = {"1.1.1": 0, "2.8.2": 1, "3.3.2": 1}
"""The version of a subscription that a release's clients write; later ones write 3."""
OF_CLIENTS: Final = [
    (version, assignor)
    for assignor, since in {"range": "1", "roundrobin": "1", "sticky": "2", "cooperative-sticky": "2"}.items()
    for version in (
        ("1.1.1", "2.8.2", "3.3.2", "3.7.2", "3.9.2", "4.0.2", "4.4.0")
        if DEEP
        else ("2.8.2", "3.3.2", "4.3.1")
    )
    if version >= since
]
OF_BROKERS: Final = (
    ("3.7.2", "3.9.2", "4.0.2", "4.1.2", "4.2.1", "4.3.1", "4.4.0") if DEEP else ("3.7.2", "4.3.1")
)
RECOMPUTED_SINCE: Final = "3"
EXAMPLES: Final = settings(max_examples=150 if DEEP else 8)


def of_client(oracle: Oracle, version: str, assignor: str, asked: Subscriptions) -> Assigned:
    blob = SUBSCRIPTIONS.get(version, 3)
    members = [
        Joined(m.member_id, m.instance_id, subscription_blob(assignor, m, blob)) for m in asked.members
    ]
    [found] = oracle.assign(version, CLASSES[assignor], [(asked.counts, members)])
    return found


@pytest.mark.parametrize(("version", "assignor"), OF_CLIENTS)
@EXAMPLES
@given(made=st.data())
def test_what_clients_give(oracle: Oracle, version: str, assignor: str, made: st.DataObject) -> None:
    """Read from the group's record, as an audit reads it. Before 2.3 there are no static members."""
    # What two claim, sticky gives to both up to 2.5, and cooperative-sticky of 2.8 to one that no longer asks for its topic.
    asked = made.draw(groups(are_alone=version < "3"))
    if version < "2.3":
        asked = asked._replace(members=tuple(m._replace(instance_id=None) for m in asked.members))
    found = of_client(oracle, version, assignor, asked)
    if found.error is not None:
        # Kafka's sticky assignors fail on some claims to one partition by two members whose subscriptions differ.
        assert not asked.are_equal and "sticky" in assignor
        return
    recorded = of_classic(group_value(assignor, asked, found.given, SUBSCRIPTIONS.get(version, 3)))
    agreement = audit(assignor, Subscriptions(recorded.members, asked.counts), recorded.assigned)
    if assignor in ("range", "roundrobin"):
        assert (agreement.agreement, agreement.basis) == (Agreement.EQUAL, AuditBasis.RECOMPUTED), agreement
    elif asked.are_equal and version > RECOMPUTED_SINCE and _are_few(asked):
        assert agreement.agreement is Agreement.EQUAL, agreement
    elif agreement.agreement is Agreement.UNDECIDED:
        assert "an older generation" in agreement.detail
    else:
        assert agreement.agreement in (Agreement.EQUAL, Agreement.CONSISTENT), agreement


def _are_few(asked: Subscriptions) -> bool:
    """Return whether no partition is claimed by three, of which hash tables' order decides who is asked first."""
    claimed = [partition for member in asked.members for partition in member.claims]
    return all(claimed.count(partition) < 3 for partition in claimed)


@pytest.mark.parametrize("version", OF_BROKERS)
@pytest.mark.parametrize("assignor", ["range", "uniform"])
@EXAMPLES
@given(asked=groups(are_alone=True))
def test_what_brokers_give(oracle: Oracle, version: str, assignor: str, asked: Subscriptions) -> None:
    members = [Targeted(m.member_id, m.instance_id, m.topics, m.claims) for m in asked.members]
    [found] = oracle.assign_target(version, f"{assignor.capitalize()}Assignor", [(asked.counts, members)])
    if found.error is not None:
        # Up to 3.7 the uniform assignor may lose its own way, and the broker assigns nothing then.
        assert (assignor, version < "3.8") == ("uniform", True), found.error
        assert found.error.message.startswith("Mismatch in partition movement record"), found.error
        return
    agreement = audit(assignor, asked, found.given, is_target=True)
    if assignor == "range" and version > "3.8":
        assert (agreement.agreement, agreement.basis) == (Agreement.EQUAL, AuditBasis.RECOMPUTED), agreement
    else:
        assert agreement.agreement in (Agreement.EQUAL, Agreement.CONSISTENT), agreement
