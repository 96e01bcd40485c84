-- It runs with the search_path of who writes, so it names where its operator is.
CREATE OR REPLACE FUNCTION {function}_pass() RETURNS trigger LANGUAGE plpgsql AS $holdfast$
BEGIN
    NEW.{version} := coalesce(OLD.{version}, 0) OPERATOR(pg_catalog.+) 1;
    RETURN NEW;
END
$holdfast$;
CREATE TRIGGER "0_holdfast_pass" BEFORE UPDATE ON {table} FOR EACH ROW WHEN ({passes}) EXECUTE FUNCTION {function}_pass();
ALTER TABLE {table} ENABLE ALWAYS TRIGGER "0_holdfast_pass";
