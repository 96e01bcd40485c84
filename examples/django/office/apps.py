"""Connects the logout, which work.py listens to."""
from django.apps import AppConfig


class Office(AppConfig):
    name = "office"

    def ready(self):
        from office import work  # noqa: F401
