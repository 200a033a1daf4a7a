"""Every address of the site. None ends in a slash."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path, re_path
from drf_spectacular.views import SpectacularJSONAPIView

from leaderboard.web import service, stream
from leaderboard.web.accounts import login_pages
from leaderboard.web.accounts import pages as account
from leaderboard.web.api import admissions as admissions_api
from leaderboard.web.api import competitions as competitions_api
from leaderboard.web.api import entries as entries_api
from leaderboard.web.api import public as public_api
from leaderboard.web.api import quota as quota_api
from leaderboard.web.api import review as review_api
from leaderboard.web.api import standings as standings_api
from leaderboard.web.api import teams as teams_api
from leaderboard.web.api import views as api
from leaderboard.web.boards import award_pages, collection_pages, competition_pages, entry_pages, standing_pages
from leaderboard.web.boards import pages as boards
from leaderboard.web.organise import admission_pages, epoch_pages, rejudge_pages, set_pages
from leaderboard.web.organise.pages import boards as organise_boards
from leaderboard.web.organise.pages import codes as organise_codes
from leaderboard.web.organise.pages import confirmations as organise_confirmations
from leaderboard.web.organise.pages import exports as organise_exports
from leaderboard.web.organise.pages import index as organise
from leaderboard.web.organise.pages import news as organise_news
from leaderboard.web.organise.pages import preview as organise_preview
from leaderboard.web.organise.pages import quotas as organise_quotas
from leaderboard.web.organise.pages import settings as organise_settings
from leaderboard.web.organise.pages import standing as organise_standing
from leaderboard.web.organise.pages import state as organise_state
from leaderboard.web.organise.pages import thresholds as organise_thresholds
from leaderboard.web.organise.pages import tracks as organise_tracks
from leaderboard.web.review import account_pages, integrity_page
from leaderboard.web.review import pages as review
from leaderboard.web.runners import pages as runners
from leaderboard.web.submissions import pages as submissions
from leaderboard.web.submissions import team_pages

pages: list[URLPattern | URLResolver] = [
    path("", boards.home),
    path("boards", boards.index),
    path("boards/<slug:slug>", boards.problem),
    path("boards/<slug:slug>/submit", submissions.submit),
    path("boards/<slug:slug>/files/<str:name>", boards.file),
    path("boards/<slug:slug>/<str:hardware>/history", entry_pages.history),
    path("boards/<slug:slug>/<str:hardware>", boards.board),
    path("competitions", competition_pages.index),
    path("competitions/<slug:slug>", competition_pages.detail),
    path("competitions/<slug:slug>/enter", competition_pages.enter),
    path("competitions/<slug:slug>/standings", standing_pages.page),
    path("entries/<int:pk>", entry_pages.detail),
    path("entries/<int:pk>/code", entry_pages.code),
    path("submissions/<int:pk>/retract", entry_pages.retract),
    path("submissions/<int:pk>/restore", entry_pages.restore),
    path("submissions/<int:pk>/publish-code", entry_pages.publish_code),
    path("competitions/<slug:slug>/integrity", integrity_page.page),
    path("invite-code", competition_pages.invite_code),
    path("collections/<slug:slug>", collection_pages.index),
    path("collections/<slug:slug>/<str:username>", collection_pages.entrant),
    path("competitions/<slug:slug>/team", team_pages.mine),
    path("competitions/<slug:slug>/team/<slug:name>", team_pages.act),
    path("submissions", submissions.index),
    path("submissions/<int:pk>", submissions.detail),
    path("submissions/<int:pk>/cancel", submissions.cancel),
    path("submissions/<int:pk>/answer", review.answer),
    path("submissions/<int:pk>/appeal", review.appeal),
    path("review", review.index),
    path("review/hold", review.hold),
    path("review/accounts", account_pages.page),
    path("review/<int:pk>", review.detail),
    path("review/<int:pk>/<slug:name>", review.act),
    path("admission", admission_pages.index),
    path("admission/ask", admission_pages.ask),
    path("admission/<int:pk>", admission_pages.detail),
    path("admission/<int:pk>/override", admission_pages.override),
    path("runners", runners.index),
    path("epochs/<int:pk>/<slug:name>", epoch_pages.decide),
    path("runners/<slug:name>/<slug:act>", runners.act),
    path("rejudge", rejudge_pages.index),
    path("rejudge/new", rejudge_pages.new),
    path("rejudge/<int:pk>", rejudge_pages.detail),
    path("rejudge/<int:pk>.csv", rejudge_pages.export),
    path("rejudge/<int:pk>/apply", rejudge_pages.apply),
    path("rejudge/<int:pk>/try", rejudge_pages.attempt),
    path("rejudge/<int:pk>/discard", rejudge_pages.discard),
    path("rejudge/<int:pk>/stop", rejudge_pages.stop),
    path("sets", set_pages.index),
    path("sets/<int:pk>", set_pages.detail),
    path("sets/<int:pk>/apply", set_pages.apply),
    path("sign-up", account.sign_up),
    path("sign-in", account.sign_in),
    path("sign-out", account.sign_out),
    path("account", login_pages.mine),
    path("account/link", login_pages.link),
    path("account/password", login_pages.password),
    path("tokens", account.tokens),
    path("tokens/<int:pk>/revoke", account.revoke),
    path("readyz", service.readyz),
    path("robots.txt", service.robots),
    path("api/docs", service.api_docs),
]
organisers: list[URLPattern | URLResolver] = [
    path("organise", organise.index),
    path("organise/new", organise.create),
    path("organise/<slug:slug>", organise.overview),
    path("organise/<slug:slug>/publish", organise.publish),
    path("organise/<slug:slug>/settings", organise_settings.edit),
    path("organise/<slug:slug>/history", organise.changes),
    path("organise/<slug:slug>/clone", organise.clone),
    path("organise/<slug:slug>/roles", organise_settings.roles),
    path("organise/<slug:slug>/roles/<int:pk>/revoke", organise_settings.revoke),
    path("organise/<slug:slug>/boards", organise_boards.index),
    path("organise/<slug:slug>/boards/<int:pk>", organise_boards.detail),
    path("organise/<slug:slug>/boards/<int:pk>/close", organise_boards.close),
    path("organise/<slug:slug>/boards/<int:pk>/remove", organise_boards.remove),
    path("organise/<slug:slug>/tracks", organise_tracks.index),
    path("organise/<slug:slug>/tracks/<int:pk>", organise_tracks.detail),
    path("organise/<slug:slug>/tracks/<int:pk>/remove", organise_tracks.remove),
    path("organise/<slug:slug>/tracks/<int:pk>/prizes", organise_tracks.prize),
    path("organise/<slug:slug>/tracks/<int:pk>/prizes/<int:prize_pk>/remove", organise_tracks.unprize),
    path("organise/<slug:slug>/codes", organise_codes.index),
    path("organise/<slug:slug>/codes/<int:pk>/revoke", organise_codes.revoke),
    path("organise/<slug:slug>/announcements", organise_news.index),
    path("organise/<slug:slug>/announcements/<int:pk>/withdraw", organise_news.withdraw),
    path("organise/<slug:slug>/quotas", organise_quotas.edit),
    path("organise/<slug:slug>/thresholds", organise_thresholds.edit),
    path("competitions/<slug:slug>/thresholds", organise_thresholds.named),
    path("organise/<slug:slug>/standing", organise_standing.index),
    path("organise/<slug:slug>/standing/<slug:name>", organise_standing.act),
    path("organise/<slug:slug>/confirmations", organise_confirmations.index),
    path("organise/<slug:slug>/confirmations/<int:pk>.json", organise_confirmations.report),
    path("organise/<slug:slug>/confirmations/<int:pk>/<slug:name>", organise_confirmations.act),
    path("organise/<slug:slug>/state", organise_state.page),
    path("organise/<slug:slug>/epochs", epoch_pages.pin),
    path("organise/<slug:slug>/state.json", organise_state.data),
    path("organise/<slug:slug>/exports", organise_exports.index),
    path("organise/<slug:slug>/exports/<slug:name>.<slug:kind>", organise_exports.file),
    path("organise/<slug:slug>/preview", organise_preview.begin),
    path("preview/leave", organise_preview.leave),
]
prizes: list[URLPattern | URLResolver] = [
    path("competitions/<slug:slug>/awards", award_pages.index),
    path("competitions/<slug:slug>/awards.csv", award_pages.as_csv),
    path("competitions/<slug:slug>/awards.json", award_pages.as_json),
    path("competitions/<slug:slug>/awards/propose/<slug:track>", award_pages.propose),
    path("competitions/<slug:slug>/awards/<int:pk>/<slug:name>", award_pages.act),
]
people: list[URLPattern | URLResolver] = [
    path("me", api.Me.as_view()),
    path("competitions", competitions_api.Competitions.as_view()),
    path("competitions/<slug:slug>", competitions_api.Competition.as_view()),
    path("competitions/<slug:slug>/enter", competitions_api.Enter.as_view()),
    path("competitions/<slug:slug>/team", teams_api.MyTeam.as_view()),
    *(path(f"competitions/<slug:slug>/team/{act}", view.as_view()) for act, view in teams_api.VIEWS.items()),
    path("entrants", teams_api.Entrants.as_view()),
    path("invites", teams_api.Invites.as_view()),
    path("invites/<int:pk>/accept", teams_api.Accept.as_view()),
    path("invites/<int:pk>/decline", teams_api.Decline.as_view()),
    path("competitions/<slug:slug>/announcements", public_api.Announcements.as_view()),
    path("competitions/<slug:slug>/awards", public_api.AwardsOf.as_view()),
    path("competitions/<slug:slug>/integrity", public_api.IntegrityOf.as_view()),
    path("boards", api.Boards.as_view()),
    path("boards/<slug:slug>/<str:hardware>/history", public_api.History.as_view()),
    path("boards/<slug:slug>", api.Board.as_view()),
    path("boards/<slug:slug>/<str:hardware>/entries", api.Entries.as_view()),
    path("competitions/<slug:slug>/standings", standings_api.Standings.as_view()),
    path("entries/<int:pk>", entries_api.Entry.as_view()),
    path("submissions/<int:pk>/retract", entries_api.Retract.as_view()),
    path("quota", quota_api.Quota.as_view()),
    path("submissions", api.Submissions.as_view()),
    path("submissions/<int:pk>", api.Submission.as_view()),
    path("submissions/<int:pk>/cancel", api.Cancel.as_view()),
    path("submissions/<int:pk>/events", stream.events),
    path("submissions/<int:pk>/review", review_api.OwnersSide.as_view()),
    path("submissions/<int:pk>/answer", review_api.Answer.as_view()),
    path("submissions/<int:pk>/appeal", review_api.Appeal.as_view()),
    path("review", review_api.Queue.as_view()),
    path("review/hold", review_api.Hold.as_view()),
    path("review/<int:pk>", review_api.Detail.as_view()),
    *(path(f"review/<int:pk>/{act}", view.as_view()) for act, view in review_api.VIEWS.items()),
    path("admission", admissions_api.Tests.as_view()),
    path("admission/<int:pk>", admissions_api.Test.as_view()),
]
urlpatterns: list[URLPattern | URLResolver] = [
    *pages,
    *organisers,
    *prizes,
    path("api/v1/", include(people)),
    path("api/runner/v1/", include("leaderboard.web.runners.urls")),
    path("api/schema", SpectacularJSONAPIView.as_view(permission_classes=[], authentication_classes=[])),
    re_path(r"^api(?:/.*)?\Z", api.NotHere.as_view()),
]
handler500 = "leaderboard.web.service.server_error"
