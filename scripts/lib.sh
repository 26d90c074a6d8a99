# shellcheck shell=bash
# Functions that the scripts of this directory share. Source it; it runs nothing by itself.
#
#   TOP                    the top of the working tree
#   say, warn, die         messages on standard error; die exits with status 1
#   have COMMAND           is there such a command?
#   as_root COMMAND ...    runs it as root: directly, or through sudo
#   can_be_root            could as_root work?
#   pass_env               the environment that a command behind sudo should still see, as NAME=VALUE in PASS_ENV
#   test_user              the user that servers and tests run as on this machine (never root)
#   cache_dir              where what is expensive to make is kept between runs
#   server_packages MAJOR  what the machine's own server of a major needs; with CSCAN_NO_TESTS nothing that only tests need
#   test_extras MAJOR      and what some tests need in addition, which are left out where it is not there
#   apt_refresh            apt-get update, once in a run
#   apt_missing PKG ...    prints those that are not installed; with DPKG_ADMINDIR, in the system that has that database
#   apt_install PKG ...    installs what is missing; leaves the machine's database clusters and services alone
#   as_root_if_possible SCRIPT ARG ...
#                          starts that script over as root if this is a plain user who has sudo; servers and tests
#                          still run as that user, and the cache stays that user's
#   pack_tree              writes the working tree to standard output with tar; to be read with tar -B, which reads all of it

# shellcheck disable=SC2034 # for whoever sources this
TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)

# chroot and friends, for users who do not have them in their path
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

# A closed standard input would hand its number to the next file that is opened.
{ : <&0; } 2>/dev/null || exec </dev/null

say()  { printf 'cscan: %s\n' "$*" >&2; }
warn() { printf 'cscan: warning: %s\n' "$*" >&2; }
die()  { printf 'cscan: error: %s\n' "$*" >&2; exit 1; }

have() { command -v "$1" >/dev/null 2>&1; }

# Is sudo there, and does it work without a question, or is there a terminal to ask on?
can_sudo() { have sudo && { sudo -n true 2>/dev/null || [[ -t 0 && -t 2 ]]; }; }

can_be_root() { [[ $EUID -eq 0 ]] || can_sudo; }

pass_env() {
    local name
    PASS_ENV=()
    for name in $(compgen -e); do
        case $name in
            CSCAN_*|PG[A-Z]*|PROVE_*|PIP_*|SSL_CERT_*|REQUESTS_CA_BUNDLE|CI|TERM|http_proxy|https_proxy|no_proxy|HTTP_PROXY|HTTPS_PROXY|NO_PROXY)
                PASS_ENV+=("$name=${!name}") ;;
        esac
    done
}

as_root() {
    if [[ $EUID -eq 0 ]]; then
        "$@"
    else
        local PASS_ENV
        pass_env
        sudo env "${PASS_ENV[@]}" "$@"
    fi
}

test_user() {
    if [[ $EUID -ne 0 ]]; then id -un
    elif [[ -n ${CSCAN_AS:-} ]]; then echo "$CSCAN_AS"
    elif id -u postgres >/dev/null 2>&1; then echo postgres
    else echo nobody
    fi
}

cache_dir() {
    if [[ -n ${CSCAN_CACHE:-} ]]; then echo "$CSCAN_CACHE"
    elif [[ $EUID -eq 0 ]]; then echo /var/cache/cscan
    else echo "${XDG_CACHE_HOME:-$HOME/.cache}/cscan"
    fi
}

# In the environment, for the scripts that this one runs.
apt_refresh() {
    [[ -z ${CSCAN_APT_REFRESHED:-} ]] || return 0
    export CSCAN_APT_REFRESHED=yes
    have apt-get || die "this needs apt-get (Debian or Ubuntu)"
    say "apt-get update"
    as_root apt-get -qq -o DPkg::Lock::Timeout=300 update >&2 || warn "apt-get update failed; going on with the lists that are there"
}

