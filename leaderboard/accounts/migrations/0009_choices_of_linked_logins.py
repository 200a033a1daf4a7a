"""Merges choices of linked logins about data sets into the choice of their account: the strictest holds.

An account that has not chosen counts as public.
"""

from django.db import migrations

MERGE = """
INSERT INTO accounts_datasetchoice (account_id, choice, changed_at)
SELECT login.linked_to_id, 'public', max(given.changed_at)
  FROM accounts_datasetchoice AS given JOIN accounts_user AS login ON login.id = given.account_id
 WHERE login.linked_to_id IS NOT NULL
 GROUP BY login.linked_to_id
    ON CONFLICT (account_id) DO NOTHING;

UPDATE accounts_datasetchoice AS kept SET choice = merged.choice
  FROM (SELECT coalesce(login.linked_to_id, login.id) AS account_id,
               CASE WHEN bool_or(choice = 'none') THEN 'none' WHEN bool_or(choice = 'public') THEN 'public' ELSE 'all'
               END AS choice
          FROM accounts_datasetchoice AS given JOIN accounts_user AS login ON login.id = given.account_id
         GROUP BY 1) AS merged
 WHERE kept.account_id = merged.account_id AND kept.choice <> merged.choice;

DELETE FROM accounts_datasetchoice USING accounts_user AS login
 WHERE login.id = account_id AND login.linked_to_id IS NOT NULL;
"""


class Migration(migrations.Migration):
    dependencies = [("accounts", "0008_agents_index")]

    operations = [migrations.RunSQL(MERGE)]
