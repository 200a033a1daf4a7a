-- A frozen rubric, the settings of a begun grading, and the scores of a released grade stay as they are.

CREATE FUNCTION photofinish_stays() RETURNS trigger
LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
  RAISE EXCEPTION 'row % of % stays as it is: its grading has begun', OLD.id, TG_TABLE_NAME
    USING ERRCODE = 'check_violation';
END $$;

CREATE TRIGGER frozen_rubric_stays BEFORE UPDATE OR DELETE ON classes_rubric
FOR EACH ROW WHEN (OLD.frozen_at IS NOT NULL) EXECUTE FUNCTION photofinish_stays();

CREATE TRIGGER begun_grading_stays BEFORE UPDATE ON classes_assignment
FOR EACH ROW WHEN (
  OLD.grading_began_at IS NOT NULL
  AND (NEW.grading_began_at, NEW.rubric_id, NEW.graders_each, NEW.moderate_from)
      IS DISTINCT FROM (OLD.grading_began_at, OLD.rubric_id, OLD.graders_each, OLD.moderate_from)
  OR OLD.released_at IS NOT NULL AND NEW.released_at IS DISTINCT FROM OLD.released_at
) EXECUTE FUNCTION photofinish_stays();

CREATE FUNCTION photofinish_grade_fits() RETURNS trigger
LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE began timestamptz; released timestamptz;
BEGIN
  IF TG_OP = 'UPDATE' THEN
    IF (NEW.work_id, NEW.moderated) IS DISTINCT FROM (OLD.work_id, OLD.moderated) THEN
      RAISE EXCEPTION 'grade % stays with its work', OLD.id USING ERRCODE = 'check_violation';
    END IF;
    IF (NEW.scores, NEW.submitted_at, NEW.grader_id)
       IS NOT DISTINCT FROM (OLD.scores, OLD.submitted_at, OLD.grader_id) THEN
      RETURN NEW;  -- its text goes when an account is erased
    END IF;
  END IF;
  SELECT grading_began_at, released_at INTO began, released
    FROM classes_assignment AS assignment JOIN classes_work AS work ON work.assignment_id = assignment.id
   WHERE work.id = NEW.work_id;
  IF began IS NULL THEN
    RAISE EXCEPTION 'the grading of work % has not begun', NEW.work_id USING ERRCODE = 'check_violation';
  END IF;
  IF released IS NOT NULL AND NOT (NEW.moderated AND EXISTS (
       SELECT FROM classes_appeal WHERE work_id = NEW.work_id AND answered_at IS NULL)) THEN
    RAISE EXCEPTION 'the grades of work % are released', NEW.work_id USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER grade_fits BEFORE INSERT OR UPDATE ON classes_grade
FOR EACH ROW EXECUTE FUNCTION photofinish_grade_fits();
