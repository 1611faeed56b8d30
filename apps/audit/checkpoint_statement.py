"""Format of a checkpoint's signed statement.  Keys, tables and files are handled elsewhere.

A checkpoint covers the heads of all chains at one moment.  It contains the root of a Merkle tree (``apps.core.merkle``)
over all heads, ordered by chain, so that one head can be proven without revealing the others.

::

    signed bytes = "memsync checkpoint 1\\n" || the statement as JSON: keys sorted, no blanks, UTF-8
    head         = chain (8 bytes, big-endian) || seq (8 bytes) || hash (32 bytes)
    root         = root of the tree over all heads
    moved        = root of the tree over the heads that changed since the previous checkpoint; these are listed

On disk and in an export a checkpoint is one line of JSON: ``{"statement", "signature", "heads"}``.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from typing import Any, Final, Self

from apps.core import merkle

MAGIC: Final = b"memsync checkpoint 1\n"
NO_STATEMENT: Final = "0" * 64


class NotACheckpoint(ValueError):
    """A line is not a checkpoint."""


@dataclass(frozen=True, slots=True, order=True)
class Head:
    """Head of a chain: the number and the hash (hex) of its last row."""

    chain: int
    seq: int
    hash: str

    @property
    def leaf(self) -> bytes:
        return merkle.leaf(self.chain.to_bytes(8, "big") + self.seq.to_bytes(8, "big") + bytes.fromhex(self.hash))


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """The signed content of a checkpoint.  previous: hash of the previous statement.  rows: total of all chains."""

    deployment: str
    number: int
    made_at: str
    key_version: int
    chains: int
    rows: int
    root: str
    moved: str
    previous: str

    @property
    def signed(self) -> bytes:
        said = json.dumps(asdict(self), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return MAGIC + said.encode()

    @property
    def hash(self) -> str:
        return hashlib.sha256(self.signed).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Signed:
    """A statement, its signature in hex, and the heads that had moved."""

    statement: Statement
    signature: str
    heads: tuple[Head, ...]

    @property
    def lists_what_it_says(self) -> bool:
        return root_of(self.heads) == self.statement.moved

    def to_json(self) -> dict[str, Any]:
        return {
            "statement": asdict(self.statement),
            "signature": self.signature,
            "heads": [[head.chain, head.seq, head.hash] for head in self.heads],
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Self:
        """Parse a record of ``to_json``.  Raises NotACheckpoint."""
        try:
            said, kinds = record["statement"], {field.name: field.type for field in fields(Statement)}
            if said.keys() != kinds.keys() or any(type(said[name]) is not kind for name, kind in kinds.items()):
                raise NotACheckpoint
            heads = tuple(Head(int(chain), int(seq), str(hash_)) for chain, seq, hash_ in record["heads"])
            signed = cls(statement=Statement(**said), signature=str(record["signature"]), heads=heads)
            bytes.fromhex(signed.signature)
            root_of(signed.heads)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise NotACheckpoint from error
        return signed


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """Proof that a checkpoint covers one head: its index among all heads, and the sibling hashes up to the root."""

    statement: Statement
    signature: str
    head: Head
    index: int
    path: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether the head is under the statement's root.  This does not verify the signature."""
        siblings = [bytes.fromhex(one) for one in self.path]
        root = merkle.root_of_path(self.head.leaf, self.index, self.statement.chains, siblings)
        return root is not None and root.hex() == self.statement.root

    def to_json(self) -> dict[str, Any]:
        signed = Signed(statement=self.statement, signature=self.signature, heads=(self.head,))
        return signed.to_json() | {"index": self.index, "path": list(self.path)}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Self:
        """Parse a record of ``to_json``.  Raises NotACheckpoint."""
        signed = Signed.from_json(record)
        try:
            (head,) = signed.heads
            path = tuple(str(one) for one in record["path"])
            proof = cls(
                statement=signed.statement,
                signature=signed.signature,
                head=head,
                index=int(record["index"]),
                path=path,
            )
            _ = proof.holds
        except (KeyError, TypeError, ValueError) as error:
            raise NotACheckpoint from error
        return proof


def prove(signed: Signed, heads: Sequence[Head], chain: int) -> Proof:
    """Build the proof of one chain's head.  heads: all heads, ordered by chain."""
    index = [head.chain for head in heads].index(chain)
    path = merkle.path([head.leaf for head in heads], index)
    return Proof(
        statement=signed.statement,
        signature=signed.signature,
        head=heads[index],
        index=index,
        path=tuple(one.hex() for one in path),
    )


def root_of(heads: Sequence[Head]) -> str:
    """Return the root, in hex, of the tree over these heads.  heads: ordered by chain."""
    return merkle.root([head.leaf for head in heads]).hex()


def state(
    *,
    deployment: str,
    heads: Iterable[Head],
    moved: Sequence[Head],
    before: Statement | None,
    key_version: int,
    now: datetime,
) -> Statement:
    """Build the statement of the next checkpoint."""
    every = sorted(heads)
    return Statement(
        deployment=deployment,
        number=before.number + 1 if before else 1,
        made_at=now.astimezone(UTC).isoformat(),
        key_version=key_version,
        chains=len(every),
        rows=sum(head.seq for head in every),
        root=root_of(every),
        moved=root_of(moved),
        previous=before.hash if before else NO_STATEMENT,
    )
