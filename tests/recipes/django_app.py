#!/usr/bin/python3
"""Serves the Django example for its test: on the port PORT, or a free one, which it prints, and with `URL` on a database of its own on that server, where
it expects holdfast's locks too.

  django_app.py [URL]
"""
import os
import pathlib
import socketserver
import sys
import tempfile
import wsgiref.simple_server

sys.dont_write_bytecode = True
ROOT = pathlib.Path(os.environ["HF_SOURCE_ROOT"])
sys.path[:0] = [str(ROOT / "examples/django"), str(ROOT / "tests/sql")]
os.environ.update(DJANGO_SETTINGS_MODULE="office.settings", OFFICE_SECRET="of the test")

import django  # noqa: E402
from django.conf import settings  # noqa: E402
from django_database import database  # noqa: E402


class Server(socketserver.ThreadingMixIn, wsgiref.simple_server.WSGIServer):
    daemon_threads = True


class Handler(wsgiref.simple_server.WSGIRequestHandler):
    def log_message(self, *_):
        pass


def main():
    with tempfile.TemporaryDirectory(prefix="holdfast-django-") as folder:
        if sys.argv[1:]:
            settings.HOLDFAST_IN_DATABASE = True
            settings.DATABASES = {"default": database(sys.argv[1])}
        else:
            settings.DATABASES["default"]["NAME"] = folder + "/office.db"
        settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # quick, and good for nothing else
        django.setup()
        from django.contrib.staticfiles.handlers import StaticFilesHandler
        from django.core.management import call_command
        from django.core.wsgi import get_wsgi_application
        call_command("demo")
        server = wsgiref.simple_server.make_server("127.0.0.1", int(os.environ.get("PORT", 0)), StaticFilesHandler(get_wsgi_application()), Server, Handler)
        print(f"http://127.0.0.1:{server.server_port}", flush=True)
        server.serve_forever()


main()
