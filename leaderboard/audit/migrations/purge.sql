-- Two functions may delete old rows of append-only tables, each of rows that no page and no balance needs. They run as
-- the tables' owner, on a window of ids, so that a call is short. The site's role may call them, and delete nothing else.

CREATE OR REPLACE FUNCTION photofinish_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' AND current_setting('photofinish.purge', true) = TG_TABLE_NAME THEN
    RETURN OLD;
  END IF;
  RAISE EXCEPTION 'rows of % are never changed or deleted', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END $$;

-- Progress of finished attempts, after the competition's deadline. Changes of state stay.
CREATE FUNCTION photofinish_purge_events(after bigint, up_to bigint, before timestamptz) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE deleted bigint;
BEGIN
  IF before > now() - interval '7 days' THEN
    RAISE EXCEPTION 'events of the last 7 days are never deleted' USING ERRCODE = 'restrict_violation';
  END IF;
  PERFORM set_config('photofinish.purge', 'judging_attemptevent', true);
  DELETE FROM judging_attemptevent event
   USING judging_attempt attempt, submissions_submission submission, competitions_board board,
         competitions_competition competition
   WHERE event.id > after AND event.id <= up_to AND event.kind = 'progress' AND event.created_at < before
     AND attempt.id = event.attempt_id AND attempt.state IN ('done', 'lost', 'cancelled')
     AND submission.id = event.submission_id AND board.id = submission.board_id
     AND competition.id = board.competition_id
     AND (competition.deadline IS NULL OR competition.deadline < now());
  GET DIAGNOSTICS deleted = ROW_COUNT;
  PERFORM set_config('photofinish.purge', '', true);
  RETURN deleted;
END $$;

-- Quota lines that 50 newer lines of their bucket sum up (READ_LINES in leaderboard/submissions/ledger.py).
CREATE FUNCTION photofinish_purge_quota_lines(after bigint, up_to bigint, before timestamptz) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE deleted bigint;
BEGIN
  IF before > now() - interval '7 days' THEN
    RAISE EXCEPTION 'quota lines of the last 7 days are never deleted' USING ERRCODE = 'restrict_violation';
  END IF;
  PERFORM set_config('photofinish.purge', 'submissions_quotaline', true);
  DELETE FROM submissions_quotaline line
   WHERE line.id > after AND line.id <= up_to AND line.created_at < before
     AND (SELECT count(*) FROM (SELECT FROM submissions_quotaline newer
           WHERE newer.user_id = line.user_id AND newer.board_id = line.board_id AND newer.mode = line.mode
             AND newer.id > line.id LIMIT 50) AS read) = 50;
  GET DIAGNOSTICS deleted = ROW_COUNT;
  PERFORM set_config('photofinish.purge', '', true);
  RETURN deleted;
END $$;
