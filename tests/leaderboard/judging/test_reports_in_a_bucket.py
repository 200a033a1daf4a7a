"""The store of reports in an S3-compatible bucket, through django-storages and boto3 to a server of our own."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from leaderboard.errors import StoreAway
from leaderboard.judging import archive, content_store
from leaderboard.judging.models import Result
from tests.fake_s3 import FakeS3
from tests.leaderboard.stage import Stage


@pytest.fixture
def bucket(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeS3]:
    fake = FakeS3()
    for name, value in {
        "AWS_ENDPOINT_URL": fake.url,
        "AWS_ACCESS_KEY_ID": "photofinish",
        "AWS_SECRET_ACCESS_KEY": "not-a-secret",
        "AWS_DEFAULT_REGION": "eu-central-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }.items():
        monkeypatch.setenv(name, value)
    settings.REPORT_STORE = "s3://races/photofinish/reports"
    content_store.place_of.cache_clear()
    yield fake
    content_store.place_of.cache_clear()
    fake.close()


def test_reports_go_into_the_bucket_and_come_back(stage: Stage, bucket: FakeS3) -> None:
    stage.judge(stage.submit(mode="test"), logs={"stdout": "hello"})
    result = Result.objects.get()
    (name,) = bucket.objects
    assert name == f"races/photofinish/reports/{content_store.name_of(result.archived.digest)}"
    assert archive.look(result).report["logs"] == {"stdout": "hello"}
    content, at = bucket.objects[name]
    bucket.objects[name] = (content[:-9] + bytes([content[-9] ^ 1]) + content[-8:], at)
    assert archive.look(result).problem == archive.GONE.format(state="damaged")
    del bucket.objects[name]
    assert archive.look(result).problem == archive.GONE.format(state="missing")


def test_a_bucket_that_fails_is_away_and_no_report_is_lost(stage: Stage, bucket: FakeS3) -> None:
    stage.judge(stage.submit(mode="test"))
    result = Result.objects.get()
    bucket.fails = 1  # boto3 tries again
    assert archive.look(result).problem == ""
    bucket.fails = 1000
    assert archive.look(result).problem == archive.AWAY
    with pytest.raises(StoreAway):
        archive.keep({"one": "more"})
    bucket.fails = 0
    assert archive.look(result).problem == ""


def test_orphans_in_the_bucket_are_swept(stage: Stage, bucket: FakeS3) -> None:
    stage.judge(stage.submit(mode="test"))
    archive.keep({"nobody": "refers to it"})
    old = datetime.now(UTC) - timedelta(days=2)
    bucket.objects = {name: (content, old) for name, (content, _) in bucket.objects.items()}
    archive.keep({"nobody": "refers to it yet"})
    hours = (datetime.now(UTC) + timedelta(hours=hour) for hour in range(16))
    assert sum(archive.sweep_contents(now=hour) for hour in hours) == 1
    assert len(bucket.objects) == 2
