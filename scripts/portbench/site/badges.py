"""Badges: small pictures with two words, for a README or a page of somebody else. Made here, as SVG."""

from __future__ import annotations

from markupsafe import escape

from portbench.site.model import COLLECTED, Part, SiteFunction, SiteTarget, running
from portbench.site.names import framework_title
from portbench.util.text import escape_control, shortened

# White text on each of these has a contrast of at least 4.5.
_COLOURS = {"good": "#00785a", "some": "#97600a", "bad": "#b3431a", "none": "#5b6670", "predicted": "#2f6690"}
_GOOD_PERCENT, _SOME_PERCENT = 90, 50
_LONGEST = 60
_NARROW, _WIDE = set("fijlrt.,:;!|'()[] "), set("mwMW%@ABCDEGHKNOPQRUVXYZ")


def target_badge(target: SiteTarget) -> str:
    """How many functions run on a target: "runs on TPU v5e | 94 %"."""
    percent = target.percent
    said = "no results" if percent is None else f"{percent:.0f} %"
    predicted = target.side.is_predicted
    colour = "none" if percent is None else "predicted" if predicted else _grade(percent)
    device = f"{framework_title(target.side.framework)} {'predicted on' if predicted else 'runs on'} {target.device}"
    return badge(f"{device}, {COLLECTED}" if target.is_collected else device, said, colour)


def function_badge(function: SiteFunction) -> str:
    """On how many targets all tests of a function pass; of those that were measured, where there are any. Collected
    tests only where there are no others."""
    part, cells = next(iter(function.parts.items()), (Part(is_collected=False, is_predicted=False), []))
    passing, rated = running(cells)
    if not rated:
        return badge(function.name, "not tested", "none")
    word = "predicted on" if part.is_predicted else "runs on"
    colour = "predicted" if part.is_predicted else _grade(100 * passing / rated)
    tests = f" ({COLLECTED})" if part.is_collected else ""
    return badge(function.name, f"{word} {passing} of {rated} targets{tests}", colour)


def badge(label: str, value: str, colour: str) -> str:
    """A badge with a grey label and a value in a colour of ``_COLOURS``."""
    left, right = (escape_control(shortened(text, _LONGEST)) for text in (label, value))
    widths = [_width(left) + 12, _width(right) + 12]
    total = sum(widths)
    title = escape(f"{left}: {right}")
    texts = "".join(
        f'<text x="{start + width / 2:g}" y="14" textLength="{width - 12}">{escape(text)}</text>'
        for text, start, width in ((left, 0, widths[0]), (right, widths[0], widths[1]))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{total}" height="20" viewBox="0 0 {total} 20" role="img" '
        f'aria-label="{title}"><title>{title}</title><clipPath id="r"><rect width="{total}" height="20" rx="4"/>'
        f'</clipPath><g clip-path="url(#r)"><rect width="{widths[0]}" height="20" fill="#3d4650"/>'
        f'<rect x="{widths[0]}" width="{widths[1]}" height="20" fill="{_COLOURS[colour]}"/></g>'
        f'<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,Geneva,sans-serif" font-size="11">'
        f"{texts}</g></svg>\n"
    )


def _grade(percent: float) -> str:
    return "good" if percent >= _GOOD_PERCENT else "some" if percent >= _SOME_PERCENT else "bad"


def _width(text: str) -> int:
    """About how many pixels a text takes in 11 px Verdana; textLength makes it exact."""
    return round(sum(4.3 if sign in _NARROW else 8.6 if sign in _WIDE else 6.8 for sign in text))
