"""Expected permissions of every address of the site, in a line per address, read by test_permission_matrix.py.

A line gives the answers to GET and POST, with a letter for each of WHO (a single letter applies to all of them):

    A  allowed        200, 3xx to another page, or a complaint about the data sent (400, 409, 429)
    I  asked to sign in   302 to /sign-in on pages, 401 over the API
    F  forbidden      403
    N  not found      404
    M  wrong method   405
"""

from leaderboard.web.desk.admin import site as admin

WHO = ("anonymous", "competitor", "mate", "stranger", "viewer", "reviewer", "owner", "administrator")
# letters:  anonymous competitor mate stranger viewer reviewer owner administrator

ALL = "A"
NOT_SENT = "M"  # the address takes no POST
SIGNED_IN = "IAAAAAAA"
SENT_TO_NOBODY = "IMMMMMMM"  # a page for signed-in people without a form
ANY_ROLE = "INNNAAAA"
REVIEWERS = "INNNFAAA"
OWNERS = "INNNFFAA"
READ_ONLY = "IMMMMMMM"
OWNERS_OR_NONE = "INNNNNAA"
STAFF = "INNNNNNA"
STUDENT = "IANNNNNN"  # of the class, ada alone
TEACHERS = "INNNNFAA"  # of a class, over the API
GRADERS = "INNNNAAA"  # and teachers; a viewer's role opens nothing there
OWN = "IAANAAAA"  # of ada and her team
OF_MATCH = "IAANNAAA"  # of ada's team, and of those who judge its competition
RUNNERS = "I"  # a runner's token; a session never suffices
TOKENS = "I"  # a person's token; a session never suffices
STAFF_CALLS = "IFFFFFFA"  # of the API
NO_STAFF_CALL = "IFFFFFFM"  # the same address with the other method

