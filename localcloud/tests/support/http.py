"""A raw HTTP exchange, byte for byte."""

import socket


def exchange(port: int, request: bytes, *, timeout: float = 10) -> bytes:
    """Send these bytes and read until the server closes."""
    with socket.create_connection(("127.0.0.1", port), timeout=timeout) as connection:
        connection.sendall(request)
        received = b""
        while chunk := connection.recv(65536):
            received += chunk
        return received
