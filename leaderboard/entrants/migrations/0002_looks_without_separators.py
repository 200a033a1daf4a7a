from django.db import migrations

# As names.look: separators do not count, and a gap that they leave is one space.
FOLD = """
UPDATE entrants_entrant
   SET looks = ARRAY(SELECT trim(regexp_replace(translate(look, '._-‐‒–—·', ''), '\\s+', ' ', 'g'))
                       FROM unnest(looks) AS look)
"""


class Migration(migrations.Migration):
    dependencies = [("entrants", "0001_initial")]

    operations = [migrations.RunSQL(FOLD, migrations.RunSQL.noop)]
