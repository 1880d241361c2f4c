"""Files that are made under sudo belong to the user who called it."""
import os
import stat


def caller():
    """(user, group) who called sudo, or None."""
    user = os.environ.get("SUDO_UID", "")
    if os.geteuid() != 0 or not user.isdigit() or user == "0":
        return None
    group = os.environ.get("SUDO_GID", "")
    return int(user), int(group) if group.isdigit() else -1


def give_back(path):
    if caller():
        os.chown(path, *caller())


def places(words, directory):
    """Where a command may have written: its directory, and what its words name, as FLAG, PATH or FLAG=PATH."""
    named = [os.path.join(directory, word.split("=", 1)[-1]) for word in words if not word.startswith("--") or "=" in word]
    return [directory, *(path for path in named if os.path.lexists(path))]


def is_ours(about, since):
    """Whether root made it since then: not one that somebody has linked to from elsewhere."""
    return about.st_uid == 0 and about.st_ctime >= since and (stat.S_ISDIR(about.st_mode) or about.st_nlink == 1)


def give_back_new(roots, since):
    """Give the caller what root has made below these places since then, in folders that are the caller's.

    Anything else stays as it is: a command that was told to write to /etc has written to root's /etc.
    """
    owner = caller()
    waiting = [os.path.realpath(root) for root in roots] if owner else []
    seen = set()
    while waiting:
        path = waiting.pop()
        try:
            about = os.lstat(path)
            if is_ours(about, since) and os.lstat(os.path.dirname(path)).st_uid == owner[0]:
                os.chown(path, *owner, follow_symlinks=False)
                about = os.lstat(path)
            if stat.S_ISDIR(about.st_mode) and about.st_uid == owner[0] and path not in seen:
                seen.add(path)
                waiting += [os.path.join(path, name) for name in os.listdir(path)]
        except OSError:  # it is gone, or cannot be given away
            continue
