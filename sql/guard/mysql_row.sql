INSERT INTO {ns}_guard (table_name, type, policy, checks, version_column, parent, link, mode, quoted)
VALUES ({name}, {type}, '{policy}', '{check}', {version_text}, {parent_text}, {link_text}, '{mode}', {quoted_text})
ON DUPLICATE KEY UPDATE type = VALUES(type), policy = VALUES(policy), checks = VALUES(checks), version_column = VALUES(version_column),
   parent = VALUES(parent), link = VALUES(link), mode = VALUES(mode), quoted = VALUES(quoted)
//
