"""A server's URL as Django's settings have it."""
import urllib.parse


def database(url, level=None):
    """An entry of DATABASES, at an isolation level if one is given."""
    parts = urllib.parse.urlsplit(url)
    more = dict(urllib.parse.parse_qsl(parts.query))
    common = {"NAME": parts.path[1:], "USER": parts.username, "PASSWORD": parts.password or "", "PORT": more.get("port", parts.port or "")}
    if parts.scheme.startswith("postgres"):
        import psycopg2.extensions as extensions
        options = {"isolation_level": getattr(extensions, "ISOLATION_LEVEL_" + level.replace(" ", "_"))} if level else {}
        return {"ENGINE": "django.db.backends.postgresql", "HOST": more.get("host", parts.hostname), "OPTIONS": options, **common}
    options = {"charset": "utf8mb4", **({"isolation_level": level.lower()} if level else {})}
    return {"ENGINE": "django.db.backends.mysql", "HOST": more.get("socket", parts.hostname), "OPTIONS": options, **common}
