from django.db import migrations

UNLOCK = "ALTER TABLE judging_result DISABLE TRIGGER append_only;"
LOCK = "ALTER TABLE judging_result ENABLE TRIGGER append_only;"
# A time used to be the ratio on the scale of a reference time. The cases of the stored report say the measured times.
MEASURED = """
UPDATE judging_result AS result SET score_us = measured.time_us
  FROM (
    SELECT old.id,
           CASE coalesce(version.bundle ->> 'ranking_by', 'geom')
             WHEN 'last' THEN (array_agg((item.value ->> 'measured_us')::float8 ORDER BY item.place DESC))[1]
             WHEN 'mean' THEN avg((item.value ->> 'measured_us')::float8)
             ELSE exp(avg(ln((item.value ->> 'measured_us')::float8)))
           END AS time_us
      FROM judging_result AS old
      JOIN judging_attempt AS attempt ON attempt.id = old.attempt_id
      JOIN competitions_problemversion AS version ON version.id = attempt.version_id
      CROSS JOIN LATERAL jsonb_array_elements(
        CASE jsonb_typeof(old.report -> 'cases') WHEN 'array' THEN old.report -> 'cases' ELSE '[]' END
      ) WITH ORDINALITY AS item (value, place)
     WHERE old.score_us IS NOT NULL
       AND jsonb_typeof(item.value -> 'measured_us') = 'number'
       AND (item.value ->> 'measured_us')::float8 > 0
     GROUP BY old.id, version.bundle ->> 'ranking_by'
  ) AS measured
 WHERE measured.id = result.id AND result.score_us <> measured.time_us;
UPDATE standings_entry AS entry SET score_us = result.score_us
  FROM judging_result AS result
 WHERE result.attempt_id = entry.attempt_id
   AND result.score_us IS NOT NULL AND result.score_us <> entry.score_us;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("competitions", "0007_code_opens_all"),
        ("judging", "0013_away_from"),
        ("standings", "0013_pin_contests"),
    ]
    operations = [migrations.RunSQL(UNLOCK + MEASURED + LOCK, migrations.RunSQL.noop)]
