-- A new division can move an entrant's lines between the rankings of people and of agents: their boards get a new
-- revision, and the lines are noted as changed.

CREATE FUNCTION photofinish_renew_after_new_division() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE standings_entry SET entrant_id = entrant_id WHERE entrant_id = NEW.id;
  RETURN NULL;
END $$;

CREATE TRIGGER renew_after_new_division AFTER UPDATE OF division ON entrants_entrant
FOR EACH ROW WHEN (OLD.division IS DISTINCT FROM NEW.division)
EXECUTE FUNCTION photofinish_renew_after_new_division();
