"""Django's admin: for superusers, to read, without secrets, and within the site's content policy."""

from leaderboard.accounts.models import User
from leaderboard.accounts.tokens import issue_token
from leaderboard.web.desk.admin import site
from tests.web.test_pages_are_strict import check


def test_admin_shows_tables_and_changes_nothing(stage, browser) -> None:
    stage.judge(stage.submit())
    token, _ = issue_token(owner=stage.ada, name="laptop", scopes=("read",), now=stage.now)
    olga = browser(stage.olga)
    check(olga.get("/admin/"))
    for model in site._registry:
        base = f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
        page = olga.get(base)
        assert page.status_code == 200, base
        check(page)
        for row in model._default_manager.all()[:1]:
            page = olga.get(f"{base}{row.pk}/change/")
            assert page.status_code == 200, (base, page.get("Location"))
            check(page)
            assert b'name="_save"' not in page.content
            assert olga.post(f"{base}{row.pk}/change/", {"name": "x"}).status_code == 403
    page = olga.get(f"/admin/accounts/apitoken/{token.pk}/change/").content.decode()
    assert token.prefix in page
    assert token.digest not in page
    assert stage.olga.password not in olga.get(f"/admin/accounts/user/{stage.olga.pk}/change/").content.decode()


def test_admin_does_not_exist_for_staff(stage, browser) -> None:
    sam = browser(User.objects.create_user("sam", is_staff=True))
    assert sam.get("/admin/").status_code == 404
    assert sam.get("/admin/accounts/user/").status_code == 404
    assert browser(None).get("/admin/accounts/user/")["Location"] == "/sign-in?next=/admin/accounts/user/"
