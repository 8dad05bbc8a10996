"""Who acts, and in which language the answer is."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import translation

from governance.access.actor import Actor
from governance.access.memory import remembering

Answer = Callable[[HttpRequest], HttpResponse]


class LanguageMiddleware:
    """The language is the reader's choice (a cookie), else Simplified Chinese: not what a browser happens to ask for.

    A program has no cookie: below /api/ Accept-Language counts.
    """

    def __init__(self, get_response: Answer) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        chosen = request.COOKIES.get(settings.LANGUAGE_COOKIE_NAME, "")
        language = chosen if chosen in dict(settings.LANGUAGES) else settings.LANGUAGE_CODE
        if not chosen and request.path.startswith("/api/"):
            language = translation.get_language_from_request(request)
        with translation.override(language):
            request.LANGUAGE_CODE = language
            response = self.get_response(request)
        response.headers.setdefault("Content-Language", language)
        return response


class MemoryMiddleware:
    """While a page is read, what it asks twice is asked once; whatever may write remembers nothing."""

    def __init__(self, get_response: Answer) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.method not in {"GET", "HEAD"}:
            return self.get_response(request)
        with remembering():
            return self.get_response(request)


class ActorMiddleware:
    """Sets `request.actor`; everything below asks it, and nothing else, what may be seen and done."""

    def __init__(self, get_response: Answer) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        address = request.META.get("REMOTE_ADDR", "")
        user = request.user
        request.actor = Actor.of(user, address) if user.is_authenticated else Actor.anonymous(address)  # type: ignore[attr-defined]
        return self.get_response(request)
