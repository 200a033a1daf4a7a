"""Every address of the site. None ends in a slash."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path, re_path
from django.views.generic import RedirectView, TemplateView
from drf_spectacular.views import SpectacularJSONAPIView

from leaderboard.web import service, stream
from leaderboard.web.accounts import pages as account
from leaderboard.web.api import admissions as admissions_api
from leaderboard.web.api import competitions as competitions_api
from leaderboard.web.api import review as review_api
from leaderboard.web.api import teams as teams_api
from leaderboard.web.api import views as api
from leaderboard.web.boards import collection_pages, competition_pages, entries
from leaderboard.web.boards import pages as boards
from leaderboard.web.organise import board_pages, exports, problem_pages, rejudge_pages, rule_pages, state_pages
from leaderboard.web.organise import pages as organise
from leaderboard.web.organise import standing_pages as standing
from leaderboard.web.review import integrity
from leaderboard.web.review import pages as review
from leaderboard.web.submissions import pages as submissions
from leaderboard.web.submissions import team_pages

pages: list[URLPattern | URLResolver] = [
    path("", boards.home),
    path("boards", boards.index),
    path("boards/<slug:slug>", boards.problem),
    path("boards/<slug:slug>/submit", submissions.submit),
    path("boards/<slug:slug>/files/<str:name>", boards.file),
    path("boards/<slug:slug>/<str:hardware>/history", entries.history),
    path("boards/<slug:slug>/<str:hardware>", boards.board),
    path("competitions", competition_pages.index),
    path("competitions/<slug:slug>", competition_pages.detail),
    path("competitions/<slug:slug>/enter", competition_pages.enter),
    path("competitions/<slug:slug>/standings", boards.overall),
    path("entries/<int:pk>", entries.detail),
    path("entries/<int:pk>/code", entries.code),
    path("submissions/<int:pk>/retract", entries.retract),
    path("submissions/<int:pk>/restore", entries.restore),
    path("submissions/<int:pk>/publish-code", entries.publish_code),
    path("competitions/<slug:slug>/integrity", integrity.page),
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
    path("review/accounts", review.accounts),
    path("review/<int:pk>", review.detail),
    path("review/<int:pk>/<slug:name>", review.act),
    path("admission", problem_pages.admissions),
    path("admission/ask", problem_pages.ask),
    path("admission/<int:pk>", problem_pages.admission),
    path("admission/<int:pk>/override", problem_pages.override),
    path("runners", state_pages.runner_index),
    path("epochs/<int:pk>/<slug:name>", state_pages.decide),
    path("runners/<slug:name>/<slug:act>", state_pages.act_on_runner),
    path("rejudge", rejudge_pages.index),
    path("rejudge/new", rejudge_pages.new),
    path("rejudge/<int:pk>", rejudge_pages.detail),
    path("rejudge/<int:pk>.csv", rejudge_pages.export),
    path("rejudge/<int:pk>/try", rejudge_pages.attempt),
    path("rejudge/<int:pk>/<slug:name>", rejudge_pages.settle),
    path("sets", problem_pages.sets),
    path("sets/<int:pk>", problem_pages.uploaded_set),
    path("sets/<int:pk>/apply", problem_pages.apply),
    path("sign-up", account.sign_up),
    path("sign-in", account.sign_in),
    path("sign-out", account.sign_out),
    path("account", account.mine),
    path("account/link", account.link),
    path("account/password", account.password),
    path("tokens", account.tokens),
    path("tokens/<int:pk>/revoke", account.revoke),
    path("readyz", service.readyz),
    path("robots.txt", service.robots),
    path("api/docs", TemplateView.as_view(template_name="web/api_docs.html", http_method_names=["get", "head"])),
]
organisers: list[URLPattern | URLResolver] = [
    path("organise", organise.index),
    path("organise/new", organise.create),
    path("organise/<slug:slug>", organise.overview),
    path("organise/<slug:slug>/publish", organise.publish),
    path("organise/<slug:slug>/settings", organise.settings),
    path("organise/<slug:slug>/history", organise.changes),
    path("organise/<slug:slug>/clone", organise.clone),
    path("organise/<slug:slug>/roles", organise.roles),
    path("organise/<slug:slug>/roles/<int:pk>/revoke", organise.revoke_a_role),
    path("organise/<slug:slug>/boards", board_pages.index),
    path("organise/<slug:slug>/boards/<int:pk>", board_pages.detail),
    path("organise/<slug:slug>/boards/<int:pk>/close", board_pages.close),
    path("organise/<slug:slug>/boards/<int:pk>/remove", board_pages.remove),
    path("organise/<slug:slug>/tracks", board_pages.tracks),
    path("organise/<slug:slug>/tracks/<int:pk>", board_pages.edit_a_track),
    path("organise/<slug:slug>/tracks/<int:pk>/remove", board_pages.remove_a_track),
    path("organise/<slug:slug>/tracks/<int:pk>/prizes", board_pages.prize),
    path("organise/<slug:slug>/tracks/<int:pk>/prizes/<int:prize_pk>/remove", board_pages.unprize),
    path("organise/<slug:slug>/codes", organise.codes),
    path("organise/<slug:slug>/codes/<int:pk>/revoke", organise.revoke_a_code),
    path("organise/<slug:slug>/announcements", organise.announcements),
    path("organise/<slug:slug>/announcements/<int:pk>/withdraw", organise.withdraw),
    path("organise/<slug:slug>/quotas", rule_pages.quotas),
    path("organise/<slug:slug>/thresholds", rule_pages.thresholds),
    path(
        "competitions/<slug:slug>/thresholds",
        RedirectView.as_view(url="/organise/%(slug)s/thresholds", http_method_names=["get", "head"]),
    ),
    path("organise/<slug:slug>/standing", standing.index),
    path("organise/<slug:slug>/standing/<slug:name>", standing.act),
    path("organise/<slug:slug>/confirmations", standing.confirmation_index),
    path("organise/<slug:slug>/confirmations/<int:pk>.json", standing.report),
    path("organise/<slug:slug>/confirmations/<int:pk>/<slug:name>", standing.settle),
    path("organise/<slug:slug>/state", state_pages.page),
    path("organise/<slug:slug>/epochs", state_pages.pin),
    path("organise/<slug:slug>/state.json", state_pages.data),
    path("organise/<slug:slug>/exports", exports.index),
    path("organise/<slug:slug>/exports/<slug:name>.<slug:kind>", exports.file),
    path("organise/<slug:slug>/preview", organise.begin_preview),
    path("preview/leave", organise.leave_preview),
]
prizes: list[URLPattern | URLResolver] = [
    path("competitions/<slug:slug>/awards", competition_pages.award_index),
    path("competitions/<slug:slug>/awards.csv", competition_pages.awards_csv),
    path("competitions/<slug:slug>/awards.json", competition_pages.awards_json),
    path("competitions/<slug:slug>/awards/propose/<slug:track>", competition_pages.propose_award),
    path("competitions/<slug:slug>/awards/<int:pk>/<slug:name>", competition_pages.change_award),
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
    path("competitions/<slug:slug>/announcements", competitions_api.Announcements.as_view()),
    path("competitions/<slug:slug>/awards", competitions_api.AwardsOf.as_view()),
    path("competitions/<slug:slug>/integrity", competitions_api.IntegrityOf.as_view()),
    path("boards", api.Boards.as_view()),
    path("boards/<slug:slug>/<str:hardware>/history", competitions_api.History.as_view()),
    path("boards/<slug:slug>", api.Board.as_view()),
    path("boards/<slug:slug>/<str:hardware>/entries", api.Entries.as_view()),
    path("competitions/<slug:slug>/standings", competitions_api.Standings.as_view()),
    path("entries/<int:pk>", api.PublishedEntry.as_view()),
    path("submissions/<int:pk>/retract", api.Retract.as_view()),
    path("quota", api.Quota.as_view()),
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
    path("api/runner/v1/", include("leaderboard.web.runners.views")),
    path("api/schema", SpectacularJSONAPIView.as_view(permission_classes=[], authentication_classes=[])),
    re_path(r"^api(?:/.*)?\Z", api.NotHere.as_view()),
]
handler500 = "leaderboard.web.service.server_error"
