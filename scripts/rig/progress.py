"""What is shown while it runs: lines that stay, and on a terminal one last line that changes. All on standard error.

    say(text)       a line that stays
    note(text)      the changing line; without a terminal nothing
    span(seconds)   '42 s', '3 min 10 s'
"""
import os
import shutil
import sys
import threading
import time

_lock = threading.Lock()
_terminal = sys.stderr.isatty() and os.environ.get('TERM', 'dumb') != 'dumb'
_begin = time.time()


def span(seconds):
    seconds = int(round(seconds))
    return f'{seconds} s' if seconds < 60 else f'{seconds // 60} min {seconds % 60:02d} s'


def say(text):
    with _lock:
        clear = '\r\033[K' if _terminal else ''
        sys.stderr.write(f'{clear}[{int(time.time() - _begin):4d} s] {text}\n')
        sys.stderr.flush()


def note(text):
    if _terminal:
        with _lock:
            width = shutil.get_terminal_size().columns - 1
            sys.stderr.write('\r\033[K' + f'         {text}'[:width])
            sys.stderr.flush()
