locks = {}


def take(id, user):
    return locks.setdefault(id, user) == user
