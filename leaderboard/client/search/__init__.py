"""Search for faster kernels: a proposer writes candidates, the site judges them, the fastest seed the next round.

`photofinish search` (leaderboard/cli/search.py) is its command; docs/agents.md describes it.
"""

from .archive import Candidate, Verdict
from .driver import Search, Shape, lineage_of, shortened
from .journal import Journal
from .prompts import Known, Task, question
from .proposers import ChatProposer, CommandProposer, Proposed, Proposer, ProposerFailed, Reply, make_proposer
from .state import Budget, Settings, State, summary
from .strategies import STRATEGIES

__all__ = [
    "STRATEGIES",
    "Budget",
    "Candidate",
    "ChatProposer",
    "CommandProposer",
    "Journal",
    "Known",
    "Proposed",
    "Proposer",
    "ProposerFailed",
    "Reply",
    "Search",
    "Settings",
    "Shape",
    "State",
    "Task",
    "Verdict",
    "lineage_of",
    "make_proposer",
    "question",
    "shortened",
    "summary",
]
