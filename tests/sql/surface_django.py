#!/usr/bin/python3
"""The SQL surface from Django: the check is the first statement of a save's transaction.atomic."""
import contextlib
import sys

import django
from django.conf import settings

settings.configure(DATABASES={"default": {}}, USE_TZ=True, LOGGING_CONFIG=None)
django.setup()

from django.db import IntegrityError, connections, models, transaction  # noqa: E402

sys.dont_write_bytecode = True
from django_database import database  # noqa: E402
from surface import LEVELS, STATES, main, surface, versions  # noqa: E402


def refusal(problem):
    """(SQLSTATE, sentence) of the driver's error."""
    cause = problem.__cause__
    if hasattr(cause, "pgcode"):
        return cause.pgcode, cause.diag.message_primary
    return STATES.get(cause.args[0], cause.args[0]), cause.args[1]


def model(server):
    meta = type("Meta", (), {"app_label": "tests", "db_table": server.table})
    return type("Doc" + server.name, (models.Model,), {
        "__module__": __name__, "Meta": meta, "id": models.CharField(max_length=20, primary_key=True),
        "body": models.CharField(max_length=100)})


def run(server):
    doc = model(server)
    for level in LEVELS:
        alias = f"{server.name} {level}"
        connections.databases[alias] = database(server.own_url, level)
        docs = doc.objects.using(alias)
        with connections[alias].schema_editor() as editor:
            editor.create_model(doc)
        docs.create(id="1", body="")

        @contextlib.contextmanager
        def open_transaction(level, session, fence, text):
            with transaction.atomic(using=alias):
                with connections[alias].cursor() as cursor:
                    cursor.execute(server.check_sql(), ["doc", "1", session, fence])
                docs.filter(id="1").update(body=text)
                yield

        def save(level, session, fence, text):
            try:
                with open_transaction(level, session, fence, text):
                    pass
            except IntegrityError as problem:
                return refusal(problem)

        def call(sql, *arguments):
            try:
                with transaction.atomic(using=alias), connections[alias].cursor() as cursor:
                    cursor.execute(sql, ["doc", *arguments])
            except IntegrityError as problem:
                return refusal(problem)

        try:
            surface(server, level, save, lambda: docs.get(id="1").body, open_transaction)
            if level == LEVELS[0]:
                versions(server, lambda *what: call(server.save_sql(*["%s"] * 4), *what),
                         lambda *what: call(server.expect_sql(*["%s"] * 3), *what))
        finally:
            with connections[alias].schema_editor() as editor:
                editor.delete_model(doc)
            connections[alias].close()


main(run, ["POSTGRES", "MARIADB", "MYSQL"])
