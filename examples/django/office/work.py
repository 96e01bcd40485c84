"""People's work and holdfast: a session of holdfast's for each edit page, ended by a save, by the page's end or by the logout; and pages
that tell refusals."""
import datetime

from django.contrib.auth.signals import user_logged_out
from django.dispatch import receiver
from django.shortcuts import render
from django.utils import timezone

from office import client
from office.models import Work

NOT_TYPED = {"csrfmiddlewaretoken", "work", "holdfast_session", "holdfast_fence", "holdfast_version"}


class Desk:
    """What one web session has open. Two tabs are two pieces of work; opening the same record again replaces the older one."""

    def __init__(self, request):
        self.request = request

    def all(self):
        if not self.request.user.is_authenticated:
            return Work.objects.none()
        return Work.objects.filter(web_session=self.request.session.session_key)

    def take(self, type, record, purpose=""):
        """Takes the lock, or raises Locked, which names who has it."""
        Work.objects.filter(seen__lt=timezone.now() - datetime.timedelta(days=1)).delete()
        older = self.all().filter(type=type, record=record).first()
        # Kept before the lock is asked for: if no answer comes, the next try replaces this one.
        work = self.open(type, record, replaces=older and older.login)
        if older:
            older.delete()
        try:
            work.fence = client.acquire(work, purpose)
        except client.Locked:
            close(work)
            raise
        work.save()
        return work

    def open(self, type, record, replaces=None):
        """A session without a lock."""
        session = client.open_session(self.request.user, replaces)
        return Work.objects.create(web_session=self.request.session.session_key, type=type, record=record,
                                   session=session["id"], key=session["key"])

    def find(self, session, **what):
        """The work by its public id, if it is this web session's, and on that record."""
        work = self.all().filter(session=session, **what).first()
        if work is None:
            raise client.Lost("Your editing session has ended; reload the record.")
        return work

    def beat(self, session):
        work = self.find(session)
        self.all().filter(session=session).update(seen=timezone.now())
        return client.beat(work)


def close(work):
    """Gives back what the work holds. If holdfast can't be told, or is busy, the idle bound ends it."""
    try:
        client.close_session(work)
    except client.Lost:
        pass
    except client.Refused:
        return
    work.delete()


# The signal comes before the web session is emptied. One that only runs out sends none: then the idle bound ends the work.
@receiver(user_logged_out)
def give_back(request, **_):
    for work in Desk(request).all():
        close(work)


class HoldfastMiddleware:
    """Gives each request a desk, and turns a refusal into a page. Stands behind those for sessions and authentication."""

    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        request.holdfast = Desk(request)
        return self.get_response(request)

    def process_exception(self, request, problem):
        if not isinstance(problem, client.Refused):
            return None
        typed = [value for name, value in request.POST.items() if name not in NOT_TYPED]
        return render(request, "refused.html", {"problem": problem, "typed": typed}, status=problem.status)
