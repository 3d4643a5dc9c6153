#!/usr/bin/env bash
# Posts $PORTBENCH_OUT/comment.md to a merge request, or updates the note of an earlier run of the same targets.
# Needs PORTBENCH_GITLAB_TOKEN, a token with the scope api, and GitLab's own variables of a merge request's pipeline.
set -euo pipefail

comment=${PORTBENCH_OUT:?}/comment.md
notes=${CI_API_V4_URL:?}/projects/${CI_PROJECT_ID:?}/merge_requests/${CI_MERGE_REQUEST_IID:?}/notes
mark=$(head -n 1 "$comment")
# The token comes by a file descriptor: arguments can be read by others on the machine.
ask() {
    curl --fail-with-body --silent --show-error --config <(echo "header = \"PRIVATE-TOKEN: ${PORTBENCH_GITLAB_TOKEN:?}\"") "$@"
}
earlier=$(ask "$notes?per_page=100&sort=asc" |
    MARK=$mark python3 -c 'import json, os, sys
found = [note["id"] for note in json.load(sys.stdin) if note["body"].startswith(os.environ["MARK"])]
print(*found[:1])')
if [ -n "$earlier" ]; then
    ask --request PUT --data-urlencode "body@$comment" "$notes/$earlier" >/dev/null
else
    ask --request POST --data-urlencode "body@$comment" "$notes" >/dev/null
fi
