#!/usr/bin/python3
"""Django's command line for the example: `demo` makes the tables and two people, `runserver` serves it."""
import os
import sys

from django.core.management import execute_from_command_line

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "office.settings")
execute_from_command_line(sys.argv)
