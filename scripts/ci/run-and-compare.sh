#!/usr/bin/env bash
# Runs targets and compares the results with those of before. Called by action.yml and gitlab.yml, in the user's
# repository. Leaves in $PORTBENCH_OUT: results/, study/, report/, comment.md and, after a comparison, junit.xml.
#
#   PORTBENCH_TARGETS    names of targets, with spaces between them
#   PORTBENCH_MANIFEST   name or file of a manifest
#   PORTBENCH_OPTIONS    more options of `portbench run`, as in a shell: --runs 1 --function 'torch.linalg.*'
#   PORTBENCH_BASELINE   a study or run files: a path, or BRANCH:PATH for a path in a branch of origin; empty: compare
#                        with nothing
#   PORTBENCH_FAIL_ON    conditions of `portbench compare --fail-on`; empty: none
#
# Exit status: that of the first command that failed; 1 if a condition is met. 0 if there is no baseline yet.
set -euo pipefail

portbench=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/.venv/bin/portbench
out=${PORTBENCH_OUT:?the folder for the results}
comment=$out/comment.md
mkdir -p "$out"

read -ra targets <<<"${PORTBENCH_TARGETS:?names of targets}"
# xargs reads quotes as a shell does, and expands nothing.
mapfile -d '' -t options < <(xargs -r printf '%s\0' <<<"${PORTBENCH_OPTIONS:-}")
"$portbench" run "${targets[@]}" --manifest "${PORTBENCH_MANIFEST:-study}" "${options[@]}" --out "$out/results"
"$portbench" merge "$out/results" -o "$out/study"
"$portbench" report "$out/study" -o "$out/report" >"$out/report.txt"

baseline=${PORTBENCH_BASELINE:-}
if [[ $baseline == *:* && $baseline != *://* ]]; then
    branch=${baseline%%:*} path=${baseline#*:}
    baseline=$out/baseline/$path
    mkdir -p "$out/baseline"
    if git fetch --quiet --depth 1 origin "$branch"; then
        git archive FETCH_HEAD "$path" | tar -x -C "$out/baseline" || echo "branch $branch has no $path" >&2
    fi
fi

{
    # The line by which the next run finds the comment of this one.
    echo "<!-- portbench: ${PORTBENCH_TARGETS} -->"
    sed -n '/^## Findings/,/^## Files/{/^## Files/!p}' "$out/report/report.md"
} >"$comment"

status=0
if [ -z "$baseline" ]; then
    echo "No baseline was given, so nothing was compared." >>"$comment"
elif [[ $baseline != *://* && ! -e $baseline ]]; then
    echo "There is no baseline yet at \`${PORTBENCH_BASELINE}\`, so nothing was compared." >>"$comment"
else
    fail_on=()
    [ -z "${PORTBENCH_FAIL_ON:-}" ] || fail_on=(--fail-on "$PORTBENCH_FAIL_ON")
    "$portbench" compare "$baseline" "$out/study" "${fail_on[@]}" --markdown "$out/comparison.md" \
        --junit "$out/junit.xml" || status=$?
    [ ! -e "$out/comparison.md" ] || cat "$out/comparison.md" >>"$comment"
fi

# GitHub takes 65,536 characters.
if [ "$(wc -m <"$comment")" -gt 60000 ]; then
    head -c 60000 "$comment" | sed '$d' >"$comment.cut"
    printf '\nThe rest is in comparison.md, in the artefacts of this run.\n' >>"$comment.cut"
    mv "$comment.cut" "$comment"
fi
exit "$status"
