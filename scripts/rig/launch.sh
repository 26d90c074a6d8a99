# shellcheck shell=bash
# How a program of the rig starts. Source it after lib.sh.
#
#   rig_launch MODULE ARG ...     runs python's rig.MODULE in a private virtual environment; does not return
#
# A plain user who has sudo starts over as root, so that bandwidth can be limited; servers still run as that user.

# Sets CSCAN_OWN_MAJOR: the newest PostgreSQL on this machine; where there is none, the one that its packages offer.
OLDEST_MAJOR=15
own_major() {
    local newest
    newest=$(for dir in /usr/lib/postgresql/[0-9]*; do [[ ! -x $dir/bin/postgres ]] || echo "${dir##*/}"; done | sort -n | tail -n 1)
    [[ ${newest:-0} -ge $OLDEST_MAJOR ]] || newest=
    if [[ -z $newest ]] && have apt-cache; then
        compgen -G '/var/lib/apt/lists/*_Packages*' >/dev/null || ! can_be_root || apt_refresh
        newest=$(apt-cache depends postgresql 2>/dev/null | sed -n 's/^ *Depends: postgresql-\([0-9]*\)$/\1/p') || :
        [[ ${newest:-0} -ge $OLDEST_MAJOR ]] || newest=
    fi
    CSCAN_OWN_MAJOR=$newest
}

# Makes the virtual environment, or adds to it what a program of the rig still misses there for these arguments.
rig_environment() {
    local venv=$1 module=$2 missing=() packages
    shift 2
    if [[ ! -x $venv/bin/python ]]; then
        if ! python3 -c 'import venv, ensurepip' 2>/dev/null; then
            # Who cannot install them is told of all that is missing at once.
            # shellcheck disable=SC2046 # words
            apt_install python3 python3-venv $([[ $module = top ]] || can_be_root || server_packages "$CSCAN_OWN_MAJOR")
        fi
        say "making a virtual environment in $venv"
        python3 -m venv "$venv" || { rm -rf "$venv"; die "python3 cannot make a virtual environment in $venv"; }
    fi
    "$venv/bin/python" -c 'import psycopg' 2>/dev/null || missing+=('psycopg[binary]')
    [[ $module = top || -x $venv/bin/tpchgen-cli ]] || missing+=(tpchgen-cli)
    [[ $module != bench ]] || "$venv/bin/python" -c 'import matplotlib' 2>/dev/null || missing+=(matplotlib)
    if [[ $module = bench && " $* " == *queries* ]]; then
        read -ra packages < <(PYTHONPATH=$TOP/scripts PYTHONDONTWRITEBYTECODE=1 "$venv/bin/python" -m rig.tpc)
        missing+=("${packages[@]}")
    fi
    if [[ $module = bench && " $* " == *vectors* ]] && ! "$venv/bin/python" -c 'import duckdb' 2>/dev/null; then
        missing+=(duckdb)
    fi
    [[ ${#missing[@]} -gt 0 ]] || return 0
    say "installing ${missing[*]} in $venv"
    "$venv/bin/pip" --quiet --disable-pip-version-check install "${missing[@]}" >&2 ||
        die "pip could not install ${missing[*]}; it needs a way to PyPI (https_proxy, PIP_INDEX_URL)"
}

rig_launch() {
    local module=$1 python=python3
    shift
    umask 022                       # the user that the servers run as reads what is made here
    case " $* " in *' --help '*|*' -h '*)
        have python3 || { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$TOP/scripts/$module"; exit 0; } ;;
    esac
    as_root_if_possible "$module" "$@"
    CSCAN_CACHE=$(cache_dir)
    # A build of its own: what others build from this tree must not replace the library of a server that is running.
    CSCAN_KEY=${CSCAN_KEY:-$(printf %s "$TOP" | cksum | cut -d' ' -f1)-$module}
    CSCAN_NO_TESTS=yes
    export CSCAN_CACHE CSCAN_KEY CSCAN_OWN_MAJOR CSCAN_NO_TESTS
    case " $* " in
        *' --clean '*|*' --help '*|*' -h '*)        # these need nothing
            CSCAN_OWN_MAJOR=15
            have python3 || die "python3 is missing, so nothing has been made here that could be removed" ;;
        *)
            own_major
            [[ -n $CSCAN_OWN_MAJOR || " $* " == *' --major'* ]] ||
                die "there is no PostgreSQL $OLDEST_MAJOR or later here, nor do apt's lists have one: run apt-get update as root, or see https://wiki.postgresql.org/wiki/Apt"
            CSCAN_OWN_MAJOR=${CSCAN_OWN_MAJOR:-$OLDEST_MAJOR}
            mkdir -p "$CSCAN_CACHE"
            rig_environment "$CSCAN_CACHE/venv" "$module" "$@"
            # load-rate compares with it, and goes on without it.
            [[ $module != bench ]] || have fio || ! can_be_root || ( apt_install fio ) || warn "there is no fio"
            python=$CSCAN_CACHE/venv/bin/python ;;
    esac
    PYTHONPATH=$TOP/scripts PYTHONDONTWRITEBYTECODE=1 exec "$python" -m "rig.$module" "$@"
}
