"""Django's admin below /admin/, for superusers: it reads the tables that have no page. Changes are for audited acts."""

from functools import wraps
from typing import Any, Final

from django.apps import apps
from django.contrib.admin import AdminSite, ModelAdmin
from django.contrib.auth.views import redirect_to_login
from django.core.paginator import Paginator
from django.db.models import BinaryField, ForeignKey, JSONField, Model, QuerySet, TextField
from django.http import Http404, HttpRequest, HttpResponseBase
from django.urls import URLPattern, URLResolver
from django.utils.functional import cached_property

APPS: Final = ("accounts", "audit", "entrants", "submissions", "judging", "operations")
PAGES: Final = ("index", "app_list", "jsi18n")  # for the rest of Django's, the site has pages of its own
HIDDEN: Final = ("password", "source", "sealed")  # and every digest
COLUMNS: Final = 6
MOST_COUNTED: Final = 10_000  # rows; a list has no page beyond


class BoundedPaginator(Paginator):  # type: ignore[type-arg]  # generic in the stubs only
    @cached_property
    def count(self) -> int:
        rows: Any = self.object_list
        return len(rows.order_by().values_list("pk")[:MOST_COUNTED])


class ReadOnly(ModelAdmin):  # type: ignore[type-arg]
    """A table to read: newest rows first, without secrets, and without texts of any length."""

    ordering = ("-pk",)
    show_full_result_count = False
    paginator = BoundedPaginator
    list_per_page = 50
    actions = None

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        plain = [field.name for field in self._fields() if not isinstance(field, ForeignKey | TextField | JSONField)]
        return plain[:COLUMNS]

    def get_fields(self, request: HttpRequest, obj: Model | None = None) -> list[Any]:
        return [field.attname if isinstance(field, ForeignKey) else field.name for field in self._fields()]

    get_readonly_fields = get_fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = self.model._default_manager.only(*(field.name for field in self._fields()))
        return rows

    def _fields(self) -> list[Any]:
        long = (BinaryField,) if self.model._meta.app_label in ("audit", "operations") else (BinaryField, JSONField)
        return [
            field
            for field in self.model._meta.concrete_fields
            if not isinstance(field, long) and field.name not in HIDDEN and "digest" not in field.name
        ]

    def get_urls(self) -> list[URLPattern]:
        return [url for url in super().get_urls() if str(url.name).endswith(("_changelist", "_change"))]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return True  # Superusers admits nobody else

    def has_module_permission(self, request: HttpRequest) -> bool:
        return True


class Superusers(AdminSite):
    site_header = site_title = "Photofinish: tables"
    index_title = "Read the tables. Changes are made at the desk"
    site_url = "/desk"
    enable_nav_sidebar = final_catch_all_view = False

    def has_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.is_active and getattr(request.user, "is_superuser", False))

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        checked = super().admin_view(view, cacheable)

        @wraps(checked)
        def respond(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if not request.user.is_authenticated:
                return redirect_to_login(request.get_full_path())
            if not self.has_permission(request):
                raise Http404
            response: HttpResponseBase = checked(request, *args, **kwargs)
            return response

        return respond

    def get_urls(self) -> list[URLPattern | URLResolver]:
        return [url for url in super().get_urls() if isinstance(url, URLResolver) or url.name in PAGES]


site: Final = Superusers()
site.register([model for app in APPS for model in apps.get_app_config(app).get_models()], ReadOnly)
