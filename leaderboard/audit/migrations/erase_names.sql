-- The names of an erased person and of their agents leave the audit. One function changes rows, for an account whose
-- erasure is itself in the audit, and only their texts. It runs as the tables' owner; the site's role may call it, and
-- change no row.

DROP FUNCTION IF EXISTS photofinish_nameless(jsonb, boolean, text[], text);

-- Values of a row without the person's names. `own`: the row is about a login, agent or entrant of the person, whatever
-- names it has; it is then called `own_name`.
CREATE OR REPLACE FUNCTION photofinish_nameless(side jsonb, own boolean, names text[], own_name text, account_name text)
RETURNS jsonb
LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(jsonb_object_agg(key, CASE
    WHEN own AND key = 'entrants' AND jsonb_typeof(value) = 'object'
      THEN (SELECT coalesce(jsonb_object_agg(pk, 'deleted-' || pk), '{}') FROM jsonb_object_keys(value) AS pk)
    WHEN jsonb_typeof(value) <> 'string' OR value = '""' THEN value
    WHEN own AND key IN ('name', 'pseudonym', 'affiliation') THEN to_jsonb(own_name)
    WHEN own AND key = 'owner' THEN to_jsonb(account_name)  -- of an agent
    WHEN key IN ('account', 'captain', 'person', 'user', 'username') AND value #>> '{}' = ANY (names)
      THEN to_jsonb(account_name)
    ELSE value END), '{}')
  FROM jsonb_each(side)
$$;

-- To be called before the names of logins and entrants change.
CREATE OR REPLACE FUNCTION photofinish_erase_names(erased bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE logins text[]; entrants text[]; names text[]; pattern text;
        account_name text := 'deleted-' || erased; changed bigint;
BEGIN
  IF NOT EXISTS (SELECT FROM audit_row
                  WHERE act = 'erase_account' AND object_type = 'accounts.user' AND object_id = erased::text) THEN
    RAISE EXCEPTION 'the audit has no erasure of account %', erased USING ERRCODE = 'restrict_violation';
  END IF;
  logins := ARRAY(SELECT id FROM accounts_user WHERE id = erased OR linked_to_id = erased);
  logins := logins || ARRAY(SELECT id::text FROM accounts_user WHERE agent_of_id = ANY (logins::bigint[]));
  entrants := ARRAY(SELECT entrant.id FROM entrants_entrant entrant
                     WHERE NOT entrant.is_team AND EXISTS (
                       SELECT FROM entrants_membership WHERE entrant_id = entrant.id AND user_id::text = ANY (logins)));
  names := ARRAY(
    SELECT username FROM accounts_user WHERE id::text = ANY (logins)
    UNION SELECT email FROM accounts_user WHERE id::text = ANY (logins) AND email <> ''
    UNION SELECT email FROM account_emailaddress WHERE user_id::text = ANY (logins)
    UNION SELECT unnest(ARRAY[name, pseudonym]) FROM entrants_entrant WHERE id::text = ANY (entrants)
    UNION SELECT unnest(ARRAY[before ->> 'name', after ->> 'name', before ->> 'pseudonym', after ->> 'pseudonym'])
            FROM audit_row
           WHERE (object_type = 'accounts.user' AND object_id = ANY (logins))
              OR (object_type = 'entrants.entrant' AND object_id = ANY (entrants)));
  SELECT '(?<!\w)(' || string_agg(regexp_replace(name, '([^\w\s])', '\\\1', 'g'), '|') || ')(?!\w)' INTO pattern
    FROM unnest(names) AS name WHERE name <> '';
  PERFORM set_config('photofinish.erase', 'audit_row', true);
  UPDATE audit_row SET before = new.before, after = new.after, reason = new.reason
    FROM (SELECT id, photofinish_nameless(before, own, names, own_name, account_name) AS before,
                 photofinish_nameless(after, own, names, own_name, account_name) AS after,
                 CASE WHEN own OR actor_id::text = ANY (logins) THEN regexp_replace(reason, pattern, own_name, 'gi')
                      ELSE reason END AS reason
            FROM (SELECT audit_row.*, own, CASE WHEN own THEN 'deleted-' || object_id ELSE account_name END AS own_name
                    FROM audit_row, LATERAL (SELECT
                         (object_type = 'accounts.user' AND object_id = ANY (logins))
                         OR (object_type = 'entrants.entrant' AND object_id = ANY (entrants)) AS own) AS whose
                   WHERE own OR actor_id::text = ANY (logins)
                      OR act IN ('grant_role', 'revoke_role', 'remove_member', 'hand_over_captain', 'link_login',
                                 'unlink_login', 'desk_grant_quota', 'desk_end_quota')) AS near) AS new
   WHERE audit_row.id = new.id
     AND (audit_row.before, audit_row.after, audit_row.reason) IS DISTINCT FROM (new.before, new.after, new.reason);
  GET DIAGNOSTICS changed = ROW_COUNT;
  PERFORM set_config('photofinish.erase', '', true);
  RETURN changed;
END $$;

-- The agents of people erased before named their owner.
DO $$
BEGIN
  PERFORM set_config('photofinish.erase', 'audit_row', true);
  UPDATE audit_row AS made SET after = jsonb_set(made.after, '{owner}', to_jsonb('deleted-' || erasure.object_id))
    FROM audit_row AS erasure, accounts_user AS maker
   WHERE erasure.act = 'erase_account' AND made.act = 'create_agent' AND made.actor_id = maker.id
     AND erasure.object_id IN (maker.id::text, maker.linked_to_id::text);
  PERFORM set_config('photofinish.erase', '', true);
END $$;
