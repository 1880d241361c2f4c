"""Give files that are created under sudo to the user who called it."""
import os
import stat


def caller():
    """(user, group) of the caller of sudo, or None."""
    user = os.environ.get("SUDO_UID", "")
    if os.geteuid() != 0 or not user.isdigit() or user == "0":
        return None
    group = os.environ.get("SUDO_GID", "")
    return int(user), int(group) if group.isdigit() else -1


def give_back(path):
    if caller():
        os.chown(path, *caller())


def places(words, directory):
    """Where a command may have written: its directory, and the paths in its arguments, as PATH or FLAG=PATH."""
    named = [os.path.join(directory, word.split("=", 1)[-1]) for word in words if not word.startswith("--") or "=" in word]
    return [directory, *(path for path in named if os.path.lexists(path))]


def is_ours(about, since):
    """Whether root created it since then, and it is not a file that is also linked from elsewhere."""
    return about.st_uid == 0 and about.st_ctime >= since and (stat.S_ISDIR(about.st_mode) or about.st_nlink == 1)


def give_back_new(roots, since):
    """Give the caller what root has created below these places since then, in folders that the caller owns.

    Anything else stays as it is: what a command has written to /etc still belongs to root.
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
        except OSError:  # it no longer exists, or its owner cannot be changed
            continue
