"""The settings. What is holdfast's stands at the end; the token is read here and goes nowhere else."""
import os
import pathlib

BASE = pathlib.Path(__file__).resolve().parent.parent

SECRET_KEY = os.environ.get("OFFICE_SECRET", "only for trying it out")
DEBUG = "OFFICE_SECRET" not in os.environ
ALLOWED_HOSTS = ["127.0.0.1", "localhost"]
ROOT_URLCONF = "office.urls"
LOGIN_URL = "/login"
LOGIN_REDIRECT_URL = LOGOUT_REDIRECT_URL = "/"
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE.parent / "page"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": os.environ.get("OFFICE_DATABASE", BASE / "office.db")}}

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "office",
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "office.work.HoldfastMiddleware",
]
TEMPLATES = [{
    "BACKEND": "django.template.backends.django.DjangoTemplates",
    "APP_DIRS": True,
    "OPTIONS": {"context_processors": ["django.template.context_processors.request", "django.contrib.auth.context_processors.auth"]},
}]

HOLDFAST_URL = os.environ.get("HOLDFAST_URL", "http://127.0.0.1:7420")
HOLDFAST_TOKEN = pathlib.Path(os.environ["HOLDFAST_TOKEN_FILE"]).read_text().strip()
HOLDFAST_IDLE_SECONDS = 300
# True if the locks are in this very database: then a save asks holdfast's own check (fence.py).
HOLDFAST_IN_DATABASE = False
