-- Texts of the audit's rows may change, by the function of erase_names.sql alone.

-- A trigger of a table in parts names the table in its argument, because TG_TABLE_NAME is that of the part.

CREATE OR REPLACE FUNCTION photofinish_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE texts text[] := ARRAY['before', 'after', 'reason'];
BEGIN
  IF TG_OP = 'DELETE' AND current_setting('photofinish.purge', true) = coalesce(TG_ARGV[0], TG_TABLE_NAME) THEN
    RETURN OLD;
  END IF;
  IF TG_OP = 'UPDATE' AND current_setting('photofinish.erase', true) = TG_TABLE_NAME THEN
    IF to_jsonb(NEW) - texts = to_jsonb(OLD) - texts THEN
      RETURN NEW;
    END IF;
  END IF;
  RAISE EXCEPTION 'rows of % are never changed or deleted', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END $$;
