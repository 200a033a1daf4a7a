-- The worklogs that an erased person handed in alone. Those of a team stay: the other members rely on them.

CREATE FUNCTION photofinish_erase_worklogs(erased bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE deleted bigint;
BEGIN
  IF NOT EXISTS (SELECT FROM audit_row
                  WHERE act = 'erase_account' AND object_type = 'accounts.user' AND object_id = erased::text) THEN
    RAISE EXCEPTION 'the audit has no erasure of account %', erased USING ERRCODE = 'restrict_violation';
  END IF;
  PERFORM set_config('photofinish.purge', 'matches_handin', true);
  DELETE FROM matches_handin USING matches_match AS match, entrants_entrant AS entrant
   WHERE matches_handin.match_id = match.id AND match.human_id = entrant.id AND NOT entrant.is_team
     AND EXISTS (SELECT FROM entrants_membership AS member JOIN accounts_user AS login ON login.id = member.user_id
                  WHERE member.entrant_id = entrant.id AND (login.id = erased OR login.linked_to_id = erased));
  GET DIAGNOSTICS deleted = ROW_COUNT;
  PERFORM set_config('photofinish.purge', '', true);
  RETURN deleted;
END $$;
