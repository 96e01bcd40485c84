"""What the office keeps."""
from django.db import models


class Policy(models.Model):
    holder = models.CharField(max_length=100)
    text = models.TextField()
    # The newest fence with which it was opened for editing. Not needed where HOLDFAST_IN_DATABASE is true.
    fence = models.BigIntegerField(default=0)
    # The version that holdfast counts, written with the text: pages with <edit-lock> save by it.
    version = models.BigIntegerField(default=0)


class Work(models.Model):
    """One page on which someone edits a record: a session of holdfast's and the lock that it holds."""

    web_session = models.CharField(max_length=40, db_index=True)
    type = models.CharField(max_length=64)
    record = models.CharField(max_length=255)
    session = models.CharField(max_length=32, unique=True)
    key = models.CharField(max_length=128)
    fence = models.BigIntegerField(default=0)
    seen = models.DateTimeField(auto_now_add=True, db_index=True)

    @property
    def login(self):
        """What proves to holdfast that we are this session; it never leaves the server."""
        return f"{self.session}.{self.key}"
