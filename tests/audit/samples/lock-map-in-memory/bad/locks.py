page_locks = {}


def take(page, user):
    return page_locks.setdefault(page, user) == user
