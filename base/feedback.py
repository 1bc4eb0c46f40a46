"""What people may say of a reply, and who says it: the words of the API, the table and the monitor alike."""

from enum import StrEnum


class FeedbackKind(StrEnum):
    """What was wrong with the reply; GOOD says that nothing was."""

    REPETITION = "repetition"  # it says the same over and over
    GARBLE = "garble"  # it is no language
    INCOMPLETE = "incomplete"  # it breaks off
    EMPTY = "empty"  # it says nothing
    WRONG = "wrong"  # it does not answer the question
    REFUSED = "refused"  # it will not answer
    SLOW = "slow"
    OTHER = "other"
    GOOD = "good"

    @property
    def complaint(self) -> bool:
        """Whether it counts against the model that answered."""
        return self is not FeedbackKind.GOOD


class FeedbackSource(StrEnum):
    USER = "user"  # the person who got the reply, through the app
    SUPPORT = "support"  # somebody who heard of it: by request id, or by user and time