# route → (address, GET, POST)
TABLE: dict[str, list[tuple[str, str, str]]] = {
    "": [("/", ALL, NOT_SENT)],
    "boards": [("/boards", ALL, NOT_SENT)],
    "boards/<slug:slug>": [("/boards/softmax", ALL, NOT_SENT)],
    "boards/<slug:slug>/submit": [("/boards/softmax/submit", SIGNED_IN, SIGNED_IN)],
    **{
        f"boards/<slug:slug>/{path}": [(f"/boards/softmax/{path}", "IMMMMMMM", SIGNED_IN)]
        for path in ("draft", "draft/discard")
    },
    "boards/<slug:slug>/files/<str:name>": [("/boards/softmax/files/reference.py", ALL, NOT_SENT)],
    "boards/<slug:slug>/<str:hardware>": [("/boards/softmax/cpu", ALL, NOT_SENT)],
    "boards/<slug:slug>/<str:hardware>/history": [("/boards/softmax/cpu/history", ALL, NOT_SENT)],
    "boards/<slug:slug>/<str:hardware>/sampling": [("/boards/softmax/cpu/sampling", ALL, NOT_SENT)],
    "boards/<slug:slug>/<str:hardware>/cases": [("/boards/softmax/cpu/cases", ALL, NOT_SENT)],
    "boards/<slug:slug>/<str:hardware>/pulse": [("/boards/softmax/cpu/pulse", ALL, NOT_SENT)],
    "entries/<int:pk>": [
        ("/entries/{published}", ALL, NOT_SENT),
        ("/entries/{held}", "N", NOT_SENT),
        ("/entries/{frozen}", "NNNNNNNA", NOT_SENT),
    ],
    "entries/<int:pk>/code": [("/entries/{published}/code", "NAANAAAA", NOT_SENT)],
    "notifications": [("/notifications", SIGNED_IN, READ_ONLY)],
    "notifications/read": [("/notifications/read", "IMMMMMMM", SIGNED_IN)],
    "notifications/settings": [("/notifications/settings", SIGNED_IN, SIGNED_IN)],
    "notifications/webhook": [("/notifications/webhook", "IMMMMMMM", SIGNED_IN)],
    "notifications/webhook/<slug:name>": [
        ("/notifications/webhook/remove", "IMMMMMMM", SIGNED_IN),
        ("/notifications/webhook/test", "IMMMMMMM", SIGNED_IN),
        ("/notifications/webhook/rotate", "IMMMMMMM", SIGNED_IN),
        ("/notifications/webhook/nothing", "IMMMMMMM", "IN"),
    ],
    "notifications/off/<str:token>": [("/notifications/off/nonsense", "N", "N")],
    "boards/<slug:slug>/<str:hardware>/match": [("/boards/softmax/cpu/match", SIGNED_IN, SIGNED_IN)],
    "boards/<slug:slug>/<str:hardware>/discussion": [("/boards/softmax/cpu/discussion", ALL, SIGNED_IN)],
    "boards/<slug:slug>/<str:hardware>/discussion/<int:pk>/remove": [
        ("/boards/softmax/cpu/discussion/999999/remove", "IMMMMMMM", "IN")
    ],
    "boards/<slug:slug>/<str:hardware>/discussion/<int:pk>/report": [
        ("/boards/softmax/cpu/discussion/999999/report", "IMMMMMMM", "IN")
    ],
    "search": [("/search?q=ada", ALL, NOT_SENT)],
    "problems": [("/problems", ALL, NOT_SENT)],
    "compare": [
        ("/compare", ALL, NOT_SENT),
        ("/compare?a={published}&b={published}", ALL, NOT_SENT),
        ("/compare?a={published}&b={frozen}", "NNNNNNNA", NOT_SENT),
        ("/compare?a={published}&b={held}", "N", NOT_SENT),
    ],
    "people/<str:username>": [("/people/ada", ALL, NOT_SENT), ("/people/cleo", "NNNANNNN", NOT_SENT)],
    "competitions/<slug:slug>/entrants/<path:name>": [
        ("/competitions/{slug}/entrants/nobody", "N", NOT_SENT),
        ("/competitions/{secret}/entrants/nobody", "N", NOT_SENT),
    ],
    "submissions/<int:pk>/retract": [("/submissions/{own}/retract", "IMMMMMMM", OWN)],
    "submissions/<int:pk>/restore": [("/submissions/{own}/restore", "IMMMMMMM", OWN)],
    "submissions/<int:pk>/publish-code": [("/submissions/{own}/publish-code", "IMMMMMMM", OWN)],
    "competitions/<slug:slug>/standings": [
        ("/competitions/{slug}/standings", ALL, NOT_SENT),
        ("/competitions/{secret}/standings", "NNNNNNNA", NOT_SENT),
    ],
    "competitions": [("/competitions", ALL, NOT_SENT)],
    "competitions/<slug:slug>": [
        ("/competitions/{slug}", ALL, NOT_SENT),
        ("/competitions/{secret}", "NNNNNNNA", NOT_SENT),
    ],
    "competitions/<slug:slug>/enter": [
        ("/competitions/{slug}/enter", "IMMMMMMM", SIGNED_IN),
        ("/competitions/{secret}/enter", "IMMMMMMM", STAFF),
    ],
    "competitions/<slug:slug>/team": [
        ("/competitions/{slug}/team", SIGNED_IN, READ_ONLY),
        ("/competitions/{secret}/team", STAFF, READ_ONLY),
    ],
    "competitions/<slug:slug>/team/<slug:name>": [
        ("/competitions/{slug}/team/leave", "IMMMMMMM", SIGNED_IN),
        ("/competitions/{slug}/team/nothing", "IMMMMMMM", "IN"),
        ("/competitions/{secret}/team/create", "IMMMMMMM", STAFF),
    ],
    "competitions/<slug:slug>/integrity": [
        ("/competitions/{slug}/integrity", ALL, NOT_SENT),
        ("/competitions/{secret}/integrity", "NNNNNNNA", NOT_SENT),
    ],
    "competitions/<slug:slug>/awards": [
        ("/competitions/{slug}/awards", ALL, NOT_SENT),
        ("/competitions/{secret}/awards", "NNNNNNNA", NOT_SENT),
    ],
    **{
        f"competitions/<slug:slug>/awards.{kind}": [
            (f"/competitions/{{slug}}/awards.{kind}", ALL, NOT_SENT),
            (f"/competitions/{{secret}}/awards.{kind}", "NNNNNNNA", NOT_SENT),
        ]
        for kind in ("csv", "json")
    },
    "competitions/<slug:slug>/awards/propose/<slug:track>": [
        ("/competitions/{slug}/awards/propose/best", "IMMMMMMM", OWNERS_OR_NONE)
    ],
    "competitions/<slug:slug>/awards/<int:pk>/<slug:name>": [
        ("/competitions/{slug}/awards/{award}/announce", "IMMMMMMM", OWNERS_OR_NONE)
    ],
    "invite-code": [("/invite-code", SIGNED_IN, SIGNED_IN)],
    "competitions/<slug:slug>/sampling": [("/competitions/kernels-101/sampling", ALL, NOT_SENT)],
    "competitions/<slug:slug>/models": [("/competitions/kernels-101/models", ALL, NOT_SENT)],
    "competitions/<slug:slug>/models/<path:name>": [("/competitions/kernels-101/models/nobody", "N", NOT_SENT)],
    "classes": [("/classes", SIGNED_IN, READ_ONLY)],
    "classes/join": [("/classes/join", SENT_TO_NOBODY, SIGNED_IN)],
    "classes/make": [("/classes/make", SENT_TO_NOBODY, "IN")],
    "classes/new": [("/classes/new", STAFF, STAFF)],
    "classes/<slug:slug>": [("/classes/{slug}", "IANNNAAA", READ_ONLY), ("/classes/{secret}", "IN", READ_ONLY)],
    "classes/<slug:slug>/join": [("/classes/{slug}/join", SENT_TO_NOBODY, STUDENT)],
    "classes/<slug:slug>/mine": [("/classes/{slug}/mine", STUDENT, READ_ONLY)],
    "classes/<slug:slug>/grid.<slug:kind>": [
        ("/classes/{slug}/grid.csv", GRADERS, READ_ONLY),
        ("/classes/{slug}/grid.json", GRADERS, READ_ONLY),
    ],
    "classes/<slug:slug>/settings": [("/classes/{slug}/settings", GRADERS, OWNERS_OR_NONE)],
    "classes/<slug:slug>/sections/<int:pk>/remove": [("/classes/{slug}/sections/999999/remove", SENT_TO_NOBODY, "IN")],
    "classes/<slug:slug>/roster": [("/classes/{slug}/roster", GRADERS, OWNERS_OR_NONE)],
    "classes/<slug:slug>/roster/<int:pk>/remove": [
        ("/classes/{slug}/roster/{line}/remove", SENT_TO_NOBODY, OWNERS_OR_NONE)
    ],
    "classes/<slug:slug>/seats/<int:pk>": [("/classes/{slug}/seats/{seat}", GRADERS, OWNERS_OR_NONE)],
    "classes/<slug:slug>/seats/<int:pk>/end": [("/classes/{slug}/seats/999999/end", SENT_TO_NOBODY, "IN")],
    "classes/<slug:slug>/assignments": [("/classes/{slug}/assignments", GRADERS, OWNERS_OR_NONE)],
    "classes/<slug:slug>/assignments/<int:pk>": [("/classes/{slug}/assignments/{assignment}", GRADERS, OWNERS_OR_NONE)],
    "classes/<slug:slug>/assignments/<int:pk>/extend": [
        ("/classes/{slug}/assignments/{assignment}/extend", SENT_TO_NOBODY, OWNERS_OR_NONE)
    ],
    "classes/<slug:slug>/assignments/<int:pk>/start": [
        ("/classes/{slug}/assignments/{assignment}/start", STUDENT, STUDENT)
    ],
    "classes/<slug:slug>/grading": [("/classes/{slug}/grading", GRADERS, READ_ONLY)],
    "classes/<slug:slug>/grading/<int:pk>/begin": [("/classes/{slug}/grading/999999/begin", SENT_TO_NOBODY, "IN")],
    "classes/<slug:slug>/grading/<int:pk>/release": [
        ("/classes/{slug}/grading/{assignment}/release", SENT_TO_NOBODY, OWNERS_OR_NONE)
    ],
    "classes/<slug:slug>/grading/<int:pk>/grades.<slug:kind>": [
        ("/classes/{slug}/grading/{assignment}/grades.csv", GRADERS, READ_ONLY),
        ("/classes/{slug}/grading/{assignment}/grades.json", GRADERS, READ_ONLY),
    ],
    "classes/<slug:slug>/grading/works/<int:pk>": [("/classes/{slug}/grading/works/999999", "IN", "IN")],
    "classes/<slug:slug>/grading/works/<int:pk>/moderate": [
        ("/classes/{slug}/grading/works/999999/moderate", SENT_TO_NOBODY, "IN")
    ],
    "classes/<slug:slug>/grading/works/<int:pk>/remarks": [
        ("/classes/{slug}/grading/works/999999/remarks", SENT_TO_NOBODY, "IN")
    ],
    "classes/<slug:slug>/grading/remarks/<int:pk>/remove": [
        ("/classes/{slug}/grading/remarks/999999/remove", SENT_TO_NOBODY, "IN")
    ],
    "classes/<slug:slug>/grading/appeals/<int:pk>/answer": [
        ("/classes/{slug}/grading/appeals/999999/answer", SENT_TO_NOBODY, "IN")
    ],
    "classes/<slug:slug>/grading/rubrics": [("/classes/{slug}/grading/rubrics", GRADERS, READ_ONLY)],
    "classes/<slug:slug>/grading/rubrics/new": [("/classes/{slug}/grading/rubrics/new", GRADERS, OWNERS_OR_NONE)],
    "classes/<slug:slug>/grading/rubrics/<int:pk>": [("/classes/{slug}/grading/rubrics/999999", "IN", "IN")],
    "classes/<slug:slug>/grades/<int:pk>": [("/classes/{slug}/grades/999999", "IN", "IN")],
    "classes/<slug:slug>/extensions/<int:pk>/withdraw": [
        ("/classes/{slug}/extensions/999999/withdraw", SENT_TO_NOBODY, "IN")
    ],
    "classes/<slug:slug>/planted": [("/classes/{slug}/planted", SENT_TO_NOBODY, OWNERS_OR_NONE)],
    "classes/<slug:slug>/planted/<int:pk>/remove": [("/classes/{slug}/planted/999999/remove", SENT_TO_NOBODY, "IN")],
    "matches": [("/matches", ALL, NOT_SENT)],
    "matches/<int:pk>": [("/matches/{match}", "IAANNAAA", NOT_SENT)],
    "matches/<int:pk>/pulse": [("/matches/{match}/pulse", "NAANNAAA", NOT_SENT)],
    "matches/<int:pk>/worklog": [("/matches/{match}/worklog", OF_MATCH, READ_ONLY)],
    "matches/<int:pk>/worklog.<slug:kind>": [("/matches/{match}/worklog.md", OF_MATCH, READ_ONLY)],
    "matches/<int:pk>/worklog/print": [("/matches/{match}/worklog/print", OF_MATCH, READ_ONLY)],
    "matches/<int:pk>/worklog/published": [("/matches/{match}/worklog/published", "N", NOT_SENT)],
    "matches/<int:pk>/worklog/hand-in": [("/matches/{match}/worklog/hand-in", "IMMMMMMM", OF_MATCH)],
    "matches/<int:pk>/worklog/<slug:section>": [("/matches/{match}/worklog/plan", "IAANNNNN", "IAANNNNN")],
    "matches/<int:pk>/predict": [("/matches/{match}/predict", "IMMMMMMM", OF_MATCH)],
    "matches/<int:pk>/send": [("/matches/{match}/send", "IAANNNNN", "IAANNNNN")],
    "matches/<int:pk>/paste": [("/matches/{match}/paste", "IANNNNNN", "IANNNNNN")],
    "matches/<int:pk>/picture.png": [("/matches/{match}/picture.png", "N", NOT_SENT)],
    "matches/<int:pk>/<slug:name>": [
        ("/matches/{match}/close", "IMMMMMMM", OF_MATCH),
        ("/matches/{match}/nothing", "IMMMMMMM", "IN"),
    ],
    "matches/<int:pk>/<slug:side>/<int:number>": [("/matches/{match}/machine/1", "NAANNAAA", NOT_SENT)],
    "batches": [("/batches", SIGNED_IN, READ_ONLY)],
    "batches/<int:pk>": [("/batches/{batch}", "IAANNNNN", NOT_SENT)],
    "collections/<slug:slug>": [("/collections/kernels-101", "N", NOT_SENT)],
    "collections/<slug:slug>/<str:username>": [("/collections/kernels-101/ada", "N", NOT_SENT)],
    "submissions": [("/submissions", SIGNED_IN, READ_ONLY)],
    "submissions/<int:pk>": [
        ("/submissions/{own}", OWN, READ_ONLY),
        ("/submissions/{held}", "INNNAAAA", READ_ONLY),
    ],
    "submissions/<int:pk>/lineage": [
        ("/submissions/{published}/lineage", "NAANAAAA", NOT_SENT),
        ("/submissions/{held}/lineage", "NNNNAAAA", NOT_SENT),
    ],
    "runs": [("/runs", SIGNED_IN, READ_ONLY)],
    "submissions/<int:pk>/cancel": [("/submissions/{own}/cancel", "IMMMMMMM", OWN)],
    "submissions/<int:pk>/send": [("/submissions/{own}/send", "IMMMMMMM", "IANNNNNN")],
    "submissions/<int:pk>/compare/<int:other>": [("/submissions/{own}/compare/{published}", "IAANNNNN", READ_ONLY)],
    "submissions/<int:pk>/note": [("/submissions/{own}/note", "IMMMMMMM", "IAANNNNN")],
    "submissions/<int:pk>/measured": [("/submissions/{own}/measured", "IAANNNNN", READ_ONLY)],
    "welcome": [("/welcome", SIGNED_IN, READ_ONLY)],
    "welcome/dismiss": [("/welcome/dismiss", "IMMMMMMM", SIGNED_IN)],
    "submissions/<int:pk>/answer": [("/submissions/{own}/answer", "IMMMMMMM", OWN)],
    "submissions/<int:pk>/appeal": [("/submissions/{own}/appeal", "IMMMMMMM", OWN)],
    "review": [("/review", ANY_ROLE, READ_ONLY)],
    "review/hold": [("/review/hold", "IMMMMMMM", ANY_ROLE)],
    "review/chosen": [("/review/chosen", "IMMMMMMM", ANY_ROLE)],
    "review/accounts": [("/review/accounts", OWNERS_OR_NONE, OWNERS_OR_NONE)],
    "review/<int:pk>": [("/review/{case}", ANY_ROLE, READ_ONLY), ("/review/{secret_case}", STAFF, READ_ONLY)],
    "review/<int:pk>/<slug:name>": [
        ("/review/{case}/claim", "IMMMMMMM", REVIEWERS),
        ("/review/{case}/clear", "IMMMMMMM", ANY_ROLE),
        ("/review/{secret_case}/claim", "IMMMMMMM", STAFF),
    ],
    "rejudge": [("/rejudge", ANY_ROLE, READ_ONLY)],
    "rejudge/new": [("/rejudge/new", OWNERS_OR_NONE, OWNERS_OR_NONE)],
    "rejudge/<int:pk>": [("/rejudge/{rejudge}", ANY_ROLE, READ_ONLY)],
    "rejudge/<int:pk>.csv": [("/rejudge/{rejudge}.csv", ANY_ROLE, READ_ONLY)],
    "rejudge/<int:pk>/<slug:name>": [
        *(
            (f"/rejudge/{{rejudge}}/{act}", "IMMMMMMM", ANY_ROLE) for act in ("apply", "discard", "stop")
        ),  # ask a reason
        ("/rejudge/{rejudge}/nothing", "IMMMMMMM", "IN"),
    ],
    "rejudge/<int:pk>/try": [("/rejudge/{rejudge}/try", "IMMMMMMM", OWNERS)],
    "admission": [("/admission", ANY_ROLE, READ_ONLY)],
    "admission/ask": [("/admission/ask", "IMMMMMMM", "INNNNNNN")],
    "admission/compiled": [("/admission/compiled", "IMMMMMMM", "INNNNNNN")],
    "admission/<int:pk>": [("/admission/{test}", ANY_ROLE, READ_ONLY)],
    "admission/<int:pk>/override": [("/admission/{test}/override", "IMMMMMMM", ANY_ROLE)],
    "runners": [("/runners", STAFF, READ_ONLY)],
    "runners/<slug:name>": [("/runners/rex", STAFF, READ_ONLY)],
    "hosts/<slug:name>": [("/hosts/rack", STAFF, READ_ONLY)],
    "enrolments": [("/enrolments", "IMMMMMMM", STAFF)],
    "enrolments/<int:pk>/withdraw": [("/enrolments/{enrolment}/withdraw", "IMMMMMMM", STAFF)],
    "shares": [("/shares", "IMMMMMMM", STAFF)],
    "desk": [("/desk?q=ada", STAFF, READ_ONLY)],
    "desk/people/<int:pk>": [("/desk/people/{ada}", STAFF, READ_ONLY)],
    "desk/people/<int:pk>/quota": [("/desk/people/{ada}/quota", "IMMMMMMM", STAFF)],
    "desk/people/<int:pk>/<slug:name>": [
        *((f"/desk/people/{{ada}}/{act}", "IMMMMMMM", STAFF) for act in ("deactivate", "make-staff", "rename", "hide")),
        ("/desk/people/{ada}/nothing", "IMMMMMMM", "IN"),
    ],
    "desk/entrants/<int:pk>/<slug:name>": [
        ("/desk/entrants/{entrant}/hide", "IMMMMMMM", STAFF),
        ("/desk/entrants/{entrant}/nothing", "IMMMMMMM", "IN"),
    ],
    "desk/tokens/<int:pk>/revoke": [("/desk/tokens/{token}/revoke", "IMMMMMMM", STAFF)],
    "desk/submissions/<int:pk>/<slug:name>": [
        ("/desk/submissions/{own}/take-down", "IMMMMMMM", STAFF),
        ("/desk/submissions/{own}/nothing", "IMMMMMMM", "IN"),
    ],
    "desk/quotas/<int:pk>/end": [("/desk/quotas/{exception}/end", "IMMMMMMM", STAFF)],
    "desk/bans": [("/desk/bans", STAFF, STAFF)],
    "desk/bans/<int:pk>/lift": [("/desk/bans/{ban}/lift", "IMMMMMMM", STAFF)],
    "desk/acts/<int:pk>/undo": [("/desk/acts/{act}/undo", "IMMMMMMM", STAFF)],
    "admin/": [("/admin/", STAFF, STAFF)],
    "admin/jsi18n/": [("/admin/jsi18n/", STAFF, "INNNNNNM")],
    "admin/^(?P<app_label>accounts|audit|entrants|submissions|judging|operations)/$": [("/admin/audit/", STAFF, STAFF)],
    **{
        f"admin/{model._meta.app_label}/{model._meta.model_name}/{end}": [
            (f"/admin/{model._meta.app_label}/{model._meta.model_name}/{address}", STAFF, posted)
        ]
        for model in admin._registry
        for end, address, posted in (("", "", STAFF), ("<path:object_id>/change/", "0/change/", "INNNNNNF"))
    },
    "metrics": [("/metrics", "N", NOT_SENT)],  # METRICS_TOKEN is not set
    "datasets": [("/datasets", ALL, NOT_SENT)],
    "status": [("/status", ALL, NOT_SENT)],
    "status/maintenance": [("/status/maintenance", "IMMMMMMM", STAFF)],
    "status/maintenance/end": [("/status/maintenance/end", "IMMMMMMM", STAFF)],
    "status/incidents": [("/status/incidents", "IMMMMMMM", STAFF)],
    "status/incidents/<int:pk>": [("/status/incidents/1", "IMMMMMMM", "INNNNNNN")],
    "epochs/<int:pk>/<slug:name>": [
        ("/epochs/{epoch}/choose", "IMMMMMMM", STAFF),
        ("/epochs/{epoch}/dismiss", "IMMMMMMM", STAFF),
        ("/epochs/{epoch}/nothing", "IMMMMMMM", "IN"),
    ],
    "organise/<slug:slug>/epochs": [("/organise/{slug}/epochs", "IMMMMMMM", OWNERS)],
    "runners/<slug:name>/<slug:act>": [
        *((f"/runners/rex/{act}", "IMMMMMMM", STAFF) for act in ("drain", "resume", "suspend", "retire", "revoke")),
        ("/runners/rex/nothing", "IMMMMMMM", "IN"),
    ],
    "sets": [("/sets", STAFF, STAFF)],
    "sets/git": [("/sets/git", "IMMMMMMM", "IN")],  # off, without a host
    "sets/<int:pk>": [("/sets/{upload}", STAFF, READ_ONLY)],
    **{f"sets/<int:pk>/{act}": [(f"/sets/{{upload}}/{act}", "IMMMMMMM", STAFF)] for act in ("apply", "discard")},
    **{path: [(f"/{path}", ALL, ALL)] for path in ("sign-up", "sign-in", "account/password/reset")},
    **{path: [(f"/{path}", "I", "I")] for path in ("sign-up/finish", "sign-in/passkey")},  # steps of a sign-in
    "sign-in/code": [("/sign-in/code", SIGNED_IN, SIGNED_IN)],
    **{
        path: [(f"/{path}", ALL, NOT_SENT)]
        for path in (
            *("sign-in/closed", "sign-in/cancelled", "account/email/sent"),
            *("account/password/reset/sent", "account/password/reset/done"),
        )
    },
    "sign-in/failed": [("/sign-in/failed", "I", NOT_SENT)],
    **{
        f"sign-in/{provider}{end}": [(f"/sign-in/{provider}{end}", "N", "N")]  # the settings name none
        for provider in ("github", "discord", "google")
        for end in ("", "/callback")
    },
    r"^account/password/reset/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>[-:\w]+)\Z": [("/account/password/reset/1-x", ALL, ALL)],
    r"^account/email/(?P<key>[-:\w]+)\Z": [("/account/email/x", ALL, "N")],
    **{
        path: [(f"/{path}", SIGNED_IN, SIGNED_IN)]
        for path in (
            *("account/password/set", "account/email", "account/sessions", "account/connections"),
            *(f"account/second-factor/{page}" for page in ("app", "codes/new", "keys/add")),
        )
    },
    **{path: [(f"/{path}", SIGNED_IN, READ_ONLY)] for path in ("account/second-factor", "account/second-factor/keys")},
    # nobody here has a password or a second factor
    **{f"account/confirm{end}": [(f"/account/confirm{end}", "IF", "IF")] for end in ("", "/code", "/key")},
    **{
        f"account/second-factor/{page}": [(f"/account/second-factor/{page}", "IN", "IN")]
        for page in ("app/remove", "codes/file")
    },
    "account/second-factor/codes": [("/account/second-factor/codes", "IN", READ_ONLY)],
    **{
        f"account/second-factor/keys/<int:pk>/{act}": [(f"/account/second-factor/keys/1/{act}", "IN", "IN")]
        for act in ("remove", "edit")
    },
    "account/close": [("/account/close", SIGNED_IN, SIGNED_IN)],
    "account/data-sets": [("/account/data-sets", "IMMMMMMM", SIGNED_IN)],
    "account/export": [("/account/export", "IMMMMMMM", SIGNED_IN)],
    "sign-out": [("/sign-out", "M", ALL)],
    "mailbox": [("/mailbox", STAFF, READ_ONLY)],
    "device": [("/device", SIGNED_IN, SIGNED_IN)],
    "tokens": [("/tokens", SIGNED_IN, SIGNED_IN)],
    "agents": [("/agents", "IMMMMMMM", SIGNED_IN)],
    "account": [("/account", SIGNED_IN, READ_ONLY)],
    "account/password": [("/account/password", SIGNED_IN, SIGNED_IN)],
    "account/link": [("/account/link", "IMMMMMMM", SIGNED_IN)],
    "tokens/<int:pk>/revoke": [("/tokens/{token}/revoke", "IMMMMMMM", "IANNNNNN")],
    "readyz": [("/readyz", ALL, NOT_SENT)],
    "docs": [("/docs", ALL, NOT_SENT)],
    "docs/<slug:name>": [("/docs/rules", ALL, NOT_SENT), ("/docs/nothing", "N", NOT_SENT)],
    "sitemap.xml": [("/sitemap.xml", ALL, NOT_SENT)],
    "picture.png": [("/picture.png", ALL, NOT_SENT)],
    "boards/<slug:slug>/<str:hardware>/picture.png": [("/boards/softmax/cpu/picture.png", ALL, NOT_SENT)],
    "entries/<int:pk>/badge.svg": [
        ("/entries/{published}/badge.svg", ALL, NOT_SENT),
        ("/entries/{held}/badge.svg", "N", NOT_SENT),
        ("/entries/{frozen}/badge.svg", "N", NOT_SENT),
    ],
    **{f"feeds/{kind}.atom": [(f"/feeds/{kind}.atom", ALL, NOT_SENT)] for kind in ("records", "announcements")},
    **{
        f"competitions/<slug:slug>/{kind}.atom": [
            (f"/competitions/{{slug}}/{kind}.atom", ALL, NOT_SENT),
            (f"/competitions/{{secret}}/{kind}.atom", "N", NOT_SENT),
        ]
        for kind in ("records", "announcements")
    },
    "robots.txt": [("/robots.txt", ALL, NOT_SENT)],
    "api/docs": [("/api/docs", ALL, NOT_SENT)],
    "api/schema": [("/api/schema", ALL, NOT_SENT)],
    "api/feedback.schema.json": [("/api/feedback.schema.json", ALL, NOT_SENT)],
    # organisers
    "organise": [("/organise", ANY_ROLE, READ_ONLY)],
    "organise/new": [("/organise/new", STAFF, STAFF)],
    "organise/<slug:slug>": [
        ("/organise/{slug}", ANY_ROLE, READ_ONLY),
        ("/organise/{secret}", STAFF, READ_ONLY),
    ],
    "organise/<slug:slug>/publish": [("/organise/{slug}/publish", "IMMMMMMM", OWNERS)],
    "organise/<slug:slug>/settings": [("/organise/{slug}/settings", ANY_ROLE, OWNERS)],
    "organise/<slug:slug>/history": [("/organise/{slug}/history", ANY_ROLE, READ_ONLY)],
    "organise/<slug:slug>/clone": [("/organise/{slug}/clone", ANY_ROLE, OWNERS)],
    "organise/<slug:slug>/roles": [("/organise/{slug}/roles", ANY_ROLE, OWNERS)],
    "organise/<slug:slug>/roles/<int:pk>/revoke": [("/organise/{slug}/roles/{role}/revoke", "IMMMMMMM", OWNERS)],
    "organise/<slug:slug>/boards": [("/organise/{slug}/boards", ANY_ROLE, OWNERS)],
    "organise/<slug:slug>/boards/<int:pk>": [
        ("/organise/{slug}/boards/{board}", ANY_ROLE, OWNERS),
        ("/organise/{slug}/boards/{secret_board}", "IN", "INNNFFNN"),
    ],
    "organise/<slug:slug>/boards/<int:pk>/close": [("/organise/{slug}/boards/{board}/close", "IMMMMMMM", OWNERS)],
    "organise/<slug:slug>/boards/<int:pk>/remove": [("/organise/{slug}/boards/{board}/remove", "IMMMMMMM", OWNERS)],
    "organise/<slug:slug>/problems": [("/organise/{slug}/problems", ANY_ROLE, OWNERS)],
    "organise/<slug:slug>/problems/<slug:name>": [
        ("/organise/{slug}/problems/softmax", OWNERS, OWNERS),
        ("/organise/{slug}/problems/nothing", "INNNNNNN", "INNNFFNN"),
    ],
    "organise/<slug:slug>/problems/<slug:name>/delete": [
        ("/organise/{slug}/problems/softmax/delete", ANY_ROLE, OWNERS),
    ],
    "organise/<slug:slug>/tracks": [("/organise/{slug}/tracks", ANY_ROLE, OWNERS)],
    "organise/<slug:slug>/tracks/<int:pk>": [("/organise/{slug}/tracks/{track}", ANY_ROLE, OWNERS)],
    "organise/<slug:slug>/tracks/<int:pk>/remove": [("/organise/{slug}/tracks/{track}/remove", "IMMMMMMM", OWNERS)],
    "organise/<slug:slug>/tracks/<int:pk>/prizes": [("/organise/{slug}/tracks/{track}/prizes", "IMMMMMMM", OWNERS)],
    "organise/<slug:slug>/tracks/<int:pk>/prizes/<int:prize_pk>/remove": [
        ("/organise/{slug}/tracks/{track}/prizes/{prize}/remove", "IMMMMMMM", OWNERS)
    ],
    "organise/<slug:slug>/codes": [("/organise/{slug}/codes", ANY_ROLE, OWNERS)],
    "organise/<slug:slug>/codes/<int:pk>/revoke": [("/organise/{slug}/codes/{code}/revoke", "IMMMMMMM", OWNERS)],
    "organise/<slug:slug>/announcements": [("/organise/{slug}/announcements", ANY_ROLE, OWNERS)],
    "organise/<slug:slug>/announcements/<int:pk>/withdraw": [
        ("/organise/{slug}/announcements/{news}/withdraw", "IMMMMMMM", OWNERS)
    ],
    "organise/<slug:slug>/message": [("/organise/{slug}/message", ANY_ROLE, OWNERS)],
    "organise/<slug:slug>/delete": [("/organise/{slug}/delete", ANY_ROLE, OWNERS)],
    "organise/<slug:slug>/analytics": [("/organise/{slug}/analytics", ANY_ROLE, READ_ONLY)],
    "organise/<slug:slug>/quotas": [("/organise/{slug}/quotas", ANY_ROLE, OWNERS)],
    "organise/<slug:slug>/thresholds": [("/organise/{slug}/thresholds", ANY_ROLE, OWNERS)],
    "competitions/<slug:slug>/thresholds": [("/competitions/{slug}/thresholds", ALL, NOT_SENT)],
    "organise/<slug:slug>/standing": [("/organise/{slug}/standing", ANY_ROLE, READ_ONLY)],
    "organise/<slug:slug>/standing/<slug:name>": [("/organise/{slug}/standing/freeze", "IMMMMMMM", OWNERS)],
    "organise/<slug:slug>/confirmations": [("/organise/{slug}/confirmations", ANY_ROLE, READ_ONLY)],
    "organise/<slug:slug>/confirmations/<int:pk>.json": [
        ("/organise/{slug}/confirmations/{confirmation}.json", ANY_ROLE, READ_ONLY)
    ],
    "organise/<slug:slug>/confirmations/<int:pk>/<slug:name>": [
        ("/organise/{slug}/confirmations/{confirmation}/close", "IMMMMMMM", REVIEWERS)
    ],
    "organise/<slug:slug>/state": [("/organise/{slug}/state", ANY_ROLE, READ_ONLY)],
    "organise/<slug:slug>/state.json": [("/organise/{slug}/state.json", ANY_ROLE, READ_ONLY)],
    "organise/<slug:slug>/exports": [("/organise/{slug}/exports", ANY_ROLE, READ_ONLY)],
    "organise/<slug:slug>/exports/<slug:name>.<slug:kind>": [
        ("/organise/{slug}/exports/entrants.csv", ANY_ROLE, READ_ONLY),
        ("/organise/{slug}/exports/results.json", ANY_ROLE, READ_ONLY),
        ("/organise/{slug}/exports/code.json", OWNERS, READ_ONLY),
    ],
    "organise/<slug:slug>/preview": [("/organise/{slug}/preview?x", "IMMMMMMM", "IN")],
    "preview/leave": [("/preview/leave", "M", ALL)],
    # the API
    "api/v1/me": [("/api/v1/me", SIGNED_IN, READ_ONLY)],
    "api/v1/me/data-sets": [("/api/v1/me/data-sets", SIGNED_IN, SIGNED_IN)],
    "api/v1/login/device": [("/api/v1/login/device", "M", ALL)],
    "api/v1/login/device/token": [("/api/v1/login/device/token", "M", ALL)],
    "api/v1/datasets": [("/api/v1/datasets", "N", NOT_SENT)],
    "api/v1/datasets/<str:name>/<path:file>": [("/api/v1/datasets/2026-11-26/README.md", "N", NOT_SENT)],
    "api/v1/status": [("/api/v1/status", ALL, NOT_SENT)],
    "api/v1/boards": [("/api/v1/boards", ALL, NOT_SENT)],
    "api/v1/boards/<slug:slug>": [("/api/v1/boards/softmax", ALL, NOT_SENT)],
    "api/v1/boards/<slug:slug>/problem": [
        ("/api/v1/boards/softmax/problem", ALL, NOT_SENT),
        ("/api/v1/boards/{secret}/problem", "NNNNNNNA", NOT_SENT),
    ],
    "api/v1/boards/<slug:slug>/<str:hardware>/entries": [("/api/v1/boards/softmax/cpu/entries", ALL, NOT_SENT)],
    "api/v1/boards/<slug:slug>/<str:hardware>/parents": [("/api/v1/boards/softmax/cpu/parents", SIGNED_IN, READ_ONLY)],
    "api/v1/competitions": [("/api/v1/competitions", ALL, NOT_SENT)],
    "api/v1/competitions/<slug:slug>": [
        ("/api/v1/competitions/{slug}", ALL, NOT_SENT),
        ("/api/v1/competitions/{secret}", "NNNNNNNA", NOT_SENT),
    ],
    "api/v1/competitions/<slug:slug>/enter": [
        ("/api/v1/competitions/{slug}/enter", "IMMMMMMM", SIGNED_IN),
        ("/api/v1/competitions/{secret}/enter", "IMMMMMMM", STAFF),
    ],
    "api/v1/competitions/<slug:slug>/sampling": [
        ("/api/v1/competitions/{slug}/sampling", ALL, NOT_SENT),
        ("/api/v1/competitions/{secret}/sampling", "NNNNNNNA", NOT_SENT),
    ],
    "api/v1/competitions/<slug:slug>/models": [
        ("/api/v1/competitions/{slug}/models", ALL, NOT_SENT),
        ("/api/v1/competitions/{secret}/models", "NNNNNNNA", NOT_SENT),
    ],
    "api/v1/competitions/<slug:slug>/standings": [
        ("/api/v1/competitions/{slug}/standings", ALL, NOT_SENT),
        ("/api/v1/competitions/{secret}/standings", "NNNNNNNA", NOT_SENT),
    ],
    **{
        f"api/v1/competitions/<slug:slug>/{part}": [
            (f"/api/v1/competitions/{{slug}}/{part}", ALL, NOT_SENT),
            (f"/api/v1/competitions/{{secret}}/{part}", "NNNNNNNA", NOT_SENT),
        ]
        for part in ("announcements", "awards", "integrity")
    },
    "api/v1/competitions/<slug:slug>/team": [
        ("/api/v1/competitions/{slug}/team", SIGNED_IN, READ_ONLY),
        ("/api/v1/competitions/{secret}/team", STAFF, READ_ONLY),
    ],
    **{
        f"api/v1/competitions/<slug:slug>/team/{act}": [
            (f"/api/v1/competitions/{{slug}}/team/{act}", "IMMMMMMM", letters),
            (f"/api/v1/competitions/{{secret}}/team/{act}", "IMMMMMMM", STAFF),
        ]
        for act, letters in {
            **dict.fromkeys(("create", "leave", "rename", "invite", "withdraw", "remove", "hand-over"), SIGNED_IN),
            **dict.fromkeys(("division", "cost", "affiliation", "pseudonym", "declare"), SIGNED_IN),
            "reveal": "IAFAAAAA",  # the acts above report missing fields before permissions
        }.items()
    },
    "api/v1/entrants": [("/api/v1/entrants", SIGNED_IN, READ_ONLY)],
    "api/v1/invites": [("/api/v1/invites", SIGNED_IN, READ_ONLY)],
    **{
        f"api/v1/invites/<int:pk>/{act}": [(f"/api/v1/invites/{{invite}}/{act}", "IMMMMMMM", "INNANNNN")]
        for act in ("accept", "decline")
    },
    "api/v1/boards/<slug:slug>/<str:hardware>/sampling": [
        ("/api/v1/boards/softmax/cpu/sampling", ALL, NOT_SENT),
        ("/api/v1/boards/{secret}/cpu/sampling", "NNNNNNNA", NOT_SENT),
    ],
    "api/v1/boards/<slug:slug>/<str:hardware>/history": [
        ("/api/v1/boards/softmax/cpu/history", ALL, NOT_SENT),
        ("/api/v1/boards/{secret}/cpu/history", "NNNNNNNA", NOT_SENT),
    ],
    "api/v1/entries/<int:pk>": [
        ("/api/v1/entries/{published}", ALL, NOT_SENT),
        ("/api/v1/entries/{frozen}", "NNNNNNNA", NOT_SENT),
    ],
    "api/v1/compare": [
        ("/api/v1/compare?a={published}&b={published}", ALL, NOT_SENT),
        ("/api/v1/compare?a={published}&b={frozen}", "NNNNNNNA", NOT_SENT),
        ("/api/v1/compare?a={published}&b={held}", "N", NOT_SENT),
    ],
    **{
        f"api/v1/people/<str:username>{part}": [
            (f"/api/v1/people/ada{part}", ALL, NOT_SENT),
            (f"/api/v1/people/cleo{part}", "NNNANNNN", NOT_SENT),
        ]
        for part in ("", "/entries")
    },
    "api/v1/competitions/<slug:slug>/entrants/<path:name>": [
        ("/api/v1/competitions/{slug}/entrants/nobody", "N", NOT_SENT),
        ("/api/v1/competitions/{secret}/entrants/nobody", "N", NOT_SENT),
    ],
    "api/v1/search": [("/api/v1/search?q=ada", ALL, NOT_SENT)],
    "api/v1/problems": [("/api/v1/problems", ALL, NOT_SENT)],
    "api/v1/boards/<slug:slug>/<str:hardware>/posts": [
        ("/api/v1/boards/softmax/cpu/posts", ALL, SIGNED_IN),
        ("/api/v1/boards/{secret}/cpu/posts", "NNNNNNNA", "INNNNNNA"),
    ],
    **{
        f"api/v1/boards/<slug:slug>/<str:hardware>/posts/<int:pk>/{act}": [
            (f"/api/v1/boards/softmax/cpu/posts/999999/{act}", "IMMMMMMM", "IN")
        ]
        for act in ("remove", "report")
    },
    "api/v1/agents": [("/api/v1/agents", SIGNED_IN, "IFFFFFFF")],  # a session makes them at /tokens
    "api/v1/agents/<str:name>/tokens": [("/api/v1/agents/robo/tokens", "IMMMMMMM", "IFFFFFFF")],
    "api/v1/agents/<str:name>/tokens/<int:pk>/revoke": [("/api/v1/agents/robo/tokens/999999/revoke", "IMMMMMMM", "IN")],
    "api/v1/notifications": [("/api/v1/notifications", SIGNED_IN, READ_ONLY)],
    "api/v1/notifications/settings": [("/api/v1/notifications/settings", SIGNED_IN, SIGNED_IN)],
    **{
        f"api/v1/notifications/{act}": [(f"/api/v1/notifications/{act}", READ_ONLY, SIGNED_IN)]
        for act in ("read", "webhook", "webhook/rotate", "webhook/test", "webhook/remove")
    },
    "api/v1/entries/<int:pk>/signed": [
        ("/api/v1/entries/{published}/signed", ALL, NOT_SENT),
        ("/api/v1/entries/{frozen}/signed", "NNNNNNNA", NOT_SENT),
    ],
    "api/v1/keys": [("/api/v1/keys", ALL, NOT_SENT)],
    "api/v1/submissions/<int:pk>/retract": [("/api/v1/submissions/{own}/retract", "IMMMMMMM", "IAFNFAAA")],
    "api/v1/submissions/<int:pk>/restore": [("/api/v1/submissions/{own}/restore", "IMMMMMMM", OWN)],
    "api/v1/submissions/<int:pk>/publish-code": [("/api/v1/submissions/{own}/publish-code", "IMMMMMMM", "IAFNFFFF")],
    "api/v1/quota": [("/api/v1/quota", SIGNED_IN, READ_ONLY)],
    "api/v1/rewards": [("/api/v1/rewards", READ_ONLY, SIGNED_IN)],
    "api/v1/submissions": [("/api/v1/submissions", SIGNED_IN, SIGNED_IN)],
    "api/v1/submissions/<int:pk>": [
        ("/api/v1/submissions/{own}", OWN, READ_ONLY),
        ("/api/v1/submissions/{held}", "INNNAAAA", READ_ONLY),
    ],
    "api/v1/submissions/<int:pk>/files/<str:name>": [
        ("/api/v1/submissions/{own}/files/trace.json.gz", "IN", READ_ONLY),  # no profile: test_profile_page.py
    ],
    "api/v1/submissions/<int:pk>/cancel": [("/api/v1/submissions/{own}/cancel", "IMMMMMMM", "IAFNFFFA")],
    "api/v1/submissions/<int:pk>/seeds": [
        ("/api/v1/submissions/{published}/seeds", OWN, READ_ONLY),
        ("/api/v1/submissions/{held}/seeds", "INNNAAAA", READ_ONLY),
    ],
    "api/v1/submissions/<int:pk>/lineage": [
        ("/api/v1/submissions/{published}/lineage", "NAANAAAA", NOT_SENT),
        ("/api/v1/submissions/{held}/lineage", "NNNNAAAA", NOT_SENT),
    ],
    "api/v1/runs": [("/api/v1/runs", SIGNED_IN, READ_ONLY)],
    "api/v1/submissions/<int:pk>/feedback": [
        ("/api/v1/submissions/{own}/feedback", OWN, READ_ONLY),
        ("/api/v1/submissions/{held}/feedback", "INNNAAAA", READ_ONLY),
    ],
    "api/v1/matches": [("/api/v1/matches", ALL, READ_ONLY)],
    "api/v1/boards/<slug:slug>/<str:hardware>/matches": [("/api/v1/boards/softmax/cpu/matches", "IMMMMMMM", SIGNED_IN)],
    "api/v1/matches/<int:pk>": [("/api/v1/matches/{match}", "NAANNAAA", NOT_SENT)],
    **{
        f"api/v1/matches/<int:pk>/{act}": [(f"/api/v1/matches/{{match}}/{act}", "IMMMMMMM", OF_MATCH)]
        for act in ("predict", "versions", "answers", "attach", "withdraw", "close")
    },
    "api/v1/matches/<int:pk>/publish": [("/api/v1/matches/{match}/publish", "IMMMMMMM", "IAANNFFF")],
    "api/v1/matches/<int:pk>/worklog": [("/api/v1/matches/{match}/worklog", OF_MATCH, READ_ONLY)],
    "api/v1/matches/<int:pk>/texts": [("/api/v1/matches/{match}/texts", "N", NOT_SENT)],
    "api/v1/matches/<int:pk>/publish-texts": [("/api/v1/matches/{match}/publish-texts", "IMMMMMMM", "IAANNFFF")],
    "api/v1/matches/<int:pk>/hide-texts": [("/api/v1/matches/{match}/hide-texts", "IMMMMMMM", OF_MATCH)],
    "api/v1/matches/<int:pk>/worklog/hand-ins": [("/api/v1/matches/{match}/worklog/hand-ins", OF_MATCH, "IAANNFFF")],
    "api/v1/matches/<int:pk>/worklog/<slug:section>": [
        ("/api/v1/matches/{match}/worklog/plan", OF_MATCH, OF_MATCH),
        ("/api/v1/matches/{match}/worklog/poem", "IN", "IN"),
    ],
    "api/v1/classes": [("/api/v1/classes", SIGNED_IN, READ_ONLY)],
    "api/v1/classes/make": [("/api/v1/classes/make", "IMMMMMMM", "IAAAAAAA")],
    "api/v1/classes/join": [("/api/v1/classes/join", "IMMMMMMM", SIGNED_IN)],
    "api/v1/classes/<slug:slug>": [
        ("/api/v1/classes/{slug}", "IANNNAAA", READ_ONLY),
        ("/api/v1/classes/{secret}", "IN", READ_ONLY),
    ],
    "api/v1/classes/<slug:slug>/settings": [("/api/v1/classes/{slug}/settings", "IMMMMMMM", TEACHERS)],
    "api/v1/classes/<slug:slug>/join": [("/api/v1/classes/{slug}/join", "IMMMMMMM", STUDENT)],
    "api/v1/classes/<slug:slug>/mine": [("/api/v1/classes/{slug}/mine", STUDENT, READ_ONLY)],
    **{
        f"api/v1/classes/<slug:slug>/{path}": [(f"/api/v1/classes/{{slug}}/{path}", GRADERS, TEACHERS)]
        for path in ("roster", "assignments", "check")
    },
    **{
        f"api/v1/classes/<slug:slug>/{path}": [(f"/api/v1/classes/{{slug}}/{path}", GRADERS, READ_ONLY)]
        for path in ("sections", "grid")
    },
    "api/v1/classes/<slug:slug>/grades": [("/api/v1/classes/{slug}/grades", GRADERS, READ_ONLY)],
    "api/v1/classes/<slug:slug>/rubrics": [("/api/v1/classes/{slug}/rubrics", GRADERS, TEACHERS)],
    **{
        f"api/v1/classes/<slug:slug>/assignments/<int:pk>/{act}": [
            (f"/api/v1/classes/{{slug}}/assignments/{{assignment}}/{act}", "IMMMMMMM", TEACHERS)
        ]
        for act in ("begin-grading", "release")
    },
    "api/v1/classes/<slug:slug>/assignments/<int:pk>/grade": [
        ("/api/v1/classes/{slug}/assignments/{assignment}/grade", "IN", READ_ONLY)
    ],
    "api/v1/classes/<slug:slug>/assignments/<int:pk>/appeal": [
        ("/api/v1/classes/{slug}/assignments/{assignment}/appeal", "IMMMMMMM", "IN")
    ],
    "api/v1/classes/<slug:slug>/works/<int:pk>": [("/api/v1/classes/{slug}/works/999999", "IN", READ_ONLY)],
    **{
        f"api/v1/classes/<slug:slug>/{path.format('<int:pk>')}": [
            (f"/api/v1/classes/{{slug}}/{path.format(999999)}", "IMMMMMMM", "IN")
        ]
        for path in ("works/{}/grade", "works/{}/remarks", "remarks/{}/remove")
    },
    **{
        f"api/v1/classes/<slug:slug>/{path.format('<int:pk>')}": [
            (f"/api/v1/classes/{{slug}}/{path.format(999999)}", "IMMMMMMM", "INNNNFNN")
        ]
        for path in ("works/{}/moderate", "appeals/{}/answer")
    },
    **{
        f"api/v1/classes/<slug:slug>/{path}/remove": [(f"/api/v1/classes/{{slug}}/{path}/remove", "IMMMMMMM", TEACHERS)]
        for path in ("roster", "sections")
    },
    "api/v1/classes/<slug:slug>/seats/<int:pk>": [("/api/v1/classes/{slug}/seats/{seat}", "IMMMMMMM", TEACHERS)],
    "api/v1/classes/<slug:slug>/assignments/<int:pk>": [
        ("/api/v1/classes/{slug}/assignments/{assignment}", "IMMMMMMM", TEACHERS)
    ],
    "api/v1/classes/<slug:slug>/assignments/<int:pk>/extensions": [
        ("/api/v1/classes/{slug}/assignments/{assignment}/extensions", GRADERS, TEACHERS)
    ],
    "api/v1/classes/<slug:slug>/assignments/<int:pk>/work": [
        ("/api/v1/classes/{slug}/assignments/{assignment}/work", "IMMMMMMM", STUDENT)
    ],
    **{
        f"api/v1/classes/<slug:slug>/{path.format('<int:pk>')}": [
            (f"/api/v1/classes/{{slug}}/{path.format(999999)}", "IMMMMMMM", "INNNNFNN")
        ]
        for path in ("seats/{}/end", "extensions/{}/withdraw", "planted/{}/remove")
    },
    "api/v1/batches": [("/api/v1/batches", SIGNED_IN, SIGNED_IN)],
    "api/v1/batches/<int:pk>": [("/api/v1/batches/{batch}", "IANNNNNN", READ_ONLY)],
    "api/v1/batches/<int:pk>/feedback": [("/api/v1/batches/{batch}/feedback", "IANNNNNN", READ_ONLY)],
    "api/v1/batches/<int:pk>/report": [("/api/v1/batches/{batch}/report", "IAANNNNN", READ_ONLY)],
    "api/v1/batches/<int:pk>/events": [("/api/v1/batches/{batch}/events", "IANNNNNN", NOT_SENT)],
    "api/v1/batches/<int:pk>/cancel": [("/api/v1/batches/{batch}/cancel", "IMMMMMMM", "IANNNNNN")],
    "api/v1/submissions/<int:pk>/events": [("/api/v1/submissions/{own}/events", OWN, NOT_SENT)],
    "api/v1/submissions/<int:pk>/review": [
        ("/api/v1/submissions/{own}/review", OWN, READ_ONLY),
        ("/api/v1/submissions/{held}/review", "INNNAAAA", READ_ONLY),
        ("/api/v1/submissions/{published}/review", "IN", READ_ONLY),
    ],
    "api/v1/submissions/<int:pk>/answer": [("/api/v1/submissions/{own}/answer", "IMMMMMMM", OWN)],
    "api/v1/submissions/<int:pk>/appeal": [("/api/v1/submissions/{own}/appeal", "IMMMMMMM", OWN)],
    "api/v1/review": [("/api/v1/review", ANY_ROLE, "INNNMMMM")],
    "api/v1/review/hold": [("/api/v1/review/hold", "INNNMMMM", ANY_ROLE)],
    "api/v1/review/<int:pk>": [
        ("/api/v1/review/{case}", ANY_ROLE, "INNNMMMM"),
        ("/api/v1/review/{secret_case}", STAFF, "INNNMMMM"),
    ],
    **{
        f"api/v1/review/<int:pk>/{act}": [
            (f"/api/v1/review/{{case}}/{act}", "INNNMMMM", letters),
            (f"/api/v1/review/{{secret_case}}/{act}", "INNNMMMM", STAFF),
        ]
        for act, letters in {
            **dict.fromkeys(("claim", "release"), REVIEWERS),
            **dict.fromkeys(("clear", "reject", "ask", "overturn", "uphold", "grant", "undo"), ANY_ROLE),  # a reason
            **dict.fromkeys(("note", "label", "unlabel", "rerun"), ANY_ROLE),  # is asked for first
        }.items()
    },
    "api/v1/admission": [("/api/v1/admission", ANY_ROLE, ANY_ROLE)],
    "api/v1/admission/compiled": [("/api/v1/admission/compiled", ANY_ROLE, ANY_ROLE)],
    "api/v1/admission/<int:pk>": [("/api/v1/admission/{test}", ANY_ROLE, "INNNMMMM")],
    **{f"api/v1/admin/{act}": [(f"/api/v1/admin/{act}", "IFFFFFFM", "IFFFFFFA")] for act in ("start", "stop")},
    "api/v1/admin/stats": [("/api/v1/admin/stats", "IFFFFFFA", "IFFFFFFM")],
    "api/v1/organise": [("/api/v1/organise", SIGNED_IN, "IFFFFFFA")],
    "api/v1/organise/<slug:slug>": [
        ("/api/v1/organise/{slug}", ANY_ROLE, OWNERS),
        ("/api/v1/organise/{secret}", STAFF, STAFF),
    ],
    **{
        f"api/v1/organise/<slug:slug>/{part}": [
            (f"/api/v1/organise/{{slug}}/{part}", ANY_ROLE, OWNERS),
            (f"/api/v1/organise/{{secret}}/{part}", STAFF, STAFF),
        ]
        for part in ("announcements", "roles", "boards", "codes", "tracks", "quotas", "thresholds")
    },
    **{
        f"api/v1/organise/<slug:slug>/{part}": [
            (f"/api/v1/organise/{{slug}}/{part}", ANY_ROLE, READ_ONLY),
            (f"/api/v1/organise/{{secret}}/{part}", STAFF, READ_ONLY),
        ]
        for part in ("changes", "analytics", "state", "standing", "confirmations")
    },
    "api/v1/organise/<slug:slug>/exports/<slug:name>": [
        ("/api/v1/organise/{slug}/exports/entrants", ANY_ROLE, READ_ONLY),
        ("/api/v1/organise/{slug}/exports/code", OWNERS, READ_ONLY),
        ("/api/v1/organise/{slug}/exports/nothing", "IN", READ_ONLY),
    ],
    **{
        f"api/v1/organise/<slug:slug>/{act}": [(f"/api/v1/organise/{{slug}}/{act}", READ_ONLY, OWNERS)]
        for act in (
            *("codes/revoke", "boards/remove", "boards/close", "boards/edit", "roles/revoke", "announcements/withdraw"),
            *("clone", "delete", "message", "epochs", "drafts", "problems", "problems/delete"),
            *(f"standing/{act}" for act in ("freeze", "unfreeze", "reveal", "finalise", "reopen")),
        )
    },
    "api/v1/organise/<slug:slug>/thresholds/try": [("/api/v1/organise/{slug}/thresholds/try", READ_ONLY, ANY_ROLE)],
    "api/v1/organise/<slug:slug>/problems/<slug:name>": [
        ("/api/v1/organise/{slug}/problems/softmax", OWNERS, OWNERS),
        ("/api/v1/organise/{slug}/problems/nothing", "IN", OWNERS),
    ],
    "api/v1/organise/<slug:slug>/awards": [("/api/v1/organise/{slug}/awards", OWNERS, READ_ONLY)],
    **{
        f"api/v1/organise/<slug:slug>/tracks/<slug:track>{act}": [
            (f"/api/v1/organise/{{slug}}/tracks/best{act}", READ_ONLY, OWNERS),
            (f"/api/v1/organise/{{slug}}/tracks/nothing{act}", READ_ONLY, "INNNFFNN"),
        ]
        for act in (
            *("", "/remove", "/prizes", "/prizes/remove"),
            *(f"/award/{act}" for act in ("propose", "confirm", "approve", "announce", "withdraw")),
        )
    },
    "api/v1/organise/<slug:slug>/confirmations/<int:pk>": [
        ("/api/v1/organise/{slug}/confirmations/{confirmation}", ANY_ROLE, READ_ONLY)
    ],
    **{
        f"api/v1/organise/<slug:slug>/confirmations/<int:pk>/{act}": [
            (f"/api/v1/organise/{{slug}}/confirmations/{{confirmation}}/{act}", READ_ONLY, REVIEWERS)
        ]
        for act in ("ask", "close")
    },
    "api/v1/rejudge": [("/api/v1/rejudge", SIGNED_IN, SIGNED_IN)],
    "api/v1/rejudge/choose": [("/api/v1/rejudge/choose", READ_ONLY, SIGNED_IN)],
    "api/v1/rejudge/<int:pk>": [("/api/v1/rejudge/{rejudge}", ANY_ROLE, READ_ONLY)],
    "api/v1/rejudge/<int:pk>/items": [("/api/v1/rejudge/{rejudge}/items", ANY_ROLE, READ_ONLY)],
    "api/v1/rejudge/<int:pk>/try": [("/api/v1/rejudge/{rejudge}/try", READ_ONLY, OWNERS)],
    **{
        f"api/v1/rejudge/<int:pk>/{act}": [(f"/api/v1/rejudge/{{rejudge}}/{act}", READ_ONLY, ANY_ROLE)]
        for act in ("apply", "discard", "stop")  # a reason is asked for first
    },
    "api/v1/sets": [("/api/v1/sets", STAFF_CALLS, STAFF_CALLS)],
    "api/v1/sets/<int:pk>": [("/api/v1/sets/{upload}", STAFF_CALLS, NO_STAFF_CALL)],
    "api/v1/sets/git": [("/api/v1/sets/git", NO_STAFF_CALL, STAFF_CALLS)],
    **{
        f"api/v1/sets/<int:pk>/{act}": [(f"/api/v1/sets/{{upload}}/{act}", NO_STAFF_CALL, STAFF_CALLS)]
        for act in ("apply", "discard")
    },
    "api/v1/epochs": [("/api/v1/epochs", SIGNED_IN, READ_ONLY)],
    "api/v1/runners": [("/api/v1/runners", STAFF_CALLS, NO_STAFF_CALL)],
    **{
        f"api/v1/{part}": [(f"/api/v1/{part}", STAFF_CALLS, STAFF_CALLS)]
        for part in ("enrolments", "shares", "desk/bans")
    },
    **{f"api/v1/desk/{part}": [(f"/api/v1/desk/{part}", STAFF_CALLS, NO_STAFF_CALL)] for part in ("people", "acts")},
    "api/v1/desk/people/<int:pk>": [("/api/v1/desk/people/{ada}", STAFF_CALLS, NO_STAFF_CALL)],
    "api/v1/incidents": [("/api/v1/incidents", NO_STAFF_CALL, STAFF_CALLS)],
    "api/v1/incidents/<int:pk>": [("/api/v1/incidents/1", NO_STAFF_CALL, "IFFFFFFN")],
    **{
        f"api/v1/{route}": [(f"/api/v1/{address}", NO_STAFF_CALL, STAFF_CALLS)]
        for route, address in {
            **{f"epochs/{act}": f"epochs/{act}" for act in ("choose", "dismiss")},
            **{
                f"runners/<slug:runner>/{act}": f"runners/rex/{act}"
                for act in ("drain", "resume", "suspend", "reinstate", "rotate", "revoke", "retire")
            },
            "enrolments/<int:pk>/withdraw": "enrolments/{enrolment}/withdraw",
            "desk/bans/<int:pk>/lift": "desk/bans/{ban}/lift",
            "desk/acts/<int:pk>/undo": "desk/acts/{act}/undo",
            "desk/quotas/<int:pk>/end": "desk/quotas/{exception}/end",
            "desk/tokens/<int:pk>/revoke": "desk/tokens/{token}/revoke",
            **{
                f"desk/people/<int:pk>/{act}": f"desk/people/{{ada}}/{act}"
                for act in ("deactivate", "reactivate", "sign-out", "revoke-tokens", "rename", "hide", "quota")
            },
            **{
                f"desk/entrants/<int:pk>/{act}": f"desk/entrants/{{entrant}}/{act}"
                for act in ("rename", "hide", "rename-pseudonym", "hide-pseudonym")
            },
            **{
                f"desk/submissions/<int:pk>/{act}": f"desk/submissions/{{own}}/{act}"
                for act in ("take-down", "put-back")
            },
        }.items()
    },
    "api/v1/review/accounts": [("/api/v1/review/accounts", OWNERS_OR_NONE, "INNNNNMM")],
    **{
        f"api/v1/review/accounts/{act}": [(f"/api/v1/review/accounts/{act}", "INNNNNMM", OWNERS_OR_NONE)]
        for act in ("suspend", "reinstate")
    },
    "api/v1/admission/<int:pk>/override": [("/api/v1/admission/{test}/override", "INNNMMMM", ANY_ROLE)],
    # runners
    "api/runner/v1/enrol": [("/api/runner/v1/enrol", "M", "A")],
    **{
        f"api/runner/v1/{route}": [
            (f"/api/runner/v1/{route}".replace("<attempt:attempt_id>", name), RUNNERS, RUNNERS) for name in names
        ]
        for route, names in (
            *((route, ("",)) for route in ("hello", "claim", "upcoming", "bell", "health", "drain")),
            *(
                (f"attempts/<attempt:attempt_id>/{act}", ("1", "admission-1", "confirmation-1"))
                for act in ("renew", "release", "events", "report")
            ),
        )
    },
    r"^api(?:/.*)?\Z": [("/api/nothing", "N", "N")],
    # the popcorn client's: a token, never a session
    "popcorn/health": [("/popcorn/health", ALL, NOT_SENT)],
    "popcorn/leaderboards": [("/popcorn/leaderboards", ALL, NOT_SENT)],
    "popcorn/gpus/<str:leaderboard>": [("/popcorn/gpus/softmax", ALL, NOT_SENT)],
    **{
        f"popcorn/{call}/<str:leaderboard>/<str:gpu>": [(f"/popcorn/{call}/softmax/cpu", ALL, NOT_SENT)]
        for call in ("submissions", "submission_count")
    },
    "popcorn/runner_queue/<str:gpu>": [("/popcorn/runner_queue/cpu", ALL, NOT_SENT)],
    **{
        f"popcorn/{route}": [(f"/popcorn/{address}", TOKENS, TOKENS)]
        for route, address in {
            "submission/<str:leaderboard>/<str:gpu>/<str:mode>": "submission/softmax/cpu/test",
            "<str:leaderboard>/<str:gpu>/<str:mode>": "softmax/cpu/test",
            "profile/<str:leaderboard>/<str:gpu>": "profile/softmax/cpu",
            "user/submissions": "user/submissions",
            "user/submissions/<int:pk>": "user/submissions/{own}",
            "user/join": "user/join",
            **{f"admin/{act}": f"admin/{act}" for act in ("start", "stop", "stats", "invites")},
            "admin/submissions/<int:pk>": "admin/submissions/{own}",
            "admin/leaderboards/<str:leaderboard>": "admin/leaderboards/softmax",
            "admin/leaderboards/<str:leaderboard>/invites": "admin/leaderboards/softmax/invites",
            "admin/invites/<str:code>": "admin/invites/pfi_x",
        }.items()
    },
    **{
        f"popcorn/{route}": [(f"/popcorn/{address}", "N", "N")]  # calls without a counterpart
        for route, address in {
            "auth/init": "auth/init",
            "auth/cli/<str:provider>": "auth/cli/github",
            "profile": "profile",
            "jobs/<str:job>": "jobs/1",
            "admin/leaderboards": "admin/leaderboards",
            "admin/update-problems": "admin/update-problems",
            "^/": "/leaderboards",
            "": "nothing",
        }.items()
    },
}
PUBLIC_AS_WELL = (
    *(f"/api/v1/competitions/winter{part}" for part in ("", "/announcements", "/awards", "/integrity")),
    *("/boards/{secret}", "/boards/{secret}/cpu", "/boards/winter-softmax/cpu", "/boards/winter-softmax"),
    *("/api/v1/boards/{secret}", "/api/v1/boards/{secret}/cpu/entries", "/api/v1/boards/winter-softmax/cpu/entries"),
    *(
        "/api/v1/boards/winter-softmax/cpu/history",
        "/boards/winter-softmax/cpu/history",
        "/api/v1/boards/winter-softmax/cpu/sampling",
        "/boards/winter-softmax/cpu/sampling",
        "/boards/winter-softmax/cpu/cases",
        "/boards/winter-softmax/cpu/pulse",
        "/boards/winter-softmax/cpu?public=1&from=0",
    ),
    *("/competitions/winter/standings", "/competitions/winter/standings?scoring=points&hardware=cpu"),
    *("/api/v1/competitions/winter/standings?full=true", "/api/v1/boards/winter-softmax/cpu/entries?full=true"),
    *(
        "/api/v1/competitions/winter/standings",
        "/entries/{frozen}/code",
        "/api/v1/entries/{held}",
        "/api/v1/entries/{held}/signed",
    ),
    *("/submissions/{held}", "/submissions/{frozen}", "/api/v1/submissions/{held}"),
)


HIDDEN = ("held", "rejected", "retracted", "frozen", "secret_held")  # submissions hidden from strangers
OF_ONE = (
    *("/submissions/{pk}", "/entries/{pk}", "/entries/{pk}/code", "/api/v1/entries/{pk}"),
    "/api/v1/entries/{pk}/signed",
    *("/api/v1/submissions/{pk}", "/api/v1/submissions/{pk}/events", "/api/v1/submissions/{pk}/review"),
    "/api/v1/submissions/{pk}/feedback",
)
