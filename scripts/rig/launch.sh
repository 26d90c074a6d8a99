# shellcheck shell=bash
# How a program of the rig starts. Source it after lib.sh.
#
#   rig_launch MODULE ARG ...     runs python's rig.MODULE in a private virtual environment; does not return
#
# A plain user who has sudo starts over as root, so that bandwidth can be limited; servers still run as that user.

# The newest PostgreSQL on this machine; where there is none, the one that its packages offer.
own_major() {
    local newest
    newest=$(for dir in /usr/lib/postgresql/[0-9]*; do [[ ! -x $dir/bin/postgres ]] || echo "${dir##*/}"; done | sort -n | tail -n 1)
    if [[ -z $newest ]] && have apt-cache; then
        compgen -G '/var/lib/apt/lists/*_Packages*' >/dev/null || ! can_be_root || apt_refresh
        newest=$(apt-cache depends postgresql 2>/dev/null | sed -n 's/^ *Depends: postgresql-\([0-9]*\)$/\1/p')
    fi
    echo "${newest:-15}"
}

rig_environment() {
    local venv=$1
    [[ ! -x $venv/bin/tpchgen-cli ]] || ! "$venv/bin/python" -c 'import psycopg' 2>/dev/null || return 0
    python3 -c 'import venv, ensurepip' 2>/dev/null || apt_install python3 python3-venv
    say "making a virtual environment with psycopg and tpchgen-cli"
    rm -rf "$venv"
    python3 -m venv "$venv" || die "python3 cannot make a virtual environment in $venv"
    "$venv/bin/pip" --quiet --disable-pip-version-check install 'psycopg[binary]' tpchgen-cli >&2 ||
        die "pip could not install psycopg and tpchgen-cli"
}

rig_launch() {
    local module=$1 python=python3
    shift
    as_root_if_possible "$module" "$@"
    CSCAN_CACHE=$(cache_dir)
    # A build of its own: what others build from this tree must not replace the library of a server that is running.
    CSCAN_KEY=${CSCAN_KEY:-$(printf %s "$TOP" | cksum | cut -d' ' -f1)-$module}
    export CSCAN_CACHE CSCAN_KEY CSCAN_OWN_MAJOR
    case " $* " in
        *' --clean '*|*' --help '*|*' -h '*)        # these need nothing
            CSCAN_OWN_MAJOR=15
            have python3 || die "python3 is missing" ;;
        *)
            CSCAN_OWN_MAJOR=$(own_major)
            mkdir -p "$CSCAN_CACHE"
            rig_environment "$CSCAN_CACHE/venv"
            python=$CSCAN_CACHE/venv/bin/python ;;
    esac
    PYTHONPATH=$TOP/scripts PYTHONDONTWRITEBYTECODE=1 exec "$python" -m "rig.$module" "$@"
}
