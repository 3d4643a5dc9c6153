"""What the index filters: all functions, in scripts of some hundred functions each.

Scripts, because a page that is opened from disk may load them and nothing else. Which script a function is in follows
from its name, so that a change of one function changes one script.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from portbench.page.data import CATEGORIES_SHOWN, MARKS
from portbench.page.packing import bits
from portbench.site.model import COLLECTED, Entry, SiteTarget
from portbench.site.names import framework_slug, function_slug
from portbench.study.model import STATUS_TEXTS
from portbench.study.summary import STATUSES

_FUNCTIONS = 400
_ABSENT = "-"


def scripts(by_framework: Mapping[str, Sequence[Entry]], targets: Sequence[SiteTarget]) -> Iterator[tuple[str, str]]:
    """The name and text of each script."""
    for framework, entries in by_framework.items():
        numbers = [target.number for target in targets if target.side.framework == framework]
        buckets = 1
        while buckets * _FUNCTIONS < len(entries):
            buckets *= 2
        for bucket in range(buckets):
            own = [entry for entry in entries if zlib.crc32(entry.name.encode()) % buckets == bucket]
            yield f"data/{framework_slug(framework)}-{bucket:03}.js", _script(framework, own, numbers)


def description(targets: Sequence[SiteTarget], names: Sequence[str]) -> dict[str, Any]:
    """What the index must know before it loads the scripts ``names``."""
    return {
        "scripts": list(names),
        "statuses": [[status, STATUS_TEXTS[status]] for status in STATUSES],
        "categories": CATEGORIES_SHOWN,
        "marks": MARKS,
        "targets": [
            {
                "number": target.number,
                "framework": target.side.framework,
                "version": target.side.version,
                "device": target.device,
                "machine": target.side.machine,
                "evidence": target.evidence,
                "tests": COLLECTED if target.is_collected else "other tests",
                "page": f"targets/{target.slug}/index.html",
            }
            for target in targets
        ],
    }


def _script(framework: str, entries: Sequence[Entry], numbers: Sequence[int]) -> str:
    rows = []
    for entry in entries:
        slug = function_slug(entry.name)
        notes = [
            [place, bits(found[1], CATEGORIES_SHOWN), bits(found[2], MARKS)]
            for place, number in enumerate(numbers)
            if (found := entry.by_target.get(number)) and (found[1] or found[2])
        ]
        statuses = "".join(
            str(STATUSES.index(found[0])) if (found := entry.by_target.get(number)) else _ABSENT for number in numbers
        )
        address = 0 if slug == entry.name else slug
        rows.append([entry.name, address, statuses, notes, entry.uses, entry.decile, int(bool(entry.top20))])
    content = {"framework": framework, "folder": framework_slug(framework), "targets": list(numbers), "rows": rows}
    return f"portbenchData({json.dumps(content, separators=(',', ':'))});\n"
