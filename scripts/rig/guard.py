"""What must not stay behind is undone even if this process is killed, with a signal that it cannot catch.

A child in a session of its own waits for the other end of a pipe to be closed, which is what the kernel does when a process ends, however it ends.

Invariant: undo runs in the child if this process has ended without release(), and in no other case.

    guard = Guard(undo)     from now on; undo() has what this process knew at this moment
    guard.release()         it has been undone
"""
import os
import signal

ENDING = signal.SIGINT, signal.SIGTERM, signal.SIGHUP   # who wants both to end has ended the other one, so the child does not listen


class Guard:
    def __init__(self, undo):
        ended, self.alive = os.pipe()
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        self.child = os.fork()
        if self.child == 0:
            self.wait(ended, undo)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        os.close(ended)

    def wait(self, ended, undo):
        try:
            os.setsid()
            os.close(self.alive)
            if not os.read(ended, 1):
                undo()
        finally:
            os._exit(0)

    def release(self):
        if self.child:
            os.write(self.alive, b'.')
            os.close(self.alive)
            os.waitpid(self.child, 0)
            self.child = 0
