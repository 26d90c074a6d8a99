"""One private cluster of one major, with TPC-H in it; none of the machine's own clusters is touched.

The cluster stays in the cache from run to run and is only read, so a run starts it where it is.  Its server is a child
process, `scripts/server run MAJOR -- postgres ...`, which takes every setting from the command line: the data directory's
own configuration is never edited.  It listens on a socket inside the cluster's directory, and nowhere else.

Invariant: a server is stopped only if it runs in this cluster's data directory.

    cluster = Cluster(major, scale, purpose)
    cluster.build()                        scripts/server build; false if that failed
    cluster.create()                       initdb, if it is not there yet
    cluster.start(settings, limit)         settings: name -> value; limit: see limits.py
    cluster.connect(name=value, ...)       a psycopg connection, autocommit, with these session settings
    cluster.stop()
    cluster.has_cscan                      whether the server can load cscan
    clean(purpose)                         stops and removes every cluster of a purpose, and its builds
"""
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from .progress import say

SCRIPTS = Path(__file__).resolve().parent.parent
SERVER = os.environ.get('CSCAN_SERVER', str(SCRIPTS / 'server'))
DATABASE = 'cscan'
USER = 'postgres'
LONGEST_SOCKET = 107 - len('/.s.PGSQL.5432')


class Failure(Exception):
    """Something that the user must know, in one message."""


def cache():
    """Where everything is kept that a second run can use again."""
    if os.environ.get('CSCAN_CACHE'):
        return Path(os.environ['CSCAN_CACHE']).resolve()
    return Path('/var/cache/cscan') if os.geteuid() == 0 else Path.home() / '.cache/cscan'


def server(*arguments):
    """Runs scripts/server and returns what it prints."""
    done = subprocess.run([SERVER, *map(str, arguments)], text=True, stdin=subprocess.DEVNULL, capture_output=True)
    if done.returncode != 0:
        raise Failure(f'"scripts/server {" ".join(map(str, arguments))}" failed:\n{done.stdout}{done.stderr}'.rstrip())
    return done.stdout.strip()


