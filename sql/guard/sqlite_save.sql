EXISTS (SELECT 1 FROM {ns}_resource r WHERE r.type = {type} AND r.id = {root} AND r.saved_fence = {number})
