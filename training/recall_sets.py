"""``python -m training.recall_sets SPLIT --out FILE``: lives and conversations of a split, for ``benchmarks recall``.

Of the conversations only the questions in other words than the turns, unless ``--worded``.  Figures of the test split
may be looked at, not its texts.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from training.corpus import Author, Split, authors

SPLITS: Final[tuple[Split, ...]] = ("train", "validation", "test")
WORDED: Final = "-w"  # in the id of a question in the turns' words


def haystacks(split: Split, *, worded: bool = False) -> Iterator[dict[str, Any]]:
    """One for each life and conversation, with the questions that something answers."""
    for author in authors(split):
        if author.life:
            yield _of_life(author)
        for conversation in author.conversations:
            questions = [one for one in conversation["questions"] if worded or WORDED not in one["id"]]
            yield _haystack(conversation["id"], conversation["items"], questions)


def _of_life(author: Author) -> dict[str, Any]:
    items = [{**turn, "session": f"s{turn['session']}", "time": turn["time"][:19]} for turn in author.life]
    return _haystack(author.id, items, author.questions)


def _haystack(name: str, items: Sequence[dict[str, Any]], questions: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {"haystack": name, "items": list(items), "questions": [one for one in questions if one["gold"]]}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m training.recall_sets", description=__doc__)
    parser.add_argument("split", choices=SPLITS)
    parser.add_argument("--worded", action="store_true", help="also the questions in the turns' words")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="where to write the set")
    options = parser.parse_args(arguments)
    made = list(haystacks(options.split, worded=options.worded))
    options.out.write_text("".join(json.dumps(one) + "\n" for one in made), encoding="utf-8")
    print(f"{len(made)} haystacks, {sum(len(one['questions']) for one in made)} questions")


if __name__ == "__main__":
    main()
