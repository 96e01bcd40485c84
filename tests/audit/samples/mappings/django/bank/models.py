from django.db import models


class Account(models.Model):
    balance = models.IntegerField()
    version = AutoIncVersionField()


class Letter(models.Model):
    version = IntegerVersionField()

    class Meta:
        db_table = "letters"


def save(cursor, id, balance):
    cursor.execute("UPDATE bank_account SET balance = %s WHERE id = %s", [balance, id])
    cursor.execute("UPDATE letters SET body = %s WHERE id = %s", [balance, id])
