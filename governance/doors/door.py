"""The door: one address of the API. It answers in one order: 401, 429, 404, 403, 409 or 422, and only then does something."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from django.db.models import QuerySet
from django.http import HttpResponseNotModified
from django.http.response import HttpResponseBase
from django.utils.functional import Promise
from django.utils.http import parse_etags, quote_etag
from rest_framework.exceptions import AuthenticationFailed, NotAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer
from rest_framework.views import APIView

from governance.access.actor import Actor, require
from governance.errors import N_, BadData, NotAllowed, NotFound, NotSignedIn

from . import once, paging, throttling
from .query import ROWS, UNKNOWN_PARAMETER, Paged, Query, Sparse, parsed

WANTS_TOKEN = N_("This door wants a token: Authorization: Bearer …")
NO_SCOPE = N_("The token does not have the scope “%(scope)s” that this door wants. Issue one that has it.")
NO_FIELD = N_("“%(name)s” is no field here. Known are: %(known)s.")
NOTHING = N_("There is nothing here for you.")


class Door(APIView):
    """An endpoint. Its attributes are what the schema says of it; `see` decides whether it is there for the actor at all."""

    name: ClassVar[str] = ""  # of the address, and of the operation in the schema
    title: ClassVar[str | Promise] = ""
    says: ClassVar[str | Promise] = ""
    query: ClassVar[type[Query]] = Query
    out: ClassVar[type[Serializer[Any]]]
    is_list: ClassVar[bool] = False
    writes_with: ClassVar[str] = "write"  # the token scope; reading wants "read"
    gives_file: ClassVar[tuple[str, ...]] = ()  # media types, where the answer is a file

    def see(self, actor: Actor, **where: Any) -> None:
        """Raise NotFound where there is nothing here for the actor."""

    @property
    def actor(self) -> Actor:
        """Who asks."""
        found: Actor = self.request._request.actor
        return found

    def initial(self, request: Request, *args: Any, **where: Any) -> None:
        """Who asks, how often, with which scope, and whether there is anything here for them."""
        try:
            self.perform_authentication(request)
            if not self.actor.name:
                raise NotSignedIn(WANTS_TOKEN)
        except (AuthenticationFailed, NotAuthenticated, NotSignedIn):
            self.check_throttles(request._request)  # guessing is counted too
            raise
        self.check_throttles(request._request)
        scope = "read" if request.method in {"GET", "HEAD"} else self.writes_with
        if self.actor.scopes is not None and not self.actor.scopes & {scope, "write" if scope == "import" else scope}:
            raise NotAllowed(NO_SCOPE, scope=scope)
        if any("\0" in str(value) for value in where.values()):
            raise NotFound(NOTHING)
        self.see(self.actor, **where)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """A read carries the digest of its answer, and is not sent again to who has it."""
        found = super().finalize_response(request, response, *args, **kwargs)
        if (
            request.method in {"GET", "HEAD"}
            and found.status_code == 200
            and hasattr(found, "add_post_render_callback")
        ):
            found.add_post_render_callback(lambda rendered: _conditional(request, rendered))
        return found


def _conditional(request: Any, response: Any) -> HttpResponseBase | None:
    etag = response.headers.get("ETag") or quote_etag(hashlib.sha256(response.content).hexdigest()[:32])
    response["ETag"] = etag
    held = parse_etags(request.headers.get("If-None-Match", ""))
    if "*" not in held and etag not in {one.removeprefix("W/") for one in held}:
        return None
    unchanged = HttpResponseNotModified()
    unchanged["ETag"] = etag
    return unchanged


def cut(data: Any, asked: Mapping[str, Any], known: Sequence[str]) -> Any:
    """The fields asked for, of one row or many. Raises BadData for one that is unknown."""
    if not asked.get("fields"):
        return data
    wanted = [name.strip() for name in asked["fields"].split(",") if name.strip()]
    for name in wanted:
        if name not in known:
            raise BadData(NO_FIELD, name=name[:100], known=", ".join(known))
    if isinstance(data, list):
        return [{name: row[name] for name in known if name in wanted} for row in data]
    return {name: data[name] for name in known if name in wanted}


class OneDoor(Door):
    """A door to one thing."""

    query = Sparse

    def one(self, actor: Actor, asked: dict[str, Any], **where: Any) -> Any:
        """The thing. Raises NotFound."""
        raise NotImplementedError

    def get(self, request: Request, **where: Any) -> Response:
        """Read it."""
        asked = parsed(self.query, request.query_params)
        known = list(self.out().fields)
        cut(dict.fromkeys(known), asked, known)
        return Response(cut(self.out(self.one(self.actor, asked, **where)).data, asked, known))


class ListDoor(Door):
    """A door to a list, in pages: {"rows": […], "next": cursor or null}."""

    query = Paged
    is_list = True
    order: ClassVar[tuple[str, ...]] = ()

    def rows(self, actor: Actor, asked: dict[str, Any], **where: Any) -> QuerySet[Any]:
        """All rows that the actor may see, narrowed to what is asked."""
        raise NotImplementedError

    def page(
        self, actor: Actor, asked: dict[str, Any], after: paging.Place | None, limit: int, **where: Any
    ) -> paging.Page:
        """One page of them."""
        return paging.of_rows(self.rows(actor, asked, **where), self.order, after, limit)

    def get(self, request: Request, **where: Any) -> Response:
        """Read a page."""
        asked = parsed(self.query, request.query_params)
        known = list(self.out().fields)
        cut([], asked, known)
        after = paging.read(asked.pop("cursor", ""), self.name)
        found = self.page(self.actor, asked, after, asked.pop("limit", ROWS), **where)
        following = paging.written(found.after, self.name)
        response = Response({"rows": cut(self.out(found.rows, many=True).data, asked, known), "next": following})
        if following:
            there = request.query_params.copy()
            there["cursor"] = following
            response["Link"] = f'<{request.path}?{there.urlencode()}>; rel="next"'
        return response


class WriteDoor(Door):
    """A door through which something is changed, by POST."""

    takes: ClassVar[type[Serializer[Any]] | None] = None
    takes_many: ClassVar[bool] = False  # a list of them
    takes_file: ClassVar[tuple[str, ...]] = ()  # media types, where the body is a file
    takes_etag: ClassVar[bool] = False  # whether If-Match is heard
    verb: ClassVar[str] = "load"  # names the write of a door that is read as well
    options: ClassVar[type[Query]] = Query  # the parameters of the write
    result: ClassVar[type[Serializer[Any]]]
    capability: ClassVar[str] = ""
    success: ClassVar[int] = 200

    def act(self, actor: Actor, asked: dict[str, Any], given: dict[str, Any], **where: Any) -> Any:
        """Do it by the topic's action; answers what `result` shows."""
        raise NotImplementedError

    def digest(self, request: Request) -> str:
        """Of everything that makes this request this one."""
        whole = request._request
        return once.digest(str(whole.method).encode(), whole.get_full_path().encode(), whole.body)

    def post(self, request: Request, **where: Any) -> Response:
        """May they, is it shaped right, do it; with an Idempotency-Key at most once."""
        if self.capability:
            require(self.actor, self.capability)
        key = request.headers.get("Idempotency-Key")
        of = "" if key is None else self.digest(request)

        def act() -> Response:
            asked = parsed(self.options, request.query_params)
            found = self.act(self.actor, asked, self.given(request), **where)
            return Response(self.result(found).data, status=self.success)

        return act() if key is None else once.answered(key, throttling.who(request._request), of, act)

    def given(self, request: Request) -> dict[str, Any]:
        """The body, checked. Raises BadData for a field that is unknown, ValidationError for a bad one."""
        if self.takes is None:
            return {}
        body = request.data
        if not isinstance(body, dict):
            raise BadData(N_("The body is no JSON object."))
        shaped = self.takes(data=body)
        for name in body:
            if name not in shaped.fields:
                raise BadData(UNKNOWN_PARAMETER, name=str(name)[:100], known=", ".join(shaped.fields))
        shaped.is_valid(raise_exception=True)
        return dict(shaped.validated_data)
