-- Versions of a problem can be deleted while no board has the problem and no attempt or confirmation was judged by
-- them. Admission tests are deleted first. It runs as the tables' owner; the site's role may call it.

CREATE FUNCTION photofinish_delete_versions(of_problem bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE deleted bigint;
BEGIN
  IF EXISTS (SELECT FROM competitions_board WHERE problem_id = of_problem)
     OR EXISTS (SELECT FROM competitions_problemversion version JOIN judging_attempt ON version_id = version.id
                 WHERE problem_id = of_problem)
     OR EXISTS (SELECT FROM competitions_problemversion version JOIN confirmations_confirmation ON version_id = version.id
                 WHERE problem_id = of_problem) THEN
    RAISE EXCEPTION 'versions that judged are never deleted' USING ERRCODE = 'restrict_violation';
  END IF;
  PERFORM set_config('photofinish.purge', 'competitions_problemversion', true);
  DELETE FROM competitions_problemversion WHERE problem_id = of_problem;
  GET DIAGNOSTICS deleted = ROW_COUNT;
  PERFORM set_config('photofinish.purge', '', true);
  RETURN deleted;
END $$;
