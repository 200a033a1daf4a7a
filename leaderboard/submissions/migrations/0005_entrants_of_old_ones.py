from django.db import migrations

# Whoever sent something before there were entrants entered alone, with their first submission.
ENTER = """
INSERT INTO entrants_entrant
       (competition_id, name, is_team, pseudonym, division, model_name, affiliation, declared, created_at)
SELECT board.competition_id, person.username, false, '', 'human', '', '', '[]', min(submission.created_at)
  FROM submissions_submission AS submission
  JOIN competitions_board AS board ON board.id = submission.board_id
  JOIN accounts_user AS person ON person.id = submission.owner_id
 GROUP BY board.competition_id, person.username;

INSERT INTO entrants_membership (entrant_id, competition_id, user_id, role, rules_digest, joined_at)
SELECT entrant.id, entrant.competition_id, person.id, 'captain', '', entrant.created_at
  FROM entrants_entrant AS entrant
  JOIN accounts_user AS person ON person.username = entrant.name;

ALTER TABLE submissions_submission DISABLE TRIGGER append_only;
UPDATE submissions_submission AS submission SET entrant_id = membership.entrant_id
  FROM competitions_board AS board, entrants_membership AS membership
 WHERE board.id = submission.board_id AND membership.competition_id = board.competition_id
   AND membership.user_id = submission.owner_id;
SET CONSTRAINTS ALL IMMEDIATE;
ALTER TABLE submissions_submission ENABLE TRIGGER append_only;
"""


class Migration(migrations.Migration):
    dependencies = [("submissions", "0004_entrant")]
    operations = [migrations.RunSQL(ENTER, migrations.RunSQL.noop)]
