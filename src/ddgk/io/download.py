"""Fetch a file over https, within a limit, and complete or not at all."""

from __future__ import annotations

import http.client
from ipaddress import ip_address
from pathlib import Path
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from ddgk.errors import DownloadError

CHUNK = 1 << 16
TIMEOUT_SECONDS = 30.0


class UnreachableError(DownloadError):
    """There is no such file on the server, or no server."""


class _CheckedRedirects(HTTPRedirectHandler):
    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> Request | None:
        """Follow only to where a first request may go."""
        check_url(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def check_url(url: str) -> None:
    """Refuse anything but https, save plain http to this computer."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError as error:
        raise DownloadError(f"{url}: not an address ({error})") from error
    if parts.scheme != "https" and not (parts.scheme == "http" and _is_loopback(host)):
        raise DownloadError(f"{url}: only https addresses are fetched")


def download(url: str, path: Path, *, max_bytes: int, timeout: float = TIMEOUT_SECONDS) -> None:
    """Write what `url` holds to `path`; raise DownloadError unless all of it arrived."""
    check_url(url)
    done = 0
    try:
        opener = build_opener(_CheckedRedirects)
        with opener.open(url, timeout=timeout) as response, path.open("wb") as file:
            promised = response.headers.get("Content-Length") or ""
            total = int(promised) if promised.isdecimal() else None
            if total is not None and total > max_bytes:
                raise DownloadError(f"{url}: {total} bytes, more than max_bytes={max_bytes}")
            while chunk := response.read(CHUNK):
                done += len(chunk)
                if done > max_bytes:
                    raise DownloadError(f"{url}: more than max_bytes={max_bytes} bytes arrived")
                file.write(chunk)
    except HTTPError as error:
        error.close()
        reason = f"the server answers {error.code} {error.reason}"
        raise UnreachableError(f"{url}: {reason}") from error
    except URLError as error:
        raise UnreachableError(f"{url}: cannot be reached ({error.reason})") from error
    except DownloadError:
        raise
    except ValueError as error:  # an address that urllib cannot split, in a redirect
        raise DownloadError(f"{url}: leads to what is not an address ({error})") from error
    except (http.client.HTTPException, TimeoutError, ConnectionError) as error:
        raise UnreachableError(f"{url}: the connection broke ({error!r}); try again") from error
    if total is not None and done < total:
        raise DownloadError(f"{url}: only {done} of {total} bytes arrived; try again")


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
