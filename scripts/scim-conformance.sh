#!/usr/bin/env bash
# Runs the public SCIM test client against a running service: scripts/scim-conformance.sh http://localhost:3000 TOKEN
# It creates and deletes users and groups with the token's rights: use a token of an Environment for tests.
set -euo pipefail
url=${1:?"the address of the service"}
export SCIM_CLI_HEADERS="Authorization: Bearer ${2:?"a SCIM token"}"
home=${SCIM_TESTER_HOME:-$(mktemp -d)}
[ -x "$home/bin/scim2" ] || { python3 -m venv "$home" && "$home/bin/pip" install --quiet scim2-cli scim2-tester; }
exec "$home/bin/scim2" --url "${url%/}/scim/v2" test
