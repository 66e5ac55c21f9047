"""What takes powers away from a process: namespaces, mounts, capabilities, seccomp, rlimits.

By ctypes, because Python has had os.unshare() only since 3.12 and has no other of these calls. The order matters: a
process that has just unshared its user namespace holds every capability in it until `drop_capabilities`.
"""

import contextlib
import ctypes
import errno
import math
import os
import platform
import resource
import signal
import struct

_libc = ctypes.CDLL(None, use_errno=True)
# The same library, called without giving up the interpreter's lock: needed around a fork.
_locked = ctypes.PyDLL(None, use_errno=True)
_locked.syscall.restype = ctypes.c_long
_UID, _GID = os.getuid(), os.getgid()

_CLONE_NEWNS = 0x00020000
_CLONE_NEWCGROUP = 0x02000000
_CLONE_NEWUTS = 0x04000000
_CLONE_NEWIPC = 0x08000000
_CLONE_NEWUSER = 0x10000000
_CLONE_NEWPID = 0x20000000
_CLONE_NEWNET = 0x40000000
_ANY_NAMESPACE = (
    _CLONE_NEWNS | _CLONE_NEWCGROUP | _CLONE_NEWUTS | _CLONE_NEWIPC | _CLONE_NEWUSER | _CLONE_NEWPID | _CLONE_NEWNET
)
_MS_NOSUID, _MS_NODEV, _MS_RDONLY = 2, 4, 1
_PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_CAPBSET_DROP = 4, 22, 24
_PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 36, 38
_SECCOMP_MODE_FILTER = 2
_CAPABILITY_VERSION_3 = 0x20080522
_MOST_CAPABILITIES = 64

TMP_BYTES = 32 * 1024 * 1024
"""Room in /tmp; /dev/shm has half of it."""
TMP_INODES = 4096
MAX_PROCESSES = 256
"""Processes an execution may have at a time."""
MAX_OPEN_FILES = 256

# Calls that lead out of the sandbox, into other processes or into rarely audited parts of the kernel,
# by number on x86_64 and aarch64.
_DENIED = {
    "unshare": (272, 97),
    "mount": (165, 40),
    "umount2": (166, 39),
    "setns": (308, 268),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "open_by_handle_at": (304, 265),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
}
_CLONE = (56, 220)
_CLONE3 = 435
_SOCKET = (41, 198)
_X32_BIT = 0x40000000
_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_COLUMN = {"x86_64": 0, "aarch64": 1}
_AF_UNIX, _AF_INET, _AF_INET6 = 1, 2, 10


class IsolationError(OSError):
    """The kernel refused one of the steps. Says which."""


def _check(result: int, what: str) -> None:
    if result != 0:
        code = ctypes.get_errno()
        raise IsolationError(code, f"{what}: {os.strerror(code)}")


def fork_into_namespaces() -> int:
    """As os.fork(), but the child is the first process in fresh user, pid, mount and ipc namespaces.

    One clone instead of unshare and two forks: a fork is what an execution mostly costs. Only for a process with a
    single thread, because the C library's own fork handlers do not run. Raises IsolationError.
    """
    machine = platform.machine()
    if machine not in _AUDIT_ARCH:
        raise IsolationError(errno.ENOSYS, f"no isolation on {machine}, only on {', '.join(_AUDIT_ARCH)}")
    number = _CLONE[_COLUMN[machine]]
    flags = _CLONE_NEWUSER | _CLONE_NEWPID | _CLONE_NEWNS | _CLONE_NEWIPC | signal.SIGCHLD
    _locked.PyOS_BeforeFork()
    pid: int = _locked.syscall(number, flags, 0, 0, 0, 0)
    code = ctypes.get_errno()
    if pid == 0:
        _locked.PyOS_AfterFork_Child()
        _map_ids()
        return 0
    _locked.PyOS_AfterFork_Parent()
    if pid < 0:
        raise IsolationError(code, f"clone: {os.strerror(code)}")
    return pid


def _map_ids() -> None:
    for name, text in (("setgroups", "deny"), ("uid_map", f"{_UID} {_UID} 1"), ("gid_map", f"{_GID} {_GID} 1")):
        descriptor = os.open(f"/proc/self/{name}", os.O_WRONLY)
        os.write(descriptor, text.encode())
        os.close(descriptor)


