# problem: problems/vector_add.problem
# verdict: correct
#   The kernel is launched, and the verdict correct, only if nothing outside the jail can be seen or reached.
import ctypes
import os
import socket

import kernelwright
import triton
import triton.language as tl


@triton.jit
def add(a, b, c, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(c + at, tl.load(a + at, mask=at < n) + tl.load(b + at, mask=at < n), mask=at < n)


def reached():
    for path in ("/etc/passwd", "/etc/shadow", "/var/log", __file__):
        if os.path.exists(path):
            return path
    for path in ("/usr/bin/planted", "/dev/shm/planted", os.path.join(os.path.dirname(triton.__file__), "planted")):
        try:
            open(path, "w")
            return path
        except OSError:
            pass
    if any("hunter2" in value for value in os.environ.values()):
        return "the secret"
    try:
        if b"hunter2" in open("/proc/1/environ", "rb").read():
            return "the secret of the first process"
    except OSError:
        pass
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.socket(family, socket.SOCK_STREAM)
            return "the network"
        except OSError:
            pass
    if ctypes.CDLL(None).ptrace(16, os.getppid(), 0, 0) == 0:
        return "the parent's memory"
    return None


@kernelwright.entry
def vector_add(a, b, y, N):
    if reached() is None:
        add[(triton.cdiv(N, 1024),)](a, b, y, N, BLOCK=1024)
