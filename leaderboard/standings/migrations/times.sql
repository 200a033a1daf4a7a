-- New times of a competition or board move lines between its stages and the freeze: its boards get a new revision.
--
-- At commit, so that an act holds the revisions for a moment only, and a dry run of an import never does.

CREATE FUNCTION photofinish_renew_after_new_times() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  WITH locked AS MATERIALIZED (
    SELECT board_id FROM standings_revision
     WHERE board_id IN (SELECT id FROM competitions_board
                         WHERE CASE TG_ARGV[0] WHEN 'board' THEN id ELSE competition_id END = NEW.id)
     ORDER BY board_id FOR UPDATE
  )
  UPDATE standings_revision SET token = gen_random_uuid() FROM locked
   WHERE standings_revision.board_id = locked.board_id;
  RETURN NULL;
END $$;

CREATE CONSTRAINT TRIGGER renew_after_new_times AFTER UPDATE ON competitions_competition
DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
WHEN ((OLD.practice_at, OLD.contest_at, OLD.freeze_at, OLD.deadline, OLD.revealed_at, OLD.final_at)
      IS DISTINCT FROM (NEW.practice_at, NEW.contest_at, NEW.freeze_at, NEW.deadline, NEW.revealed_at, NEW.final_at))
EXECUTE FUNCTION photofinish_renew_after_new_times('competition');
CREATE CONSTRAINT TRIGGER renew_after_new_times AFTER UPDATE ON competitions_board
DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (OLD.deadline IS DISTINCT FROM NEW.deadline)
EXECUTE FUNCTION photofinish_renew_after_new_times('board');
