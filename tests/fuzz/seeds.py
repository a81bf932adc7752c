#!/usr/bin/env python3
"""Seeds of the fuzz targets: every text that the wire cases send, one file each.

Usage: tests/fuzz/seeds.py DIRECTORY

Why: a fuzzer that starts from what real providers sent is where the bugs are at once. Input: the quoted scalars of
`tests/wire/*.yaml`. Output: files named by their content, so that a case that stays keeps its seed.
"""

import hashlib
import json
import pathlib
import re
import sys

CASES = pathlib.Path(__file__).resolve().parent.parent / "wire"
SCALAR = re.compile(r"""'((?:[^']|'')*)'|"((?:[^"\\]|\\.)*)\"""")


def texts() -> set[str]:
    """All quoted scalars of the cases that could be bytes of a provider, as lines of a stream and as they are."""
    found = set()
    for path in sorted(CASES.glob("*.yaml")):
        if path.name == "reports.yaml":  # names of tests, no bytes of anybody
            continue
        for single, double in SCALAR.findall(path.read_text()):
            try:
                text = single.replace("''", "'") if single else json.loads(f'"{double}"')
            except json.JSONDecodeError:
                continue
            if len(text) > 3:
                found.update({text, f"data: {text}\n\n"} if text.startswith(("{", "[")) else {text})
    return found


def main() -> None:
    """Writes the files."""
    directory = pathlib.Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    seeds = texts()
    assert len(seeds) > 100, f"only {len(seeds)} seeds: the cases have moved"
    for text in seeds:
        data = text.encode()
        (directory / hashlib.sha1(data).hexdigest()).write_bytes(data)
    print(f"{len(seeds)} seeds from the wire cases")


if __name__ == "__main__":
    main()
