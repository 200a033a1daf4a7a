-- The function behind the triggers of append-only tables (leaderboard/audit/models.py).

CREATE FUNCTION photofinish_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'rows of % are never changed or deleted', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END $$;
