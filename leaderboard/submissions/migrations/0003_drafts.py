import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("submissions", "0002_desk"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Welcome",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("began_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="welcome",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={"ordering": ["id"]},
        ),
        migrations.CreateModel(
            name="Draft",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("slug", models.SlugField(max_length=64)),
                ("source", models.TextField()),
                ("size_bytes", models.PositiveIntegerField()),
                ("filename", models.CharField(blank=True, max_length=100)),
                ("hardware", models.CharField(blank=True, max_length=64)),
                ("mode", models.CharField(blank=True, max_length=16)),
                ("saved_at", models.DateTimeField()),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="drafts",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["-saved_at", "-id"],
                "indexes": [models.Index(fields=["saved_at"], name="draft_by_time")],
                "constraints": [
                    models.UniqueConstraint(fields=("user", "slug"), name="one_draft_a_person_and_board"),
                    models.CheckConstraint(
                        condition=models.Q(("size_bytes__gt", 0), ("size_bytes__lte", 1000000)),
                        name="draft_size_in_limits",
                    ),
                ],
            },
        ),
    ]