class Cluster:
    def __init__(self, major, scale, purpose):
        self.major, self.scale = major, scale
        self.root = Path(server('path', major).splitlines()[-1])
        whole_machine = self.root == Path('/')
        # The same directory, as the server sees it and as this process does.
        self.inside = (cache() if whole_machine else Path('/var/lib/cscan')) / f'{purpose}/pg{major}-sf{scale:g}'
        self.place(self.root / self.inside.relative_to('/'))

    def place(self, home):
        self.home = home
        self.data, self.log, self.loaded = home / 'data', home / 'log', home / 'loaded.json'
        self.process = None
        self.link = None
        self.locked = None

    @classmethod
    def at(cls, home):
        """What is in this directory, to be stopped and removed; nothing else is known about it."""
        cluster = cls.__new__(cls)
        cluster.place(home)
        return cluster

    def run(self, *command):
        return server('run', self.major, '--', *command)

    @property
    def has_cscan(self):
        library = Path(self.run('pg_config', '--pkglibdir').splitlines()[-1]) / 'cscan.so'
        return (self.root / library.relative_to('/')).exists()

    def build(self):
        """Gets the server and builds cscan for it; what that has to say goes to standard error."""
        if self.home.exists():                      # nothing is replaced under a server that still runs
            self.lock()
            self.stop_old()
        say(f'PostgreSQL {self.major}: building')
        return subprocess.run([SERVER, 'build', str(self.major)], stdin=subprocess.DEVNULL, stdout=sys.stderr).returncode == 0

    def lock(self):
        """One run at a time uses a cluster."""
        if self.locked:
            return
        self.locked = open(self.home / 'lock', 'w')
        try:
            fcntl.flock(self.locked, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Failure(f'another run is using the cluster in {self.home}') from None

    def create(self):
        if len(str(self.inside)) > LONGEST_SOCKET:
            raise Failure(f'{self.inside} is too long for the address of a socket: set CSCAN_CACHE to a shorter directory')
        try:
            self.home.mkdir(parents=True, exist_ok=True)
        except PermissionError as error:
            raise Failure(f'{error}; PostgreSQL {self.major} needs root or sudo here') from None
        self.lock()
        self.stop_old()
        if os.geteuid() == 0:
            owner, group = (int(self.run('id', flag).splitlines()[-1]) for flag in ('-u', '-g'))
            os.chown(self.home, owner, group)
        if (self.data / 'PG_VERSION').exists() and self.loaded.exists():
            return
        self.loaded.unlink(missing_ok=True)
        shutil.rmtree(self.data, ignore_errors=True)
        say(f'PostgreSQL {self.major}: a new cluster in {self.home}')
        self.run('initdb', '-D', self.inside / 'data', '-U', USER, '-A', 'trust', '--no-locale', '-E', 'UTF8', '--no-sync')

    def postmaster(self):
        """The process id of the server that runs in our data directory, or None.

        The server may live in a PID namespace: its own idea of its id is the last one of NSpid.
        """
        try:
            own = (self.data / 'postmaster.pid').read_text().split()[0]
        except (OSError, IndexError):
            return None
        for process in Path('/proc').glob('[0-9]*'):
            try:
                if os.path.samefile(process / 'cwd', self.data):
                    ids = next(line for line in (process / 'status').read_text().splitlines() if line.startswith('NSpid:'))
                    if ids.split()[-1] == own:
                        return int(process.name)
            except (OSError, StopIteration):        # ended meanwhile, or not ours to look at
                pass
        return None

    def stop_old(self):
        pid = self.postmaster()
        if pid:
            say(f'PostgreSQL {self.major}: stopping the server that an earlier run left')
            self.end(pid)
        (self.data / 'postmaster.pid').unlink(missing_ok=True)

    def end(self, pid):
        """A fast shutdown; an immediate one if that takes too long."""
        for signum, patience in ((signal.SIGINT, 60), (signal.SIGQUIT, 30)):
            try:
                os.kill(pid, signum)
            except ProcessLookupError:
                return
            for _ in range(patience * 20):
                if self.postmaster() != pid:
                    return
                time.sleep(0.05)
        raise Failure(f'the server with process id {pid} does not end; its log is {self.log}')

    def start(self, settings, limit=None):
        options = {
            'listen_addresses': '', 'unix_socket_directories': self.inside, 'unix_socket_permissions': '0700',
            'huge_pages': 'off', 'max_connections': 50, 'autovacuum': 'off', 'checkpoint_timeout': '1h',
            'max_parallel_workers_per_gather': 0, 'max_worker_processes': 16, 'jit': 'off', 'logging_collector': 'off', **settings}
        arguments = [f'-c{name}={value}' for name, value in options.items()]
        command = [SERVER, 'run', str(self.major), '--', 'postgres', '-D', str(self.inside / 'data'), *arguments]
        if limit:
            command = limit.wrap(command)
        with open(self.log, 'w') as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        for _ in range(1200):
            if self.process.poll() is not None:
                break
            if self.accepts_connections():
                return
            time.sleep(0.05)
        self.stop()
        raise Failure(f'PostgreSQL {self.major} did not start. The end of {self.log}:\n'
                      + '\n'.join(self.log.read_text(errors='replace').splitlines()[-15:]))

    def accepts_connections(self):
        """The last line of postmaster.pid says how far the server is."""
        try:
            return (self.data / 'postmaster.pid').read_text().split()[-1] in ('ready', 'standby')
        except (OSError, IndexError):
            return False

    def socket(self):
        """The directory of the socket; a path that is too long for a socket's address goes by a short link."""
        if len(str(self.home)) <= LONGEST_SOCKET:
            return str(self.home)
        if not self.link:
            self.link = tempfile.mkdtemp(prefix='cscan-') + '/socket'
            os.symlink(self.home, self.link)
        return self.link

    def connect(self, dbname=DATABASE, connect_timeout=30, **settings):
        import psycopg                              # not needed by what only stops and removes clusters
        connection = psycopg.connect(host=self.socket(), port=5432, user=USER, dbname=dbname, autocommit=True,
                                     connect_timeout=connect_timeout, application_name='cscan bench')
        connection.prepare_threshold = None
        for name, value in settings.items():
            connection.execute('SELECT set_config(%s, %s, false)', (name, str(value)))
        return connection

    def stop(self):
        pid = self.postmaster()
        if pid:
            self.end(pid)
        elif self.process:                          # on its way up: it has no postmaster.pid yet
            self.process.send_signal(signal.SIGINT)
        if self.process:
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process = None

    def close(self):
        """Stops the server and leaves nothing but the cluster itself."""
        self.stop()
        if self.link:
            shutil.rmtree(Path(self.link).parent, ignore_errors=True)
            self.link = None


def clean(purpose):
    """Works without the virtual environment, and however little of the rest is there."""
    top, key = cache(), os.environ['CSCAN_KEY']
    homes = [*top.glob(f'{purpose}/pg*'), *top.glob(f'roots/*/var/lib/cscan/{purpose}/pg*')]
    clusters = [Cluster.at(home) for home in homes]
    for cluster in clusters:                        # all or none
        cluster.lock()
    for home, cluster in zip(homes, clusters):
        cluster.stop()
        shutil.rmtree(home)
        say(f'removed {home}')
    builds = {path.name for path in top.glob(f'build/{key}/*')} | {path.parts[-5] for path in top.glob(f'roots/*/var/lib/cscan/{key}')}
    for major in builds:
        server('forget', major)
        say(f'removed the build for PostgreSQL {major}')
    for empty in (top / purpose, *top.glob(f'roots/*/var/lib/cscan/{purpose}'), top / 'build', top / 'roots'):
        if empty.exists() and not any(empty.iterdir()):
            empty.rmdir()
    left = {path.name for path in top.iterdir() if not path.name.startswith('lock.')} if top.exists() else set()
    if left <= {'venv'} and top.exists():
        shutil.rmtree(top)
        say(f'removed {top}; installed packages stay')
    elif left:
        say(f'in {top} stays what other commands made ({", ".join(sorted(left))}); '
            'scripts/quickstart --clean, scripts/bench --clean and scripts/server clean remove theirs')
    else:
        say('there is nothing to remove')
