    INSERT INTO {ns}_guard_log (at_us, table_name, kind, rows)
    SELECT {now}, {name}, '{kind}', 1
      FROM {ns}_guard g WHERE g.table_name = {name} AND (g.mode = 'log' OR g.mode = 'fail' AND g.suppressed_us > {now})
        ON CONFLICT (at_us, table_name, kind) DO UPDATE SET rows = rows + 1;
    SELECT RAISE(ABORT, {sentence})
     WHERE NOT EXISTS (SELECT 1 FROM {ns}_guard g
                        WHERE g.table_name = {name} AND (g.mode <> 'fail' OR g.suppressed_us > {now}));
