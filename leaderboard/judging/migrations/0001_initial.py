import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

from leaderboard.audit.models import forbid_changes


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("judging", "0001_tables"),
        ("judging", "0002_append_only"),
        ("judging", "0003_fencing_token"),
        ("judging", "0004_runner_resumed_at"),
        ("judging", "0005_attempt_unfinished_is_current"),
        ("judging", "0006_runner_epoch"),
        ("judging", "0007_runner_set_aside"),
        ("judging", "0008_attempt_measured_again"),
        ("judging", "0009_epoch"),
        ("judging", "0010_result_epoch_and_trust"),
        ("judging", "0011_reference_time_epoch"),
        ("judging", "0012_shadow_attempts"),
        ("judging", "0013_away_from"),
        ("judging", "0014_attempt_owner"),
        ("judging", "0015_claim_indexes"),
        ("judging", "0016_epoch_states"),
        ("judging", "0017_one_current_epoch"),
        ("judging", "0018_outages_release_drain"),
        ("judging", "0019_runner_tokens"),
        ("judging", "0020_attempt_not_before"),
        ("judging", "0021_no_reference_times"),
    ]

    dependencies = [
        ("audit", "0001_initial"),
        ("competitions", "0001_initial"),
        ("submissions", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Runner",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.SlugField(max_length=64, unique=True)),
                ("hardware", models.CharField(max_length=64)),
                ("token_prefix", models.CharField(max_length=16)),
                ("token_digest", models.CharField(max_length=64, unique=True)),
                ("old_token_digest", models.CharField(blank=True, db_index=True, max_length=64)),
                ("old_token_until", models.DateTimeField(null=True)),
                ("revoked_at", models.DateTimeField(null=True)),
                ("revoked_reason", models.TextField(blank=True)),
                ("seen_from", models.GenericIPAddressField(null=True)),
                ("fingerprint", models.JSONField(default=dict)),
                ("epoch", models.CharField(blank=True, max_length=64)),
                ("last_seen_at", models.DateTimeField(null=True)),
                ("suspended_at", models.DateTimeField(null=True)),
                ("suspended_reason", models.TextField(blank=True)),
                ("resumed_at", models.DateTimeField(null=True)),
                ("set_aside_at", models.DateTimeField(null=True)),
                ("set_aside_reason", models.TextField(blank=True)),
                ("draining_at", models.DateTimeField(null=True)),
                ("greeted_at", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "ordering": ["name"],
            },
        ),
        migrations.CreateModel(
            name="Attempt",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("hardware", models.CharField(max_length=64)),
                ("state", models.CharField(default="queued", max_length=16)),
                ("token", models.BigIntegerField(default=0)),
                ("losses", models.PositiveIntegerField(default=0)),
                ("lease_expires_at", models.DateTimeField(null=True)),
                ("hard_deadline_at", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField()),
                ("claimed_at", models.DateTimeField(null=True)),
                ("finished_at", models.DateTimeField(null=True)),
                ("is_ranked", models.BooleanField()),
                ("sent_at", models.DateTimeField()),
                ("number", models.PositiveIntegerField()),
                ("is_current", models.BooleanField(default=True)),
                ("is_shadow", models.BooleanField(default=False)),
                ("cause", models.CharField(default="first", max_length=16)),
                ("outcome", models.CharField(blank=True, max_length=16)),
                ("reason", models.CharField(blank=True, max_length=64)),
                ("not_before", models.DateTimeField(null=True)),
                (
                    "owner",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "submission",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="attempts",
                        to="submissions.submission",
                    ),
                ),
                (
                    "version",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="competitions.problemversion"
                    ),
                ),
            ],
            options={
                "ordering": ["submission_id", "number"],
            },
        ),
        migrations.CreateModel(
            name="Epoch",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("hardware", models.CharField(max_length=64)),
                ("name", models.CharField(max_length=64)),
                ("state", models.CharField(default="proposed", max_length=16)),
                ("fingerprint", models.JSONField(default=dict)),
                ("opened_at", models.DateTimeField()),
                ("current_since", models.DateTimeField(null=True)),
            ],
            options={
                "ordering": ["hardware", "-opened_at", "-id"],
                "constraints": [
                    models.UniqueConstraint(fields=("hardware", "name"), name="one_epoch_a_hardware_and_name"),
                    models.UniqueConstraint(
                        condition=models.Q(("state", "current")),
                        fields=("hardware",),
                        name="one_current_epoch_a_hardware",
                    ),
                    models.CheckConstraint(condition=models.Q(("name", ""), _negated=True), name="epoch_has_a_name"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("current_since__isnull", False), ("state__in", ("current", "retired"))),
                            ("state__in", ("proposed", "dismissed")),
                            _connector="OR",
                        ),
                        name="epoch_state_is_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="RejudgeSet",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=100)),
                ("why", models.TextField()),
                ("selection", models.JSONField()),
                ("estimate_s", models.FloatField()),
                ("state", models.CharField(default="open", max_length=16)),
                ("created_at", models.DateTimeField()),
                ("stopped_at", models.DateTimeField(null=True)),
                ("settled_at", models.DateTimeField(null=True)),
                (
                    "board",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="competitions.board",
                    ),
                ),
                (
                    "competition",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="rejudge_sets",
                        to="competitions.competition",
                    ),
                ),
                (
                    "created_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "settled_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="RejudgeItem",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("became", models.CharField(blank=True, max_length=16)),
                ("rank_before", models.PositiveIntegerField(null=True)),
                ("rank_after", models.PositiveIntegerField(null=True)),
                (
                    "after",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="judging.attempt"
                    ),
                ),
                (
                    "before",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="judging.attempt"
                    ),
                ),
                (
                    "submission",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="submissions.submission"
                    ),
                ),
                (
                    "rejudge_set",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="items", to="judging.rejudgeset"
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.AddField(
            model_name="attempt",
            name="rejudge_set",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.PROTECT, related_name="attempts", to="judging.rejudgeset"
            ),
        ),
        migrations.CreateModel(
            name="Result",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("outcome", models.CharField(max_length=16)),
                ("reason", models.CharField(blank=True, max_length=64)),
                ("message", models.TextField(blank=True)),
                ("flags", models.JSONField(default=list)),
                ("score_us", models.FloatField(null=True)),
                ("ratio", models.FloatField(null=True)),
                ("half_width", models.FloatField(null=True)),
                ("epoch", models.CharField(blank=True, max_length=64)),
                ("telemetry", models.CharField(blank=True, max_length=16)),
                ("forgeable", models.FloatField(null=True)),
                ("report", models.JSONField()),
                ("created_at", models.DateTimeField()),
                (
                    "attempt",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="result", to="judging.attempt"
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.AddField(
            model_name="attempt",
            name="away_from",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="judging.runner"
            ),
        ),
        migrations.AddField(
            model_name="attempt",
            name="runner",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="attempts",
                to="judging.runner",
            ),
        ),
        migrations.CreateModel(
            name="Watch",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("site_at", models.DateTimeField(null=True)),
                ("swept_at", models.DateTimeField(null=True)),
                ("back_at", models.DateTimeField(null=True)),
            ],
            options={
                "constraints": [models.CheckConstraint(condition=models.Q(("pk", 1)), name="one_watch")],
            },
        ),
        migrations.CreateModel(
            name="AttemptEvent",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("token", models.BigIntegerField(default=0)),
                ("seq", models.BigIntegerField(null=True)),
                ("kind", models.CharField(max_length=16)),
                ("state", models.CharField(max_length=16)),
                ("message", models.CharField(blank=True, max_length=500)),
                ("data", models.JSONField(default=dict)),
                ("in_shadow", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField()),
                (
                    "attempt",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="events", to="judging.attempt"
                    ),
                ),
                (
                    "submission",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="events", to="submissions.submission"
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "indexes": [models.Index(fields=["submission", "id"], name="event_by_submission")],
                "constraints": [
                    models.UniqueConstraint(fields=("attempt", "token", "seq"), name="one_event_a_claim_and_seq"),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ("state", "progress"))), name="event_kind_is_known"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "state__in",
                                ("queued", "claimed", "building", "checking", "timing", "done", "lost", "cancelled"),
                            )
                        ),
                        name="event_state_is_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="EpochPin",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("hardware", models.CharField(max_length=64)),
                ("epoch", models.CharField(blank=True, max_length=64)),
                ("pinned_at", models.DateTimeField()),
                (
                    "competition",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="epoch_pins",
                        to="competitions.competition",
                    ),
                ),
            ],
            options={
                "ordering": ["competition_id", "hardware"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("competition", "hardware"), name="one_epoch_pin_a_competition_and_hardware"
                    )
                ],
            },
        ),
        migrations.AddConstraint(
            model_name="rejudgeset",
            constraint=models.UniqueConstraint(fields=("competition", "name"), name="one_rejudge_set_a_name"),
        ),
        migrations.AddConstraint(
            model_name="rejudgeset",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("settled_at__isnull", True), ("settled_by__isnull", True), ("state", "open")),
                    models.Q(
                        ("settled_at__isnull", False),
                        ("settled_by__isnull", False),
                        ("state__in", ("applied", "discarded")),
                    ),
                    _connector="OR",
                ),
                name="rejudge_set_settled_by_somebody",
            ),
        ),
        migrations.AddConstraint(
            model_name="rejudgeitem",
            constraint=models.UniqueConstraint(
                fields=("rejudge_set", "submission"), name="one_rejudge_item_a_submission"
            ),
        ),
        migrations.AddConstraint(
            model_name="rejudgeitem",
            constraint=models.CheckConstraint(
                condition=models.Q(("became__in", ("", "applied", "newer", "rejected", "no_verdict"))),
                name="rejudge_item_became_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="result",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "outcome__in",
                        (
                            "passed",
                            "wrong",
                            "build_error",
                            "runtime_error",
                            "timeout",
                            "out_of_memory",
                            "policy",
                            "unmeasurable",
                            "infra_error",
                        ),
                    )
                ),
                name="result_outcome_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="result",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("ratio__isnull", True), ("score_us__isnull", True)),
                    models.Q(("outcome", "passed"), ("ratio__gt", 0), ("score_us__gt", 0)),
                    _connector="OR",
                ),
                name="result_has_numbers_only_when_passed",
            ),
        ),
        migrations.AddConstraint(
            model_name="result",
            constraint=models.CheckConstraint(
                condition=models.Q(("telemetry__in", ("", "full", "mask_only", "none"))),
                name="result_telemetry_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="result",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("forgeable__isnull", True), models.Q(("forgeable__gte", 0), ("forgeable__lte", 1)), _connector="OR"
                ),
                name="result_forgeable_is_a_share",
            ),
        ),
        migrations.AddIndex(
            model_name="attempt",
            index=models.Index(
                condition=models.Q(("state", "queued")), fields=["hardware", "is_shadow", "id"], name="attempt_queue"
            ),
        ),
        migrations.AddIndex(
            model_name="attempt",
            index=models.Index(
                condition=models.Q(("rejudge_set__isnull", True)),
                fields=["hardware", "finished_at"],
                name="attempt_device_time",
            ),
        ),
        migrations.AddIndex(
            model_name="attempt",
            index=models.Index(
                condition=models.Q(("outcome", "unmeasurable")),
                fields=["submission", "runner"],
                name="attempt_unmeasurable",
            ),
        ),
        migrations.AddIndex(
            model_name="attempt",
            index=models.Index(fields=["runner", "token"], name="attempt_by_runner"),
        ),
        migrations.AddIndex(
            model_name="attempt",
            index=models.Index(
                condition=models.Q(("state__in", ("claimed", "building", "checking", "timing"))),
                fields=["lease_expires_at"],
                name="attempt_leases",
            ),
        ),
        migrations.AddConstraint(
            model_name="attempt",
            constraint=models.UniqueConstraint(
                condition=models.Q(("is_current", True)),
                fields=("submission",),
                name="one_current_attempt_a_submission",
            ),
        ),
        migrations.AddConstraint(
            model_name="attempt",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("state__in", ("queued", "claimed", "building", "checking", "timing")), _negated=True),
                    ("is_current", True),
                    ("is_shadow", True),
                    _connector="OR",
                ),
                name="attempt_unfinished_is_current_or_shadow",
            ),
        ),
        migrations.AddConstraint(
            model_name="attempt",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("is_shadow", False),
                    models.Q(("is_current", False), ("rejudge_set__isnull", False)),
                    _connector="OR",
                ),
                name="attempt_in_the_shadow_has_a_set",
            ),
        ),
        migrations.AddConstraint(
            model_name="attempt",
            constraint=models.UniqueConstraint(
                condition=models.Q(
                    ("is_shadow", True), ("state__in", ("queued", "claimed", "building", "checking", "timing"))
                ),
                fields=("submission", "rejudge_set"),
                name="one_shadow_attempt_a_submission_and_set",
            ),
        ),
        migrations.AddConstraint(
            model_name="attempt",
            constraint=models.UniqueConstraint(
                condition=models.Q(("is_shadow", False)),
                fields=("submission", "number"),
                name="attempt_numbers_are_unique",
            ),
        ),
        migrations.AddConstraint(
            model_name="attempt",
            constraint=models.UniqueConstraint(
                condition=models.Q(("is_shadow", True)),
                fields=("submission", "rejudge_set", "number"),
                name="shadow_attempt_numbers_are_unique",
            ),
        ),
        migrations.AddConstraint(
            model_name="attempt",
            constraint=models.UniqueConstraint(
                condition=models.Q(("state__in", ("claimed", "building", "checking", "timing"))),
                fields=("runner",),
                name="one_running_attempt_a_runner",
            ),
        ),
        migrations.AddConstraint(
            model_name="attempt",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("state__in", ("queued", "claimed", "building", "checking", "timing", "done", "lost", "cancelled"))
                ),
                name="attempt_state_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="attempt",
            constraint=models.CheckConstraint(
                condition=models.Q(("cause__in", ("first", "replacement", "rejudge", "remeasure"))),
                name="attempt_cause_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="attempt",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        (
                            "outcome__in",
                            (
                                "passed",
                                "wrong",
                                "build_error",
                                "runtime_error",
                                "timeout",
                                "out_of_memory",
                                "policy",
                                "unmeasurable",
                                "infra_error",
                            ),
                        ),
                        ("state", "done"),
                    ),
                    models.Q(models.Q(("state", "done"), _negated=True), ("outcome", "")),
                    _connector="OR",
                ),
                name="attempt_has_an_outcome_when_done",
            ),
        ),
        migrations.AddConstraint(
            model_name="attempt",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("state__in", ("claimed", "building", "checking", "timing")), _negated=True),
                    models.Q(
                        ("claimed_at__isnull", False),
                        ("hard_deadline_at__isnull", False),
                        ("lease_expires_at__isnull", False),
                        ("runner__isnull", False),
                        ("token__gt", 0),
                    ),
                    _connector="OR",
                ),
                name="attempt_runs_under_a_lease",
            ),
        ),
        migrations.AddConstraint(
            model_name="attempt",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("state", "queued"), _negated=True),
                    models.Q(("runner__isnull", True), ("token", 0)),
                    _connector="OR",
                ),
                name="attempt_queued_has_no_runner",
            ),
        ),
        migrations.AddConstraint(
            model_name="attempt",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("finished_at__isnull", False), ("state__in", ("done", "lost", "cancelled"))),
                    models.Q(
                        ("finished_at__isnull", True),
                        ("state__in", ("queued", "claimed", "building", "checking", "timing")),
                    ),
                    _connector="OR",
                ),
                name="attempt_has_an_end_when_finished",
            ),
        ),
        migrations.RunSQL("CREATE SEQUENCE judging_fencing_token AS bigint;", "DROP SEQUENCE judging_fencing_token;"),
        forbid_changes("judging_attemptevent"),
        forbid_changes("judging_result"),
    ]
