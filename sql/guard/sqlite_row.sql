INSERT INTO {ns}_guard (table_name, type, policy, checks, version_column, parent, link, mode, quoted)
VALUES ({name}, {type}, '{policy}', '{check}', {version_text}, {parent_text}, {link_text}, '{mode}', {quoted_text})
ON CONFLICT (table_name) DO UPDATE SET type = excluded.type, policy = excluded.policy, checks = excluded.checks,
   version_column = excluded.version_column, parent = excluded.parent, link = excluded.link, mode = excluded.mode,
   quoted = excluded.quoted;
