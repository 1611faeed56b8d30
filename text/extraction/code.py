"""Detects code, logs and data that were pasted without comment."""

from text import patterns

_FENCE = patterns.compile(r"```.*?(?:```|\Z)", patterns.DOTALL)
_CODE_LINE = patterns.compile(
    r"^\s*(?:def |class |import |from \w[\w.]* import|return\b|if .*:$|elif |else:|for .*:$|while .*:$|try:|except\b"
    r"|@\w|#include|#!|//|/\*|\*/|\* |function\b|const |let |var |export |public |private |protected|static "
    r"|fn |func |package |using |namespace |struct |impl |SELECT\b|INSERT\b|UPDATE \w+ SET|DELETE FROM"
    r"|CREATE (?:TABLE|INDEX)|ALTER TABLE|DROP |FROM \w+$|WHERE |GROUP BY|ORDER BY|<\/?[a-z][\w-]*[\s>/]|\$ |>>> "
    r"|\.\.\. |>\s*\w+@|PS C:"
    r"|Traceback \(|File \"|at [\w.$<>]+\(|Caused by:|[\w.]*(?:Error|Exception|Warning)\b:?|E\s{3}"
    r"|\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?(?:INFO|DEBUG|WARN|WARNING|ERROR|FATAL|TRACE|CRITICAL)\b"
    r"|\d+\.\d+\.\d+\.\d+ - |panic:|goroutine |npm ERR|error\[E|error TS|diff --git|@@ |[+-]{3} [ab]/"
    r"|index [0-9a-f]{7}|commit [0-9a-f]{7,40}$|\w+:\s*\{|apiVersion:|kind: )"
    r"|[{};]\s*$|^\s*[\]"
    r"})]+[,;]?\s*$|^\s*\"[\w-]+\"\s*:|^\s*[\w.\[\]'\"]+\s*(?:=|\+=|:=)\s*"
    r"(?!(?:[A-Za-z'’]+[.,]? ){2}[A-Za-z'’]+)[^\s=]|^\s*[{\[]"
    r"|=>|->\s*\w+\s*[:"
    r"{"
    r"]|\w+\([^)]*\);?\s*$|^\s*(?:sudo|git|docker|kubectl|npm|pip|curl|cd|ls|cat|grep|ssh|make|cargo|go|python3?"
    r"|uv) (?:[\w:.-]+ ){0,3}?(?:--?\w|[./~]\S)|^\s*(?:git|docker|kubectl|npm|pip|cargo|uv|make) (?:add|push|pull"
    r"|commit|clone|run|ps|build|exec|install|get|apply|rebase|checkout|status)\b[^.!?]{0,40}$"
)


def is_code_only(plain: str) -> bool:
    """Whether nothing is left after removing fenced blocks and lines that look like code or log output."""
    left = _FENCE.sub("\n", plain) if "```" in plain else plain
    lines = [line for line in left.split("\n", 400)[:400] if line.strip()]
    if not lines:
        return "```" in plain
    prose = [line for line in lines if not _CODE_LINE.search(line[:300])]
    return not prose or (
        len(lines) >= 4 and len(prose) * 4 <= len(lines) and all(len(line.split()) < 6 for line in prose)
    )


_SETTING = patterns.compile(r"\s*[\w .-]{1,40}[:=](?!//)\s*\S{1,200}\s*")
_SHORT = 1_500  # characters; settings pasted alone in a shorter text are the user's own, no example


def regions(plain: str) -> list[tuple[int, int]]:
    """Spans of code, in order: fenced blocks, and three or more consecutive lines of code."""
    found = [match.span() for match in _FENCE.finditer(plain)] if "```" in plain else []
    fenced = iter([*found, (len(plain), len(plain))])
    block = next(fenced)
    at, run, begin = 0, 0, 0
    while at < len(plain):
        stop = plain.find("\n", at)
        stop = len(plain) if stop < 0 else stop
        while block[1] <= at and block[0] < len(plain):
            block = next(fenced)
        inside = block[0] <= at < block[1]
        if inside or (stop > at and _CODE_LINE.search(plain[at : min(stop, at + 300)])):
            run += not inside
        elif plain[at:stop].strip():
            if run >= 3:
                found.append((begin, at))
            run, begin = 0, stop + 1
        at = stop + 1
    if run >= 3:
        found.append((begin, len(plain)))
    if len(plain) < _SHORT:
        found = [span for span in found if not _only_settings(plain[slice(*span)])]
    return sorted(found)


def _only_settings(block: str) -> bool:
    lines = [line for line in block.removeprefix("```").removesuffix("```").split("\n") if line.strip()]
    return all(_SETTING.fullmatch(line) for line in lines)


# Inline code, a path, a file, a call, a name with underscores, an exception, an error code, a hexadecimal number.
_MARK = patterns.compile(
    r"`[^`\n]+`|(?:^|[\s(\"'=])(?:~|\.{1,2}|[A-Za-z]:)?(?:[/\\][\w.-]+){2,}"
    r"|\b[\w-]+\.(?:pyi?|[jt]sx?|go|rs|java|kt|cs|cpp|hpp|rb|php|sh|sql|json|ya?ml|toml|html?|css|lock|cfg|ini|md)\b"
    r"|\b[A-Za-z_]\w*\(\)|\b[A-Za-z]\w*_\w+|\b[A-Z][A-Za-z]*(?:Error|Exception)\b"
    r"|\b(?:ENOENT|EACCES|EPERM|EEXIST|EPIPE|ETIMEDOUT|ECONN[A-Z]+|EADDR[A-Z]+)\b|\b[A-Z]{1,4}-?\d{4,5}\b"
    r"|\b0x[0-9A-Fa-f]{2,}\b",
)


def has_code(plain: str) -> bool:
    """Whether a text contains code, or names a path, a file, a symbol or an error code."""
    return bool(_MARK.search(plain) or regions(plain))
