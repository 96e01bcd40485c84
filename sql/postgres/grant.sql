-- Lets an account use the store: its rows, not its shape.
GRANT USAGE ON SCHEMA {ns} TO {role};
GRANT SELECT, INSERT, UPDATE, DELETE ON {ns}.meta, {ns}.type, {ns}.session, {ns}.resource, {ns}.lock, {ns}.request, {ns}.lost,
    {ns}.event, {ns}.token, {ns}.save TO {role};
GRANT SELECT ON {ns}.locks, {ns}.versions TO {role};
GRANT EXECUTE ON FUNCTION {ns}."check"(text, text, text, bigint),
    {ns}.save(text, text, bigint, text, text, bigint),
    {ns}.remove(text, text, bigint, text, text, bigint), {ns}.expect(text, text, bigint) TO {role};
