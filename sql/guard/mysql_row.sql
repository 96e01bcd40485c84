REPLACE INTO {ns}_guard (table_name, type, policy, checks, version_column, parent, link, mode, quoted)
VALUES ({name}, {type}, '{policy}', '{check}', {version_text}, {parent_text}, {link_text}, '{mode}', {quoted_text})
//
