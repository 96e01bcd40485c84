#!/usr/bin/env python3
"""A double of a store's server that only says one thing: store_double.py SCHEME WORD writes its port, and answers until it is killed.
WORD is what it says: starting, full, password, strange (something else than such a server), silent, late (starting, after six seconds)."""
import socket
import struct
import sys
import threading
import time

scheme, word = sys.argv[1:]


def postgres(conn):
    errors = {"starting": (b"57P03", b"the database system is starting up"), "full": (b"53300", b"sorry, too many clients already"),
              "password": (b"28P01", b"password authentication failed")}
    while True:
        size = struct.unpack("!I", conn.recv(4, socket.MSG_WAITALL))[0]
        code = struct.unpack("!I", conn.recv(size - 4, socket.MSG_WAITALL)[:4])[0]
        if code not in (80877103, 80877104):  # neither SSLRequest nor GSSENCRequest
            break
        conn.sendall(b"N")
    state, text = errors[word]
    fields = b"SFATAL\0VFATAL\0C" + state + b"\0M" + text + b"\0\0"
    conn.sendall(b"E" + struct.pack("!I", len(fields) + 4) + fields)


def mysql(conn):
    errors = {"full": (1040, b"08004", b"Too many connections"), "starting": (1053, b"08S01", b"Server shutdown in progress"),
              "password": (1045, b"28000", b"Access denied for user")}
    code, state, text = errors[word]
    packet = b"\xff" + struct.pack("<H", code) + b"#" + state + text
    conn.sendall(struct.pack("<I", len(packet))[:3] + b"\0" + packet)


def redis(conn):
    info = b"redis_version:7.0.0\r\nrole:master\r\nloading:1\r\n"
    while asked := conn.recv(4096):
        if word == "password":
            conn.sendall(b"-NOAUTH Authentication required.\r\n" * 3)
        elif b"INFO" in asked:
            conn.sendall(b"$%d\r\n%s\r\n" % (len(info), info) + b"*2\r\n$1\r\na\r\n$1\r\nb\r\n" * 2)
        else:
            conn.sendall(b"-LOADING Redis is loading the dataset in memory\r\n")


def http(conn):
    conn.recv(4096)
    time.sleep(6 if word == "late" else 0)
    status = {"starting": b"503 Service Unavailable", "late": b"503 Service Unavailable", "strange": b"404 Not Found"}[word]
    conn.sendall(b"HTTP/1.1 " + status + b"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


def answer(conn):
    with conn:
        try:
            while word == "silent" and conn.recv(4096):
                pass
            if word != "silent":
                globals()[scheme](conn)
                conn.shutdown(socket.SHUT_WR)
                conn.recv(4096)
        except OSError:
            pass


listening = socket.create_server(("127.0.0.1", 0))
print(listening.getsockname()[1], flush=True)
while True:
    threading.Thread(target=answer, args=(listening.accept()[0],), daemon=True).start()
