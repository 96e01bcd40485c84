"""The tables, as Django 3.2 made this from models.py."""

from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='Policy',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('holder', models.CharField(max_length=100)),
                ('text', models.TextField()),
                ('fence', models.BigIntegerField(default=0)),
                ('version', models.BigIntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name='Work',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('web_session', models.CharField(db_index=True, max_length=40)),
                ('type', models.CharField(max_length=64)),
                ('record', models.CharField(max_length=255)),
                ('session', models.CharField(max_length=32, unique=True)),
                ('key', models.CharField(max_length=128)),
                ('fence', models.BigIntegerField(default=0)),
                ('seen', models.DateTimeField(auto_now_add=True, db_index=True)),
            ],
        ),
    ]
