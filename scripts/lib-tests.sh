# shellcheck shell=bash disable=SC2034 # for whoever sources this
# What the scripts that run inside of scripts/server share: a private server on a socket in a temporary directory, test
# drivers with a time limit, and how suites are counted. Source it; the working directory is the top of a copy of the sources.
#
#   driver LOG COMMAND ...   runs a command for LIMIT seconds at most
#   show TITLE FILE [LINES]  the end of a file, where there is one
#   report SUITE             prints PASSED, FAILED and SKIPPED and begins again at 0; ALL_PASSED says how it went
#   start_server, stop_server
#   proven SUITE FILE COMMAND ...     runs a file of TAP tests and counts what it says
#   prove_file SUITE FILE [OPTION ...]    the same for one that uses PostgreSQL::Test; options are prove's

LIMIT=${CSCAN_TEST_TIMEOUT:-900}    # seconds, for one run of a test driver

[[ $EUID -ne 0 ]] || { echo "PostgreSQL does not run as root: use scripts/server run" >&2; exit 2; }
CONFIG=${PG_CONFIG:-pg_config}
# What the caller's environment says of other servers is not for these tests.
unset "${!PG@}"
export PG_CONFIG=$CONFIG
BINDIR=$("$PG_CONFIG" --bindir)
PGXSDIR=$(cd "$(dirname "$("$PG_CONFIG" --pgxs)")/../.." && pwd)
MAJOR=$("$PG_CONFIG" --version | sed 's/^[^0-9]*\([0-9]*\).*/\1/')
SRC=$PWD
TMP=$(mktemp -d /tmp/cscan.XXXXXX)     # short: socket paths are limited
ALL_PASSED=yes PASSED=0 FAILED=0 SKIPPED=0 STARTED=
TAP_ENV=()      # more of the environment for prove_file
export PGHOST=$TMP PGPORT=65432 PGUSER=postgres PGDATABASE=postgres TMPDIR=$TMP

