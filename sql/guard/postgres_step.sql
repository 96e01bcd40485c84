    IF TG_OP = 'INSERT' THEN
        RETURN NEW;
    ELSIF TG_OP = 'DELETE' THEN
        RETURN OLD;
    ELSIF NOT ({same_key}) OR NEW.{version} IS DISTINCT FROM coalesce(OLD.{version}, 0) + 1 THEN
        PERFORM {ns}.guard_refuse({name}, 'update', '23H02',
            format('%s is guarded; every change moves {version_plain} by one, from %s to %s.', {type} || '/' || {id_old},
                coalesce(OLD.{version}, 0), coalesce(OLD.{version}, 0) + 1),
            'Load it anew, and save with the version that it has then.');
    END IF;
    RETURN NEW;
