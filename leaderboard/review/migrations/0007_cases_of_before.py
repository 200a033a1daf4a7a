from django.db import migrations

# What was held has a case that says where the log left it; what was rejected by itself has one that can be overturned.
HELD = """
INSERT INTO review_case (result_id, board_id, origin, opened_at, state, since, is_by_itself, labels)
SELECT result.id, submission.board_id, 'held', result.created_at,
       CASE decision.act WHEN 'clear' THEN 'cleared' WHEN 'reject' THEN 'rejected' ELSE 'waiting' END,
       coalesce(decision.created_at, result.created_at), false, '{}'
FROM judging_result result
JOIN judging_attempt attempt ON attempt.id = result.attempt_id
JOIN submissions_submission submission ON submission.id = attempt.submission_id
LEFT JOIN review_decision decision ON decision.result_id = result.id
WHERE EXISTS (SELECT 1 FROM review_finding finding WHERE finding.result_id = result.id);
"""
BY_ITSELF = """
INSERT INTO review_case (result_id, board_id, origin, opened_at, state, since, is_by_itself, labels)
SELECT result.id, submission.board_id, 'by_itself', result.created_at, 'rejected', result.created_at, true, '{}'
FROM judging_result result
JOIN judging_attempt attempt ON attempt.id = result.attempt_id
JOIN submissions_submission submission ON submission.id = attempt.submission_id
WHERE submission.mode = 'ranked' AND result.outcome = 'policy' AND result.reason IN ('impossible', 'clock_mismatch')
ON CONFLICT DO NOTHING;
"""


class Migration(migrations.Migration):
    dependencies = [("review", "0006_case"), ("submissions", "0001_tables"), ("judging", "0001_tables")]
    operations = [
        migrations.RunSQL(HELD, migrations.RunSQL.noop),
        migrations.RunSQL(BY_ITSELF, migrations.RunSQL.noop),
    ]
