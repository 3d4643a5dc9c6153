#!/usr/bin/env bash
# Posts $PORTBENCH_OUT/comment.md to a pull request, or updates the comment of an earlier run of the same targets.
# Needs GH_TOKEN, GITHUB_REPOSITORY and PULL_REQUEST, its number; gh is GitHub's command line.
set -euo pipefail

comment=${PORTBENCH_OUT:?}/comment.md
comments=repos/${GITHUB_REPOSITORY:?}/issues/${PULL_REQUEST:?}/comments
mark=$(head -n 1 "$comment")
# gh's jq reads the mark from the environment, so that no text of it is a program.
earlier=$(MARK=$mark gh api --paginate "$comments" --jq '.[] | select(.body | startswith(env.MARK)) | .id' | head -n 1)
if [ -n "$earlier" ]; then
    gh api --method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$earlier" --field body=@"$comment" >/dev/null
else
    gh api --method POST "$comments" --field body=@"$comment" >/dev/null
fi
