-- Once its grading has begun, a match takes no hand-in, and the grading does not begin again.

CREATE FUNCTION photofinish_hand_in_fits() RETURNS trigger
LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
  IF EXISTS (SELECT FROM matches_match WHERE id = NEW.match_id AND graded_from IS NOT NULL) THEN
    RAISE EXCEPTION 'the grading of match % has begun', NEW.match_id USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER hand_in_fits BEFORE INSERT ON matches_handin
FOR EACH ROW EXECUTE FUNCTION photofinish_hand_in_fits();

CREATE FUNCTION photofinish_graded_from_stays() RETURNS trigger
LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
  RAISE EXCEPTION 'the grading of match % has begun', OLD.id USING ERRCODE = 'check_violation';
END $$;

CREATE TRIGGER graded_from_stays BEFORE UPDATE ON matches_match
FOR EACH ROW WHEN (OLD.graded_from IS NOT NULL AND NEW.graded_from IS DISTINCT FROM OLD.graded_from)
EXECUTE FUNCTION photofinish_graded_from_stays();