def mount_private_places() -> None:
    """Private, sized /tmp and /dev/shm, and an empty /proc. Needs `fork_into_namespaces`."""
    _mount_tmpfs("/tmp", TMP_BYTES, TMP_INODES, "1777")  # noqa: S108 - the path is the private mount itself
    _mount_tmpfs("/dev/shm", TMP_BYTES // 2, TMP_INODES // 4, "1777")  # noqa: S108
    # A fresh procfs is refused where root started the sandbox; nothing at all works everywhere.
    _mount_tmpfs("/proc", 4096, 1, "555", _MS_RDONLY)


def _mount_tmpfs(path: str, size: int, inodes: int, mode: str, flags: int = 0) -> None:
    options = f"size={size},nr_inodes={inodes},mode={mode}".encode()
    place = path.encode()
    _check(_libc.mount(b"tmpfs", place, b"tmpfs", _MS_NOSUID | _MS_NODEV | flags, options), f"mount {path}")


def drop_capabilities() -> None:
    """Drop every capability for good. Inherited by children."""
    for capability in range(_MOST_CAPABILITIES):
        # Refused beyond the last capability, and to one who has none to drop.
        if _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            break
    header = struct.pack("=Ii", _CAPABILITY_VERSION_3, 0)
    _check(_libc.capset(header, b"\0" * 24), "capset")


def filter_calls() -> None:
    """Forbid gaining privileges by running a program, and filter system calls. Inherited by children."""
    _check(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    if _FILTER is not None:
        program = _Program(len(_FILTER) // 8, ctypes.cast(ctypes.c_char_p(_FILTER), ctypes.c_void_p))
        _check(_libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0), "seccomp")


class _Program(ctypes.Structure):
    """struct sock_fprog"""

    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def _build_filter(machine: str) -> bytes | None:
    """The seccomp program in classic BPF; None on a machine we have no system call numbers for."""
    if machine not in _AUDIT_ARCH:
        return None
    column = _COLUMN[machine]
    load, jump_equal, jump_set, give = 0x20, 0x15, 0x45, 0x06
    jump_at_least = 0x35
    allow, fail = 0x7FFF0000, 0x00050000
    number, architecture, argument0 = 0, 4, 16
    code: list[tuple[int, int, int, int]] = []

    def deny(with_errno: int) -> None:
        code.append((give, 0, 0, fail | with_errno))

    code.append((load, 0, 0, architecture))
    code.append((jump_equal, 1, 0, _AUDIT_ARCH[machine]))
    deny(errno.EPERM)
    code.append((load, 0, 0, number))
    if machine == "x86_64":
        code.append((jump_at_least, 0, 1, _X32_BIT))
        deny(errno.ENOSYS)
    for numbers in _DENIED.values():
        code.append((jump_equal, 0, 1, numbers[column]))
        deny(errno.EPERM)
    # The flags of clone3 lie in memory, where a filter cannot read them; the C library falls back to clone.
    code.append((jump_equal, 0, 1, _CLONE3))
    deny(errno.ENOSYS)
    code.append((jump_equal, 0, 4, _CLONE[column]))
    code.append((load, 0, 0, argument0))
    code.append((jump_set, 0, 1, _ANY_NAMESPACE))
    deny(errno.EPERM)
    code.append((give, 0, 0, allow))
    # Some families (vsock) are not confined by a network namespace.
    code.append((jump_equal, 0, 5, _SOCKET[column]))
    code.append((load, 0, 0, argument0))
    code.append((jump_equal, 3, 0, _AF_UNIX))
    code.append((jump_equal, 2, 0, _AF_INET))
    code.append((jump_equal, 1, 0, _AF_INET6))
    deny(errno.EAFNOSUPPORT)
    code.append((give, 0, 0, allow))
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in code)


_FILTER = _build_filter(platform.machine())


def hide_memory() -> None:
    """Keep other processes of the same user from reading or tracing this one."""
    _check(_libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0), "dumpable")


def adopt_orphans() -> None:
    """Make this process the parent of its descendants' orphans, as the first process of a pid namespace is."""
    _check(_libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "subreaper")


def limit_resources(*, cpu_seconds: float, memory_bytes: int | None, own_user: bool) -> None:
    """Set the rlimits of this process and its children.

    `cpu_seconds` is a second line behind the supervisor's clock: the kernel counts whole seconds and kills one
    later. `memory_bytes` is None where a cgroup enforces the limit; else it bounds private writable memory, and
    address space at four times that, because shared mappings are not counted as data. `own_user`: the user
    namespace is this execution's own, so that a limit on its processes does not count anybody else's.
    """
    cpu = math.ceil(cpu_seconds) + 1
    limits = [
        (resource.RLIMIT_CPU, cpu),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, MAX_OPEN_FILES),
        (resource.RLIMIT_FSIZE, TMP_BYTES),
        # POSIX queues outlive their process.
        (resource.RLIMIT_MSGQUEUE, 0),
    ]
    if own_user:
        limits.append((resource.RLIMIT_NPROC, MAX_PROCESSES))
    if memory_bytes is not None:
        limits.append((resource.RLIMIT_DATA, memory_bytes))
        limits.append((resource.RLIMIT_AS, 4 * memory_bytes + 256 * 1024 * 1024))
    for which, value in limits:
        hard = resource.getrlimit(which)[1]
        bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
        with contextlib.suppress(ValueError):
            resource.setrlimit(which, (bound, bound))
