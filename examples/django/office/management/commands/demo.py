"""Makes the tables, two policies, and two people whose password is "demo"; bob may take records over."""
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import BaseCommand

from office.models import Policy


class Command(BaseCommand):
    help = __doc__

    def handle(self, **_):
        call_command("migrate", verbosity=0)
        for name, first, last in [("alice", "Alice", "Chen"), ("bob", "Bob", "Smith")]:
            if not User.objects.filter(username=name).exists():
                User.objects.create_user(name, password="demo", first_name=first, last_name=last, is_staff=name == "bob")
        for key, holder in enumerate(["Carla Diaz", "Dan Okafor"], 1):
            Policy.objects.get_or_create(pk=key, defaults={"holder": holder, "text": "Covers fire."})
