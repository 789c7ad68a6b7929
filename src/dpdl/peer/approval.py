"""A member's yes to a manifest, signed, and how it is taken back before the first round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self, final

from dpdl.errors import InputError
from dpdl.peer.documents import record_of
from dpdl.peer.keys import SigningKey, check_agreement
from dpdl.peer.signed import checked, signed_text
from dpdl.peer.spelling import (
    check_hexadecimal,
    check_name,
    check_person,
    check_time,
)
from dpdl.records import Record
from dpdl.text import sentence


@dataclass(frozen=True)
class MemberStatement(Record):
    """What a person of a member says about a run."""

    FORMAT: ClassVar[int | None] = 1
    WHAT: ClassVar[str] = "statement"

    manifest: str  # its hash
    name: str  # of the member
    time: str
    person: str

    def __post_init__(self) -> None:
        check_hexadecimal(self.manifest, f"{self.WHAT}.manifest")
        check_name(self.name, f"{self.WHAT}.name")
        check_time(self.time, f"{self.WHAT}.time")
        check_person(self.person, f"{self.WHAT}.person")

    def text(self, key: SigningKey) -> bytes:
        """The file, signed by the member."""
        return signed_text(self.to_json(), key)

    @classmethod
    def parse(cls, content: bytes, public: str, manifest: str) -> Self:
        """What a member has signed about this manifest; anything else is refused."""
        try:
            found = record_of(cls, checked(content, public, cls.WHAT), cls.WHAT)
            if found.manifest != manifest:
                raise InputError(
                    f"The {cls.WHAT} of {found.name} is about run {found.manifest[:12]}, not "
                    f"{manifest[:12]}."
                )
        except InputError as failure:
            raise InputError(sentence(str(failure))) from failure
        return found


@final
@dataclass(frozen=True)
class Approval(MemberStatement):
    """Consent of a member, with a fresh X25519 key that serves this run alone."""

    WHAT: ClassVar[str] = "approval"

    agreement: str

    def __post_init__(self) -> None:
        super().__post_init__()
        check_hexadecimal(self.agreement, "approval.agreement")
        check_agreement(self.agreement)


@final
@dataclass(frozen=True)
class Withdrawal(MemberStatement):
    """Consent is taken back; it counts before the member's first round only."""

    WHAT: ClassVar[str] = "withdrawal"
