-- A version's submission is of its match's board and of mode benchmark, and the human side's first version comes after
-- its prediction.

CREATE FUNCTION photofinish_version_fits() RETURNS trigger
LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
  IF NEW.side = 'human' AND NOT EXISTS (SELECT FROM matches_prediction WHERE match_id = NEW.match_id) THEN
    RAISE EXCEPTION 'the human side predicts before its first version' USING ERRCODE = 'check_violation';
  END IF;
  IF NOT EXISTS (SELECT FROM matches_match AS match
                   JOIN submissions_submission AS submission ON submission.board_id = match.board_id
                  WHERE match.id = NEW.match_id AND submission.id = NEW.submission_id
                    AND submission.mode = 'benchmark') THEN
    RAISE EXCEPTION 'a version is a benchmark on the board of its match' USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER version_fits BEFORE INSERT ON matches_version
FOR EACH ROW EXECUTE FUNCTION photofinish_version_fits();