TEST_TOOLS=(libipc-run-perl libtap-parser-sourcehandler-pgtap-perl)
# What column runs are compressed with, for builds: the server has the libraries, but not their headers.
CODEC_PACKAGES=(liblz4-dev libzstd-dev)
server_packages() {
    local list=("postgresql-$1" "postgresql-server-dev-$1" libc6-dev make gcc perl "${CODEC_PACKAGES[@]}")
    [[ -n ${CSCAN_NO_TESTS:-} ]] || list+=("postgresql-$1-pgtap" "${TEST_TOOLS[@]}")
    echo "${list[@]}"
}

# Extensions that the tests run cscan beside, as far as apt offers them.
COMPANY=(pg-hint-plan pg-qualstats cron repack)
test_extras() {
    local name
    echo sqlsmith
    for name in "${COMPANY[@]}"; do
        [[ $(apt-cache policy "postgresql-$1-$name" 2>/dev/null) != *'Candidate: '[0-9]* ]] || echo "postgresql-$1-$name"
    done
}

apt_missing() {
    local pkg
    for pkg; do
        [[ $(dpkg-query -W -f '${db:Status-Status}' "$pkg" 2>/dev/null) == installed ]] || echo "$pkg"
    done
}

# Runs as root: installs the packages while no service may start and no cluster is made.
# Everything that it changes for that is put back, whatever happens.
# shellcheck disable=SC2016 # expanded by the shell that runs it
APT_QUIETLY='
policy=/usr/sbin/policy-rc.d conf=/etc/postgresql-common/createcluster.conf made= saved=
restore() {
    [ -z "$made" ] || rm -f "$policy"
    [ -z "$saved" ] || { cp -p "$saved" "$conf"; rm -f "$saved"; }
}
trap restore EXIT
trap "exit 1" HUP INT TERM
if [ ! -e "$policy" ]; then
    made=yes
    printf "#!/bin/sh\nexit 101\n" >"$policy"
    chmod 755 "$policy"
fi
get() { DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 install --no-install-recommends "$@"; }
case " $* " in
    *" postgresql-"[0-9]*) [ -e "$conf" ] || get postgresql-common || exit 1 ;;
esac
if [ -e "$conf" ]; then
    saved=$(mktemp) && cp -p "$conf" "$saved" && echo "create_main_cluster = false" >>"$conf" || exit 1
fi
get "$@"
'

apt_install() {
    local missing lock log
    mapfile -t missing < <(apt_missing "$@")
    [[ ${#missing[@]} -gt 0 ]] || return 0
    can_be_root || die "packages are missing, and there is neither root nor sudo to install them. As root, this does:
    apt-get install --no-install-recommends ${missing[*]}"
    mkdir -p "$(cache_dir)"
    exec {lock}>"$(cache_dir)/lock.apt"
    flock "$lock"
    apt_refresh
    say "installing ${missing[*]}"
    log=$(mktemp)
    if ! as_root sh -c "$APT_QUIETLY" apt_install "${missing[@]}" >"$log" 2>&1 </dev/null; then
        tail -n 30 "$log" >&2
        rm -f "$log"
        die "could not install: ${missing[*]}"
    fi
    rm -f "$log"
    exec {lock}>&-
}

as_root_if_possible() {
    local script=$1 cache PASS_ENV
    shift
    [[ $EUID -ne 0 ]] && can_sudo || return 0
    cache=$(cache_dir)
    mkdir -p "$cache"
    pass_env
    exec sudo env "${PASS_ENV[@]}" CSCAN_CACHE="$cache" CSCAN_AS="$(id -un)" bash "$TOP/scripts/$script" "$@"
}

# The files of the working tree: what git would track, where git is there to ask; everything but builds otherwise.
pack_tree() {
    cd "$TOP" || return
    if [[ -e .git ]] && have git && git -c safe.directory="$TOP" rev-parse --git-dir >/dev/null 2>&1; then
        git -c safe.directory="$TOP" ls-files -z --cached --others --exclude-standard |
            while IFS= read -r -d '' file; do [[ ! -e $file && ! -L $file ]] || printf '%s\0' "$file"; done |
            tar -c --exclude='*.o' --exclude='*.bc' --exclude='*.so' --exclude='*.a' --null --no-recursion -T -
    else
        tar -c --exclude=./.git --exclude='*.o' --exclude='*.bc' --exclude='*.so' --exclude='*.a' .
    fi
}

