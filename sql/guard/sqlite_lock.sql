EXISTS (SELECT 1 FROM {ns}_lock l JOIN {ns}_session s ON s.id = l.session
                   WHERE l.type = {type} AND l.id = {root} AND l.mode = 'exclusive' AND l.fence = {number}
                     AND s.ended_us IS NULL AND s.expires_us > {now} AND coalesce(l.ends_us > {now}, 1))