# An extension that was built with sanitizers (CSCAN_SANITIZE, scripts/server) needs their libraries in the server from its
# beginning. What they find ends the process, and with it the server. Leaks are not looked for: memory contexts free what is
# left. Reports are where the server's log is.
SANITIZED=
sanitizers=$(ldd "$("$PG_CONFIG" --pkglibdir)/cscan.so" 2>/dev/null | awk '/lib(a|ub)san/ { print $3 }' | tr '\n' ' ')
if [[ -n ${sanitizers// /} ]]; then
    SANITIZED=sanitized-
    export LD_PRELOAD=${sanitizers% } ASAN_OPTIONS=detect_leaks=0:abort_on_error=1:detect_stack_use_after_return=0
    export UBSAN_OPTIONS=print_stacktrace=1:abort_on_error=1
fi

on_exit() {
    [[ -z $STARTED ]] || "$BINDIR/pg_ctl" -D "$STARTED" -m immediate -w -t 20 stop >/dev/null 2>&1 || :
    rm -rf "$TMP"
}
trap on_exit EXIT
trap 'exit 143' TERM
trap 'exit 130' INT
trap 'exit 129' HUP

# Runs a command for LIMIT seconds at most, its output in a file; ready to stop at a signal meanwhile.
driver() {
    local log=$1 rc=0
    shift
    timeout -k 10 "$LIMIT" "$@" >"$log" 2>&1 </dev/null &
    wait $! || rc=$?
    [[ $rc -ne 124 && $rc -ne 137 ]] || echo "ended after $LIMIT seconds: $*" >>"$log"
    return "$rc"
}

# show TITLE FILE [LINES]: the end of a file, where there is one.
show() {
    [[ -s $2 ]] || return 0
    echo "---- $1"
    tail -n "${3:-60}" "$2"
    echo "----"
}

report() {
    local more=
    [[ $SKIPPED -eq 0 ]] || more=", $SKIPPED skipped"
    echo "suite $SANITIZED$1: $PASSED passed, $FAILED failed$more"
    [[ $FAILED -eq 0 ]] || ALL_PASSED=no
    PASSED=0 FAILED=0 SKIPPED=0
}

# Reads what is to be appended to its configuration.
start_server() {
    local data=$TMP/data
    rm -rf "$data" "$TMP/server.log"
    timeout -k 10 "$LIMIT" "$BINDIR/initdb" -D "$data" -U postgres -A trust -E UTF8 --locale=C -N >"$TMP/initdb.log" 2>&1 || {
        show initdb "$TMP/initdb.log"
        return 1
    }
    {
        echo "listen_addresses = ''"
        echo "unix_socket_directories = '$TMP'"
        echo "port = $PGPORT"
        echo "fsync = off"
        echo "log_line_prefix = '%m [%p] %q%a '"
        cat
    } >>"$data/postgresql.conf"
    STARTED=$data
    "$BINDIR/pg_ctl" -D "$data" -l "$TMP/server.log" -w -t 60 start >"$TMP/start.log" 2>&1 || {
        show "server log" "$TMP/server.log"
        return 1
    }
}

# A suite is not green if its server crashed behind it, or stays.
stop_server() {
    if ! "$BINDIR/pg_ctl" -D "$STARTED" -m fast -w -t 60 stop >"$TMP/stop.log" 2>&1; then
        echo "the server did not stop within 60 seconds"
        show "server log" "$TMP/server.log"
        "$BINDIR/pg_ctl" -D "$STARTED" -m immediate -w -t 20 stop >/dev/null 2>&1 || :
        FAILED=$((FAILED + 1))
    fi
    STARTED=
    if grep -aE 'PANIC: |TRAP: |was terminated by signal|terminating any other active' "$TMP/server.log" >"$TMP/crash.log"; then
        echo "the server crashed:"
        show "from the server log" "$TMP/crash.log"
        FAILED=$((FAILED + 1))
    fi
    rm -rf "$TMP/data"
}

# proven SUITE FILE COMMAND ...: runs one file of TAP tests and counts what it says.
proven() {
    local suite=$1 file=$2 log=$TMP/tap.log rc=0 ok bad skip begin=$SECONDS
    shift 2
    driver "$log" "$@" "$file" || rc=$?
    # One test, or all of the file ("1..0 # SKIP", which prove words in its own way)
    skip=$(grep -ciE '^ok [0-9].*# *skip|\.\. skipped:' "$log" || :)
    ok=$(grep -E '^(ok [0-9]|not ok [0-9].*# *TODO)' "$log" | grep -cviE '# *skip' || :)
    bad=$(grep -E '^not ok [0-9]' "$log" | grep -cviE '# *TODO' || :)
    [[ $rc -eq 0 || $bad -gt 0 ]] || bad=1      # died, or ran another number of tests than planned
    [[ $rc -ne 0 || $((ok + bad + skip)) -gt 0 ]] || bad=1
    if [[ $skip -gt 0 ]]; then grep -iE '^ok [0-9].*# *skip|\.\. skipped:' "$log"; fi
    if [[ $bad -gt 0 ]]; then
        sed -nE '/^not ok|# +Failed test/,/^ok /p' "$log" | head -n 150 >"$TMP/why.log" || :
        show "$file" "$TMP/why.log" 150
        show "the end of it" "$log" 40
        tap_logs
    fi
    echo "$suite ${file##*/}: $ok passed, $bad failed ($((SECONDS - begin)) s)"
    PASSED=$((PASSED + ok)) FAILED=$((FAILED + bad)) SKIPPED=$((SKIPPED + skip))
}

tap_logs() {
    local log
    for log in "$TMP"/tap/tmp_check/log/*; do
        [[ ! -f $log ]] || show "${log##*/}" "$log" 40
    done
}

# prove_file SUITE FILE [prove's options]: one file of tests that use PostgreSQL::Test, which from 17 on copies a new cluster. For
# older ones an initdb does the same that comes first in PATH.
prove_file() {
    local suite=$1 file=$2 dir=$TMP/tap template=$TMP/template path=$PATH
    shift 2
    if [[ ! -d $template ]]; then
        timeout -k 10 "$LIMIT" "$BINDIR/initdb" -D "$template" -A trust -N --lc-messages=C >"$TMP/initdb.log" 2>&1 ||
            show initdb "$TMP/initdb.log"
        mkdir "$TMP/copy"
        {
            echo '#!/bin/sh'
            echo "if [ \$# = 5 ] && [ \"\$1 \$3 \$4 \$5\" = '-D -A trust -N' ]; then exec cp -RPp '$template' \"\$2\"; fi"
            echo "exec '$BINDIR/initdb' \"\$@\""
        } >"$TMP/copy/initdb"
        chmod +x "$TMP/copy/initdb"
    fi
    [[ $MAJOR -ge 17 ]] || path=$TMP/copy:$PATH
    rm -rf "$dir"
    mkdir -p "$dir/tmp_check/log"
    proven "$suite" "$file" env -u PGHOST -u PGUSER -u PGDATABASE PATH="$path" \
        INITDB_TEMPLATE="$template" TESTDIR="$dir" TESTDATADIR="$dir/tmp_check" TESTLOGDIR="$dir/tmp_check/log" \
        PG_REGRESS="$PGXSDIR/src/test/regress/pg_regress" top_builddir="$PGXSDIR" "${TAP_ENV[@]}" \
        prove -v -I "$PGXSDIR/src/test/perl" "$@"
    rm -rf "$dir"
}
