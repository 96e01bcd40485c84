"""How a save carries the fence. Asking holdfast just before the save is not enough: the lock may be lost between its answer and the
commit. So it is checked in the transaction that saves: by holdfast's own function where the locks are in the same database, else by
the newest fence, which is kept in the record itself."""
from contextlib import contextmanager

from django.conf import settings
from django.db import IntegrityError, connection, transaction

from office import client

CHECKS = {
    "postgresql": "SELECT holdfast.check(%s, %s, %s, %s)",
    "mysql": "CALL holdfast_check(%s, %s, %s, %s)",
}


def claim(work, records):
    """Once the lock is granted, and before the record is read to be shown: from now on no older fence saves. records: the manager of
    the model."""
    if not settings.HOLDFAST_IN_DATABASE and not records.filter(pk=work.record, fence__lte=work.fence).update(fence=work.fence):
        raise lost(work)


@contextmanager
def fenced(work, records):
    """A transaction to save in. It begins only if nobody has got the lock since, and nobody gets at the record until it ends."""
    mine = check if settings.HOLDFAST_IN_DATABASE else is_newest
    with transaction.atomic():
        if mine(work, records):
            yield
            return
    raise lost(work)


def is_newest(work, records):
    """Writes what is there already: that locks the row."""
    return records.filter(pk=work.record, fence=work.fence).update(fence=work.fence) == 1


def check(work, _):
    try:
        with connection.cursor() as cursor:
            cursor.execute(CHECKS[connection.vendor], [work.type, work.record, work.session, work.fence])
    except IntegrityError as problem:
        if sentence := refusal(problem.__cause__):
            raise client.Lost(sentence) from problem
        raise
    return True


def refusal(cause):
    """holdfast's sentence, if the driver's error is its refusal: SQLSTATE 23H01 in PostgreSQL, error 1216 in MariaDB and MySQL."""
    if (getattr(cause, "sqlstate", None) or getattr(cause, "pgcode", None)) == "23H01":  # psycopg 3, psycopg2
        return cause.diag.message_primary
    return cause.args[1] if cause.args[0] == 1216 else None


def lost(work):
    """Names who has it, if holdfast can be asked."""
    try:
        names = [holder["name"] for holder in client.who(work)]
    except client.Refused:
        names = []
    return client.Lost(f"{' and '.join(names) or 'Someone else'} has opened the record since you did, so your changes were not saved.")
