from django.db import models


class Order(models.Model):
    state = models.CharField(max_length=9)
    version = IntegerVersionField()


def ship(ids):
    Order.objects.filter(id__in=ids).update(state="shipped")
