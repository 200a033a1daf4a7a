-- Each change of a board's entries gives the board a new revision and notes the submissions; 1,000 changes are kept.

CREATE FUNCTION photofinish_forget_changes(boards bigint[]) RETURNS void LANGUAGE sql AS $$
  WITH kept AS MATERIALIZED (
    SELECT board, (SELECT id FROM standings_change WHERE board_id = board ORDER BY id DESC OFFSET 1000 LIMIT 1) AS oldest
      FROM unnest(boards) AS board
  )
  DELETE FROM standings_change AS old USING kept WHERE old.board_id = kept.board AND old.id < kept.oldest;
$$;

CREATE FUNCTION photofinish_renew_revision() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO standings_revision (board_id, token)
  SELECT board_id, gen_random_uuid() FROM (SELECT DISTINCT board_id FROM touched ORDER BY board_id) AS boards
      ON CONFLICT (board_id) DO UPDATE SET token = EXCLUDED.token;
  INSERT INTO standings_change (board_id, submission_id, token)
  SELECT board_id, submission_id, token FROM touched JOIN standings_revision USING (board_id);
  PERFORM photofinish_forget_changes(ARRAY(SELECT DISTINCT board_id FROM touched));
  RETURN NULL;
END $$;

CREATE FUNCTION photofinish_renew_revisions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO standings_revision (board_id, token)
  SELECT board_id, gen_random_uuid()
    FROM (SELECT board_id FROM touched UNION SELECT board_id FROM untouched ORDER BY board_id) AS boards
      ON CONFLICT (board_id) DO UPDATE SET token = EXCLUDED.token;
  INSERT INTO standings_change (board_id, submission_id, token)
  SELECT board_id, submission_id, token
    FROM (SELECT board_id, submission_id FROM touched UNION SELECT board_id, submission_id FROM untouched) AS lines
    JOIN standings_revision USING (board_id);
  PERFORM photofinish_forget_changes(
    ARRAY(SELECT board_id FROM touched UNION SELECT board_id FROM untouched));
  RETURN NULL;
END $$;

CREATE TRIGGER renew_on_insert AFTER INSERT ON standings_entry REFERENCING NEW TABLE AS touched
FOR EACH STATEMENT EXECUTE FUNCTION photofinish_renew_revision();
CREATE TRIGGER renew_on_delete AFTER DELETE ON standings_entry REFERENCING OLD TABLE AS touched
FOR EACH STATEMENT EXECUTE FUNCTION photofinish_renew_revision();
CREATE TRIGGER renew_on_update AFTER UPDATE ON standings_entry REFERENCING OLD TABLE AS untouched NEW TABLE AS touched
FOR EACH STATEMENT EXECUTE FUNCTION photofinish_renew_revisions();
